"""``asclepius eval``: measures search against files of questions."""

from __future__ import annotations

import typer

app = typer.Typer(help="Measure search against files of questions.", no_args_is_help=True)
