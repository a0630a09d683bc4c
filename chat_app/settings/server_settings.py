"""Settings of the page's address, of those who may use it, and of the provider that signs them in."""

import ipaddress
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from chat_app.settings.environment import Names, RolePairs, Section


class ServerSettings(Section):
    """The page's address and who may use it."""

    host: str = "127.0.0.1"
    """Address the page listens on."""
    port: int = Field(8000, ge=0, le=65_535)
    """Port the page listens on; 0 takes a free one."""
    workers: int = Field(1, ge=1, le=64)
    """Processes that serve the page, at one port and with one set of built-in services."""
    root_path: Annotated[str, Field(pattern=r"^(/[\w.-]+)*$")] = ""
    """Path below which a proxy publishes the page, the API and the sockets, such as /asclepius. The proxy may strip it
    or pass it on."""
    tls_certificate: Path | None = None
    """PEM file of the certificate, followed by its chain, with which the app itself serves https. Unset: http, for this
    machine or behind a proxy."""
    tls_key: Path | None = None
    """PEM file of the certificate's key, without a password."""
    auth: Literal["demo", "password", "header", "oidc"] = "demo"
    """Who may use the page: one demo user, users with a password, the user a proxy names in a header, or the users of
    an OpenID Connect provider."""
    auth_header: str = "X-Forwarded-User"
    """Header in which a trusted proxy names the user (with auth=header)."""
    trusted_proxies: Names = ("127.0.0.1", "::1")
    """Addresses or networks, separated by commas, whose auth header is believed."""
    users: SecretStr | None = None
    """With auth=password, besides those of `asclepius users add`: name:hash pairs separated by commas, each made by
    `asclepius hash-password`."""
    roles: RolePairs = ()
    """Roles of users, besides those of `asclepius users add` and of the provider's groups: name:role pairs separated by
    commas. A role is reader, uploader, auditor or administrator."""
    public_url: Annotated[str, AfterValidator(lambda url: url.rstrip("/"))] | None = None
    """Address under which browsers reach the page, such as https://asclepius.hospital.example. With https, cookies are
    sent over https only, and browsers are told to use nothing else."""
    auth_secret: SecretStr | None = Field(None, validation_alias="CHAINLIT_AUTH_SECRET")
    """Secret that signs logins, of at least 32 characters. Unset: one is made and kept in the data directory."""
    allowed_origins: Names = ()
    """Further web origins, separated by commas, that may connect; the page's own always may."""
    uploaders: Names = ()
    """Users, separated by commas, who may add a guideline to the library for everybody by dropping it into the chat.
    `*` lets every user, `-` nobody. Unset: the demo user alone. What others drop is searched in their conversation
    alone."""
    emergency_notice: str | None = None
    """Text shown first for a question that tells of an overdose, self-harm or another danger to life, with the numbers
    to call. Unset: a text with common emergency numbers for the kind of emergency, in English, German or Spanish.
    `off`: none, and no question is treated as an emergency."""
    max_message_length: int = Field(20_000, ge=100)
    """Longest question in characters."""
    questions_per_minute: int = Field(60, ge=1)
    """Questions that one user may ask in a minute, in all processes; each model of a comparison counts."""
    concurrent_turns: int = Field(10, ge=1)
    """Questions of one user that may be answered at the same time, in all processes."""
    turns_at_once: int = Field(100, ge=1)
    """Questions of all users that are answered at the same time, in each process. Further ones wait in order, and their
    readers are told how many are ahead."""
    cds_issuers: Names = ()
    """Record systems that may call the CDS Hooks services, separated by commas, each as `issuer=keys`: the issuer that
    its tokens name, and the https address or the file of its public keys (a JWK Set). Unset: the services are off."""
    cds_open: bool = False
    """Answer CDS Hooks requests without a token, whoever sends them: for a trial alone."""
    drain_seconds: float = Field(0.0, ge=0, le=3600)
    """Seconds that running answers may take to end after SIGTERM. Meanwhile /readyz answers 503 and new questions are
    refused. Answers that are not finished by then end marked as incomplete."""

    @property
    def scheme(self) -> Literal["http", "https"]:
        """How the app itself is reached."""
        return "http" if self.tls_certificate is None else "https"

    @property
    def cds_clients(self) -> dict[str, str]:
        """The places of the public keys of record systems, by issuer."""
        return {issuer: keys for issuer, _, keys in (one.rpartition("=") for one in self.cds_issuers)}

    def may_upload(self, user: str) -> bool:
        """Return whether ``user`` may add a guideline for everybody."""
        if not self.uploaders:
            return self.auth == "demo"
        return "*" in self.uploaders or user in self.uploaders


class OidcSettings(Section):
    """The OpenID Connect provider, with auth=oidc."""

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
    oidc_roles: RolePairs = ()
    """Roles of groups: group:role pairs separated by commas. Then only members of these groups may log in; `*:reader`
    lets everyone in. Unset: everyone at the provider is a reader."""
    oidc_prompt: Literal["login", "select_account"] | None = None
    """What the provider asks at each sign-in. login: the password again, for shared workstations."""
    oidc_logout: bool = True
    """Log users out at the provider, too, where it offers that (`end_session_endpoint`)."""


def is_loopback(host: str) -> bool:
    """Return whether ``host`` can be reached only from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
