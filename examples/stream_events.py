"""Follow a generation as it streams; its output is complete afterwards."""

import asyncio

from chat_app.generation import Generator, RawResponsesStreamEvent, ResponseAPIAdapter


async def main() -> None:
    """Print the types of the events, then the output."""
    client = ResponseAPIAdapter()
    generator = Generator[str](client, prompt="Answer briefly.", model_kwargs={"model": "gpt-4o-mini"})
    output = generator.astream("What is hypertension?")
    events = [event.data async for event in output.stream_events() if isinstance(event, RawResponsesStreamEvent)]
    kinds = [str(event.model_dump()["type"]) for event in events]
    await client.aclose()
    print("first event:", kinds[0])
    print("last event:", kinds[-1])
    print("outcome:", output.outcome.kind)
    print("data:", output.data)


asyncio.run(main())
