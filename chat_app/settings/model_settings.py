"""Settings of the model server, and of the built-in one."""

from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr

from chat_app.settings.environment import Names, Section


class ModelSettings(Section):
    """The model server and how it is asked."""

    api_key: SecretStr | None = Field(None, validation_alias="OPENAI_API_KEY")
    """Key of the model server. Without a key and a base URL the built-in offline model answers."""
    base_url: str | None = Field(None, validation_alias="OPENAI_BASE_URL")
    """Base URL of an OpenAI-compatible Responses server, such as http://llm.hospital.example/v1."""
    model: str = Field("gpt-4o-mini", validation_alias=AliasChoices("ASCLEPIUS_MODEL", "OPENAI_MODEL"))
    """Model that is asked; the offline model answers to any name."""
    models: Names = ()
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
    max_retries: int = Field(2, ge=0, le=10)
    """Retries of a request that failed, or whose connection broke, before the first word of its answer."""
    background: bool = False
    """Ask for background responses: an answer whose connection breaks or falls silent is picked up where it stopped,
    and that of a process that was killed by another one. The server must store responses to do so."""
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
    tools: Names = ()
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
        return None if not named or named.startswith(("http://", "https://")) else Path(named).absolute()


class OfflineSettings(Section):
    """The built-in offline model server."""

    offline_key: SecretStr | None = None
    """Key that the offline server requires. Unset: the app makes one at each start; `asclepius offline-server` accepts
    any on loopback."""
    load_demo: bool = True
    """Load the demonstration guidelines and drugs on first start."""
