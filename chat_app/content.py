"""What answers rest on: the guidelines and the drug database, and the index that holds them.

A part of the composition root of its own, for it needs no model and no sessions: a command at the shell that only looks
something up would wait longer for their clients to be loaded than for its answer.
"""

from __future__ import annotations

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
    """The guidelines and drugs that are kept at the running services."""

    settings: Settings
    services: EmbeddedServices
    drugs: DrugDatabase
    guidelines: GuidelineLibrary


@asynccontextmanager
async def open_content(
    settings: Settings, *, on_progress: Callable[[str], None] | None = None
) -> AsyncGenerator[Content]:
    """Starts the services that no URL replaces, as the app does, and opens what is kept there.

    Raises ``ConfigurationError`` for unsafe settings and ``EmbeddedServiceError`` when a service does not come up.
    """
    settings.check()
    async with embedded_services(settings, on_progress=on_progress) as services:
        content = content_at(services, settings)
        try:
            yield content
        finally:
            await close_all(content.drugs.aclose(), content.guidelines.aclose())


def content_at(services: EmbeddedServices, settings: Settings) -> Content:
    """The guidelines and drugs at ``services``; these are first asked when something is looked up."""
    uri = services.urls.milvus_uri
    token = settings.storage.milvus_token.get_secret_value() if settings.storage.milvus_token else None
    folder = settings.storage.data_dir / "guidelines"
    drugs = DrugDatabase(uri, token)
    library = GuidelineLibrary(uri, folder, token, embedder=embedder(settings), expand=drugs.expand)
    return Content(settings, services, drugs, library)


def embedder(settings: Settings) -> Embedder | None:
    """The embedding model of the settings, which is reached or opened when it is first used; None for none."""
    model = settings.model
    if not model.embeddings:
        return None
    key = model.embeddings_key.get_secret_value() if model.embeddings_key else None
    return open_embedder(model.embeddings, model=model.embeddings_model, api_key=key)


async def close_all(*closing: Awaitable[None]) -> None:
    """Waits for all of ``closing``; one that fails is logged and keeps none of the others open."""
    for result in await asyncio.gather(*closing, return_exceptions=True):
        if isinstance(result, Exception):
            logger.warning("A connection did not close: %s", type(result).__name__)
