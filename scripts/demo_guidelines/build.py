"""Build the demonstration PDFs from their sources: ``python -m scripts.demo_guidelines.build [slug ...]``.

The source and the versions of reportlab and zlib, which the PDF's producer field names, determine every byte.
``--check`` writes nothing and exits with 1 where a committed PDF differs from its source.
"""

from __future__ import annotations

import argparse
import sys

from scripts.demo_guidelines.layout import render
from scripts.demo_guidelines.source import DEMO_DIR, SLUGS, load


def main(arguments: list[str] | None = None) -> int:
    """Build or check the named documents, by default all six, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m scripts.demo_guidelines.build", description=__doc__)
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
