"""Builds the demonstration PDFs from their sources: `python -m tools.guidelines.demo.build [slug ...]`.

The output is a function of the source, the reportlab version and the zlib version (both stand in the PDF's
producer field): a rebuild with the same two gives the same bytes. `--check` writes nothing and exits with 1
where a committed PDF differs from what its source gives.
"""

from __future__ import annotations

import argparse
import sys

from tools.guidelines.demo.layout import render
from tools.guidelines.demo.source import DEMO_DIR, SLUGS, load


def main(arguments: list[str] | None = None) -> int:
    """Builds (or checks) the named documents, all six by default; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.guidelines.demo.build", description=__doc__)
    parser.add_argument("slugs", nargs="*", metavar="slug", help=f"one of: {', '.join(SLUGS)}")
    parser.add_argument("--check", action="store_true", help="compare with the committed PDFs, write nothing")
    options = parser.parse_args(arguments)
    if unknown := set(options.slugs) - set(SLUGS):
        parser.error(f"no such document: {', '.join(sorted(unknown))}")
    stale = [slug for slug in options.slugs or SLUGS if not _build(slug, check=options.check)]
    if stale:
        print(f"differs from its source: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


def _build(slug: str, *, check: bool) -> bool:
    path = DEMO_DIR / f"{slug}.pdf"
    rendered = render(load(slug))
    if check:
        return path.is_file() and path.read_bytes() == rendered.pdf
    path.write_bytes(rendered.pdf)
    print(f"{path.name}: {rendered.pages} pages, {len(rendered.pdf) / 1000:.0f} kB")
    return True


if __name__ == "__main__":
    sys.exit(main())
