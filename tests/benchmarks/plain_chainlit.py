"""The usual Chainlit app, one message per token: what the page's benchmarks compare with."""

from __future__ import annotations

import os

import chainlit as cl
from openai import AsyncOpenAI

from tests.support.stamped import asked_for, stamped_tokens


@cl.on_message
async def answer(message: cl.Message) -> None:
    wanted = asked_for(message.content)
    reply = cl.Message(content="")
    if wanted is not None:
        async for token in stamped_tokens(*wanted):
            await reply.stream_token(token if isinstance(token, str) else f"[{token}](#cite-{token})")
    else:
        client: AsyncOpenAI = _client()
        model = os.environ["ASCLEPIUS_MODEL"]
        async for event in await client.responses.create(model=model, input=message.content, stream=True):
            if event.type == "response.output_text.delta":
                await reply.stream_token(event.delta)
    await reply.send()


_clients: list[AsyncOpenAI] = []


def _client() -> AsyncOpenAI:
    if not _clients:
        _clients.append(AsyncOpenAI(api_key="none", max_retries=0))
    return _clients[0]
