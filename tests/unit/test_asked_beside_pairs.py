"""Questions that name two medicines and ask for something else: that comes first, after what must not be combined."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from chat_app.offline import phrases
from chat_app.offline.composition.compose import compose
from chat_app.offline.reading.dialogue import ToolOutput
from chat_app.offline.reading.tool_outputs import gather

NOTE = "No statement was found."
HELD = "Adrug is withheld during vomiting."
BOUND = "Stop adrug at a potassium of 6.0 mmol/L or higher."
TARGET = "The ferritin target on adrug is 7 to 9."
PAIR = "Bdrug raises the level of adrug."


def answer_to(
    question: str, said: Sequence[str], level: str = "", *, names: Sequence[str] = ("adrug", "bdrug"), unread: str = ""
) -> str:
    known = [name for name in names if name != unread]
    records = [{"generic_name": name, "matched": {"how": "exact", "on": name}} for name in known]
    row: dict[str, Any] = {"cite": "[1]", "label_of": names[0], "about": names[1], "severity": level}
    rows = [row | {"label": {"interactions": [PAIR]}}] if level else []
    pair = {"medicines": names, "note": "" if level else NOTE}
    unknown = [{"name": unread, "did_you_mean": []}] if unread else []
    checked = {"pairs": [pair], "results": rows, "unknown": unknown}
    outputs = [
        ToolOutput("search_drug_database", "{}", json.dumps({"results": records, "did_you_mean": []})),
        ToolOutput("search", "{}", json.dumps({"passages": [{"text": "\n".join(said), "cite": "[2]"}]})),
        ToolOutput("check_drug_interactions", "{}", json.dumps(checked)),
    ]
    return compose(question, gather(outputs)).text


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("potassium 6.4 on adrug and bdrug, what now", BOUND),
        ("Kalium 6,4 unter Adrug und Bdrug, was tun?", BOUND),
        ("on adrug and bdrug, vomiting: stop which?", HELD),
        ("on adrug and bdrug, ferritin target?", TARGET),
    ],
)
@pytest.mark.parametrize("level", ["adjust dose", "monitor", "described", ""])
def test_what_is_asked_beside_a_pair_comes_before_milder_statements(question: str, said: str, level: str) -> None:
    answer = answer_to(question, [said], level)
    assert 0 <= answer.index(said) < answer.index(PAIR if level else NOTE)
    assert phrases.CLOSEST not in answer


@pytest.mark.parametrize("level", ["contraindicated", "avoid"])
def test_a_grave_statement_comes_first_whatever_is_asked(level: str) -> None:
    for question, said in (
        ("potassium 6.4 on adrug and bdrug, what now", BOUND),
        ("adrug, bdrug ferritin target", TARGET),
    ):
        answer = answer_to(question, [said], level)
        assert answer.startswith(f"adrug, interactions:\n\n- {PAIR}")
        assert said in answer


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("adrug with bdrug?", BOUND),
        ("on adrug, add bdrug?", BOUND),
        ("adrug and bdrug together with potassium 6.4?", BOUND),
        ("adrug and bdrug in vomiting", HELD),
        ("adrug dose with bdrug", "The adrug dose is 5 mg."),
    ],
)
def test_the_pair_leads_where_its_combination_is_asked_about(question: str, said: str) -> None:
    assert answer_to(question, [said], "adjust dose").startswith(f"adrug, interactions:\n\n- {PAIR}")


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("heart rate 42 on adrug and bdrug", "Adrug should not be combined with a beta-blocker due to bradycardia."),
        ("potassium 6.4 on adrug and bdrug", "Stop finerenone at a potassium of 6.0 mmol/L or higher."),
        ("potassium 6.4, vomiting and diarrhoea on adrug and bdrug, stop which?", BOUND),
    ],
)
def test_what_is_said_of_other_medicines_or_states_does_not_come_first(question: str, other: str) -> None:
    answer = answer_to(question, [other], "monitor")
    assert answer.startswith(f"adrug, interactions:\n\n- {PAIR}")


def test_a_word_that_is_no_known_name_gives_way_to_what_is_asked() -> None:
    row = "Adrug is paused for 2 days before a procedure."
    names = ("adrug", "plaxotomy")
    answer = answer_to("adrug + plaxotomy, how long to stop", [row], names=names, unread="plaxotomy")
    assert 0 <= answer.index(row) < answer.index(f"adrug + plaxotomy: {NOTE}")
    assert answer_to("adrug + plaxotomy", [row], names=names, unread="plaxotomy").startswith("adrug + plaxotomy")


def test_of_a_medicine_that_is_added_the_new_pairs_come_first() -> None:
    names = ("adrug", "bdrug", "cdrug")
    records = [{"generic_name": name, "matched": {"how": "exact", "on": name}} for name in names]
    pairs = [{"medicines": pair, "note": f"Nothing on {pair[1]}."} for pair in (names[:2], names[::2])]
    outputs = [
        ToolOutput("search_drug_database", "{}", json.dumps({"results": records, "did_you_mean": []})),
        ToolOutput("check_drug_interactions", "{}", json.dumps({"pairs": pairs, "results": [], "unknown": []})),
    ]
    evidence = gather(outputs)
    question = "Can I give adrug with bdrug, and with cdrug?"
    added = compose(question, evidence, newest="and with cdrug?").text
    assert 0 <= added.index("Nothing on cdrug.") < added.index("Nothing on bdrug.")
    whole = compose(question, evidence).text
    assert 0 <= whole.index("Nothing on bdrug.") < whole.index("Nothing on cdrug.")
