"""Whole consultations over model servers of other projects, each with its own idea of the protocol.

aimock speaks the Responses API itself; the LiteLLM proxy is asked for a model that it reaches through chat completions,
and for one whose requests it hands on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from chat_app.agent.asclepius_agent import AsclepiusHealthcareAgent
from chat_app.events import AgentEvent, CitationAdded, Notice, ReferencesReady, TurnStarted
from tests.peers import model_script as script
from tests.peers.servers import BRIDGED, PASSED_ON, AimockServer, outputs, questions, said
from tests.support.engine import clinic, consult, ended, guideline_tool, names, text_of
from tools.function_tool import FunctionTool


@dataclass(frozen=True)
class Model:
    """A model behind one of the servers, and the aimock that plays it."""

    base_url: str
    name: str
    upstream: AimockServer

    @property
    def is_aimock(self) -> bool:
        return self.base_url == self.upstream.base_url


@pytest.fixture(params=["aimock", BRIDGED, PASSED_ON])
def model(request: pytest.FixtureRequest, aimock_server: AimockServer) -> Model:
    if request.param == "aimock":
        return Model(aimock_server.base_url, "gpt-test", aimock_server)
    return Model(request.getfixturevalue("proxy").base_url, request.param, aimock_server)


async def search_drug_database(drug_name: str) -> dict[str, str]:
    """Looks up a drug."""
    return {"generic_name": drug_name, "strength": "500 mg"}


@pytest.fixture
async def agent(model: Model, redis_url: str) -> AsyncIterator[AsclepiusHealthcareAgent]:
    tools = [guideline_tool(), FunctionTool(search_drug_database)]
    async with clinic(model.base_url, redis_url, tools) as opened:
        yield opened


async def ask(agent: AsclepiusHealthcareAgent, model: Model, message: str, **how: str) -> list[AgentEvent]:
    return await consult(agent, message, model=model.name, **how)


def conversation_of(events: list[AgentEvent]) -> str:
    assert isinstance(events[0], TurnStarted)
    return events[0].conversation_id


async def test_both_tools_are_called_and_the_answer_is_cited(agent: AsclepiusHealthcareAgent, model: Model) -> None:
    events = await ask(agent, model, "How much metformin?")
    end = ended(events)
    assert (end.outcome.kind, end.outcome.message) == ("completed", "")
    assert end.answer == text_of(events) == f"{script.FIRST}\n\n{script.FOUND.replace('[1]', '')}"
    assert names(events).count("agent.tool_call_start") == names(events).count("agent.tool_call_complete") == 2
    assert [event.passage.id for event in events if isinstance(event, CitationAdded)] == ["guide:1"]
    [references] = [event.references for event in events if isinstance(event, ReferencesReady)]
    assert references[0].quotes == ("Start metformin at 500 mg once daily with food.",)


async def test_tool_outputs_arrive_in_the_order_of_the_calls(agent: AsclepiusHealthcareAgent, model: Model) -> None:
    await ask(agent, model, "How much metformin, in order?")
    sent = outputs(model.upstream.asked_about("in order")[-1])
    assert ["Start metformin" in sent[0], '"strength":"500 mg"' in sent[1], len(sent)] == [True, True, 2]


async def test_a_follow_up_is_answered_with_the_conversation_in_view(
    agent: AsclepiusHealthcareAgent, model: Model
) -> None:
    first = await ask(agent, model, "How much metformin?")
    second = await ask(agent, model, "And in kidney disease?", conversation_id=conversation_of(first))
    assert (ended(second).outcome.kind, ended(second).answer) == ("completed", script.FOLLOWED)
    seen = model.upstream.asked_about("kidney disease")[-1]
    assert questions(seen) == ["How much metformin?", "And in kidney disease?"]
    assert "Do  not give it when the eGFR is < 30" in said(seen)


async def test_every_character_arrives_as_it_was_sent(agent: AsclepiusHealthcareAgent, model: Model) -> None:
    events = await ask(agent, model, "Answer oddly")
    assert ended(events).answer == text_of(events) == script.ODD
    assert ended(events).outcome.kind == "completed"


async def test_a_long_answer_is_whole(agent: AsclepiusHealthcareAgent, model: Model) -> None:
    events = await ask(agent, model, "Tell me at length")
    assert ended(events).answer == text_of(events) == script.LONG
    assert ended(events).outcome.kind == "completed"


async def test_a_models_thoughts_are_no_part_of_the_answer(agent: AsclepiusHealthcareAgent, model: Model) -> None:
    assert ended(await ask(agent, model, "Tell me how to think")).answer == "Yes."


@pytest.mark.parametrize("question", ["A refused request", "With a bad key"])
async def test_a_refusal_of_the_request_ends_the_turn_without_the_servers_words(
    agent: AsclepiusHealthcareAgent, model: Model, question: str
) -> None:
    events = await ask(agent, model, question)
    end = ended(events)
    assert (end.outcome.kind, end.answer) == ("failed", "")
    assert "Jane" not in end.outcome.message
    assert "sk-" not in end.outcome.message


async def test_after_a_failed_turn_the_conversation_goes_on(agent: AsclepiusHealthcareAgent, model: Model) -> None:
    first = await ask(agent, model, "A refused request")
    second = await ask(agent, model, "And in kidney disease?", conversation_id=conversation_of(first))
    assert (ended(second).outcome.kind, ended(second).answer) == ("completed", script.FOLLOWED)


async def test_an_answer_that_is_cut_off_is_never_shown_as_whole(agent: AsclepiusHealthcareAgent, model: Model) -> None:
    events = await ask(agent, model, "Be cut off")
    end = ended(events)
    assert end.outcome.kind in {"incomplete", "failed"}
    assert end.outcome.retryable
    assert script.CUT.startswith(end.answer)
    assert end.answer == text_of(events) != script.CUT


async def test_an_answer_at_its_length_limit_is_never_shown_as_whole(
    agent: AsclepiusHealthcareAgent, model: Model
) -> None:
    end = ended(await ask(agent, model, "It is too long"))
    assert (end.outcome.kind, end.answer) == ("incomplete", script.CUT)


async def test_a_server_that_is_down_is_a_failed_turn(agent: AsclepiusHealthcareAgent, model: Model) -> None:
    events = await ask(agent, model, "always down")
    assert ended(events).outcome.kind == "failed"
    assert ended(events).outcome.retryable
    assert {event.code for event in events if isinstance(event, Notice)} == {"waiting_for_provider"}
