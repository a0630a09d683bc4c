"""The usual streaming endpoint, FastAPI around the SDK's loop: what the benchmark of streams compares with."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator

import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from openai import AsyncOpenAI

app = FastAPI()
client = AsyncOpenAI(api_key="none", max_retries=0)


@app.post("/api/v1/consult")
async def consult() -> StreamingResponse:
    async def frames() -> AsyncIterator[str]:
        model = os.environ["ASCLEPIUS_MODEL"]
        async for event in await client.responses.create(model=model, input="question", stream=True):
            yield f"event: {event.type}\ndata: {event.model_dump_json()}\n\n"

    return StreamingResponse(frames(), media_type="text/event-stream")


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), loop="uvloop", http="httptools", log_level="warning")
