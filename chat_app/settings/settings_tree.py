"""The tree of all settings. ``Settings.check()`` refuses an unsafe combination and says what to set."""

import ssl
from functools import cached_property
from ipaddress import ip_network
from typing import Any, get_type_hints
from urllib.parse import urlsplit

from chat_app.errors import ConfigurationError
from chat_app.settings.environment import Section, load, unknown_variables
from chat_app.settings.model_settings import ModelSettings, OfflineSettings
from chat_app.settings.operation_settings import DiagnosticsSettings, GovernanceSettings, StorageSettings
from chat_app.settings.server_settings import OidcSettings, ServerSettings, is_loopback

OFFLINE_MODEL = "asclepius-extractive"
_LEAST_SECRET = 32
"""Bytes of a key for HS256; source: RFC 7518, section 3.2."""


class Settings:
    """The sections of the tree.

    Values given in the constructor win over the environment:
    ``Settings(model={"model": "gpt-5"}, storage={"data_dir": "/srv/asclepius"})``.
    Raises ``ConfigurationError`` that names each variable that is wrong, never its value.
    """

    model: ModelSettings
    storage: StorageSettings
    server: ServerSettings
    oidc: OidcSettings
    offline: OfflineSettings
    diagnostics: DiagnosticsSettings
    governance: GovernanceSettings

    def __init__(self, **sections: dict[str, Any]) -> None:
        if unknown := sections.keys() - _KINDS:
            raise TypeError(f"no such section: {', '.join(unknown)}")
        for name, kind in _KINDS.items():
            setattr(self, name, load(kind, sections.get(name)))

    @cached_property
    def uses_offline_model(self) -> bool:
        """Whether the built-in model answers."""
        return self.model.api_key is None and self.model.base_url is None

    @cached_property
    def default_model(self) -> str:
        """The model that is asked when none is named."""
        return OFFLINE_MODEL if self.uses_offline_model else self.model.model

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The models that users are offered, the default one first."""
        return tuple(dict.fromkeys((self.default_model, *self.model.models)))

    def may_ask(self, model: str) -> bool:
        """Return whether users may name ``model``; the demo user may name any unless a list is set."""
        return model in self.models or (self.server.auth == "demo" and not self.model.models)

    @staticmethod
    def warnings() -> list[str]:
        """Return a sentence for each variable of the environment and ``.env`` that is probably misspelt."""
        return unknown_variables(SECTIONS)

    def check(self) -> None:
        """Raise ``ConfigurationError`` for a combination of settings that is unsafe or cannot work."""
        server = self.server
        if server.auth == "demo" and not is_loopback(server.host):
            raise ConfigurationError(
                f"ASCLEPIUS_HOST={server.host} would let anyone on the network in as the demo user. "
                "Set ASCLEPIUS_AUTH=password (and run `asclepius users add`), header or oidc, "
                "or listen on 127.0.0.1."
            )
        try:
            has_users = server.users is not None or (self.storage.data_dir / "users.json").is_file()
        except OSError as error:
            raise ConfigurationError(
                f"The data directory {self.storage.data_dir} cannot be read ({error.strerror}): make it accessible to "
                "the user who runs Asclepius, or set ASCLEPIUS_DATA_DIR to another directory."
            ) from None
        if server.auth == "password" and not has_users:
            raise ConfigurationError(
                "ASCLEPIUS_AUTH=password needs users: run `asclepius users add NAME`, or set ASCLEPIUS_USERS."
            )
        if server.auth_secret is not None and len(server.auth_secret.get_secret_value().encode()) < _LEAST_SECRET:
            raise ConfigurationError(
                f"CHAINLIT_AUTH_SECRET is so short that logins could be forged: set at least {_LEAST_SECRET} random "
                "characters, such as those of `openssl rand -hex 32`, or leave it unset."
            )
        if not all(map(_is_network, server.trusted_proxies)):
            raise ConfigurationError(
                "ASCLEPIUS_TRUSTED_PROXIES must list addresses or networks, such as 10.0.0.5 or 10.0.0.0/8."
            )
        if server.public_url is not None and not server.public_url.startswith(("http://", "https://")):
            raise ConfigurationError("ASCLEPIUS_PUBLIC_URL must begin with http:// or https://.")
        if server.tls_certificate is not None or server.tls_key is not None:
            _check_tls(server)
        if server.cds_issuers and server.auth != "demo" and server.public_url is None:
            raise ConfigurationError("ASCLEPIUS_CDS_ISSUERS needs ASCLEPIUS_PUBLIC_URL, which the tokens must name.")
        if not all(_is_key_place(issuer, keys) for issuer, keys in server.cds_clients.items()):
            raise ConfigurationError(
                "ASCLEPIUS_CDS_ISSUERS must list `issuer=keys`, where keys is an https address or an absolute path."
            )
        if server.auth == "oidc":
            self._check_oidc()
        if "*" in server.allowed_origins:
            raise ConfigurationError("ASCLEPIUS_ALLOWED_ORIGINS must list origins; `*` would let any site in.")
        self._check_services()

    def _check_services(self) -> None:
        """Refuse the address of a service that nothing can be reached at. The messages do not contain it."""
        storage = self.storage
        redis = storage.redis_url.get_secret_value() if storage.redis_url else None
        if self.model.base_url is not None and not _is_address(self.model.base_url, "http", "https"):
            raise ConfigurationError("OPENAI_BASE_URL must begin with http:// or https:// and name a server.")
        if not _has_embeddings(self.model):
            raise ConfigurationError(
                "ASCLEPIUS_EMBEDDINGS must begin with http:// or https:// and name a server, or be a directory with "
                "model.onnx and tokenizer.json."
            )
        if storage.milvus_uri is not None and not _is_address(storage.milvus_uri, "http", "https", "tcp", "unix"):
            raise ConfigurationError("MILVUS_URI must begin with http:// or https:// and name a server.")
        if redis is not None and not _is_address(redis, "redis", "rediss", "unix"):
            raise ConfigurationError("REDIS_URL must begin with redis:// or rediss:// and name a server, or unix:///.")

    def _check_oidc(self) -> None:
        issuer = urlsplit(self.oidc.oidc_issuer or "")
        if issuer.scheme != "https" and not (issuer.scheme == "http" and is_loopback(issuer.hostname or "")):
            raise ConfigurationError("ASCLEPIUS_AUTH=oidc needs ASCLEPIUS_OIDC_ISSUER, which begins with https://.")
        if not self.oidc.oidc_client_id:
            raise ConfigurationError("ASCLEPIUS_AUTH=oidc needs ASCLEPIUS_OIDC_CLIENT_ID.")
        if self.server.public_url is None and not is_loopback(self.server.host):
            raise ConfigurationError("ASCLEPIUS_AUTH=oidc needs ASCLEPIUS_PUBLIC_URL, to which the provider returns.")


def _is_address(given: str, *schemes: str) -> bool:
    """Return whether ``given`` is a URL of one of these schemes, with a host or, for ``unix``, a path."""
    try:
        url = urlsplit(given)
        if url.scheme == "unix":
            return "unix" in schemes and bool(url.path) and not url.netloc
        return url.scheme in schemes and bool(url.hostname) and url.port != 0
    except ValueError:
        return False


def _has_embeddings(model: ModelSettings) -> bool:
    """Return whether the embeddings that ``model`` names can exist; true when it names none."""
    if (folder := model.local_embeddings) is not None:
        return all((folder / name).is_file() for name in ("model.onnx", "tokenizer.json"))
    return not model.embeddings or _is_address(model.embeddings, "http", "https")


def _is_network(given: str) -> bool:
    try:
        ip_network(given, strict=False)
    except ValueError:
        return False
    return True


def _check_tls(server: ServerSettings) -> None:
    if server.tls_certificate is None or server.tls_key is None:
        raise ConfigurationError("ASCLEPIUS_TLS_CERTIFICATE and ASCLEPIUS_TLS_KEY belong together: set both.")
    if server.public_url is not None and not server.public_url.startswith("https://"):
        raise ConfigurationError(
            "ASCLEPIUS_PUBLIC_URL must begin with https:// because ASCLEPIUS_TLS_CERTIFICATE is set."
        )
    try:
        for file in (server.tls_certificate, server.tls_key):
            file.open("rb").close()
        # Without this password OpenSSL would ask for one at the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(server.tls_certificate, server.tls_key, "")
    except OSError as error:
        read = "they are no PEM files, do not belong together, or the key has a password"
        why = read if isinstance(error, ssl.SSLError) else f"{error.filename} cannot be read ({error.strerror})"
        raise ConfigurationError(f"ASCLEPIUS_TLS_CERTIFICATE or ASCLEPIUS_TLS_KEY cannot be used: {why}.") from None


_KINDS: dict[str, type[Section]] = get_type_hints(Settings)
SECTIONS = tuple(_KINDS.values())


def _is_key_place(issuer: str, keys: str) -> bool:
    """Return whether nobody on the network can replace the keys of ``issuer``."""
    local = keys.startswith("http://") and is_loopback(urlsplit(keys).hostname or "")
    return bool(issuer) and (keys.startswith(("https://", "/")) or local)
