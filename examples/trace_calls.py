"""Keep the history of prompts, and log the calls of every generator of a class."""

import json
from pathlib import Path

from chat_app.generation import Generator, ResponseAPIAdapter
from chat_app.tracing import trace_generator_call, trace_generator_states
from chat_app.tracing.writer import shared_writer


@trace_generator_call(error_only=False)
@trace_generator_states()
class SimpleQA:
    """Answers questions; its generators are traced into ``traces/SimpleQA``."""

    def __init__(self) -> None:
        client = ResponseAPIAdapter()
        self.generator = Generator[str](client, prompt="Be brief.", model_kwargs={"model": "gpt-4o-mini"})
        self.generator_2 = Generator[str](client, prompt="Be thorough.", model_kwargs={"model": "gpt-4o-mini"})

    def call(self, question: str) -> str | None:
        """Return the brief answer."""
        return self.generator.call(prompt=question).data


print("answer:", SimpleQA().call("What is asthma?"))
shared_writer().flush()
folder = Path("traces/SimpleQA")
print("files:", sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")))
states = json.loads((folder / "generator_state_trace.json").read_text("utf-8"))
print("prompts:", {name: history[-1]["prompt_states"]["_template_string"] for name, history in states.items()})
