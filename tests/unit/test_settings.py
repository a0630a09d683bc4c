"""Settings: read from the environment, documented, and refused where they would be unsafe."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from unittest.mock import Mock

import pytest
from cryptography.hazmat.primitives import serialization

from chat_app.cli.command_errors import file_problem
from chat_app.errors import ConfigurationError
from chat_app.interface.security.accounts import accounts_at
from chat_app.offline.__main__ import main
from chat_app.settings import SECTIONS, Settings, variable_name
from tests.support.certificates import server_certificate
from tests.support.settings_table import PAGE, settings_table


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for section in SECTIONS:
        for name in section.model_fields:
            monkeypatch.delenv(variable_name(section, name), raising=False)
    monkeypatch.delenv("OPENAI_MODEL", raising=False)


def test_every_setting_is_documented_with_its_default() -> None:
    assert settings_table() in PAGE.read_text("utf-8"), (
        "docs/settings.md is out of date: run `python -m tests.support.settings_table`"
    )


def test_every_setting_says_what_it_means() -> None:
    silent = [
        variable_name(section, name)
        for section in SECTIONS
        for name, field in section.model_fields.items()
        if not field.description
    ]
    assert silent == []


def test_no_two_settings_share_a_variable() -> None:
    names = [variable_name(section, name) for section in SECTIONS for name in section.model_fields]
    assert len(names) == len(set(names))


def test_nothing_set_means_the_offline_model_on_loopback_with_the_demo_user() -> None:
    settings = Settings()
    settings.check()
    assert settings.uses_offline_model
    assert (settings.server.host, settings.server.port, settings.server.auth) == ("127.0.0.1", 8000, "demo")
    assert settings.server.workers == 1


@pytest.mark.parametrize(
    ("variable", "value", "read"),
    [
        ("OPENAI_BASE_URL", "http://llm.example/v1", lambda s: s.model.base_url),
        ("MILVUS_URI", "http://milvus:19530", lambda s: s.storage.milvus_uri),
        ("ASCLEPIUS_MODEL", "gpt-5", lambda s: s.model.model),
        ("OPENAI_MODEL", "gpt-5", lambda s: s.model.model),
        ("ASCLEPIUS_HOST", "::1", lambda s: s.server.host),
    ],
)
def test_the_environment_sets_it(variable: str, value: str, read: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    assert read(Settings()) == value  # type: ignore[operator]


def test_a_key_or_a_base_url_switches_the_offline_model_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert not Settings().uses_offline_model


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert Settings().uses_offline_model


def test_a_dot_env_file_is_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("ASCLEPIUS_PORT=8123\n")
    assert Settings().server.port == 8123


def test_a_dot_env_file_that_is_not_utf_8_is_named_without_its_content(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"OPENAI_API_KEY=secret\xe9\n")
    with pytest.raises(ConfigurationError, match=r"\.env in the working directory is not encoded in UTF-8") as caught:
        Settings()
    assert "secret" not in str(caught.value)


def test_a_damaged_line_of_a_dot_env_file_is_named_once_without_its_content(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat_app.settings.environment._damaged_lines", set())
    (tmp_path / ".env").write_text('ASCLEPIUS_PORT=8123\nOPENAI_API_KEY="secret\nASCLEPIUS_MODEL=m\n')
    for _ in range(2):
        assert (Settings().server.port, Settings().model.model) == (8123, "m")
    (said,) = caplog.messages
    assert ".env" in said
    assert "line 2 " in said
    assert "secret" not in said


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "::"])
def test_the_demo_user_is_refused_beyond_loopback(host: str) -> None:
    """Row 40."""
    with pytest.raises(ConfigurationError, match="ASCLEPIUS_AUTH"):
        Settings(server={"host": host}).check()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_the_demo_user_is_fine_on_loopback(host: str) -> None:
    Settings(server={"host": host}).check()


def test_a_port_that_does_not_exist_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASCLEPIUS_PORT", "99999")
    with pytest.raises(ConfigurationError, match=r"^A setting is wrong. ASCLEPIUS_PORT must be less than .* 65535\.$"):
        Settings()
    assert main(["--port", "99999"]) == 2
    assert capsys.readouterr().err == "--port must be less than or equal to 65535.\n"


def test_a_data_directory_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = PermissionError(errno.EACCES, "Permission denied", "secret")
    settings = Settings(storage={"data_dir": tmp_path})
    monkeypatch.setattr(Path, "is_file", Mock(side_effect=refused))
    with pytest.raises(
        ConfigurationError, match=rf"{tmp_path} cannot be read \(Permission denied\): make it accessible"
    ):
        settings.check()
    monkeypatch.setattr(Path, "stat", Mock(side_effect=refused))
    with pytest.raises(ConfigurationError, match=r"users.json cannot be read \(Permission denied\)"):
        accounts_at(tmp_path).read()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EACCES, "No", "/x"), "asclepius: /x cannot be used (No): make it accessible to the user"),
        (OSError(errno.ENOSPC, "Full"), "asclepius: A file cannot be written (Full): free space there."),
        (OSError(errno.ENOENT, "Gone", "/x"), "asclepius: /x cannot be used (Gone): check the path."),
        (OSError("not about a file"), ""),
    ],
)
def test_a_file_that_a_command_cannot_use_is_named_with_what_to_do(error: OSError, said: str) -> None:
    assert file_problem(error).startswith(said)
    assert bool(file_problem(error)) is bool(said)


def test_password_login_without_users_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="ASCLEPIUS_USERS"):
        Settings(server={"auth": "password"}).check()


def test_a_secret_with_which_logins_could_be_forged_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="CHAINLIT_AUTH_SECRET") as caught:
        Settings(server={"auth_secret": "hunter2" * 4}).check()
    assert "hunter2" not in str(caught.value)
    Settings(server={"auth_secret": "x" * 32}).check()


def test_any_origin_is_refused() -> None:
    """Row 40."""
    with pytest.raises(ConfigurationError, match="ASCLEPIUS_ALLOWED_ORIGINS"):
        Settings(server={"allowed_origins": "*"}).check()


def test_a_trusted_proxy_that_is_no_address_is_refused() -> None:
    """Requests come from addresses, so a host name would never match."""
    with pytest.raises(ConfigurationError, match="ASCLEPIUS_TRUSTED_PROXIES"):
        Settings(server={"trusted_proxies": "10.0.0.0/8,proxy.internal"}).check()


@pytest.mark.parametrize(
    ("variable", "wrong"),
    [
        ("OPENAI_BASE_URL", "llm.secret:8080/v1"),
        ("OPENAI_BASE_URL", "http://"),
        ("MILVUS_URI", "/srv/secret.db"),
        ("MILVUS_URI", "http://secret:99999"),
        ("REDIS_URL", "secret:6379"),
        ("REDIS_URL", "unix://secret"),
        ("REDIS_URL", "redis://:secret@redis:port/0"),
    ],
)
def test_an_address_that_reaches_no_service_is_refused_without_repeating_it(
    variable: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, wrong)
    with pytest.raises(ConfigurationError, match=variable) as caught:
        Settings().check()
    assert "secret" not in str(caught.value)


def test_a_variable_that_no_setting_reads_is_named_with_the_one_it_resembles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("ASCLEPIUS_")]:
        monkeypatch.delenv(name)
    for name in ("ASCLEPIUS_METRIC_PORT", "ASCLEPIUS_OPENAI_API_KEY", "ASCLEPIUS_QWX", "asclepius_port"):
        monkeypatch.setenv(name, "9")
    monkeypatch.setenv("OPENAI_MODEL", "gpt-5")
    (tmp_path / ".env").write_text("ASCLEPIUS_MODLE=secret\nASCLEPIUS_MODELS=a\n")
    said = {warning.split()[0]: warning for warning in Settings.warnings()}
    assert said.keys() == {"ASCLEPIUS_METRIC_PORT", "ASCLEPIUS_OPENAI_API_KEY", "ASCLEPIUS_QWX", "ASCLEPIUS_MODLE"}
    assert "did you mean ASCLEPIUS_METRICS_PORT?" in said["ASCLEPIUS_METRIC_PORT"]
    assert "did you mean OPENAI_API_KEY?" in said["ASCLEPIUS_OPENAI_API_KEY"]
    assert "did you mean ASCLEPIUS_MODEL?" in said["ASCLEPIUS_MODLE"]
    assert "docs/settings.md" in said["ASCLEPIUS_QWX"]
    assert "secret" not in str(said)


@pytest.mark.parametrize("wrong", ["secret", "http://", "ftp://secret/v1"])
def test_embeddings_that_are_neither_a_server_nor_a_model_are_refused(wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="ASCLEPIUS_EMBEDDINGS") as caught:
        Settings(model={"embeddings": wrong}).check()
    assert "secret" not in str(caught.value)


def test_embeddings_of_a_server_and_of_a_directory_with_a_model_are_taken(tmp_path: Path) -> None:
    Settings(model={"embeddings": "http://llm.example/v1"}).check()
    (tmp_path / "model.onnx").touch()
    with pytest.raises(ConfigurationError, match=r"tokenizer\.json"):
        Settings(model={"embeddings": str(tmp_path)}).check()
    (tmp_path / "tokenizer.json").touch()
    Settings(model={"embeddings": str(tmp_path)}).check()


def test_a_wrong_value_names_its_variable_and_not_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCLEPIUS_PORT", "eighty-thousand")
    with pytest.raises(ConfigurationError) as caught:
        Settings()
    assert "ASCLEPIUS_PORT" in str(caught.value)
    assert "eighty" not in str(caught.value)


def test_secrets_do_not_show_in_a_representation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("REDIS_URL", "redis://:hunter2@redis/0")
    settings = Settings()
    assert "sk-secret" not in repr(settings.model)
    assert "hunter2" not in repr(settings.storage)


def with_tls(folder: Path, **more: str) -> Settings:
    """Settings of a server with https, whose files are in ``folder``."""
    given = {"tls_certificate": str(folder / "trusted.pem"), "tls_key": str(folder / "private.pem"), **more}
    return Settings(server={name: value for name, value in given.items() if value})


def test_a_certificate_with_its_key_is_taken(tmp_path: Path) -> None:
    server_certificate("localhost", tmp_path)
    settings = with_tls(tmp_path, public_url="https://localhost")
    settings.check()
    assert settings.server.scheme == "https"


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"tls_key": ""}, "set both"),
        ({"tls_certificate": ""}, "set both"),
        ({"public_url": "http://localhost"}, "ASCLEPIUS_PUBLIC_URL"),
        ({"tls_key": "missing.pem"}, "missing.pem cannot be read"),
        ({"tls_key": "other/private.pem"}, "belong together"),
        ({"tls_key": "locked.pem"}, "has a password"),
        ({"tls_certificate": "private.pem"}, "are no PEM files"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_certificate_that_cannot_be_used_is_a_sentence(wrong: dict[str, str], named: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    server_certificate("localhost", tmp_path / "other")
    server_certificate("localhost", tmp_path)
    key = serialization.load_pem_private_key((tmp_path / "private.pem").read_bytes(), None)
    encoded = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    (tmp_path / "locked.pem").write_bytes(
        key.private_bytes(*encoded, serialization.BestAvailableEncryption(b"password"))
    )
    with pytest.raises(ConfigurationError, match=named):
        with_tls(tmp_path, **wrong).check()


def test_a_section_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="modl"):
        Settings(modl={})
