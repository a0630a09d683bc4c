"""All tools that the model may call: the built-in ones, and those that the installation adds.

A tool is one module that makes a ``FunctionTool``, and one line here. An installation adds tools without changing the
app: a package declares an entry point in the group ``asclepius.tools``, or ``ASCLEPIUS_TOOLS`` names
``module:attribute``. Either refers to a ``FunctionTool``, a plain function, or a list of these.
"""

from collections.abc import Iterable, Sequence
from importlib.metadata import EntryPoint, entry_points

from chat_app.errors import ConfigurationError
from tools.calculators import calculator_tools
from tools.drug_database import DrugDatabase
from tools.drug_database.drug_tools import drug_tools
from tools.function_tool import FunctionTool
from tools.guidelines import GuidelineLibrary, guideline_tools
from tools.loaded_sources import loaded_sources_tool

GROUP = "asclepius.tools"


def built_in_tools(drugs: DrugDatabase, guidelines: GuidelineLibrary) -> list[FunctionTool]:
    """Return the app's own tools, which only read and compute."""
    return [
        *guideline_tools(guidelines),
        *drug_tools(drugs),
        *calculator_tools(),
        loaded_sources_tool(guidelines, drugs),
    ]


def registered_tools(
    drugs: DrugDatabase, guidelines: GuidelineLibrary, named: Sequence[str] = ()
) -> list[FunctionTool]:
    """Return every tool of the app; ``named`` are the values of ``ASCLEPIUS_TOOLS``.

    Raises ``ConfigurationError`` when a custom tool cannot be imported, is no tool, or has the name of another one.
    """
    tools = [*built_in_tools(drugs, guidelines), *custom_tools(named)]
    names = [tool.name for tool in tools]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ConfigurationError(f"Two tools have the same name: {', '.join(sorted(repeated))}. Rename or remove one.")
    return tools


def custom_tools(named: Sequence[str] = ()) -> list[FunctionTool]:
    """Return the tools of the entry point group, then those that ``named`` refers to."""
    given = [EntryPoint(name=name, value=name, group="ASCLEPIUS_TOOLS") for name in named]
    return [tool for point in (*entry_points(group=GROUP), *given) for tool in _loaded(point)]


def _loaded(point: EntryPoint) -> list[FunctionTool]:
    where = f"The tool {point.value} (from {point.group})"
    if ":" not in point.value:
        raise ConfigurationError(f"{where} must be written as module:attribute.")
    try:
        found = point.load()
    except Exception as error:
        raise ConfigurationError(f"{where} cannot be imported: {type(error).__name__}: {error}") from error
    try:
        return [_as_tool(item) for item in (found if isinstance(found, Iterable) else (found,))]
    except TypeError as error:
        raise ConfigurationError(f"{where} is no tool: {error}.") from error


def _as_tool(item: object) -> FunctionTool:
    if isinstance(item, FunctionTool):
        return item
    if not callable(item):
        raise TypeError(f"{type(item).__name__} is neither a FunctionTool nor a function")
    return FunctionTool(item)
