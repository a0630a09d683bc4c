"""Finds what labels say about a combination of medicines: quotations by severity, never a verdict.

A label is searched for the other medicine's names, its classes, and its roles for enzymes. Risks that both medicines
carry are quoted, too, unless a statement about the pair already names them. The result "no statement found" says
nothing about safety.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from tools.drug_database.labels.combination_wording import (
    CLAUSES,
    exceptions,
    is_second_medicine,
    is_together,
    without_asides,
)
from tools.drug_database.labels.interaction_parties import Party, medicine, unlisted
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.labels.severity import SEVERITIES, Severity, says_something, severity_of
from tools.drug_database.labels.shared_risks import shared_risks, states
from tools.drug_database.records.drug_record import DrugRecord, Label, SectionName
from tools.language.folding import fold_name

_SEARCHED: Final[tuple[SectionName, ...]] = (
    "boxed_warning",
    "contraindications",
    "interactions",
    "warnings",
    "dosage",
    "renal_dosing",
    "hepatic_dosing",
)
MOST_QUOTES: Final = 40
"""Maximum number of sentences quoted for a pair."""
_MOST_BY_CLASS: Final = 12
"""Maximum number of these sentences that name only a class or enzyme."""
How = Literal["name", "class", "enzyme", "class member", "shared risk", "own section"]
_HOW_ORDER: Final[tuple[How, ...]] = ("name", "own section", "class", "enzyme", "class member", "shared risk")


class Statement(NamedTuple):
    """One sentence of a label that bears on the combination."""

    label_of: str
    about: str
    how: How
    mentioned_as: tuple[str, ...]
    """The names, classes or enzyme roles by which the sentence means the other medicine; or the name of the risk."""
    severity: Severity
    section: SectionName
    quote: str
    label: Label
    yields: bool = False
    """Whether the sentence only means an enzyme role while another one names the medicine; then that one decides."""


def tells_combination(sentence: str) -> bool:
    """Return whether ``sentence``, which names two medicines, may be about taking both."""
    return is_together(sentence) or severity_of(sentence, "interactions") == "avoid"


def pair_statements(one: Party, other: Party) -> list[Statement]:
    """Return what either label says about the other medicine, the most severe first, then shared risks.

    For a class, the labels of its members are read.
    """
    found = [*_mentions(one, other), *_mentions(other, one)]
    pairs = [(record, about) for of, about in ((one, other), (other, one)) for record in of.members]
    found += [said for record, about in pairs for said in _mentions(medicine(record), about)]
    return [*_limited(found), *_risks(one, other, found)]


def single_statements(party: Party) -> list[Statement]:
    """Return what the labels of one medicine say about its combinations, the most severe first."""
    found = [
        Statement(party.name, party.name, "own section", (), severity_of(sentence, section), section, sentence, label)
        for label, section, sentence in _sentences(party.record)
        if section == "interactions" or (section != "dosage" and is_together(sentence))
    ]
    return sorted(found, key=_order)[:MOST_QUOTES]


def _sentences(record: DrugRecord | None) -> Iterator[tuple[Label, SectionName, str]]:
    """Yield every sentence of the searched sections of all labels, each wording once."""
    seen: set[str] = set()
    for label in record.labels if record else ():
        for section in _SEARCHED:
            for sentence in label.sections.get(section, ()):
                if fold_name(sentence) not in seen:
                    seen.add(fold_name(sentence))
                    yield label, section, sentence


def _mentions(of: Party, about: Party) -> Iterator[Statement]:
    """Yield the sentences in the labels ``of`` one medicine that mean the other.

    A name or class that both medicines share means the label's own medicine, unless the sentence is about use with
    others, names the class as a second medicine, or compares a combination, by its brand, with one of its ingredients.
    """
    for label, section, sentence in _sentences(of.record):
        taken = without_asides(sentence)
        if not about.meant_in(taken) or any(about.named_in(excepted) for excepted in exceptions(sentence)):
            continue
        together = is_together(sentence) or of.tells_apart(sentence)
        named = [name for name in about.named_in(taken) if together or fold_name(name) not in of.own]
        classed = [
            name
            for name in about.classed_in(taken)
            if together or name not in of.groups or is_second_medicine(taken, of.names, name)
        ]
        acting = about.acting_in(taken)
        if names := tuple(named or classed or acting):
            how: How = "name" if named else "class" if classed else "enzyme"
            severity = severity_of(_bearing(of, about, sentence), section)
            yield Statement(of.name, about.name, how, names, severity, section, sentence, label)


def _bearing(of: Party, about: Party, sentence: str) -> str:
    """Return ``sentence`` without the clauses that warn of other medicines than ``about``.

    The sentence stays whole if the remaining clauses say nothing alone, as the items of a list.
    """
    for boundary in CLAUSES:
        kept = [clause for clause in boundary.split(sentence) if not _is_on_others(of, about, clause)]
        own = [clause for clause in kept if about.meant_in(clause)]
        if own and all(map(says_something, own)):
            return ";".join(kept)
    return sentence


def _is_on_others(of: Party, about: Party, clause: str) -> bool:
    """Return whether ``clause`` does not mean ``about``, but another medicine or a second one of the label's class."""
    second = any(is_second_medicine(clause, of.names, group) for group in of.groups)
    return not about.meant_in(clause) and (second or of.names_another(clause))


def _limited(found: Sequence[Statement]) -> list[Statement]:
    """Return the most severe statements, within the limits for a pair."""
    is_named = any(one.how == "name" for one in found)
    ranked = sorted((one._replace(yields=is_named and one.how == "enzyme") for one in found), key=_order)
    by_class = [one for one in ranked if one.how != "name"][:_MOST_BY_CLASS]
    by_name = [one for one in ranked if one.how == "name"][: MOST_QUOTES - len(by_class)]
    return sorted([*by_name, *by_class], key=_order)


def _order(statement: Statement) -> tuple[bool, int, int, int]:
    return (
        statement.yields,
        SEVERITIES.index(statement.severity),
        _HOW_ORDER.index(statement.how),
        _SEARCHED.index(statement.section),
    )


def _risks(one: Party, other: Party, found: Iterable[Statement]) -> list[Statement]:
    """Return the risks that both medicines carry, unless a statement about the pair already says so."""
    said = [statement.quote for statement in found]
    return [
        Statement(of.name, about.name, "shared risk", (risk,), severity_of(quote, section), section, quote, label)
        for risk, quotes in shared_risks(one, other).items()
        if not any(states(quote, risk) for quote in said)
        for of, about, found_quote in ((one, other, quotes[0]), (other, one, quotes[1]))
        if found_quote
        for label, section, quote in [found_quote]
    ]


def member_statements(one: Party, other: Party) -> list[Statement]:
    """Return the sentences in the label of one party that name a medicine like the other one, the most severe first.

    Only a medicine without a record, in a class whose members interact alike, is replaced so. The statements say which
    medicine they name and have no severity of their own: phenprocoumon is not warfarin.
    """
    return [*_on_members(one, other), *_on_members(other, one)]


def _on_members(of: Party, about: Party) -> Sequence[Statement]:
    if not of.record or about.record:
        return ()
    members = [name for name in label_terms().like(about.own) if name not in of.own]
    found = [said for name in members for said in pair_statements(of, unlisted(name))]
    named = {said.quote: said for said in found if said.how == "name"}
    return [said._replace(about=about.name, how="class member") for said in named.values()]
