"""An answer as OpenAI's chat completion, whole or as chunks."""

import time
from collections.abc import AsyncIterator
from typing import Any, Literal

from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from chat_app.interface.api.model_api.model_answer import ModelAnswer
from chat_app.interface.api.model_api.model_errors import error_body, frame
from chat_app.interface.api.turn_stream import STILL_WORKING

FinishReason = Literal["stop", "length", "content_filter"]


def completion(turn_id: str, model: str, answer: ModelAnswer) -> ChatCompletion:
    """Return the whole answer."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "annotations": _annotations(answer)}
    choice = {"index": 0, "finish_reason": finish_reason(answer), "message": message}
    return ChatCompletion.model_validate(
        {
            "id": f"chatcmpl-{turn_id}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": model,
            "choices": [choice],
            "usage": _usage(answer),
        }
    )


async def chunks(
    turn_id: str, model: str, answer: ModelAnswer, pieces: AsyncIterator[str | None], *, include_usage: bool
) -> AsyncIterator[bytes]:
    """Yield the answer as server-sent events: text as it arrives, then citations, the finish reason and the usage."""
    head = {"id": f"chatcmpl-{turn_id}", "object": "chat.completion.chunk", "created": int(time.time()), "model": model}

    def chunk(delta: dict[str, Any], finish: FinishReason | None = None) -> bytes:
        return _frame(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    async for piece in pieces:
        if piece is None:
            yield STILL_WORKING
        elif piece:
            yield chunk({"content": piece})
    if answer.failed:
        yield frame(error_body(503, answer.error, code=answer.outcome.code))
    else:
        if annotations := _annotations(answer):
            yield chunk({"annotations": annotations})
        yield chunk({}, finish_reason(answer))
        if include_usage:
            yield _frame(head | {"choices": [], "usage": _usage(answer)})
    yield b"data: [DONE]\n\n"


def finish_reason(answer: ModelAnswer) -> FinishReason:
    """Return how the answer ended; ``length`` for every answer that is not whole."""
    if answer.outcome.reason == "content_filter":
        return "content_filter"
    return "length" if answer.outcome.kind in {"incomplete", "failed"} else "stop"


def _frame(body: dict[str, Any]) -> bytes:
    return frame(ChatCompletionChunk.model_validate(body).model_dump(exclude_unset=True))


def _annotations(answer: ModelAnswer) -> list[dict[str, Any]]:
    return [{"type": "url_citation", "url_citation": one._asdict()} for one in answer.citations]


def _usage(answer: ModelAnswer) -> CompletionUsage | None:
    if (usage := answer.usage) is None:
        return None
    return CompletionUsage(
        prompt_tokens=usage.input_tokens, completion_tokens=usage.output_tokens, total_tokens=usage.total_tokens
    )
