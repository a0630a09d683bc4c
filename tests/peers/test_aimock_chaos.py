"""aimock's own faults, each on every request: one outcome, never a crash, never an answer passed off as whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_app.events import Notice
from tests.peers.model_script import ANSWERS
from tests.peers.servers import AimockServer, aimock
from tests.support.engine import clinic, consult, ended


@pytest.mark.parametrize("fault", ["--chaos-drop", "--chaos-malformed", "--chaos-disconnect", "--chaos-ratelimit"])
async def test_a_faulty_server_is_a_failed_turn(redis_url: str, tmp_path: Path, fault: str) -> None:
    with aimock(tmp_path, ANSWERS, fault, "1") as server:
        async with clinic(server.base_url, redis_url, max_retries=1) as agent:
            events = await consult(agent, "And in kidney disease?")
    assert (ended(events).outcome.kind, ended(events).answer) == ("failed", "")


async def test_a_busy_server_is_waited_for(redis_url: str, aimock_server: AimockServer) -> None:
    async with clinic(aimock_server.base_url, redis_url) as agent:
        events = await consult(agent, "Are you busy?")
    assert (ended(events).outcome.kind, ended(events).answer) == ("completed", "Now I have time.")
    [notice] = [event for event in events if isinstance(event, Notice)]
    assert notice.code == "waiting_for_provider"
    assert len(aimock_server.asked_about("busy")) == 2
