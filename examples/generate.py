"""Ask a model once, and fall back through the levels of the output."""

from chat_app.generation import Generator, Prompt, ResponseAPIAdapter

generator = Generator[str](
    ResponseAPIAdapter(),
    prompt=Prompt("You are a clinical assistant. Answer in {{ language }}.", preset={"language": "English"}),
    model_kwargs={"model": "gpt-4o-mini"},
)
output = generator.call(prompt="What is metformin used for?")

if output.data:
    print("data:", output.data)
elif output.raw_response:
    print("raw response:", output.raw_response)
else:
    print("error:", output.error)

print("outcome:", output.outcome.kind)
print("response:", output.api_response.id if output.api_response else None)
