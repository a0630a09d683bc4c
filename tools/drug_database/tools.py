"""The tools that the model may call on the drug database."""

from __future__ import annotations

from tools.drug_database.database import DrugDatabase
from tools.drug_database.queries import DrugQuery
from tools.drug_database.render import tool_result
from tools.errors import ToolArgumentsInvalid
from tools.function_tool import FunctionTool
from tools.types import ToolResult

_LONGEST = 100_000


def drug_tools(database: DrugDatabase) -> list[FunctionTool]:
    """The tools over ``database``; all of them only read."""

    async def search_drug_database(  # noqa: PLR0917  (the model names every argument)
        drug_name: str,
        drug_class: str | None = None,
        limit: int = 5,
        dosage_form: str | None = None,
        route: str | None = None,
        strength: str | None = None,
    ) -> ToolResult:
        """Looks a medicine up: its brand and generic names, classes, forms, strengths, and what its label says.

        A result whose `matched.how` is "spelling" is not what was asked for but a name spelt like it: ask the user
        which medicine is meant before using it.

        Args:
            drug_name: Brand, generic, salt, abbreviation or class, such as "metformin", "Glucophage" or "SSRI".
            drug_class: Only medicines of this class, such as "ACE inhibitor".
            limit: Most results, 1 to 50.
            dosage_form: Only products of this form, such as "tablet" or "extended release".
            route: Only products for this route, such as "oral" or "intravenous".
            strength: Only products of this strength, such as "500 mg".
        """
        if not drug_name.strip() and not (drug_class or "").strip():
            raise ToolArgumentsInvalid("Give the name of a medicine in drug_name, or a class in drug_class.")
        if max(map(len, (drug_name, drug_class or "", dosage_form or "", route or "", strength or ""))) > _LONGEST:
            raise ToolArgumentsInvalid("An argument is far longer than any name of a medicine.")
        query = DrugQuery(name=drug_name, drug_class=drug_class, limit=max(1, min(50, limit)), dosage_form=dosage_form,
                          route=route, strength=strength)  # fmt: skip
        return tool_result(await database.search(query))

    return [FunctionTool(search_drug_database, idempotent=True)]
