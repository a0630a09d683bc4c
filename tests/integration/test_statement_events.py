"""A generated answer that changes its source: the statement becomes an event, a line at the shell and a page note."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from chat_app.agent.statements.statement_check import StatementCheck, StatementVerifier
from chat_app.cli.ask_output import Plain
from chat_app.events import AgentEvent, ReferencesReady, StatementsChecked, TurnStarted
from chat_app.interface.rendering.answer_end import AnswerEnd
from chat_app.interface.rendering.turn_steps import TurnIds
from tests.support.engine import adapter, chained, clinic, consult, ended, guideline_tool, passage
from tests.support.scripted_server import ScriptedServer, ScriptedTurn, Status, calls_reply, text_reply

ASK = ("call_1", "search_clinical_guidelines", '{"question": "metformin"}')
SOURCE = "Start metformin at 500 mg once daily with food. Do not use it when eGFR is below 30."
WRONG = "Start metformin at 850 mg once daily with food."
RIGHT = "It should not be used when eGFR is below 30."


def turns(*text: str) -> list[ScriptedTurn]:
    return [calls_reply(ASK, response_id="resp_1"), chained(text_reply(*text, response_id="resp_2"))]


async def events_of(redis_url: str, *text: str, statements: StatementCheck | None = None) -> list[AgentEvent]:
    async with (
        ScriptedServer(turns(*text)) as server,
        clinic(server, redis_url, [guideline_tool(passage(text=SOURCE))], statements=statements) as agent,
    ):
        return await consult(agent)


def checks(events: Sequence[AgentEvent]) -> list[StatementsChecked]:
    return [event for event in events if isinstance(event, StatementsChecked)]


async def test_a_changed_dose_is_reported_once_the_text_has_ended(redis_url: str) -> None:
    events = await events_of(redis_url, f"{WRONG} [1]\n\n{RIGHT} [1]\n\nAsk again if needed.")
    (checked,) = checks(events)
    assert checked.checked == 2
    (one,) = checked.unsupported
    assert (one.text, one.numbers, one.reasons, one.details) == (WRONG, (1,), ("number",), ("850 mg",))
    references = next(event for event in events if isinstance(event, ReferencesReady))
    assert events.index(checked) < events.index(references) == len(events) - 2
    assert ended(events).outcome.kind == "completed"


async def test_an_answer_that_is_drained_has_its_unsupported_statements(redis_url: str) -> None:
    async with (
        ScriptedServer(turns(f"{WRONG} [1]")) as server,
        clinic(server, redis_url, [guideline_tool(passage(text=SOURCE))]) as agent,
    ):
        result = await agent.answer("How much metformin?")
    assert [one.text for one in result.unsupported] == [WRONG]


async def test_a_check_that_breaks_leaves_the_answer_as_it_is(redis_url: str) -> None:
    def broken(word: str) -> frozenset[str]:
        raise RuntimeError(word)

    unknown = "Start metformin at 500 mg once daily with insulin. [1]"
    events = await events_of(redis_url, unknown, statements=StatementCheck(ingredients=broken))
    assert checks(events) == []
    assert ended(events).outcome.kind == "completed"


async def test_nothing_is_reported_when_every_statement_is_found(redis_url: str) -> None:
    assert checks(await events_of(redis_url, f"{RIGHT} [1]")) == []


async def test_only_the_sentence_before_a_citation_is_checked(redis_url: str) -> None:
    events = await events_of(redis_url, f"I looked at 17 pages. {RIGHT} [1] Other drugs start at 3 mg.")
    assert checks(events) == []


@pytest.mark.parametrize(
    ("reply", "reasons", "verifier"),
    [
        (text_reply('{"verdicts": [{"statement": 0, "supported": false}]}'), ["model"], "second"),
        (text_reply('{"verdicts": [{"statement": 0, "supported": true}]}'), [], ""),
        (text_reply("I cannot say."), [], ""),
        ([Status(400)], [], ""),
    ],
    ids=["doubts", "agrees", "no JSON", "refuses"],
)
async def test_a_second_model_adds_its_doubts_and_its_failure_changes_nothing(
    redis_url: str, reply: ScriptedTurn, reasons: list[str], verifier: str
) -> None:
    async with ScriptedServer([reply]) as second:
        client = adapter(second)
        check = StatementCheck(verifier=StatementVerifier(client, "second"))
        events = await events_of(redis_url, f"{RIGHT} [1]", statements=check)
        await client.aclose()
    found = checks(events)
    assert [reason for event in found for one in event.unsupported for reason in one.reasons] == reasons
    assert [event.verifier for event in found] == ([verifier] if verifier else [])
    (request,) = second.requests
    assert request.json["model"] == "second"
    (asked,) = json.loads(request.json["input"][0]["content"][0]["text"])
    assert asked == {"statement": 0, "text": RIGHT, "passages": [SOURCE]}
    assert ended(events).outcome.kind == "completed"


async def test_the_shell_prints_what_was_not_found(redis_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    printer = Plain()
    for event in await events_of(redis_url, f"{WRONG} [1]"):
        printer.show("", event)
    assert f"Not found in its source [1]: “{WRONG}” (850 mg)" in capsys.readouterr().err


async def test_the_page_lists_what_was_not_found_under_the_answer(redis_url: str) -> None:
    events = await events_of(redis_url, f"{WRONG} [1]")
    started = next(event for event in events if isinstance(event, TurnStarted))
    end = AnswerEnd(TurnIds(started.turn_id, "thread", "run", datetime.now(UTC)))
    for event in events:
        end.see(event)
    element = end.element(ended(events).outcome, under="message")
    assert element["props"]["unsupported"] == [{"text": WRONG, "numbers": (1,), "details": ("850 mg",)}]
