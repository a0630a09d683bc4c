"""The content of answers: the guidelines and the drug database with their index.

This part of the composition root needs neither model nor sessions, so that a shell command that only reads content does
not load their clients.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from chat_app.embedded import EmbeddedServices, embedded_services
from chat_app.settings import Settings
from tools.drug_database import DrugDatabase
from tools.guidelines import Embedder, GuidelineLibrary, open_embedder

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Content:
    """The guidelines and drugs in the running services."""

    settings: Settings
    services: EmbeddedServices
    drugs: DrugDatabase
    guidelines: GuidelineLibrary


@asynccontextmanager
async def open_content(
    settings: Settings, *, on_progress: Callable[[str], None] | None = None
) -> AsyncGenerator[Content]:
    """Start the services that no URL replaces, as the app does, and open their content.

    Raises ``ConfigurationError`` for unsafe settings, and ``EmbeddedServiceError`` when a service does not start.
    """
    settings.check()
    async with embedded_services(settings, on_progress=on_progress) as services:
        content = content_at(services, settings)
        try:
            yield content
        finally:
            await close_all(content.drugs.aclose(), content.guidelines.aclose())


def content_at(services: EmbeddedServices, settings: Settings) -> Content:
    """Return the guidelines and drugs in ``services``, which are contacted on first use."""
    uri = services.urls.milvus_uri
    token = settings.storage.milvus_token.get_secret_value() if settings.storage.milvus_token else None
    folder = settings.storage.data_dir / "guidelines"
    drugs = DrugDatabase(uri, token)
    library = GuidelineLibrary(uri, folder, token, embedder=embedder(settings), expand=drugs.expand)
    return Content(settings, services, drugs, library)


def embedder(settings: Settings) -> Embedder | None:
    """Return the embedding model of the settings, which is opened on first use; None when none is set."""
    model = settings.model
    if not model.embeddings:
        return None
    key = model.embeddings_key.get_secret_value() if model.embeddings_key else None
    return open_embedder(model.embeddings, model=model.embeddings_model, api_key=key)


async def close_all(*closing: Awaitable[None]) -> None:
    """Wait for all of ``closing``; a failure is logged and does not affect the others."""
    for result in await asyncio.gather(*closing, return_exceptions=True):
        if isinstance(result, Exception):
            logger.warning("A connection did not close: %s", type(result).__name__)
