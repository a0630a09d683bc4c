"""Let a model call tools until it answers."""

import asyncio

from chat_app.agent import RunItemStreamEvent, Runner
from chat_app.generation import Generator, ResponseAPIAdapter
from tools import FunctionTool, ToolManager


def search_drug_database(drug_name: str) -> dict[str, object]:
    """Look up a medicine.

    Args:
        drug_name: Brand or generic name.
    """
    return {"results": [{"cite": "1", "generic_name": drug_name, "products": [{"strengths": ["500 mg", "850 mg"]}]}]}


generator = Generator[str](ResponseAPIAdapter(), prompt="{{ input_str }}", model_kwargs={"model": "gpt-4o-mini"})
runner = Runner(generator, ToolManager([FunctionTool(search_drug_database)]), max_steps=3)

result = runner.call(prompt_kwargs={"input_str": "What strengths of metformin are available?"})
print("answer:", result.answer)
print("steps:", len(result.step_history))


async def main() -> None:
    """Run the same question again, event by event."""
    running = runner.astream({"input_str": "What strengths of metformin are available?"})
    async for event in running.stream_events():
        if not isinstance(event, RunItemStreamEvent):
            continue
        if event.name == "agent.tool_call_start" and event.item.type == "tool_call":
            print("starting:", event.item.function.name)
        elif event.name == "agent.execution_complete" and event.item.type == "final_output":
            print("final:", event.item.runner_response.outcome.kind)
    await generator.model_client.aclose()


asyncio.run(main())
