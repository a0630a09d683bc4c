"""``ModelClient`` over the official OpenAI client: its key, base URL and connection pool, our event decoding.

The SDK opens the request, over its aiohttp transport; ``stream_reader`` reads the body, which costs a fraction of the
SDK's own loop and validates more. Nothing outside this file knows the SDK. Failures are raised
as ``ProviderError``s whose messages contain no key, no server text and no payload. The generator owns retries, so the
SDK's own retries are off.
"""

import asyncio
import math
import os
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import httpx2
import openai
import orjson
from openai import AsyncOpenAI

from chat_app.errors import (
    PreviousResponseNotFound,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
    RateLimited,
)
from chat_app.generation.model_client import BEFORE_FIRST, EventBatch, ResponseRequest
from chat_app.generation.response_body import arriving, beginning, no_server
from chat_app.generation.stream_reader import ReadPace, read_events
from chat_app.response_objects import error_code

_CONNECT_TIMEOUT = 10.0
_PING_TIMEOUT = 5.0
_SIDE_TIMEOUT = 2.0
"""Limit in seconds of requests beside the stream, which must not delay the turn."""
_UNSUPPORTED = re.compile(r"not (?:support|implement)|unsupported|unknown (?:field|parameter)", re.IGNORECASE)


class ResponseAPIAdapter:
    """A Responses server, reached through the ``openai`` client.

    Args:
        api_key: The key; ``OPENAI_API_KEY`` when missing.
        base_url: The server's address; ``OPENAI_BASE_URL`` when missing, or else OpenAI's own.
        idle_timeout: Seconds without an event, not counting comments, after which a stream has stalled.
        total_timeout: Limit of one response in seconds; a resumed response has that limit again.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        idle_timeout: float = 60.0,
        total_timeout: float = 600.0,
    ) -> None:
        self._idle = idle_timeout
        self._total = total_timeout
        self._pace = ReadPace()
        # The client insists on a key; servers that need none get this one.
        self._key = api_key or os.environ.get("OPENAI_API_KEY") or "none"
        self._base_url = base_url
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncOpenAI] = WeakKeyDictionary()
        with suppress(RuntimeError):
            # Created now if a loop is running: loading certificates and the SDK's types would delay the first question.
            _ = self._client.responses

    @property
    def _client(self) -> AsyncOpenAI:
        """The client of the running event loop, because connections belong to the loop that opened them."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = AsyncOpenAI(
                api_key=self._key,
                base_url=self._base_url,
                max_retries=0,
                # No limit for reads: it would run while the answer's reader is busy. ``read_events`` has its own.
                timeout=httpx2.Timeout(self._total, connect=_CONNECT_TIMEOUT, read=None),
                http_client=openai.DefaultAioHttpClient(),
            )
        return client

    def stream(self, request: ResponseRequest) -> AbstractAsyncContextManager[AsyncIterator[EventBatch]]:
        """See ``ModelClient.stream``."""
        create: Any = self._client.responses.with_streaming_response.create
        # As the extra body: the SDK copies its own parameters part by part, which takes longer than all else it does.
        opening = create(stream=True, extra_body=request.payload())
        return self._opened(opening, chained=request.previous_response_id is not None)

    def resume(self, response_id: str, *, after: int) -> AbstractAsyncContextManager[AsyncIterator[EventBatch]]:
        """See ``ModelClient.resume``."""
        retrieve: Any = self._client.responses.with_streaming_response.retrieve
        place = {} if after == BEFORE_FIRST else {"starting_after": after}
        return self._opened(retrieve(response_id, stream=True, **place), chained=False)

    async def cancel(self, response_id: str) -> None:
        """See ``ModelClient.cancel``."""
        with suppress(openai.OpenAIError):
            await self._client.responses.with_raw_response.cancel(response_id, timeout=_SIDE_TIMEOUT)

    async def keeps(self, response_id: str) -> bool | None:
        """See ``ModelClient.keeps``."""
        try:
            answer = await self._client.responses.with_raw_response.retrieve(response_id, timeout=_SIDE_TIMEOUT)
        except openai.APIStatusError as error:
            return False if error.status_code in {400, 404, 405, 501} else None
        except openai.OpenAIError:
            return None
        return True if _is_json(answer.http_response.content) else None

    @asynccontextmanager
    async def _opened(self, opening: Any, *, chained: bool) -> AsyncGenerator[AsyncIterator[EventBatch], None]:
        until = asyncio.get_running_loop().time() + self._total
        try:
            async with asyncio.timeout(min(self._idle, self._total)):
                raw = await opening.__aenter__()
        except TimeoutError:
            raise ProviderUnavailable("The model server did not answer in time. Try again later.") from None
        except openai.OpenAIError as error:
            raise _provider_error(error, chained=chained) from None
        try:
            chunks, transport = arriving(raw.http_response)
            first = partial(beginning, chunks, raw.http_response)
            reading = read_events(
                chunks, first=first, idle=self._idle, until=until, pace=self._pace, transport=transport
            )
            async with aclosing(reading) as events:
                yield events
        finally:
            await opening.__aexit__(None, None, None)

    async def delete(self, response_id: str) -> None:
        """See ``ModelClient.delete``."""
        try:
            await self._client.responses.delete(response_id, timeout=_PING_TIMEOUT)
        except openai.OpenAIError as error:
            # 405 and 501: a server that keeps no responses.
            if getattr(error, "status_code", None) not in {404, 405, 501}:
                raise _provider_error(error, chained=False) from None

    async def ping(self) -> None:
        """See ``ModelClient.ping``; requests the list of models, which costs nothing."""
        try:
            answer = await self._client.models.with_raw_response.list(timeout=_PING_TIMEOUT)
        except openai.NotFoundError:
            # Small servers do not list their models, but this one answers.
            return
        except openai.OpenAIError as error:
            raise _provider_error(error, chained=False) from None
        if not _is_json(answer.http_response.content):
            raise no_server(answer.http_response)

    async def aclose(self) -> None:
        """See ``ModelClient.aclose``; connections of other event loops stay open."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()


def _is_json(body: bytes) -> bool:
    """Return whether ``body`` is an answer of the API, not a web page such as a proxy's sign-in."""
    try:
        return isinstance(orjson.loads(body), dict | list)
    except orjson.JSONDecodeError:
        return False


def _provider_error(error: openai.OpenAIError, *, chained: bool) -> ProviderError:
    """Return the app's own error, without the server's text."""
    if isinstance(error, openai.APIConnectionError):
        return ProviderUnavailable("The model server cannot be reached. Check OPENAI_BASE_URL and the network.")
    if not isinstance(error, openai.APIStatusError):
        return ProviderUnavailable("The model server gave an answer that cannot be read. Check OPENAI_BASE_URL.")
    status, code = error.status_code, error_code(str(_body(error).get("code") or ""))
    wait = _retry_after(error.response.headers)
    if chained and status in {400, 404, 422} and _is_about_chain(error):
        return PreviousResponseNotFound(
            "The model server does not have the earlier part of this conversation.",
            supported=_UNSUPPORTED.search(_text(error)) is None,
        )
    if status == 429 and code != "insufficient_quota":
        return RateLimited("The model server is busy and asks to wait.", retry_after=wait)
    if status in {408, 409} or status >= 500:
        return ProviderUnavailable(f"The model server fails at the moment (HTTP {status}).", retry_after=wait)
    return ProviderRejected(_rejection(status, code), status=status)


def _rejection(status: int, code: str | None) -> str:
    match status:
        case 401:
            return "The model server refused the key. Set OPENAI_API_KEY to a valid one."
        case 403:
            return "The key may not use this model or server. Check OPENAI_API_KEY and ASCLEPIUS_MODEL."
        case 404:
            return "The model server knows no such model or address. Check ASCLEPIUS_MODEL and OPENAI_BASE_URL."
        case 429:
            return "The quota of this key is used up. Check the account that OPENAI_API_KEY belongs to."
        case _:
            detail = f", {code}" if code else ""
            return f"The model server refused the request (HTTP {status}{detail}). Check ASCLEPIUS_MODEL."


def _body(error: openai.APIStatusError) -> dict[str, Any]:
    body: object = error.body
    return body if isinstance(body, dict) else {}


def _is_about_chain(error: openai.APIStatusError) -> bool:
    body = _body(error)
    return (
        body.get("code") == "previous_response_not_found"
        or body.get("param") == "previous_response_id"
        or "previous_response" in _text(error)
    )


def _text(error: openai.APIStatusError) -> str:
    """Return the server's text for inspection; it is never passed on."""
    return f"{error.body} {error.message}"


def _retry_after(headers: httpx2.Headers) -> float | None:
    """Return the seconds of ``retry-after-ms`` or ``Retry-After`` (RFC 9110, section 10.2.3: seconds or a date)."""
    for value, unit in ((headers.get("retry-after-ms"), 1000.0), (headers.get("retry-after"), 1.0)):
        if value is None:
            continue
        try:
            seconds = float(value) / unit
            return max(0.0, seconds) if math.isfinite(seconds) else None
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
        except ValueError:
            continue
    return None
