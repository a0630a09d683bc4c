"""An answer as OpenAI's response object, whole or as the events of its stream."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

from openai.types import responses as wire

from chat_app.interface.api.model_api.model_answer import ModelAnswer
from chat_app.interface.api.model_api.model_errors import frame
from chat_app.interface.api.turn_stream import STILL_WORKING


class ResponseFrames:
    """Writes one response, begun ``at`` a time. ``previous`` is the response that it continues."""

    def __init__(self, turn_id: str, model: str, answer: ModelAnswer, previous: str | None, at: datetime) -> None:
        self._turn_id = turn_id.replace("-", "")
        self.answer = answer
        self._sequence = 0
        self._message_id = f"msg_{self._turn_id}"
        self._fixed = {
            "object": "response",
            "created_at": int(at.timestamp()),
            "model": model,
            "previous_response_id": previous,
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
        }

    def response(self, status: str | None = None) -> wire.Response:
        """Return the response; ``status`` before it has ended."""
        answer, outcome, ended = self.answer, self.answer.outcome, status is None
        # The conversation's key and the turn: what `previous_response_id` continues.
        name = f"resp_{answer.conversation_id.removeprefix('session_')}_{self._turn_id}"
        # An answer that failed after its first words is an incomplete one.
        whole = "completed" if outcome.kind in {"completed", "refused"} else "incomplete"
        status = status or ("failed" if answer.failed else whole)
        failed = {"code": "server_error", "message": answer.error} if ended and answer.failed else None
        reason = outcome.reason if outcome.reason in {"max_output_tokens", "content_filter"} else None
        return wire.Response.model_validate(
            {
                **self._fixed,
                "id": name,
                "status": status,
                "output": [self._message("completed")] if ended and not answer.failed else [],
                "usage": self._usage() if ended else None,
                "error": failed,
                "incomplete_details": {"reason": reason} if status == "incomplete" else None,
            }
        )

    async def events(self, pieces: AsyncIterator[str | None]) -> AsyncIterator[bytes]:
        begun = False
        async for piece in pieces:
            if piece is None:
                yield STILL_WORKING
                continue
            if not begun:
                begun = True
                for event in self._begin():
                    yield event
            if piece:
                yield self._event("response.output_text.delta", **self._place, delta=piece, logprobs=[])
        for event in self._end():
            yield event

    @property
    def _place(self) -> dict[str, Any]:
        return {"item_id": self._message_id, "output_index": 0, "content_index": 0}

    def _begin(self) -> list[bytes]:
        response = self.response("in_progress").model_dump()
        part = {"type": "output_text", "text": "", "annotations": []}
        return [
            self._event("response.created", response=response),
            self._event("response.in_progress", response=response),
            self._event("response.output_item.added", output_index=0, item=self._message("in_progress")),
            self._event("response.content_part.added", **self._place, part=part),
        ]

    def _end(self) -> list[bytes]:
        response = self.response()
        events: list[bytes] = []
        if not self.answer.failed:
            part = self._part()
            events += [
                self._event("response.output_text.annotation.added", **self._place, annotation_index=n, annotation=one)
                for n, one in enumerate(part["annotations"])
            ]
            events += [
                self._event("response.output_text.done", **self._place, text=part["text"], logprobs=[]),
                self._event("response.content_part.done", **self._place, part=part),
                self._event("response.output_item.done", output_index=0, item=self._message("completed")),
            ]
        return [*events, self._event(f"response.{response.status}", response=response.model_dump())]

    def _event(self, kind: str, **fields: Any) -> bytes:
        body = {"type": kind, "sequence_number": self._sequence, **fields}
        self._sequence += 1
        return frame(body, kind)

    def _message(self, status: str) -> Mapping[str, Any]:
        parts = [] if status == "in_progress" else [self._part()]
        return {"id": self._message_id, "type": "message", "role": "assistant", "status": status, "content": parts}

    def _part(self) -> dict[str, Any]:
        annotations = [{"type": "url_citation", **one._asdict()} for one in self.answer.citations]
        return {"type": "output_text", "text": self.answer.text, "annotations": annotations}

    def _usage(self) -> wire.ResponseUsage | None:
        if (usage := self.answer.usage) is None:
            return None
        cached = usage.input_tokens_details.cached_tokens if usage.input_tokens_details else 0
        thought = usage.output_tokens_details.reasoning_tokens if usage.output_tokens_details else 0
        return wire.ResponseUsage.model_validate(
            {
                "input_tokens": usage.input_tokens,
                "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
                "output_tokens": usage.output_tokens,
                "output_tokens_details": {"reasoning_tokens": thought},
                "total_tokens": usage.total_tokens,
            }
        )
