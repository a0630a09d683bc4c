"""The small parts of the page: identity, passwords, uploads, options, export, starters, references, tool steps."""

from __future__ import annotations

import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chat_app.data_protection import kept_secret
from chat_app.errors import ConfigurationError
from chat_app.events import Reference
from chat_app.interface.api.thread_routes import conversation_markdown
from chat_app.interface.conversation.page_options import PageOptions, left_out, page_options, settings_panel
from chat_app.interface.conversation.uploads import Upload, check_upload, safe_name
from chat_app.interface.page.starters import starter_questions
from chat_app.interface.rendering.reference_cards import reference_list, where
from chat_app.interface.rendering.tool_steps import finished_name, step_content, step_name
from chat_app.interface.security.accounts import (
    account_warnings,
    api_keys_at,
    hash_password,
    parse_users,
    verify_password,
)
from chat_app.interface.security.identity import Identity, NotOwner, Unauthenticated, require_owner
from chat_app.interface.security.sign_in import Admission, SignIn
from chat_app.settings import Settings
from tools.drug_database.drug_tools import SEARCH
from tools.errors import SourceRejected
from tools.types import Function, FunctionOutput, Passage

HASH_OF_RIGHT = "scrypt$14$8$1$AAECAwQFBgcICQoLDA0ODw$g-Zv8WbPSVXvaeCYWQQUEI0xOwilPA4Y3dzE5YW90nQ"
"""Of the password ``right``, with the least work that is allowed."""


def identity(tmp_path: Path, **server: object) -> Identity:
    return Identity(Settings(storage={"data_dir": tmp_path}, server=server))


# -- identity ---------------------------------------------------------------------------------------------------------


def test_a_login_is_believed_only_with_this_servers_signature(tmp_path: Path) -> None:
    here, elsewhere = identity(tmp_path / "a"), identity(tmp_path / "b")
    assert here.from_token(here.issue_login("demo").token) == "demo"
    for token in (elsewhere.issue_login("demo").token, "", None, "x.y.z", here.issue_login("demo").token[:-2] + "xx"):
        with pytest.raises(Unauthenticated):
            here.from_token(token)


def test_the_secret_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    token = identity(tmp_path).issue_login("demo").token
    assert identity(tmp_path).from_token(token) == "demo"
    assert (tmp_path / "auth_secret").stat().st_mode & 0o077 == 0
    (tmp_path / "auth_secret").write_text("")
    assert identity(tmp_path).secret == identity(tmp_path).secret != ""


def test_two_that_ask_for_a_secret_at_once_get_the_same(tmp_path: Path) -> None:
    def make() -> str:
        time.sleep(0.1)
        return secrets.token_hex(8)

    with ThreadPoolExecutor() as pool:
        found = set(pool.map(lambda _: kept_secret(tmp_path / "secret", make), range(4)))
    assert found == {(tmp_path / "secret").read_text()}


def test_a_user_who_was_taken_out_of_the_settings_is_out(tmp_path: Path) -> None:
    hashed = hash_password("right")
    both = identity(tmp_path, auth="password", users=f"ada:{hashed},bob:{hashed}")
    token = both.issue_login("bob").token
    assert both.from_token(token) == "bob"
    with pytest.raises(Unauthenticated):
        identity(tmp_path, auth="password", users=f"ada:{hashed}").from_token(token)


async def test_a_file_without_users_is_logged_once_as_what_lets_nobody_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "users.json").write_text("{}")
    door = identity(tmp_path, auth="password")
    assert [await door.from_password(name, "right") for name in ("ada", "bob")] == [None, None]
    assert caplog.text.count("Nobody can sign in: ") == 1
    assert account_warnings(Settings(storage={"data_dir": tmp_path}, server={"auth": "password"})) == [
        f"Nobody can sign in: {tmp_path}/users.json holds no user. Run `asclepius users add NAME`."
    ]
    named = {"auth": "password", "users": f"ada:{HASH_OF_RIGHT}"}
    assert account_warnings(Settings(storage={"data_dir": tmp_path}, server=named)) == []
    assert await identity(tmp_path, **named).from_password("bob", "right") is None
    assert caplog.text.count("Nobody can sign in: ") == 1


async def test_only_the_right_password_signs_in(tmp_path: Path) -> None:
    door = identity(tmp_path, auth="password", users=f"ada:{HASH_OF_RIGHT}")
    assert await door.from_password("ada", "right") == "ada"
    assert await door.from_password("ada", "wrong") is None
    assert await door.from_password("eve", "right") is None
    assert door.from_headers({"x-forwarded-user": "ada"}) is None


async def test_the_proxys_header_is_taken_from_everybody_else(tmp_path: Path) -> None:
    async def none_ended() -> None:
        return None

    here = identity(tmp_path, auth="header", trusted_proxies="10.0.0.0/8,192.0.2.7")
    door = SignIn(here, api_keys_at(tmp_path), none_ended)
    request = {"path": "/", "headers": [(b"x-forwarded-user", b"ada"), (b"accept", b"*/*")]}
    for peer in ("10.1.2.3", "192.0.2.7"):
        admission = await door.admit(request, peer)
        assert admission.login is not None
        assert admission.headers[:2] == request["headers"]
    for stranger in ("192.0.2.8", "127.0.0.1", None, "nonsense"):
        assert await door.admit(request, stranger) == Admission([(b"accept", b"*/*")])
        as_sent = {**request, "headers": [(b"X-Forwarded-User", b"ada"), (b"Accept", b"*/*")]}
        assert await door.admit(as_sent, stranger) == Admission([(b"accept", b"*/*")])


async def test_a_cookie_signs_in_whatever_the_case_of_its_header(tmp_path: Path) -> None:
    async def none_ended() -> None:
        return None

    here = identity(tmp_path, auth="password", users=f"ada:{HASH_OF_RIGHT}")
    cookie = f"access_token={here.issue_login('ada').token}".encode()
    for name in (b"cookie", b"Cookie"):
        admission = await SignIn(here, api_keys_at(tmp_path), none_ended).admit(
            {"path": "/", "headers": [(name, cookie)]}, "127.0.0.1"
        )
        assert admission.login is not None
        assert admission.login.user == "ada"


@pytest.mark.parametrize(("user", "owner"), [(None, "ada"), ("ada", None), ("", ""), ("ada", "bob"), (None, None)])
def test_what_is_not_the_askers_is_not_there(user: str | None, owner: str | None) -> None:
    with pytest.raises(NotOwner):
        require_owner(user, owner)


def test_hashes_differ_for_equal_passwords_and_bad_hashes_match_nothing() -> None:
    assert hash_password("x") != hash_password("x")
    for hashed in ("", "scrypt", "scrypt$99$8$1$a$b", "md5$17$8$1$a$b", "scrypt$17$8$1$!$!"):
        assert verify_password("x", hashed) is False
    with pytest.raises(ConfigurationError, match="Entry 2"):
        parse_users("ada:scrypt$1$1$1$a$b,bob=plain")


# -- uploads ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("Sepsis 2024.pdf", "Sepsis 2024.pdf"),
        ("../../etc/passwd", "passwd.pdf"),
        ("..\\..\\x.pdf", "x.pdf"),
        ("", "guideline.pdf"),
        ("...", "guideline.pdf"),
        ("a\0b.pdf", "a_b.pdf"),
        ("x" * 300 + ".pdf", "x" * 120 + ".pdf"),
        ("C:\\x\\Leitlinie für Ärzte.PDF", "Leitlinie für Ärzte.pdf"),
    ],
)
def test_an_uploads_name_stays_in_its_folder(name: str, kept: str) -> None:
    assert safe_name(name) == kept


@pytest.mark.parametrize(("content", "reason"), [(b"", "empty"), (b"MZ....", "not a PDF"), (b"<html>%PD", "not a PDF")])
def test_what_is_no_pdf_is_refused_before_it_is_read(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "x.pdf"
    path.write_bytes(content)
    with pytest.raises(SourceRejected, match=reason):
        check_upload(Upload("x.pdf", path))


# -- options, starters, export ----------------------------------------------------------------------------------------


def test_options_that_are_not_valid_fall_back_one_by_one(tmp_path: Path) -> None:
    settings = Settings(storage={"data_dir": tmp_path}, model={"models": "m1,m2"})
    options = page_options({"guidelines": False, "length": "endless", "models": ["m2", "secret", "m1", "m2"], "x": 1})
    asked = options.consult_options(())
    assert (asked.use_clinical_guidelines, asked.use_drug_database) == (False, True)
    assert (asked.length, asked.language, asked.documents) == ("standard", "auto", ())
    assert options.asked_models(settings) == ("m2", "m1")
    assert page_options({"models": ["secret"]}).asked_models(settings) == (settings.default_model,)
    assert page_options({"models": "m2"}).asked_models(settings) == (settings.default_model,)
    shown = ["guidelines", "drugs", "length", "language", "models"]
    assert [entry["id"] for entry in settings_panel(settings, options, {})] == shown
    alone = Settings(storage={"data_dir": tmp_path}, model={"models": ""})
    assert "models" not in [entry["id"] for entry in settings_panel(alone, options, {})]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (PageOptions(), []),
        (PageOptions(guidelines=False, documents=("a",)), ["Guidelines were switched off for this question."]),
        (PageOptions(documents=("a",)), ["Searched only “Asthma in adults”."]),
        (
            PageOptions(documents=("a", "b"), drugs=False),
            [
                "Searched only 2 selected guidelines.",
                "The drug database was switched off for this question.",
            ],
        ),
    ],
)
def test_an_answer_says_which_sources_were_left_out(options: PageOptions, said: list[str]) -> None:
    assert left_out(options, "en", {"a": "Asthma in adults"}) == said
    assert all(
        german != english
        for german, english in zip(left_out(options, "de", {"a": "Asthma in adults"}), said, strict=True)
    )


def test_starters_speak_the_readers_language_and_ask_in_that_of_the_sources_when_answers_are_extracts() -> None:
    everything = ["hypertension", "blood pressure", "diabetes", "fibrillation", "asthma", "pneumonia", "kidney", "Gout"]
    for title in everything:
        english = starter_questions([title])
        german = starter_questions([title], "de")
        extracts = starter_questions([title], "de", extracts=True)
        assert [q.message for q in extracts] == [q.message for q in english]
        assert [q.label for q in extracts] == [q.label for q in german]
        for ours, theirs in zip(german, english, strict=True):
            assert ours.message != theirs.message
            assert ours.label != theirs.label or theirs.label == "Gout"


def test_starters_come_from_what_is_loaded() -> None:
    labels = [s.label for s in starter_questions(["Local sepsis bundle", "Asthma in adults", "Hypertension in adults"])]
    assert labels == [
        "ACE inhibitors: contraindications",
        "Asthma: preferred reliever",
        "Local sepsis bundle",
        "Metformin: formulations",
    ]
    assert [s.label for s in starter_questions([])] == ["Metformin: formulations"]
    assert starter_questions([], drugs=False) == []


def test_an_export_holds_questions_answers_and_how_each_ended() -> None:
    steps = [
        {"id": "q", "type": "user_message", "output": "Why?\nReally?"},
        {"id": "r", "type": "run", "output": ""},
        {
            "id": "a",
            "type": "assistant_message",
            "output": "escaped",
            "metadata": {
                "answer": "Because:x",
                "outcome": {"kind": "incomplete", "code": "stopped", "message": "Stopped."},
            },
        },
    ]
    text = conversation_markdown({"name": "Why?", "createdAt": "2026", "steps": steps, "elements": []})
    assert "> Why?\n> Really?" in text
    assert "Because:x" in text
    assert "**This answer is not complete.** You stopped this answer." in text


# -- references and steps ---------------------------------------------------------------------------------------------


def test_the_copied_answer_ends_in_the_references_in_vancouver_style() -> None:
    passage = Passage(id="p", kind="guideline", document_id="d", title="Asthma", text="x", issuer="GINA", page=14)
    assert reference_list([Reference(number=3, passage=passage)]) == "References\n3. GINA. Asthma. p. 14."
    assert reference_list([]) == ""


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ('{"drug_name": "metformin"}', "Drug database: metformin"),
        ("{}", "Drug database"),
        ("not json", "Drug database"),
        ("[" * 50_000, "Drug database"),
        ('{"drug_name": null, "drug_class": "ACE"}', "Drug database: ACE"),
    ],
)
def test_a_step_says_what_was_looked_up(arguments: str, name: str) -> None:
    assert step_name(Function(call_id="c", name="search_drug_database", arguments=arguments), SEARCH) == name


def test_a_finished_step_says_what_the_call_was_found_to_be_about() -> None:
    call = Function(call_id="c", name="search_drug_database", arguments='{"drug_name": "What is the dose of lithium?"}')
    output = FunctionOutput(name=call.name, input=call, output={}, subject="lithium", duration_ms=12)
    assert finished_name(output, SEARCH) == "Drug database: lithium · 12\u00a0ms"
    assert finished_name(output.model_copy(update={"subject": "x" * 100}), SEARCH).startswith(
        f"Drug database: {'x' * 71}…"
    )


def test_a_tool_nobody_named_is_shown_by_its_own_name() -> None:
    call = Function(call_id="c", name="get_weather", arguments='{"city": "Bern"}')
    output = FunctionOutput(name="get_weather", input=call, output={"rows": [{"a": 1, "b": "x|y"}]}, duration_ms=1500)
    assert finished_name(output) == "Get weather: Bern · 1.5\u00a0s"
    assert "| 1 | x\\|y |" in step_content(output)


def test_the_step_of_a_calculation_shows_inputs_with_units_and_no_ids() -> None:
    arguments = '{"age": {"value": 76.0, "unit": "years"}, "serum_creatinine": {"value": 1.2, "unit": "mg/dL"}}'
    call = Function(call_id="c", name="egfr", arguments=arguments)
    shown = step_content(
        FunctionOutput(name="egfr", input=call, output={"cite": "calculation:1", "valid_for": "adults"})
    )
    assert "| age | 76 years |" in shown
    assert "| serum creatinine | 1\\.2 mg\\/dL |" in shown
    assert "| valid for | adults |" in shown
    assert "calculation" not in shown


def test_a_card_says_in_which_sections_the_cited_words_stand_without_repeating_the_title() -> None:
    passage = Passage(id="p", kind="guideline", document_id="d", title="Asthma", text="…", section="Asthma › A", page=4)
    assert where(Reference(number=1, passage=passage)) == "A · page 4"
    cited = Reference(number=1, passage=passage, sections=("Asthma › B", "Asthma › C › D"))
    assert where(cited) == "B; C › D · page 4"
    named_alike = passage.model_copy(update={"section": "Asthmatic children"})
    assert where(Reference(number=1, passage=named_alike)) == "Asthmatic children · page 4"
    assert where(Reference(number=1, passage=passage.model_copy(update={"section": "Asthma"}))) == "page 4"
