"""Every setting of the app, as one typed tree read from the environment (and ``.env`` in the working directory).

A setting that has a conventional name keeps it; the others begin with ``ASCLEPIUS_``. ``Settings.check()`` refuses an
unsafe combination with a sentence that says what to set.
"""

from __future__ import annotations

import ipaddress
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from chat_app.errors import ConfigurationError
from chat_app.roles import Role

_CONFIG = SettingsConfigDict(
    env_prefix="ASCLEPIUS_",
    env_file=".env",
    env_ignore_empty=True,
    extra="ignore",
    frozen=True,
    populate_by_name=True,
    use_attribute_docstrings=True,
)


S = TypeVar("S", bound=BaseSettings)

OFFLINE_MODEL = "asclepius-extractive"


def comma_separated(value: object) -> object:
    """Split a text at its commas; return anything else unchanged."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def role_pairs(value: object) -> object:
    """Split ``name:role`` pairs at their commas and last colons; return anything but a text unchanged."""
    parts = comma_separated(value)
    return tuple(part.rpartition(":")[::2] for part in parts) if isinstance(parts, tuple) and parts != value else value


class ModelSettings(BaseSettings):
    """The model server and how it is asked."""

    model_config = _CONFIG

    api_key: SecretStr | None = Field(None, validation_alias="OPENAI_API_KEY")
    """Key of the model server. Without a key and a base URL the built-in offline model answers."""
    base_url: str | None = Field(None, validation_alias="OPENAI_BASE_URL")
    """Base URL of an OpenAI-compatible Responses server, such as http://llm.hospital.example/v1."""
    model: str = Field("gpt-4o-mini", validation_alias=AliasChoices("ASCLEPIUS_MODEL", "OPENAI_MODEL"))
    """Model that is asked; the offline model answers to any name."""
    models: Annotated[tuple[str, ...], NoDecode] = ()
    """Models, separated by commas, that users may choose from and compare. Unset: the model above; the demo user may
    name any."""
    max_steps: int = Field(5, ge=1, le=20)
    """Most responses per question; the last one is asked for without tools."""
    max_output_tokens: int | None = Field(None, ge=16)
    """Upper bound of an answer's length in tokens; unset leaves it to the server."""
    idle_timeout: float = Field(60.0, gt=0)
    """Seconds without an event before a stream counts as stalled."""
    total_timeout: float = Field(600.0, gt=0)
    """Seconds that one response may take in all."""
    http_client: Literal["aiohttp", "httpx"] = "aiohttp"
    """What carries requests to the model server; httpx costs about twice the processor time for each token."""
    max_retries: int = Field(2, ge=0, le=10)
    """Retries of a request that failed, or whose connection broke, before the first word of its answer."""
    background: bool = False
    """Ask for background responses: an answer whose connection breaks or falls silent is picked up where it stopped.
    The server must store responses to do so."""
    guideline_search: Literal["auto", "hosted", "tool"] = "auto"
    """How guidelines are searched. tool: by the app's own index, here. hosted: by the model server's file search; all
    guidelines are uploaded to it and kept in step. auto: by that file search once `asclepius guidelines sync` has
    uploaded the guidelines, and else here; auto uploads nothing by itself."""
    embeddings: str | None = None
    """Search guidelines by meaning, too: base URL of a server with /v1/embeddings, which then gets the words of every
    guideline, dropped file and question, or a directory with model.onnx and tokenizer.json. Then `asclepius guidelines
    reindex`."""
    embeddings_model: str = ""
    """Model that the embeddings server is asked for."""
    embeddings_key: SecretStr | None = None
    """Key of the embeddings server, when it asks for one."""
    verifier_model: str | None = None
    """Model of the same server that also checks every cited statement against its passage. Unset: figures, units,
    negations and names are compared without a model."""
    tools: Annotated[tuple[str, ...], NoDecode] = ()
    """Further tools that the model may call, as `module:attribute`, separated by commas. Packages can also register
    tools as entry points in the group `asclepius.tools`. They run inside the app: name only code that you trust."""
    mcp_servers: Path | None = None
    """JSON file of MCP servers whose tools the model may call. They get what the model passes to them."""
    chaining: Literal["auto", "replay"] = "auto"
    """auto: conversations chain at the server, and are sent again where it cannot. replay: sent in full every time, for
    servers that ignore previous_response_id."""

    @property
    def local_embeddings(self) -> Path | None:
        """The directory of the local embedding model; None for a server's URL."""
        named = self.embeddings
        return None if named is None or named.startswith(("http://", "https://")) else Path(named).absolute()

    @field_validator("models", "tools", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return comma_separated(value)


class StorageSettings(BaseSettings):
    """Where things are kept. An unset URL means: the app starts that service itself, in the data directory."""

    model_config = _CONFIG

    data_dir: Path = Path(".asclepius")
    """Directory for everything the app keeps: index, sessions, history, guideline files."""
    milvus_uri: str | None = Field(None, validation_alias="MILVUS_URI")
    """A Milvus server, such as http://milvus:19530."""
    milvus_token: SecretStr | None = Field(None, validation_alias="MILVUS_TOKEN")
    """Token of that Milvus server, when it asks for one."""
    redis_url: SecretStr | None = Field(None, validation_alias="REDIS_URL")
    """A Redis server, such as redis://redis:6379/0."""
    database_url: SecretStr | None = Field(None, validation_alias="DATABASE_URL")
    """Database of history and feedback, such as postgresql://user:password@db/asclepius; it must exist, and its driver
    is the extra `postgres`. The tables are made at the first start."""
    session_ttl: int = Field(86_400, ge=60)
    """Seconds after the last question for which a conversation can go on."""

    @field_validator("data_dir")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()


class ServerSettings(BaseSettings):
    """The page's address and who may use it."""

    model_config = _CONFIG

    host: str = "127.0.0.1"
    """Address the page listens on."""
    port: int = Field(8000, ge=0, le=65_535)
    """Port the page listens on; 0 takes a free one."""
    root_path: Annotated[str, Field(pattern=r"^(/[\w.-]+)*$")] = ""
    """Path below which a proxy publishes the page, the API and the sockets, such as /asclepius. The proxy may strip it
    or pass it on."""
    auth: Literal["demo", "password", "header", "oidc"] = "demo"
    """Who may use the page: one demo user, users with a password, the user a proxy names in a header, or the users of
    an OpenID Connect provider."""
    auth_header: str = "X-Forwarded-User"
    """Header in which a trusted proxy names the user (with auth=header)."""
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = ("127.0.0.1", "::1")
    """Addresses, separated by commas, whose auth header is believed."""
    users: SecretStr | None = None
    """With auth=password, besides those of `asclepius users add`: name:hash pairs separated by commas, each made by
    `asclepius hash-password`."""
    roles: Annotated[tuple[tuple[str, Role], ...], NoDecode] = ()
    """Roles of users, besides those of `asclepius users add` and of the provider's groups: name:role pairs separated by
    commas. A role is reader, uploader, auditor or administrator."""
    public_url: str | None = None
    """Address under which browsers reach the page, such as https://asclepius.hospital.example. With https, cookies are
    sent over https only, and browsers are told to use nothing else."""
    auth_secret: SecretStr | None = Field(None, validation_alias="CHAINLIT_AUTH_SECRET")
    """Secret that signs logins. Unset: one is made and kept in the data directory."""
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = ()
    """Further web origins, separated by commas, that may connect; the page's own always may."""
    uploaders: Annotated[tuple[str, ...], NoDecode] = ()
    """Users, separated by commas, who may add a guideline to the library for everybody by dropping it into the chat.
    `*` lets every user, `-` nobody. Unset: the demo user alone. What others drop is searched in their conversation
    alone."""
    emergency_notice: str | None = None
    """Text shown first for a question that tells of an overdose, self-harm or another danger to life, with the numbers
    to call. Unset: a text with common emergency numbers, in English or German. `off`: none, and no question is treated
    as an emergency."""
    max_message_length: int = Field(20_000, ge=100)
    """Longest question in characters."""
    questions_per_minute: int = Field(60, ge=1)
    """Questions that one user may ask in a minute, in each process; each model of a comparison counts."""
    concurrent_turns: int = Field(10, ge=1)
    """Questions of one user that may be answered at the same time, in each process."""
    cds_issuers: Annotated[tuple[str, ...], NoDecode] = ()
    """Record systems that may call the CDS Hooks services, separated by commas, each as `issuer=keys`: the issuer that
    its tokens name, and the https address or the file of its public keys (a JWK Set). Unset: the services are off."""
    cds_open: bool = False
    """Answer CDS Hooks requests without a token, whoever sends them: for a trial alone."""
    drain_seconds: float = Field(0.0, ge=0, le=3600)
    """Seconds that running answers may take to end after SIGTERM. Meanwhile /readyz answers 503 and new questions are
    refused. Answers that are not finished by then end marked as incomplete."""

    @field_validator("public_url")
    @classmethod
    def _origin(cls, value: str | None) -> str | None:
        return None if value is None else value.rstrip("/")

    @field_validator("trusted_proxies", "allowed_origins", "uploaders", "cds_issuers", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return comma_separated(value)

    @property
    def cds_clients(self) -> dict[str, str]:
        """The places of the public keys of record systems, by issuer."""
        return {issuer: keys for issuer, _, keys in (one.rpartition("=") for one in self.cds_issuers)}

    @field_validator("roles", mode="before")
    @classmethod
    def _pairs(cls, value: object) -> object:
        return role_pairs(value)

    def may_upload(self, user: str | None) -> bool:
        """Whether ``user`` may add a guideline for everybody; None is nobody who is signed in."""
        if user is None:
            return False
        if not self.uploaders:
            return self.auth == "demo"
        return "*" in self.uploaders or user in self.uploaders


class OidcSettings(BaseSettings):
    """The OpenID Connect provider, with auth=oidc."""

    model_config = _CONFIG

    oidc_issuer: str | None = None
    """Issuer of the provider, such as https://login.hospital.example/realms/clinic; its discovery document is read from
    /.well-known/openid-configuration below it."""
    oidc_client_id: str = ""
    """Id under which the app is registered at the provider."""
    oidc_client_secret: SecretStr | None = None
    """Secret of that client. Unset: a public client."""
    oidc_scopes: str = "openid profile email"
    """Scopes that are asked for, separated by spaces."""
    oidc_user_claim: str = "sub"
    """Claim that names the user. Use one that the provider keeps unique and that users cannot change."""
    oidc_groups_claim: str = "groups"
    """Claim that lists the user's groups."""
    oidc_roles: Annotated[tuple[tuple[str, Role], ...], NoDecode] = ()
    """Roles of groups: group:role pairs separated by commas. Then only members of these groups may log in; `*:reader`
    lets everyone in. Unset: everyone at the provider is a reader."""
    oidc_prompt: Literal["login", "select_account"] | None = None
    """What the provider asks at each sign-in. login: the password again, for shared workstations."""

    @field_validator("oidc_roles", mode="before")
    @classmethod
    def _pairs(cls, value: object) -> object:
        return role_pairs(value)


class OfflineSettings(BaseSettings):
    """The built-in offline model server."""

    model_config = _CONFIG

    offline_key: SecretStr | None = None
    """Key that the offline server requires. Unset: the app makes one at each start; `asclepius offline-server` accepts
    any on loopback."""
    load_demo: bool = True
    """Load the demonstration guidelines and drugs on first start."""


class DiagnosticsSettings(BaseSettings):
    """Logs and traces."""

    model_config = _CONFIG

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """How much is logged. No level logs questions or answers."""
    log_format: Literal["text", "json"] = "text"
    """Lines of text, or one JSON object per line with the ids of the request, the turn and the conversation."""
    access_log: bool = False
    """Log every request with its route, status and duration, without its address or query."""
    metrics_port: int | None = Field(None, ge=0, le=65_535)
    """Port of the Prometheus metrics, at /metrics; 0 takes a free one. Unset: none. They contain no text and no ids."""
    metrics_host: str = "127.0.0.1"
    """Address that the metrics' port listens on. It asks for no password: keep it inside your network."""
    trace_dir: Path | None = None
    """Directory for traces: the history of the prompt, and a record of the model's calls. Unset: none are written."""
    trace_calls: Literal["failures", "all"] = "failures"
    """Which calls of the model are recorded in the trace directory."""
    trace_text: bool = False
    """Write questions, answers and tool results into traces and spans as they are; else only their lengths and hashes.
    With patients' data this makes the trace directory, and whatever collects the spans, as sensitive as the charts."""
    otel: bool = False
    """Send OpenTelemetry spans and timings of each turn to where the OTEL_EXPORTER_OTLP_... variables say."""

    @field_validator("trace_dir")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()


class GovernanceSettings(BaseSettings):
    """Audit log, retention and erasure."""

    model_config = _CONFIG

    audit: Literal["required", "lenient", "off"] = "required"
    """required: an action that cannot be recorded is refused. lenient: it is carried out and logged. off: no audit
    log. Entries wait in the data directory while the database is down."""
    audit_text: bool = False
    """Keep the text of questions in the audit log."""
    audit_file: Path | None = None
    """File that also gets every audit entry, as a line of JSON."""
    audit_syslog: str | None = None
    """Syslog that also gets every audit entry: the path of its socket, or host:port (UDP)."""
    audit_retention_days: int | None = Field(None, ge=1)
    """Days after which audit entries are deleted; unset keeps them."""
    retention_days: int | None = Field(None, ge=1)
    """Days after their last use for which conversations, with their files and feedback, are kept; unset keeps them."""


class Settings:
    """The tree: ``model``, ``storage``, ``server``, ``oidc``, ``offline``, ``diagnostics``, ``governance``.

    Values given in the constructor win over the environment:
    ``Settings(model={"model": "gpt-5"}, storage={"data_dir": "/srv/asclepius"})``.
    Raises ``ConfigurationError`` that names each variable that is wrong, never its value.
    """

    def __init__(
        self,
        *,
        model: dict[str, Any] | None = None,
        storage: dict[str, Any] | None = None,
        server: dict[str, Any] | None = None,
        oidc: dict[str, Any] | None = None,
        offline: dict[str, Any] | None = None,
        diagnostics: dict[str, Any] | None = None,
        governance: dict[str, Any] | None = None,
    ) -> None:
        self.model = _load(ModelSettings, model)
        self.storage = _load(StorageSettings, storage)
        self.server = _load(ServerSettings, server)
        self.oidc = _load(OidcSettings, oidc)
        self.offline = _load(OfflineSettings, offline)
        self.diagnostics = _load(DiagnosticsSettings, diagnostics)
        self.governance = _load(GovernanceSettings, governance)

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

    def check(self) -> None:
        """Raise ``ConfigurationError`` for a combination of settings that is unsafe or cannot work."""
        server = self.server
        if server.auth == "demo" and not is_loopback(server.host):
            raise ConfigurationError(
                f"ASCLEPIUS_HOST={server.host} would let anyone on the network in as the demo user. "
                "Set ASCLEPIUS_AUTH=password (and run `asclepius users add`), header or oidc, "
                "or listen on 127.0.0.1."
            )
        has_users = server.users is not None or (self.storage.data_dir / "users.json").is_file()
        if server.auth == "password" and not has_users:
            raise ConfigurationError(
                "ASCLEPIUS_AUTH=password needs users: run `asclepius users add NAME`, or set ASCLEPIUS_USERS."
            )
        if server.public_url is not None and not server.public_url.startswith(("http://", "https://")):
            raise ConfigurationError("ASCLEPIUS_PUBLIC_URL must begin with http:// or https://.")
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
        if self.model.base_url is not None and not self.model.base_url.startswith(("http://", "https://")):
            raise ConfigurationError("OPENAI_BASE_URL must begin with http:// or https://.")

    def _check_oidc(self) -> None:
        issuer = urlsplit(self.oidc.oidc_issuer or "")
        if issuer.scheme != "https" and not (issuer.scheme == "http" and is_loopback(issuer.hostname or "")):
            raise ConfigurationError("ASCLEPIUS_AUTH=oidc needs ASCLEPIUS_OIDC_ISSUER, which begins with https://.")
        if not self.oidc.oidc_client_id:
            raise ConfigurationError("ASCLEPIUS_AUTH=oidc needs ASCLEPIUS_OIDC_CLIENT_ID.")
        if self.server.public_url is None and not is_loopback(self.server.host):
            raise ConfigurationError("ASCLEPIUS_AUTH=oidc needs ASCLEPIUS_PUBLIC_URL, to which the provider returns.")


def _load(kind: type[S], values: dict[str, Any] | None) -> S:
    try:
        return kind(**(values or {}))
    except ValidationError as error:
        problems = "; ".join(
            f"{variable_name(kind, str(e['loc'][0]))}: {e['msg']}" for e in error.errors(include_input=False)
        )
        raise ConfigurationError(f"A setting is wrong. {problems}.") from None


def variable_name(kind: type[BaseSettings], field: str) -> str:
    """Return the environment variable that sets ``field`` of ``kind``."""
    info = kind.model_fields.get(field)
    alias = info.validation_alias if info else None
    if isinstance(alias, AliasChoices):
        return str(alias.choices[0])
    if isinstance(alias, str):
        return alias
    return field if info is None else f"ASCLEPIUS_{field}".upper()


SECTIONS: tuple[type[BaseSettings], ...] = (
    ModelSettings,
    StorageSettings,
    ServerSettings,
    OidcSettings,
    OfflineSettings,
    DiagnosticsSettings,
    GovernanceSettings,
)


def _is_key_place(issuer: str, keys: str) -> bool:
    """Return whether nobody on the network can replace the keys of ``issuer``."""
    local = keys.startswith("http://") and is_loopback(urlsplit(keys).hostname or "")
    return bool(issuer) and (keys.startswith(("https://", "/")) or local)


def is_loopback(host: str) -> bool:
    """Return whether ``host`` can be reached only from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
