"""What the model says behind aimock, by the question: in aimock's own format of fixtures."""

from __future__ import annotations

from typing import Any, Final

Json = dict[str, Any]

FIRST: Final = "Let me look."
FOUND: Final = "Start metformin at 500 mg once daily with food. [1]\n\nDo  not give it when the eGFR is < 30: äöü 💊.\n"
FOLLOWED: Final = "Not below an eGFR of 30."
ODD: Final = " \n\n  Leading blanks,\ttabs, **Markdown**, \"quotes\", 'data: x', 血圧, é, 👩‍⚕️ and a blank at the end \n"
LONG: Final = "".join(f"Sentence number {number} of a long answer. " for number in range(400))
CUT: Final = "Give 10 mg at once. Then give 5 mg every six hours, but do not ever give more than 20 mg in a day."
"""Cut off somewhere inside, whichever protocol it travels by: chat completions have fewer events around the text."""
SECRET: Final = "key sk-upstream-secret of Jane Doe was refused"


def _question(words: str, response: Json, *, match: Json | None = None, **how: Any) -> Json:
    return {"match": {"userMessage": words, **(match or {})}, "response": response, **how}


def _error(status: int) -> Json:
    return {"error": {"message": SECRET, "type": "invalid_request_error"}, "status": status}


def _call(name: str, arguments: str) -> Json:
    return {"type": "toolCall", "name": name, "arguments": arguments}


ANSWERS: Final[list[Json]] = [
    _question("metformin", {"content": FOUND}, match={"hasToolResult": True}),
    _question(
        "metformin",
        {
            "blocks": [
                {"type": "text", "text": FIRST},
                _call("search_clinical_guidelines", '{"question": "metformin dose"}'),
                _call("search_drug_database", '{"drug_name": "metformin"}'),
            ]
        },
        match={"hasToolResult": False},
    ),
    _question("kidney disease", {"content": FOLLOWED}),
    _question("oddly", {"content": ODD}),
    _question("at length", {"content": LONG}),
    _question("how to think", {"content": "Yes.", "reasoning": "First the dose."}),
    _question("busy", {**_error(429), "retryAfter": 1}, match={"sequenceIndex": 0}),
    _question("busy", {"content": "Now I have time."}),
    _question("refused request", _error(400)),
    _question("bad key", _error(401)),
    _question("always down", _error(500)),
    _question("cut off", {"content": CUT}, truncateAfterChunks=6, latency=5),
    _question("too long", {"content": CUT, "finishReason": "length"}),
]
