"""Public names of a package that are imported on first use, so that importing a submodule stays cheap."""

import ast
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import get_data
from typing import Any


def lazy_exports(package: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of ``package``, whose public names are those that it imports for type checkers."""

    @cache
    def homes() -> dict[str, str]:
        source = ast.walk(ast.parse(get_data(package, "__init__.py") or b""))
        imports = [node for node in source if isinstance(node, ast.ImportFrom)]
        return {alias.name: node.module for node in imports if node.module for alias in node.names}

    def load(name: str) -> Any:
        if name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes()[name]), name)

    return load
