"""A question's whole way: a real Redis, a Responses server on a real socket, tools, citations, follow-ups."""

from __future__ import annotations

from typing import Any

import pytest

from chat_app.errors import InputRejected
from chat_app.events import CitationAdded, Notice, ReferencesReady, TurnStarted
from tests.support.engine import (
    chained,
    clinic,
    consult,
    ended,
    guideline_tool,
    names,
    outputs_sent,
    passage,
    text_of,
)
from tests.support.scripted_server import ScriptedServer, ScriptedTurn, calls_reply, text_reply
from tools.function_tool import FunctionTool

ASK = ("call_1", "search_clinical_guidelines", '{"question": "metformin"}')


async def test_a_question_is_answered_from_a_tool_with_citations_that_can_be_checked(redis_url: str) -> None:
    found = passage(text="Start metformin at 500 mg once daily with food. Do not use it when eGFR is below 30.")
    turns: list[ScriptedTurn] = [
        calls_reply(ASK, response_id="resp_1"),
        chained(
            text_reply(
                "Start metformin at 500 mg once", " daily with food. [", "1", "]\n\nTake care.", response_id="resp_2"
            )
        ),
    ]
    async with ScriptedServer(turns) as server, clinic(server, redis_url, [guideline_tool(found)]) as agent:
        events = await consult(agent)

    assert isinstance(events[0], TurnStarted)
    end = ended(events)
    assert end.outcome.kind == "completed"
    assert end.answer == text_of(events) == "Start metformin at 500 mg once daily with food. \n\nTake care."
    seen = names(events)
    assert seen[0] == "agent.tool_call_start"
    # The tool runs beside the rest of the response: either may end first.
    assert set(seen[1:3]) == {"agent.tool_call_complete", "agent.llm_response"}
    assert seen[3:] == [
        "agent.step_complete",
        "agent.llm_response",
        "agent.step_complete",
        "agent.final_output",
        "agent.execution_complete",
    ]
    cited = next(event for event in events if isinstance(event, CitationAdded))
    assert (cited.number, cited.passage, cited.marker) == (1, found, "[1]")
    references = next(event for event in events if isinstance(event, ReferencesReady))
    assert references.references[0].quotes == ("Start metformin at 500 mg once daily with food.",)
    assert events.index(references) == len(events) - 2
    sent = server.requests[1].json
    assert sent["previous_response_id"] == "resp_1"
    assert '"cite":"[1]"' in outputs_sent(server.requests[1])["call_1"]
    assert end.usage is not None
    assert end.usage.total_tokens == 30


async def test_a_follow_up_chains_and_keeps_the_numbers_of_what_was_retrieved(redis_url: str) -> None:
    first, second = passage("a:1", "The first thing that is known."), passage("b:1", "The second thing that is known.")
    tools = [guideline_tool(first, second)]
    turns: list[ScriptedTurn] = [
        calls_reply(ASK, response_id="resp_1"),
        chained(text_reply("Yes [2].", response_id="resp_2")),
        chained(text_reply("Again [1].", response_id="resp_3")),
    ]
    async with ScriptedServer(turns) as server, clinic(server, redis_url, tools) as agent:
        opened = (await consult(agent))[0]
        assert isinstance(opened, TurnStarted)
        events = await consult(agent, "And then?", conversation_id=opened.conversation_id)
        history = await agent.chats.store.messages(opened.conversation_id)

    assert server.requests[2].json["previous_response_id"] == "resp_2"
    assert [item["content"][0]["text"] for item in server.requests[2].json["input"]] == ["And then?"]
    assert [event.passage.id for event in events if isinstance(event, CitationAdded)] == ["a:1"]
    assert [event.number for event in events if isinstance(event, CitationAdded)] == [1]
    assert not any(isinstance(event, Notice) for event in events)
    assert [(m.role, m.content, m.citations) for m in history] == [
        ("user", "How much metformin?", ()),
        ("assistant", "Yes .", ("b:1",)),
        ("user", "And then?", ()),
        ("assistant", "Again .", ("a:1",)),
    ]


async def test_a_citation_at_the_very_end_is_numbered_and_recorded(redis_url: str) -> None:
    turns: list[ScriptedTurn] = [calls_reply(ASK), chained(text_reply("It is so [1]", response_id="resp_2"))]
    async with ScriptedServer(turns) as server, clinic(server, redis_url, [guideline_tool()]) as agent:
        events = await consult(agent)
        assert isinstance(events[0], TurnStarted)
        history = await agent.chats.store.messages(events[0].conversation_id)

    assert [event.number for event in events if isinstance(event, CitationAdded)] == [1]
    assert history[1].content == ended(events).answer == "It is so "
    assert history[1].citations == ("guide:1",)


@pytest.mark.parametrize(
    ("switches", "declared"),
    [
        ({}, ["search_clinical_guidelines", "search_drug_database", "get_drug_label", "bed_count"]),
        ({"use_drug_database": False}, ["search_clinical_guidelines", "bed_count"]),
        ({"use_clinical_guidelines": False}, ["search_drug_database", "get_drug_label", "bed_count"]),
        ({"use_drug_database": False, "use_clinical_guidelines": False}, ["bed_count"]),
        ({"enable_tool_execution": False}, []),
    ],
)
async def test_only_the_tools_that_were_switched_on_are_declared(
    redis_url: str, switches: dict[str, Any], declared: list[str]
) -> None:
    def plain(name: str) -> str:
        """Finds."""
        return name

    tools = [
        guideline_tool(),
        FunctionTool(plain, name="search_drug_database"),
        FunctionTool(plain, name="get_drug_label"),
        FunctionTool(plain, name="bed_count"),
    ]
    async with ScriptedServer([text_reply("Fine.")]) as server, clinic(server, redis_url, tools) as agent:
        assert ended(await consult(agent, **switches)).outcome.kind == "completed"
    assert [tool["name"] for tool in server.requests[0].json.get("tools", [])] == declared


@pytest.mark.parametrize(
    ("documents", "filters"),
    [
        ((), None),
        (("asthma",), {"type": "eq", "key": "guideline_id", "value": "asthma"}),
        (
            ("asthma", "copd"),
            {
                "type": "or",
                "filters": [
                    {"type": "eq", "key": "guideline_id", "value": "asthma"},
                    {"type": "eq", "key": "guideline_id", "value": "copd"},
                ],
            },
        ),
    ],
)
async def test_the_servers_own_search_is_kept_to_the_guidelines_that_were_named(
    redis_url: str, documents: tuple[str, ...], filters: dict[str, Any] | None
) -> None:
    async with ScriptedServer([text_reply("Fine.")]) as server, clinic(server, redis_url) as agent:
        assert ended(await consult(agent, vector_store_id="vs_1", documents=documents)).outcome.kind == "completed"
    (tool,) = server.requests[0].json["tools"]
    assert (tool["type"], tool["vector_store_ids"], tool.get("filters")) == ("file_search", ["vs_1"], filters)


async def test_the_model_is_told_the_language_and_that_only_some_guidelines_are_searched(redis_url: str) -> None:
    turns: list[ScriptedTurn] = [calls_reply(ASK), chained(text_reply("Ja.", response_id="resp_2"))]
    asked: list[tuple[str, ...]] = []

    async def search_clinical_guidelines(question: str, documents: tuple[str, ...] = ()) -> str:
        """Searches."""
        asked.append(documents)
        return question

    tool = FunctionTool(search_clinical_guidelines, hidden=["documents"])
    async with ScriptedServer(turns) as server, clinic(server, redis_url, [tool]) as agent:
        assert ended(await consult(agent, language="de", documents=("asthma", "copd"))).answer == "Ja."
    first = server.requests[0].json
    assert "Answer in German" in first["instructions"]
    assert "only the chosen ones were searched" in " ".join(first["instructions"].split())
    assert list(first["tools"][0]["parameters"]["properties"]) == ["question"]
    assert asked == [("asthma", "copd")]


async def test_the_standard_query_is_the_streamed_one_drained(redis_url: str) -> None:
    turns: list[ScriptedTurn] = [calls_reply(ASK), chained(text_reply("It is so [1]. And [9].", response_id="resp_2"))]
    async with ScriptedServer(turns) as server, clinic(server, redis_url, [guideline_tool()]) as agent:
        result = await agent.answer("Is it?")
    assert (result.answer, result.outcome.kind) == ("It is so . And .", "completed")
    assert [reference.passage.id for reference in result.references] == ["guide:1"]
    assert len(result.notices) == 1
    assert result.conversation_id.startswith("session_")


@pytest.mark.parametrize("message", ["", " \n ", "x" * 20_001, "half \ud83d"])
async def test_a_message_that_cannot_be_taken_is_refused_before_anything_is_sent(redis_url: str, message: str) -> None:
    async with ScriptedServer([]) as server, clinic(server, redis_url) as agent:
        with pytest.raises(InputRejected):
            await consult(agent, message)
    assert server.requests == []
