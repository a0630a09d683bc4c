"""The history in SQLite and PostgreSQL: whole turns, owners that stay, fast lists, errors without patient text."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from chainlit.types import Feedback, Pagination, ThreadFilter
from chainlit.user import User
from redis.asyncio import Redis
from sqlalchemy import event, text
from sqlalchemy.exc import SQLAlchemyError

from chat_app.audit import AuditLog
from chat_app.database.database_engine import database_url
from chat_app.errors import ConfigurationError, SessionStoreUnavailable
from chat_app.events import AgentEvent, Outcome, TextDelta, TurnEnded
from chat_app.interface.conversation.page_options import PageOptions
from chat_app.interface.conversation.uploads import Upload
from chat_app.interface.history.branches import MAIN
from chat_app.interface.history.history_layer import History, asking_user, without_messages
from chat_app.interface.keeping.page_question import PageQuestion
from chat_app.interface.keeping.turn_keeper import TurnKeeper
from chat_app.interface.rendering.turn_steps import unfinished_turns
from chat_app.interface.security.identity import NotOwner
from chat_app.interface.turns.live_turns import LiveTurns
from chat_app.sessions.redis_store import RedisSessionStore


@pytest.fixture
async def history(database: str) -> AsyncIterator[History]:
    store = History(database)
    await store.setup()
    await store.setup()
    yield store
    await store.close()


def step(thread: str, text: str, kind: str = "assistant_message", **more: Any) -> dict[str, Any]:
    return {
        "id": str(uuid4()),
        "threadId": thread,
        "name": "Asclepius",
        "type": kind,
        "output": text,
        "input": "",
        "createdAt": "2026-01-01T00:00:00.000Z",
        "metadata": {"a": [1, {"b": "ü"}]},
        "tags": ["x"],
        "autoCollapse": False,
        "showInput": False,
        **more,
    }


async def owned(history: History, user: str, text: str = "hello") -> str:
    thread = str(uuid4())
    await history.save_turn(thread, [step(thread, text)], [], owner=user, name=text)
    return thread


async def test_what_was_saved_comes_back_whole(history: History) -> None:
    thread = await owned(history, "ada")
    answer = step(thread, "Do:not\n\n| a |", isError=True)
    element = {
        "id": "e",
        "threadId": thread,
        "type": "custom",
        "name": "References",
        "display": "inline",
        "forId": answer["id"],
        "props": {"references": [{"number": 1}]},
    }
    await history.save_turn(thread, [answer], [element], {"conversation_id": "session_1"})
    found = await history.get_thread(thread)
    assert found is not None
    kept = next(s for s in found["steps"] if s["id"] == answer["id"])
    assert kept["output"] == "Do:not\n\n| a |"
    assert kept["metadata"] == {"a": [1, {"b": "ü"}]}
    assert kept["tags"] == ["x"]
    assert kept["isError"] is True
    assert found["elements"][0]["props"] == {"references": [{"number": 1}]}
    assert (await history.metadata_of(thread))["conversation_id"] == "session_1"


async def test_steps_of_one_time_come_back_below_what_contains_them(history: History) -> None:
    thread = await owned(history, "ada")
    kinds = ["user_message", "run", "llm", "tool", "undefined", "assistant_message"]
    written = [step(thread, "x", kind, createdAt="2026-01-01T00:00:01.000Z") for kind in kinds]
    await history.save_turn(thread, written[::-1], [])
    found = await history.get_thread(thread)
    assert found is not None
    assert [kept["type"] for kept in found["steps"][1:]] == kinds


async def test_compared_answers_come_back_below_their_run_in_the_order_of_the_columns(history: History) -> None:
    """Chainlit's page drops a step that it gets before the step that contains it."""
    thread = await owned(history, "ada")
    models = ["b", "c", "a"]
    question = PageQuestion("ada", thread, str(uuid4()), "How?", str(uuid4()), PageOptions(), models)

    async def sessions() -> RedisSessionStore:
        raise SessionStoreUnavailable

    keeper = TurnKeeper(history, LiveTurns(), AuditLog(), sessions, lambda: None)

    async def order() -> list[str]:
        found = await history.get_thread(thread)
        assert found is not None
        return [kept["name"] if kept["type"] == "llm" else kept["type"] for kept in found["steps"][1:]]

    async def said(model: str) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text=model)
        yield TurnEnded(outcome=Outcome(), answer=model)

    await keeper.begin(question)
    assert await order() == ["user_message", "run", *models]
    for model in reversed(models):
        assert await keeper.answer(question.turns[model], said(model)) == "stored"
        assert await order() == ["user_message", "run", *models]


async def test_a_question_whose_process_died_before_its_answer_began_is_marked(
    history: History, redis_url: str
) -> None:
    died, other = RedisSessionStore(redis_url), RedisSessionStore(redis_url)
    died.journal.writer = "another host|1|1"
    keepers = []
    for store in (died, other):

        async def sessions(store: RedisSessionStore = store) -> RedisSessionStore:
            return store

        keepers.append(TurnKeeper(history, LiveTurns(), AuditLog(), sessions, lambda store=store: store))
    thread = str(uuid4())
    question = PageQuestion("ada", thread, str(uuid4()), "How?", str(uuid4()), PageOptions(), ["a"])
    await keepers[0].begin(question)
    async with Redis.from_url(redis_url) as redis:
        await redis.delete("asclepius:writer:another host|1|1")
    await keepers[1].recover(thread)
    found = await history.get_thread(thread)
    assert found is not None
    assert unfinished_turns(found) == []
    assert found["elements"][0]["props"]["outcome"]["code"] == "server_stopped"
    await keepers[1].recover(thread)
    assert question.turns["a"].id not in await other.journal.open_turns()
    for store in (died, other):
        await store.aclose()


async def test_a_question_in_another_users_conversation_leaves_no_journal(history: History, redis_url: str) -> None:
    store = RedisSessionStore(redis_url)

    async def sessions() -> RedisSessionStore:
        return store

    keeper = TurnKeeper(history, LiveTurns(), AuditLog(), sessions, lambda: store)
    thread = await owned(history, "ada")
    question = PageQuestion("bob", thread, str(uuid4()), "How?", str(uuid4()), PageOptions(), ["a"])
    with pytest.raises(NotOwner):
        await keeper.begin(question)
    turn = question.turns["a"]
    assert turn.id not in await store.journal.open_turns()
    assert keeper.question_of(turn) is None
    await store.aclose()


async def test_a_conversation_is_named_by_its_question_or_by_its_files(history: History) -> None:
    async def sessions() -> RedisSessionStore:
        raise SessionStoreUnavailable

    keeper = TurnKeeper(history, LiveTurns(), AuditLog(), sessions, lambda: None)
    files = [Upload(name, Path(name)) for name in ("Sepsis.pdf", "Gout.pdf")]
    for asked, named in ((" ", "Sepsis.pdf, Gout.pdf"), ("What is new?", "What is new?")):
        thread = str(uuid4())
        question = PageQuestion("ada", thread, str(uuid4()), asked, str(uuid4()), PageOptions(), ["a"], uploads=files)
        question.shown = dict(question.step)
        await keeper.begin(question)
        found = await history.get_thread(thread)
        assert found is not None
        assert found["name"] == named


async def test_a_turn_is_written_whole_or_not_at_all(history: History) -> None:
    thread = await owned(history, "ada")
    broken = step(thread, "x") | {"name": None}
    with pytest.raises(SQLAlchemyError) as caught:
        await history.save_turn(thread, [step(thread, "PATIENT one"), broken | {"output": "PATIENT two"}], [])
    found = await history.get_thread(thread)
    assert found is not None
    assert len(found["steps"]) == 1
    assert "PATIENT" not in str(caught.value)


async def test_writers_at_once_lose_none_of_each_others_metadata(history: History) -> None:
    thread = await owned(history, "ada")
    await asyncio.gather(*(history.update_thread(thread, metadata={f"k{n}": n}) for n in range(20)))
    await history.save_turn(thread, [], [], {"conversation_id": "session_new"})
    await history.update_thread(thread, metadata={"conversation_id": "session_stale", "k0": None})
    assert await history.metadata_of(thread) == {f"k{n}": n for n in range(1, 20)} | {"conversation_id": "session_new"}
    await history.save_turn(thread, metadata={MAIN: None})
    assert "conversation_id" not in await history.metadata_of(thread)


async def test_an_owner_stays_whoever_names_the_thread_later(history: History) -> None:
    thread = await owned(history, "ada")
    eve = await history.create_user(User(identifier="eve"))
    assert eve is not None
    await history.update_thread(thread, name="mine now", user_id=eve.id)
    with pytest.raises(NotOwner):
        await history.save_turn(thread, [step(thread, "mine now")], [], owner="eve")
    assert await history.owner_of("thread", thread) == "ada"
    found = await history.get_thread(thread)
    assert found is not None
    assert len(found["steps"]) == 1


async def test_whose_a_conversation_is_can_be_read_without_its_messages(history: History) -> None:
    thread = await owned(history, "ada")
    token = without_messages.set(True)
    found, missing = await history.get_thread(thread), await history.get_thread("no-such-thread")
    without_messages.reset(token)
    assert found is not None
    assert (found["userIdentifier"], found["steps"], missing) == ("ada", [], None)
    whole = await history.get_thread(thread)
    assert whole is not None
    assert len(whole["steps"]) == 1


async def test_a_missing_and_anothers_thread_are_answered_alike(history: History) -> None:
    thread = await owned(history, "ada")
    token = asking_user.set("eve")
    answers = []
    for asked in (thread, "no-such-thread"):
        with pytest.raises(Exception, match="404") as caught:
            await history.get_thread_author(asked)
        answers.append(str(caught.value))
    asking_user.reset(token)
    assert answers[0] == answers[1]


async def test_lists_are_newest_first_in_pages_and_searched_in_answers(history: History) -> None:
    threads = [await owned(history, "ada", f"answer {n} with 50% of it_all") for n in range(5)]
    await owned(history, "eve", "answer of eve")
    ada = await history.get_user("ada")
    assert ada is not None
    first = await history.list_threads(Pagination(first=2), ThreadFilter(userId=ada.id))
    rest = await history.list_threads(Pagination(first=9, cursor=first.pageInfo.endCursor), ThreadFilter(userId=ada.id))
    listed = [entry["id"] for entry in (*first.data, *rest.data)]
    assert set(listed) == set(threads)
    assert len(listed) == 5
    assert first.pageInfo.hasNextPage
    assert not rest.pageInfo.hasNextPage

    async def found(words: str) -> int:
        return len((await history.list_threads(Pagination(first=9), ThreadFilter(userId=ada.id, search=words))).data)

    three = ThreadFilter(userId=ada.id, search="ANSWER 3")
    (hit,) = (await history.list_threads(Pagination(first=9), three)).data
    assert hit["name"] is not None
    assert re.fullmatch(r"(?:.+\n)?\d{4}-\d\d-\d\d · .*answer 3 with 50% of it_all.*", hit["name"])
    await owned(history, "ada", "Übelkeit unter Χάπι")
    assert [await found(words) for words in ("übelkeit", "ÜBELKEIT", "ΧΆΠΙ")] == [1, 1, 1]
    assert [await found(words) for words in ("ANSWER 3", "50%", "t_a", "%_%", "eve")] == [1, 5, 5, 0, 0]


async def test_a_hit_does_not_repeat_the_question_that_the_conversation_is_named_after(history: History) -> None:
    thread, question = str(uuid4()), "Quokka dose?"
    await history.save_turn(thread, [step(thread, question, "user_message")], [], owner="ada", name=question)
    ada = await history.get_user("ada")
    assert ada is not None

    async def found(words: str) -> str:
        (hit,) = (await history.list_threads(Pagination(first=9), ThreadFilter(userId=ada.id, search=words))).data
        return re.sub(r"\d{4}-\d\d-\d\d", "DAY", hit["name"] or "")

    assert await found("quokka") == f"{question}\nDAY"
    await history.save_turn(thread, [step(thread, "A quokka needs none.")], [])
    assert await found("quokka") == f"{question}\nDAY · A quokka needs none."
    await history.update_thread(thread, name="Marsupials")
    assert await found("dose") == f"Marsupials\nDAY · {question}"


async def test_a_list_of_long_conversations_does_not_load_them(history: History) -> None:
    for _ in range(20):
        thread = await owned(history, "ada")
        await history.save_turn(thread, [step(thread, "x" * 2000) for _ in range(100)], [])
    ada = await history.get_user("ada")
    assert ada is not None
    asked: list[str] = []
    event.listen(history.engine.sync_engine, "before_cursor_execute", lambda *about: asked.append(about[2]))
    page = await history.list_threads(Pagination(first=20), ThreadFilter(userId=ada.id))
    assert len(page.data) == 20
    assert all(entry["steps"] == [] for entry in page.data)
    [query] = asked
    assert "threads" in query
    assert "steps" not in query


async def test_an_answer_has_one_feedback_and_it_goes_with_the_conversation(history: History) -> None:
    thread = await owned(history, "ada")
    run = step(thread, "", "run")
    await history.save_turn(thread, [run], [])
    first = await history.upsert_feedback(Feedback(forId=run["id"], value=1))
    second = await history.upsert_feedback(Feedback(forId=run["id"], value=0, comment="dose missing"))
    assert first == second
    found = await history.get_thread(thread)
    assert found is not None
    kept = next(s for s in found["steps"] if s["id"] == run["id"])["feedback"]
    assert kept is not None
    assert (kept["value"], kept["comment"]) == (0, "dose missing")
    await history.delete_thread(thread)
    assert await history.owner_of("feedback", first) is None
    assert await history.get_thread(thread) is None
    with pytest.raises(NotOwner):
        await history.upsert_feedback(Feedback(forId=run["id"], value=1))


async def test_a_history_that_cannot_be_written_is_warned_of_once(
    history: History, caplog: pytest.LogCaptureFixture
) -> None:
    thread = await owned(history, "ada")
    for _ in range(3):
        await history.create_step(step(thread, "PATIENT") | {"name": None})  # type: ignore[arg-type]
    warnings = [record for record in caplog.records if "history cannot be written" in record.message]
    assert len(warnings) == 1
    assert "PATIENT" not in caplog.text


@pytest.mark.parametrize("character", ["\0", "\ud800"], ids=["a zero", "half a character"])
async def test_characters_that_a_database_cannot_keep_do_not_cost_the_answer(history: History, character: str) -> None:
    thread = await owned(history, "ada", f"a{character}b")
    answer = step(thread, f"Give 5{character} mg", metadata={"answer": f"Give 5{character} mg"})
    element = {
        "id": "e",
        "threadId": thread,
        "type": "custom",
        "name": "References",
        "forId": answer["id"],
        "props": {"plain": f"Give 5{character} mg"},
    }
    await history.save_turn(thread, [answer], [element], {"title": f"a{character}b"})
    found: Any = await history.get_thread(thread)
    kept = next(s for s in found["steps"] if s["id"] == answer["id"])
    shown = "Give 5\ufffd mg"
    assert (kept["output"], kept["metadata"]["answer"], found["elements"][0]["props"]["plain"]) == (shown,) * 3


async def test_servers_that_start_at_once_make_the_tables_once(database: str) -> None:
    servers = [History(database) for _ in range(4)]
    await asyncio.gather(*(server.setup() for server in servers))
    assert await owned(servers[0], "ada")
    for server in servers:
        await server.close()


async def test_a_server_connects_while_another_makes_the_tables(tmp_path: Path) -> None:
    file = tmp_path / "history.sqlite3"
    server = History(f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as another:
        another.execute("BEGIN IMMEDIATE")
        async with server.engine.connect() as connection:
            assert (await connection.execute(text("SELECT 1"))).scalar() == 1
    await server.close()


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("postgresql://a:b@db/x?sslmode=require", "postgresql+asyncpg://a:b@db/x?ssl=require"),
        ("postgres://db/x", "postgresql+asyncpg://db/x"),
        ("postgresql+asyncpg://db/x", "postgresql+asyncpg://db/x"),
        ("sqlite:////srv/history.sqlite3", "sqlite+aiosqlite:////srv/history.sqlite3"),
    ],
)
def test_a_database_is_named_as_its_other_clients_name_it(given: str, used: str) -> None:
    assert database_url(given).render_as_string(hide_password=False) == used


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("mysql://root:secret@db/x", "DATABASE_URL must begin with postgresql://"),
        ("secret", "DATABASE_URL must begin with postgresql://"),
        ("postgresql://db:secret/x", "The port in DATABASE_URL is no number"),
        ("sqlite:///", "DATABASE_URL names no file"),
        ("sqlite:///:memory:", "DATABASE_URL names no file"),
    ],
)
def test_another_database_is_refused_without_repeating_its_password(given: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        database_url(given)
    assert "secret" not in str(caught.value)
