"""The engine against servers of other projects, run for real; ``tests.support.real_servers`` installs them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chat_app.events import CitationAdded, Notice, TurnStarted
from tests.support import real_servers
from tests.support.engine import clinic, consult, ended, guideline_tool, names, passage, text_of
from tools.function_tool import FunctionTool

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(not real_servers.AIMOCK.exists(), reason="aimock is not installed"),
]
PLAIN = "Two words, one é and 😀.\n\n- And a list\n- of two   items.\n"
FIXTURES: list[object] = [
    {"match": {"userMessage": "and then"}, "response": {"content": "Then it is raised."}},
    {"match": {"hasToolResult": True}, "response": {"content": "Start metformin at 500 mg once daily with food. [1]"}},
    {"match": {"userMessage": "look"}, "response": {"content": "Let me look.", "toolCalls": [
        {"name": "search_clinical_guidelines", "arguments": '{"question": "metformin"}'},
        {"name": "search_drug_database", "arguments": '{"drug_name": "metformin"}'}]}},
    {"match": {"userMessage": "think"}, "response": {"content": "Done.", "reasoning": "Hm, let me see."}},
    {"match": {"userMessage": "plain"}, "response": {"content": PLAIN}},
]  # fmt: skip


async def search_drug_database(drug_name: str) -> dict[str, str]:
    """Look a drug up."""
    return {"found": drug_name}


TOOLS = [guideline_tool(passage()), FunctionTool(search_drug_database)]


@pytest.fixture(params=["aimock", "litellm passing on", "litellm bridging"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A base URL and its key."""
    with real_servers.aimock(tmp_path, FIXTURES) as upstream:
        if request.param == "aimock":
            yield upstream, "none"
            return
        if not real_servers.LITELLM.exists():
            pytest.skip("LiteLLM is not installed")
        provider = "deepseek" if request.param.endswith("bridging") else "hosted_vllm"
        with real_servers.litellm(tmp_path, upstream, provider) as base_url:
            yield base_url, real_servers.LITELLM_KEY


@pytest.mark.timeout(180)
async def test_text_tools_citations_and_a_follow_up_work(server: tuple[str, str], redis_url: str) -> None:
    base_url, key = server
    async with clinic(base_url, redis_url, TOOLS, key=key, model="m") as agent:
        plain = await consult(agent, "plain please")
        events = await consult(agent, "look it up")
        assert isinstance(events[0], TurnStarted)
        follow_up = await consult(agent, "and then?", conversation_id=events[0].conversation_id)
        thought = await consult(agent, "think hard")

    assert (ended(plain).outcome.kind, ended(plain).answer) == ("completed", PLAIN)
    assert (ended(events).outcome.kind, text_of(events)) == (
        "completed", "Let me look.\n\nStart metformin at 500 mg once daily with food. ",
    )
    assert names(events).count("agent.tool_call_complete") == 2
    assert [event.passage.id for event in events if isinstance(event, CitationAdded)] == ["guide:1"]
    assert ended(follow_up).answer == "Then it is raised."
    assert {event.code for event in (*events, *follow_up) if isinstance(event, Notice)} <= {"transcript_replayed"}
    assert ended(thought).answer == "Done."


@pytest.mark.timeout(120)
@pytest.mark.parametrize("chaos", ["--chaos-disconnect", "--chaos-malformed", "--chaos-drop", "--chaos-ratelimit"])
async def test_whatever_aimock_breaks_ends_in_an_outcome(chaos: str, redis_url: str, tmp_path: Path) -> None:
    with real_servers.aimock(tmp_path, FIXTURES, chaos, "1.0") as base_url:
        async with clinic(base_url, redis_url, TOOLS, model="m", max_retries=1) as agent:
            end = ended(await consult(agent, "plain please"))
    assert end.outcome.kind in {"failed", "incomplete"}
    assert end.outcome.message
