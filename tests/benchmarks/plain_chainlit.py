"""The usual Chainlit app, one message per token: what the page's bench compares with."""

from __future__ import annotations

import asyncio
import re
import time

import chainlit as cl


@cl.on_message
async def answer(message: cl.Message) -> None:
    found = re.search(r"stamped (\d+) every (\d+)", message.content)
    if found is None:
        return
    reply, began, gap = cl.Message(content=""), time.monotonic(), int(found.group(2)) / 1000
    for number in range(1, int(found.group(1)) + 1):
        await asyncio.sleep(max(0.0, began + number * gap - time.monotonic()))
        await reply.stream_token(f"t{number}at{time.time() * 1000:.0f} ")
    await reply.send()
