"""The administration page: its content, the roles that may open it, and the audit of its readers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tests.support.api_server import api
from tests.support.fake_agent import FakeAgent
from tests.support.waiting import until

QUESTION = "What are the contraindications for <b>ACE</b> inhibitors?"


async def test_an_administrator_sees_content_feedback_usage_and_the_audit_log_and_nobody_else_does(
    tmp_path: Path,
) -> None:
    began = datetime.now(UTC).date()
    async with api(FakeAgent(), tmp_path, roles="eve:administrator,otto:auditor") as served:
        async with served.client("ana") as ana:
            await ana.post("/api/v1/consult", json={"message": QUESTION, "stream": False})
            await until(lambda: not served.runtime.turns.of_owner("ana"), what="the stored answer")
            (thread,) = await served.runtime.history.threads_of("ana")
            stored = await served.runtime.history.get_thread(thread)
            assert stored is not None
            rated = (stored["elements"] or [])[0]["forId"]
            body = {"feedback": {"forId": rated, "value": 0, "comment": "dose missing"}}
            assert (await ana.put("/feedback", json=body)).status_code == 200
        async with served.client("eve") as eve:
            answers = {
                view: await eve.get(f"/administration/{view}") for view in ("content", "feedback", "usage", "audit")
            }
            german = await eve.get("/administration", headers={"accept-language": "de"})
            of_eve = (await eve.get("/administration/audit?actor=eve&action=export")).text
        refused = {}
        for user in ("ana", "otto", None):
            async with served.client(user) as other:
                for view in answers:
                    answer = await other.get(f"/administration/{view}")
                    refused[user] = answer.status_code
                    assert "<table" not in answer.text and "<article" not in answer.text
    assert {answer.status_code for answer in answers.values()} == {200}
    shown = {view: answer.text for view, answer in answers.items()}
    assert "2, 3, 5" in shown["content"] and "gout" in shown["content"]
    assert '<progress value="3" max="40"' in shown["content"] and "asthma.pdf" in shown["content"]
    assert "dose missing" in shown["feedback"] and "Not helpful" in shown["feedback"]
    assert "&lt;b&gt;ACE" in shown["feedback"] and "<b>ACE" not in shown["feedback"]
    row = "<td>{}</td><td>1</td><td>1</td><td>1</td><td>0</td><td>1</td>"
    assert row.format(began) in shown["usage"] or row.format(datetime.now(UTC).date()) in shown["usage"], "of its day"
    assert "<td>feedback</td>" in shown["audit"]
    assert of_eve.count("<td>export</td>") == 3, "feedback, the audit log, and this reading of it"
    assert "<td>feedback</td><td>" not in of_eve.replace("<td>export</td>", ""), "only entries of the wanted action"
    assert 'lang="de"' in german.text and "Rückmeldungen" in german.text
    assert answers["feedback"].headers["cache-control"] == "no-store"
    assert refused == {"ana": 403, "otto": 403, None: 401}
