"""The usual Chainlit app, one message per token: what the page's bench compares with."""

from __future__ import annotations

import chainlit as cl

from tests.support.stamped import asked_for, stamped_tokens


@cl.on_message
async def answer(message: cl.Message) -> None:
    wanted = asked_for(message.content)
    if wanted is None:
        return
    reply = cl.Message(content="")
    async for token in stamped_tokens(*wanted):
        await reply.stream_token(token if isinstance(token, str) else f"[{token}](#cite-{token})")
    await reply.send()
