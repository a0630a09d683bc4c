"""The tools that the model may call on the drug database."""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Final

from tools.drug_database.database import DrugDatabase
from tools.drug_database.labels.dose_limits import clauses_with_amounts, exceeds_labels, is_within_labels, stated_weight
from tools.drug_database.labels.interaction_output import interaction_result
from tools.drug_database.labels.label_terms import tokens
from tools.drug_database.labels.overdosage_output import (
    Treatments,
    has_section,
    hypersensitivity_result,
    note,
    overdosage_result,
)
from tools.drug_database.labels.record_rendering import label_result, tool_result
from tools.drug_database.names.name_keys import record_key
from tools.drug_database.names.overdosage_wording import (
    counted_words,
    counts_tablets,
    dose_clauses,
    exposure_clauses,
    told_beside_dose,
)
from tools.drug_database.records.drug_record import DrugRecord, SectionName
from tools.drug_database.records.queries import DrugQuery
from tools.errors import ToolArgumentsInvalid
from tools.function_tool import FunctionTool
from tools.language.folding import fold_name
from tools.language.vocabulary.patient_values import abnormal_values
from tools.types import ToolPresentation, ToolResult

BEFORE: Final = "before"
REACTION: Final = "reaction"
SELF_HARM: Final = "self_harm"
"""Hidden parameters of ``search_overdosage``: the earlier questions on the same exposure, whether the question is about
an allergic reaction, and whether someone wants to harm themselves, so that nothing is quoted."""
_LONGEST = 100_000
_MOST_NAMES = 24
_MOST_MEMBERS = 5
"""Medicines of a class whose labels are searched where classes alone are named."""
SEARCH = ToolPresentation(title="Drug database", icon="pill", subjects=("drug_name", "drug_class"))
_LABEL = ToolPresentation(title="Drug label", icon="pill", subjects=("name",))
INTERACTIONS = ToolPresentation(title="Interactions", icon="shuffle", subjects=("names",))
_OVERDOSAGE = ToolPresentation(title="Overdose and allergy", icon="siren", subjects=("question",))


def drug_tools(database: DrugDatabase) -> list[FunctionTool]:
    """Return the read-only tools over ``database``."""
    tools = _Tools(database)
    tool = partial(FunctionTool, idempotent=True)
    hidden = [BEFORE, REACTION, SELF_HARM, "language"]
    return [
        tool(tools.search_drug_database, presentation=SEARCH, source="drugs"),
        tool(tools.get_drug_label, presentation=_LABEL, source="drugs"),
        tool(tools.check_drug_interactions, presentation=INTERACTIONS, source="drugs", hidden=["language"]),
        tool(tools.search_overdosage, presentation=_OVERDOSAGE, source="overdosage", hidden=hidden),
    ]


class _Tools:
    """The functions that the model may call; it sees their names, signatures and docstrings."""

    def __init__(self, database: DrugDatabase) -> None:
        self._database = database

    async def search_drug_database(  # noqa: PLR0917  (the model names every argument)
        self,
        drug_name: str,
        drug_class: str | None = None,
        limit: int = 5,
        dosage_form: str | None = None,
        route: str | None = None,
        strength: str | None = None,
    ) -> ToolResult:
        """Look up a medicine: its brand and generic names, classes, forms, strengths, and what its label says.

        A result whose `matched.how` is "spelling" is not what was asked for but a name spelt like it: ask the user
        which medicine is meant before using it. `label_scope` tells which forms and routes the shown label is for and
        whether that fits what was asked: never give its doses for another form, route or population. What is marked
        as discontinued cannot be prescribed: say so when it is asked for.

        Args:
            drug_name: Brand, generic, salt, abbreviation, class or NDC, such as "metformin", "Glucophage" or "SSRI".
            drug_class: Only medicines of this class, such as "ACE inhibitor".
            limit: Most results, 1 to 50; more if `drug_name` names more medicines, all of them up to 16.
            dosage_form: Only products of this form, such as "tablet" or "extended release".
            route: Only products for this route, such as "oral" or "intravenous".
            strength: Only products of this strength, such as "500 mg".
        """
        if not drug_name.strip() and not (drug_class or "").strip():
            raise ToolArgumentsInvalid("Give the name of a medicine in drug_name, or a class in drug_class.")
        _check_lengths((drug_name, drug_class, dosage_form, route, strength))
        query = DrugQuery(
            name=drug_name,
            drug_class=drug_class,
            limit=max(1, min(50, limit)),
            all_named=True,
            dosage_form=dosage_form,
            route=route,
            strength=strength,
        )
        return tool_result(await self._database.search(query))

    async def get_drug_label(
        self, name: str, sections: list[SectionName] | None = None, form_or_route: str | None = None
    ) -> ToolResult:
        """Quotes whole sections of the label of one medicine.

        `label_scope` tells which forms and routes the quoted label is for; say so when they are not the asked ones.

        Args:
            name: Brand, generic, salt or abbreviation of the medicine.
            sections: Sections to quote; all of them when left out.
            form_or_route: Form or route that is asked about, such as "nasal spray" or "intravenous".
        """
        _check_names([name])
        _check_lengths([form_or_route])
        asked = f"{name} {form_or_route or ''}".strip()
        return label_result(await self._database.search(DrugQuery(name=asked, limit=1)), sections)

    async def check_drug_interactions(  # noqa: D417 - the model never sees the hidden parameter
        self, names: list[str], *, language: str = "en"
    ) -> ToolResult:
        """Quotes what the labels of the named medicines say about every pair of them, the most severe first.

        Call it whenever a question names two or more medicines, or asks what may not be taken with one. The severity
        is contraindicated, avoid, adjust dose, monitor or described. Rows with `matched_by` "shared risk" quote a
        risk that both labels state without naming each other; those with "class member" are on the medicine in
        `mentioned_as`, of the same class, and may not hold for the asked one: say so. No statement found never means
        that a combination is safe. Tell the user about pairs whose note says that they were not checked.

        Args:
            names: All medicines or classes, each by its whole brand, generic or class name; 16 are compared at once.
                With one name, the statements of its label about other medicines.
        """
        if not 1 <= len(names) <= _MOST_NAMES:
            raise ToolArgumentsInvalid(f"Give one to {_MOST_NAMES} names of medicines.")
        _check_names(names)
        searched = [await self._database.search(DrugQuery(name=name, limit=_MOST_MEMBERS)) for name in names]
        return interaction_result(searched, language)

    async def search_overdosage(  # noqa: D417 - the model never sees the hidden parameters
        self, question: str, *, before: str = "", reaction: bool = False, self_harm: bool = False, language: str = "en"
    ) -> ToolResult:
        """Search the labels of the medicines that a question names for Overdosage sections, and antidotes' Dosage.

        For an allergic reaction it returns what the labels say of hypersensitivity instead.

        `above_labelled_doses` tells whether the question states far more of a medicine than its labels allow.

        Args:
            question: The whole question, with the medicines as the user named them.
        """
        _check_lengths([question])
        if self_harm:
            return ToolResult(data={"question": question, "pairs": [note("self_harm", language)], "results": []})
        weight = stated_weight(question)
        named = {clause: await self._database.named(clause) for clause in clauses_with_amounts(question)}
        above = any(exceeds_labels(clause, records, weight) for clause, records in named.items())
        whole = f"{before}\n{question}".strip()
        records, members = await self._named_with_members(whole)
        asked = [one for clause in dose_clauses(question) for one in await self._database.named(clause)]
        with_amount = {one.key for found in named.values() for one in found}
        beside = told_beside_dose(whole)
        taken = {one.key for one in (await self._named_with_members(beside))[0]} if beside else None
        usual = await self._only_usual(whole)
        treatments = Treatments(whole, records, [one for one in asked if one.key not in with_amount], taken, usual)
        if reaction:
            return hypersensitivity_result(question, records, treatments)
        searched = [part for record in records for part in await self._with_section(record)]
        return overdosage_result(question, searched, treatments, members=members, above=above, language=language)

    async def _only_usual(self, text: str) -> Collection[str]:
        """Return the keys of the medicines that ``text`` names only as usual or as treatments, if others were taken.

        A number of tablets may be an overdose, and so may an amount that the labels do not allow or do not state.
        """
        clauses = exposure_clauses(text)
        taken = await self._keys(clauses.taken)
        not_taken, other = await self._keys(clauses.treats), await self._keys(clauses.other)
        for part in clauses.usual:
            (not_taken if await self._is_usual(part) else other).update(await self._keys([part]))
        return not_taken - taken - other if taken else set()

    async def _keys(self, parts: Iterable[str]) -> set[str]:
        return {one.key for one in await self._database.named(", ".join(parts))}

    async def _is_usual(self, part: str) -> bool:
        if counts_tablets(part) or any([await self._database.named(word) for word in counted_words(part)]):
            return False
        return all(is_within_labels(part, record) for record in await self._database.named(part))

    async def _named_with_members(self, text: str) -> tuple[Sequence[DrugRecord], Collection[str]]:
        """Return the medicines that ``text`` names, then members of its classes, and the keys of these members."""
        found = await self._database.search(DrugQuery(name=text, limit=_MOST_MEMBERS)) if text else None
        hits = [hit.matched.on for hit in found.hits if hit.matched.how == "class"] if found else []
        classes = [(name,) for name in dict.fromkeys(hits) if set(tokens(name)) <= set(tokens(text))]
        values = {name for name, _ in abnormal_values(text)}
        named = await self._database.named(text)
        # The name of a medicine asks for no other of its class.
        own = {fold_name(name) for one in named for name in (one.generic_name, *one.ingredients)}
        words = [
            one
            for one in (await self._database.expand(text)).expansions
            if one.asked not in values and own.isdisjoint(map(fold_name, (one.asked, *one.same)))
        ]
        members: dict[str, DrugRecord] = {}
        for names in (*classes, *((word.asked, *word.same) for word in words)):
            members.update((one.key, one) for one in await self._members(names))
        for one in named:
            members.pop(one.key, None)
        return [*named, *members.values()], members.keys()

    async def _members(self, names: Iterable[str]) -> Sequence[DrugRecord]:
        """Return members with an Overdosage section of the first of ``names`` that is a class with any."""
        for name in names:
            found = await self._database.search(DrugQuery(name="", drug_class=name, limit=_MOST_MEMBERS))
            records = [one for hit in found.hits for one in await self._with_section(hit.record)]
            if members := list(filter(has_section, records)):
                return members
        return []

    async def _with_section(self, record: DrugRecord) -> Sequence[DrugRecord]:
        """Return ``record``, or the records of its ingredients where only they have an Overdosage section."""
        if len(record.ingredients) < 2 or has_section(record):
            return [record]
        parts = [await self._database.record(record_key([one])) for one in record.ingredients]
        return [one for one in parts if one and has_section(one)] or [record]


def _check_names(names: Sequence[str]) -> None:
    if not all(map(str.strip, names)):
        raise ToolArgumentsInvalid("A name of a medicine is empty.")
    _check_lengths(names)


def _check_lengths(values: Iterable[str | None]) -> None:
    if any(len(value or "") > _LONGEST for value in values):
        raise ToolArgumentsInvalid("An argument is far longer than any name of a medicine.")
