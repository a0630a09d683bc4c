"""The file of MCP servers whose tools the model may call: ``ASCLEPIUS_MCP_SERVERS``."""

import re
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, SecretStr, StringConstraints, ValidationError

from chat_app.errors import ConfigurationError
from tools.types import Frozen

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME: Final = 64
"""Of a function. Source: OpenAI's reference of the Responses API."""


class ListedServer(Frozen):
    """What servers of both kinds have. Only ``tools`` are offered to the model."""

    tools: tuple[str, ...] = Field(min_length=1)
    timeout: float = Field(20.0, gt=0, le=600)
    """Seconds that a call may take, with its connection."""


class StdioServer(ListedServer):
    """A command that reads requests from standard input. It inherits no secrets of this process."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, SecretStr] = Field(default_factory=dict)


class HttpServer(ListedServer):
    """A server at a streamable HTTP address."""

    url: Annotated[str, StringConstraints(pattern=r"^https?://")]
    headers: dict[str, SecretStr] = Field(default_factory=dict)


RemoteServer = StdioServer | HttpServer
RemoteServers = dict[Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,19}$")], RemoteServer]


class _ServerFile(Frozen):
    servers: RemoteServers = Field(alias="mcpServers")


def listed_servers(path: Path | None) -> RemoteServers:
    """Return the servers in the file by name. Raises ``ConfigurationError`` that repeats no value."""
    if path is None:
        return {}
    try:
        return _ServerFile.model_validate_json(path.read_bytes()).servers
    except OSError as error:
        raise ConfigurationError(f"ASCLEPIUS_MCP_SERVERS={path} cannot be read ({type(error).__name__}).") from None
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)
        problems = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'file'}: {one['msg']}" for one in found[:5])
        raise ConfigurationError(f"ASCLEPIUS_MCP_SERVERS={path} is wrong. {problems}.") from None


def function_name(server: str, tool: str) -> str:
    """Return the name by which the model calls a server's tool."""
    return _NOT_IN_NAMES.sub("_", f"{server}_{tool}")[:_LONGEST_NAME]


def function_names(servers: RemoteServers) -> list[str]:
    """Return the names of all tools that may be offered."""
    return [function_name(name, tool) for name, server in servers.items() for tool in server.tools]
