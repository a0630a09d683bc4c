"""Which models users may name."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_app.settings import Settings


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "ASCLEPIUS_MODEL", "ASCLEPIUS_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_the_configured_model_alone_is_offered_unless_a_list_is_set() -> None:
    assert Settings().models == ("asclepius-extractive",)
    assert Settings(model={"api_key": "k", "model": "gpt-5"}).models == ("gpt-5",)


def test_a_list_follows_the_configured_model_and_names_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCLEPIUS_MODELS", "small, gpt-5 ,large,small,")
    assert Settings(model={"api_key": "k", "model": "gpt-5"}).models == ("gpt-5", "small", "large")


def test_the_demo_user_may_name_any_model_until_a_list_is_set() -> None:
    assert Settings().may_ask("anything")
    listed = Settings(model={"models": "small,large"})
    assert listed.may_ask("large")
    assert not listed.may_ask("anything")


def test_other_users_may_name_only_what_is_offered() -> None:
    settings = Settings(server={"auth": "header"})
    assert settings.may_ask("asclepius-extractive")
    assert not settings.may_ask("anything")
