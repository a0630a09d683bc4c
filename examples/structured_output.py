"""Parse an answer into a pydantic model; an exception of a processor is the output's error."""

from pydantic import BaseModel

from chat_app.generation import Generator, PydanticProcessor, ResponseAPIAdapter


class Person(BaseModel):
    """A person, as the answer describes them."""

    name: str
    age: int


def without_fence(text: str) -> str:
    """Remove the Markdown fence that some models put around JSON."""
    return text.strip().removeprefix("```json").removesuffix("```")


client = ResponseAPIAdapter()
person = Generator[Person](
    client, model_kwargs={"model": "gpt-4o-mini"}, output_processors=[without_fence, PydanticProcessor(Person)]
)
output = person.call(prompt="Alice is 30 years old.")
print("data:", output.data)

number = Generator[float](client, model_kwargs={"model": "gpt-4o-mini"}, output_processors=[float])
failed = number.call(prompt="Say hello.")
print("error stage:", failed.error.stage if failed.error else None)
print("raw response kept:", bool(failed.raw_response))
