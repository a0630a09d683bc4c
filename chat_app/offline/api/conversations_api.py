"""The routes of ``/v1/conversations``."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from chat_app.offline.api.listing import Page, json_response, page_of
from chat_app.offline.api.strict_json import StrictRoute
from chat_app.offline.execution.input_items import FindItem, resolve_references
from chat_app.offline.state.conversations import ConversationStore
from chat_app.offline.state.response_store import ResponseStore
from chat_app.offline.wire.errors import not_found
from chat_app.offline.wire.wire_stores import AddItems, CreateConversation, UpdateConversation

Json = dict[str, Any]
router = APIRouter(prefix="/v1/conversations", route_class=StrictRoute)


def _store(request: Request) -> ConversationStore:
    store: ConversationStore = request.app.state.conversations
    return store


def _find(request: Request) -> FindItem:
    store: ResponseStore = request.app.state.response_store
    return store.item


@router.post("")
async def create(request: Request, body: CreateConversation | None = None) -> Response:
    body = body or CreateConversation()
    items = await resolve_references(body.items, [], _find(request))
    return json_response(await _store(request).create(body.metadata or {}, items))


@router.get("/{conversation_id}")
async def retrieve(conversation_id: str, request: Request) -> Response:
    return json_response(await _store(request).get(conversation_id))


@router.post("/{conversation_id}")
async def update(conversation_id: str, body: UpdateConversation, request: Request) -> Response:
    return json_response(await _store(request).update(conversation_id, body.metadata))


@router.delete("/{conversation_id}")
async def delete(conversation_id: str, request: Request) -> Response:
    await _store(request).delete(conversation_id)
    return json_response({"id": conversation_id, "object": "conversation.deleted", "deleted": True})


@router.get("/{conversation_id}/items")
async def list_items(conversation_id: str, request: Request, page: Annotated[Page, Query()]) -> Response:
    return json_response(page_of(await _store(request).all_items(conversation_id), page))


@router.post("/{conversation_id}/items")
async def add_items(conversation_id: str, body: AddItems, request: Request) -> Response:
    items = await resolve_references(body.items, await _store(request).all_items(conversation_id), _find(request))
    await _store(request).append(conversation_id, items)
    return json_response(page_of(items, Page(limit=100, order="asc")))


@router.get("/{conversation_id}/items/{item_id}")
async def retrieve_item(conversation_id: str, item_id: str, request: Request) -> Response:
    for item in await _store(request).all_items(conversation_id):
        if item["id"] == item_id:
            return json_response(item)
    raise not_found("Item", item_id)


@router.delete("/{conversation_id}/items/{item_id}")
async def delete_item(conversation_id: str, item_id: str, request: Request) -> Response:
    """Removes an item; the answer is the conversation, as the API's is."""
    return json_response(await _store(request).remove_item(conversation_id, item_id))
