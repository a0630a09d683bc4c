"""The demonstration drugs, loaded once per worker for the tests that only read them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tools.drug_database import DrugDatabase


@pytest.fixture(scope="session")
def demo_drugs(milvus_uri: str) -> Iterator[str]:
    """Yield the name of a database of the demonstration drugs at ``milvus_uri``, which no test changes."""
    name = "drugs_demo_tests"

    async def load() -> None:
        database = DrugDatabase(milvus_uri, name=name)
        await database.load_demo()
        await database.aclose()

    async def remove() -> None:
        database = DrugDatabase(milvus_uri, name=name)
        await database.clear()
        await database.aclose()

    asyncio.run(load())
    yield name
    asyncio.run(remove())


@pytest.fixture(scope="module")
def drugs(milvus_uri: str, demo_drugs: str) -> Iterator[DrugDatabase]:
    """Yield the database of the demonstration drugs."""
    database = DrugDatabase(milvus_uri, name=demo_drugs)
    yield database
    asyncio.run(database.aclose())
