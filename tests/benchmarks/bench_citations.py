"""Holds hundreds of the offline model's answers to their sources: each quote, number, figure. Prints one JSON object.

    python -m tests.benchmarks.bench_citations [--parallel 4]

Questions are the demonstration's own, and others made by rule so that nobody chose them: one for each section of each
loaded guideline, and one for each medicine of the demonstration. Where the shared folder is there (ASCLEPIUS_SHARED,
default ../shared) its real guidelines are loaded and asked about, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
from pathlib import Path

from chat_app.bootstrap import App, open_app
from chat_app.evaluation.citation_evaluation import CitationQuestion, CitationReport, evaluate_citations, read_questions
from chat_app.settings import Settings
from tools.drug_database.importers import demo

SHARED = Path(os.environ.get("ASCLEPIUS_SHARED", Path(__file__).resolve().parents[3] / "shared"))
ABOUT_A_DRUG = (
    "What are the contraindications of {}?",
    "What is the dose of {} in adults?",
    "What does {} interact with?",
)
LONGEST_HEADING = 90


async def section_questions(app: App) -> list[CitationQuestion]:
    """One question for each section of each loaded guideline."""
    sections: dict[str, None] = {}
    for document in await app.guidelines.documents():
        for passage in await app.guidelines.passages_of(document.id, sha256=document.sha256):
            sections[passage.section.rpartition(" › ")[2].strip()] = None
    asked = (name for name in sections if name and len(name) < LONGEST_HEADING)
    return [CitationQuestion(question=f"What is recommended on {name}?") for name in asked]


def drug_questions() -> list[CitationQuestion]:
    """One question for each medicine of the demonstration, the kinds taking turns."""
    names = sorted({record.generic_name for record in demo.records()})
    return [
        CitationQuestion(question=ABOUT_A_DRUG[place % len(ABOUT_A_DRUG)].format(name))
        for place, name in enumerate(names)
    ]


async def measure(parallel: int) -> dict[str, CitationReport]:
    with tempfile.TemporaryDirectory() as folder:
        async with open_app(Settings(storage={"data_dir": folder}, model={"guideline_search": "tool"})) as app:
            await app.warm_up()
            for path in sorted((SHARED / "data" / "guidelines").glob("[!S]*.pdf")):
                await app.guidelines.add(path)
            sets = {
                "demonstration": read_questions(None),
                "sections": await section_questions(app),
                "drugs": drug_questions(),
            }
            return {
                name: await evaluate_citations(app.agent, app.guidelines, questions, parallel=parallel)
                for name, questions in sets.items()
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--parallel", type=int, default=4)
    reports = asyncio.run(measure(parser.parse_args().parallel))
    print(json.dumps({name: report.model_dump() for name, report in reports.items()}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
