"""How the offline server runs: address, data directory, key, pace and limits."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from chat_app.errors import ConfigurationError
from chat_app.settings import is_loopback


class OfflineConfig(BaseModel):
    """``delta_ms`` is the pause between the words of a streamed answer; sizes are in bytes, times in seconds."""

    model_config = ConfigDict(frozen=True)

    host: str = "127.0.0.1"
    port: int = Field(0, ge=0, le=65_535)
    fd: int | None = None
    data_dir: Path
    key: SecretStr | None = None
    embeddings: Path | None = None
    """A directory with an embedding model, which ``/v1/embeddings`` then serves."""
    delta_ms: float = Field(8.0, ge=0, le=10_000)
    keep_alive: float = Field(default=15.0, gt=0)
    max_body: int = 32 * 1024 * 1024
    max_file: int = 128 * 1024 * 1024
    max_live: int = 512
    """Responses that are made at the same time; further requests get 429."""
    context_window: int = 1_000_000
    """Tokens that a request may bring with its whole history."""

    def check(self) -> None:
        """Raises ``ConfigurationError`` when others could use the server without a key, or a model is missing."""
        if self.fd is None and not is_loopback(self.host) and self.key is None:
            raise ConfigurationError(
                f"The offline model server would listen on {self.host} without a key. Set ASCLEPIUS_OFFLINE_KEY, "
                "or listen on 127.0.0.1."
            )
        if self.embeddings is not None and not (self.embeddings / "model.onnx").is_file():
            raise ConfigurationError(
                f"{self.embeddings} holds no embedding model. Name a directory with model.onnx and tokenizer.json."
            )
