"""A tool of the installation: start the app with ``ASCLEPIUS_TOOLS=custom_tool:ward_beds``.

The module must be importable: install it, or put its folder on ``PYTHONPATH``. A package can register the tool as an
entry point instead:

    [project.entry-points."asclepius.tools"]
    ward = "custom_tool:ward_beds"
"""

from tools import FunctionTool, Phrase, ToolPresentation, ToolResult

FREE = {"cardiology": 2, "surgery": 0}


def _ward_beds(ward: str) -> ToolResult:
    """Return how many beds of a ward are free.

    Args:
        ward: Name of the ward, such as cardiology.
    """
    free = FREE.get(ward.casefold(), 0)
    return ToolResult(data={"ward": ward, "free": free}, summary=Phrase(text="{count} free", values={"count": free}))


ward_beds = FunctionTool(
    _ward_beds,
    name="ward_beds",
    presentation=ToolPresentation(
        title="Beds",
        icon="bed",
        subjects=("ward",),
        translations={"de": {"Beds": "Betten", "{count} free": "{count} frei"}},
    ),
)
