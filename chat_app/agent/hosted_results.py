"""The model server's own file search: its declaration, and its calls and outputs in the shape of any tool's."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Final

import orjson
from pydantic import JsonValue, TypeAdapter, ValidationError

from chat_app.generation.hosted.hosted_search import GUIDELINE_ID
from chat_app.response_objects import FILE_SEARCH, FileSearchCallItem, FileSearchResult
from tools.search_presentation import passage_count
from tools.types import Function, FunctionOutput, Passage

_Output: Final = TypeAdapter(dict[str, list[FileSearchResult]])


def results_of(output: FunctionOutput) -> list[FileSearchResult]:
    """Return the results of a search, one for each passage; none for a function that only has the search's name."""
    try:
        results = _Output.validate_python(output.output).get("results", [])
    except ValidationError:
        return []
    return results if len(results) == len(output.passages) else []


def output_of(results: Iterable[FileSearchResult]) -> JsonValue:
    """Return ``results``, without their texts, as a tool's output holds them."""
    return {"results": [one.model_dump(mode="json", include={"file_id", "filename", "attributes"}) for one in results]}


def file_search_output(item: FileSearchCallItem) -> FunctionOutput:
    """Return what the search found as a tool's output."""
    results = item.results or ()
    passages = tuple(
        Passage(
            # Results have no id; the same words of the same file are the same passage.
            id=f"{result.file_id}:{sha256(result.text.encode()).hexdigest()[:16]}",
            kind="guideline",
            document_id=result.file_id,
            title=str((result.attributes or {}).get("title") or result.filename),
            text=result.text,
            score=result.score or 0.0,
        )
        for result in results
    )
    arguments = orjson.dumps({"queries": list(item.queries)}).decode()
    found = passage_count(len(passages)) if item.results is not None else None
    return FunctionOutput(
        name=FILE_SEARCH,
        input=Function(call_id=item.id, name=FILE_SEARCH, arguments=arguments),
        output=output_of(results),
        passages=passages,
        summary=str(found or ""),
        summary_phrase=found,
    )


def file_search_tool(vector_store: str, documents: Sequence[str]) -> dict[str, Any]:
    """Return the declaration of the search, restricted to ``documents`` when there are any."""
    tool: dict[str, Any] = {"type": FILE_SEARCH, "vector_store_ids": [vector_store]}
    chosen = [{"type": "eq", "key": GUIDELINE_ID, "value": document} for document in documents]
    if chosen:
        tool["filters"] = chosen[0] if len(chosen) == 1 else {"type": "or", "filters": chosen}
    return tool
