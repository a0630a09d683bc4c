"""The structure of the code: small folders, no import cycles, one name for one thing."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = ("chat_app", "tools")
MAX_MODULES = 14
CONVENTIONAL = frozenset({"__init__", "__main__", "app", "base", "client", "errors", "models", "protocols", "types"})
"""Module names that say nothing alone and are understood by their package."""


def modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((PROJECT / package).rglob("*.py"))


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__")


NAMES = {dotted(path) for path in modules()}


def runtime_statements(nodes: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Module-level statements that run at import, without those under ``if TYPE_CHECKING``."""
    for node in nodes:
        if isinstance(node, ast.If):
            if "TYPE_CHECKING" not in ast.unparse(node.test):
                yield from runtime_statements([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from runtime_statements([*node.body, *node.orelse, *node.finalbody])
        else:
            yield node


def imported(path: Path) -> set[str]:
    """Modules of the project that ``path`` imports when it is imported."""
    return (all_imported(path) & NAMES) - {dotted(path)}


def all_imported(path: Path) -> set[str]:
    """All modules that ``path`` imports when it is imported."""
    found: set[str] = set()
    for node in runtime_statements(ast.parse(path.read_text("utf-8")).body):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in NAMES else node.module)
    return found


def test_no_module_imports_itself_through_others() -> None:
    graph = {dotted(path): imported(path) for path in modules()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def test_no_package_of_the_offline_server_imports_itself_through_others() -> None:
    """``__main__`` → api → execution → state, wire."""
    graph: dict[str, set[str]] = defaultdict(set)
    root = "chat_app.offline"
    for path in (PROJECT / "chat_app" / "offline").rglob("*.py"):
        own = ".".join(dotted(path).split(".")[:3])
        graph[own] |= {".".join(name.split(".")[:3]) for name in imported(path) if name.startswith(f"{root}.")} - {own}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def test_the_server_prepares_the_page_before_chainlit_is_imported() -> None:
    """Chainlit reads its configuration on import: imported too early, it would serve its own page."""
    paths = {dotted(path): path for path in modules()}
    waiting, seen = ["chat_app.interface.http_api", "chat_app.interface.serving"], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += [*imported(paths[name]), *filter(None, [name.rpartition(".")[0]])]
    early = {name for name in seen for one in all_imported(paths[name]) if one.partition(".")[0] == "chainlit"}
    assert early == set()


def test_no_folder_has_more_modules_than_a_reader_can_hold() -> None:
    counts: dict[str, int] = defaultdict(int)
    for path in modules():
        counts[str(path.parent.relative_to(PROJECT))] += path.stem != "__init__"
    assert {folder: count for folder, count in counts.items() if count > MAX_MODULES} == {}


def test_no_two_modules_share_a_name() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        homes[path.stem].append(dotted(path))
    assert {name: found for name, found in homes.items() if len(found) > 1 and name not in CONVENTIONAL} == {}


def test_no_two_classes_share_a_name() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(dotted(path))
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


@pytest.mark.parametrize("package", ["chat_app.agent", "chat_app.generation", "tools", "tools.drug_database"])
def test_every_public_name_of_a_package_is_found_on_first_use(package: str) -> None:
    module = import_module(package)
    (names,) = (
        node for node in ast.parse(Path(module.__file__ or "").read_text("utf-8")).body if isinstance(node, ast.If)
    )
    for node in names.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert getattr(module, alias.name) is getattr(import_module(node.module or ""), alias.name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = module.nothing


def test_the_offline_server_does_not_load_what_it_never_calls() -> None:
    work = (
        "import sys, chat_app.offline.api.server\nsys.exit(bool({'grpc', 'pandas', 'pymilvus'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", work], cwd=PROJECT, check=False).returncode == 0
