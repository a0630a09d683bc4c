"""Configuration of the offline server: address, data directory, key, pace and limits."""

from pathlib import Path

from pydantic import BaseModel, Field, SecretStr

from chat_app.errors import ConfigurationError
from chat_app.settings import is_loopback


class OfflineConfig(BaseModel, frozen=True):
    """Configuration of one offline server; sizes are in bytes, times in seconds, ``delta_ms`` in milliseconds."""

    host: str = "127.0.0.1"
    port: int = Field(0, ge=0, le=65_535)
    data_dir: Path
    key: SecretStr | None = None
    embeddings: Path | None = None
    """Directory of the embedding model that ``/v1/embeddings`` serves."""
    delta_ms: float = Field(8.0, ge=0, le=10_000)
    keep_alive: float = Field(default=15.0, gt=0)
    max_body: int = 32 * 1024 * 1024
    max_file: int = 128 * 1024 * 1024
    max_live: int = 512
    """Responses in progress at the same time; further requests get 429."""
    context_window: int = 1_000_000
    """Maximum tokens of a request with its history."""

    def check(self) -> None:
        """Raise ``ConfigurationError`` if others could use the server without a key, or the model is missing."""
        if not is_loopback(self.host) and self.key is None:
            raise ConfigurationError(
                f"The offline model server would listen on {self.host} without a key. Set ASCLEPIUS_OFFLINE_KEY, "
                "or listen on 127.0.0.1."
            )
        if self.embeddings is not None and not (self.embeddings / "model.onnx").is_file():
            raise ConfigurationError(
                f"{self.embeddings} holds no embedding model. Name a directory with model.onnx and tokenizer.json."
            )
