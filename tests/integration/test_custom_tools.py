"""Tools of the installation: found by entry point or by name, declared to the model, and run like any other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chat_app.errors import ConfigurationError
from chat_app.settings import Settings
from chat_app.tool_registry import custom_tools, registered_tools
from tools.drug_database import DrugDatabase
from tools.guidelines import GuidelineLibrary
from tools.tool_manager import ToolManager
from tools.types import Function

MODULE = '''
from tools.function_tool import FunctionTool
from tools.types import ToolPresentation

def bed_count(ward: str) -> int:
    """Count the free beds of a ward."""
    return len(ward)

class Score:
    """Compute a score."""
    def __call__(self, points: int) -> int:
        return points

doses = FunctionTool(lambda mg: mg, name="doses", presentation=ToolPresentation(title="Doses", icon="syringe"))
everything = [bed_count, doses]
nothing = 5
clash = FunctionTool(bed_count, name="search_drug_database")
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "ward_tools.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "ward_tools"
    sys.modules.pop("ward_tools", None)


async def test_a_function_a_tool_and_a_list_are_registered(module: str) -> None:
    manager = ToolManager(custom_tools([f"{module}:bed_count", f"{module}:doses"]))
    assert manager.names() == ("bed_count", "doses")
    assert manager.definitions()[0].description == "Count the free beds of a ward."
    assert (manager.presentation("bed_count").title, manager.presentation("doses").icon) == ("Bed count", "syringe")
    output = await manager.execute(Function(call_id="c", name="bed_count", arguments='{"ward": "east"}'))
    assert output.output == 4
    manager.close()
    assert [tool.name for tool in custom_tools([f"{module}:everything"])] == ["bed_count", "doses"]


def test_an_installed_package_registers_tools_by_its_entry_points(module: str, tmp_path: Path) -> None:
    folder = tmp_path / "ward_tools-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: ward-tools\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[asclepius.tools]\nward = {module}:everything\n")
    assert [tool.name for tool in custom_tools()] == ["bed_count", "doses"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_such_module:tool", "cannot be imported: ModuleNotFoundError"),
        ("ward_tools:absent", "cannot be imported: AttributeError"),
        ("ward_tools", "must be written as module:attribute"),
        ("ward_tools:nothing", "is no tool: int is neither"),
    ],
)
def test_what_is_no_tool_is_refused_with_a_sentence_that_names_it(module: str, name: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as refused:
        custom_tools([name])
    assert name in str(refused.value)
    assert "ASCLEPIUS_TOOLS" in str(refused.value)


def test_a_custom_tool_cannot_replace_a_built_in_one(module: str, tmp_path: Path) -> None:
    drugs, library = DrugDatabase("http://127.0.0.1:9"), GuidelineLibrary("http://127.0.0.1:9", tmp_path)
    built_in = [tool.name for tool in registered_tools(drugs, library)]
    assert "search_drug_database" in built_in
    assert "search_clinical_guidelines" in built_in
    with pytest.raises(ConfigurationError, match="same name: search_drug_database"):
        registered_tools(drugs, library, [f"{module}:clash"])


def test_the_setting_names_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCLEPIUS_TOOLS", "a.b:c, d:e")
    assert Settings().model.tools == ("a.b:c", "d:e")
