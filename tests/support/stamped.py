"""Answers of a given length whose text says when it was sent: what the page's bench reads off a browser.

``stamped 3000 every 5`` asks for 3,000 tokens, one every 5 ms: paragraphs, headings, lists, tables and citations, one
for 25 tokens and at most 40, in tokens of about five characters, as language models write. Every 25 tokens of a
paragraph, and at the end, stands ``t<number>at<time>``, the time in milliseconds since 1970. Both the page's agent and
the plain Chainlit app play it.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterator
from itertools import count, islice
from typing import Final

CITATIONS: Final = 40
STAMP_EVERY: Final = 25
_QUESTION: Final = re.compile(r"stamped (\d+) every (\d+)")
_TOKEN: Final = re.compile(r"\n\|[-|]+|\s*\S{1,5}|\s+")
_SECTION: Final = """## Step {n}: blood pressure above target

Offer an **ACE inhibitor** or an angiotensin receptor blocker to adults with type 2 diabetes, and start at the lowest \
dose that is made (for example 2.5 mg once daily). Check potassium and creatinine before the first dose and one to two \
weeks after each change; stop at a potassium above 6.0 mmol/l and look for other causes.

- Aim below 140/90 mmHg under 80 years, and below 150/90 mmHg from then on.
- Measure standing pressure in everybody with diabetes or symptoms of a fall in pressure.
- Do not combine an ACE inhibitor with a receptor blocker to treat hypertension.

| Drug | Start | Most | Kidney function below 30 |
|---|---|---|---|
| Ramipril | 1.25 to 2.5 mg | 10 mg | 1.25 mg, at most 5 mg |
| Lisinopril | 10 mg | 80 mg | 2.5 mg, by response |
| Losartan | 50 mg | 100 mg | no change |

When pressure stays above target on two drugs at their best doses, ask how they are taken before a third is added. \
Resistant hypertension is pressure above target on three drugs, one of them a diuretic; confirm it with readings at \
home or over a day.

"""


def asked_for(question: str) -> tuple[int, int] | None:
    """Tokens, and milliseconds between them; None when ``question`` asks for no such answer."""
    found = _QUESTION.search(question)
    return (int(found.group(1)), int(found.group(2))) if found else None


async def stamped_tokens(tokens: int, gap: int) -> AsyncIterator[str | int]:
    """The answer's tokens, each at its time; a number stands for a citation."""
    began, line, due, last = time.monotonic(), "", 0, tokens - 1
    citations = min(CITATIONS, tokens // STAMP_EVERY)
    for number, token in enumerate(islice(_words(), last), start=1):
        await asyncio.sleep(max(0.0, began + number * gap / 1000 - time.monotonic()))
        due += 1
        # In a table or at the start of a line a stamp would change what the text is.
        if due >= STAMP_EVERY and line[:1].isalpha() and "\n" not in token:
            yield _stamp(number)
            due = 0
        yield token
        line = (line + token).rpartition("\n")[2]
        if number * citations // last > (number - 1) * citations // last:
            yield number * citations // last
    await asyncio.sleep(max(0.0, began + tokens * gap / 1000 - time.monotonic()))
    yield "\n\nEnd" + _stamp(tokens)


def _stamp(number: int) -> str:
    return f" t{number}at{time.time() * 1000:.0f}"


def _words() -> Iterator[str]:
    for n in count(1):
        yield from _TOKEN.findall(_SECTION.format(n=n))
