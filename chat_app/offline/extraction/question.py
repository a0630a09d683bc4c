"""A question as the extractor reads it: its terms, their other words and weights, and the kind of answer asked for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from chat_app.offline.extraction.drug_parts import asked_sections
from chat_app.offline.extraction.evidence import WeightedTerm
from tools.language.quotable_units import Unit, ordered_terms

_KINDS: Final = (
    (r"\bhow (?:often|frequent|long|soon|fast|quick)|\bduration|\binterval|\bfrequen",
     r"\b(?:second|minute|hour|day|week|month|year|time|daily|weekly|monthly|annual|every|once|twice|yearly)"),
    (r"\bhow (?:much|many|high|low|old|large|big)|\bdos(?:e|es|age|ing)\b|\bmax|\bmin(?:imum)?\b|\brange|\btarget"
     r"|\bgoal|\bthreshold|\bcut-?off|\blevels?\b|\bage\b|\brate\b|\bpercent|\bwhat (?:value|number)|\bscore",
     r"\d"),
    (r"^\W*when\b|\bwhen (?:should|do|does|can|is|are|to|must)\b",
     r"\b(?:if|when|after|before|until|once|unless|within|where|during|at|as soon)\b|\d"),
    (r"\bwhy\b|\breasons?\b", r"\b(?:because|due to|since|so that|in order|therefore)\b"),
    (r"\bfirst[- ](?:line|choice)\b|\bof choice\b|\btreat|\bmanag|\bpreferred\b",
     r"^(?:treat|give|use|start|offer|prescribe|choose|consider|add)\b|\bfirst[- ](?:line|choice)\b"
     r"|\brecommended\b|\bpreferred\b|\bis treated\b|\bare treated\b"),
)  # fmt: skip
_ANSWERS: Final = tuple((re.compile(asks, re.IGNORECASE), re.compile(says, re.IGNORECASE)) for asks, says in _KINDS)
"""What a question asks for by its question words, and the words or figures that such an answer has."""
_LIST: Final = re.compile(
    r"\bcomponents?\b|\bcriteria\b|\bconsists?\b|\bincludes?\b|\blist\b|\bstages\b|\bsteps\b|\bcategories\b",
    re.IGNORECASE,
)
_FORBIDS: Final = re.compile(
    r"\b(?:must|should|may|can) ?(?:n[o']t|never)\b|\b(?:must|should|may|can)\b[^?.]*\bnot\b",
    re.IGNORECASE,
)
_FORBIDDEN: Final = "contraindicated"
"""A question for what must not be done asks for this, in words that carry no weight of their own."""
_OPPOSITES: Final = (
    (r"\badults?\b|\bolder (?:people|patients)\b|\belderly\b",
     r"\bchild(?:ren)?\b|\binfants?\b|\bpa?ediatric|\bneonat|\bnewborns?\b|\badolescents?\b|\bteenagers?\b"),
    (r"\bnon-?severe\b", r"(?<!non-)(?<!non)\bsevere\b"),
    (r"\boutpatients?\b", r"\binpatients?\b"),
    (r"\b(?:without|no) (?:\w+ )?comorbidit", r"\bwith (?:\w+ )?comorbidit|\bcomorbidity$"),
    (r"(?<!wo)\bmen\b", r"\bwomen\b"),
)  # fmt: skip
_SIDES: Final = tuple(
    (re.compile(one, re.IGNORECASE), re.compile(other, re.IGNORECASE))
    for pair in _OPPOSITES
    for one, other in (pair, pair[::-1])
)
_CHILD: Final = re.compile(
    _OPPOSITES[0][1] + r"|\b(?:at|from|over|aged|above) (?:[1-9]|1[0-7])(?: to \d+)? years"
    r"|\b(?:[1-9]|1[0-7]) years (?:and|or) older",
    re.IGNORECASE,
)  # fmt: skip
_NUMBERED: Final = re.compile(
    r"\b(type|stage|step|grade|class|level|track|phase|category|G)[ -]?([0-9]+[ab]?)\b", re.IGNORECASE
)
_NUMBERED_RANGE: Final = re.compile(
    r"\b(type|stage|step|grade|class|level|track|phase|category|G)s?[ -]?(\d{1,2})[ab]?(?: to | or |[-–])"
    r"(?:\1[ -]?)?(\d{1,2})",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Question:
    """``forms`` are the ways to say each term, each a set of stems that must all be held."""

    text: str
    forms: tuple[tuple[frozenset[str], ...], ...]
    weights: tuple[float | None, ...]
    """The weight of each term in the whole library, where the search gave one."""
    focus: frozenset[int] = frozenset()
    """The terms of a follow-up's own words."""
    asked: str = ""
    """The text with the other words for its words, such as translations: it tells what kind of answer is asked for."""
    subjects: tuple[frozenset[str], ...] = ()
    """The names and classes of the drugs asked about, each as its stems; empty where no drug is named."""
    sections: frozenset[str] = frozenset()
    """The sections of a label that are asked for."""

    def held(self, stems: Collection[str]) -> frozenset[int]:
        """The places of the terms that ``stems`` hold in any of their forms."""
        return frozenset(place for place, forms in enumerate(self.forms) if any(form.issubset(stems) for form in forms))

    @property
    def list_terms(self) -> frozenset[int]:
        """The places of the terms that ask for a list: a list answers them without holding them."""
        return self.held(ordered_terms(" ".join(_LIST.findall(self.text))))

    @property
    def asks_list(self) -> bool:
        return _LIST.search(self.text) is not None

    def kind_matches(self, unit: Unit) -> bool:
        """True when ``unit`` has what the question words ask for: a figure, a time, a condition, a list's item."""
        if self.asks_list:
            return unit.table is not None or unit.leans > 0
        return next((says.search(unit.text) is not None for asks, says in _ANSWERS if asks.search(self.asked)), False)


def read_question(
    text: str, known: Iterable[WeightedTerm] = (), *, newest: str = "", subjects: Iterable[str] = ()
) -> Question:
    """The question with its terms.

    Args:
        text: The question, complete in itself.
        known: The terms as the searches read them; those that they left out only ask, and are left out here, too.
        newest: The last thing the user wrote, where ``text`` was completed from the questions before it.
        subjects: Names and classes of the drugs that the question names.
    """
    told = {term.term: term for term in known}
    stems = tuple(stem for stem in dict.fromkeys(ordered_terms(text)) if stem in told or not told)
    stems += ordered_terms(_FORBIDDEN) if _FORBIDS.search(text) else ()
    new = set(ordered_terms(newest)) if newest != text else set[str]()
    asked = " ".join([text, *(form for stem in stems if stem in told for form in told[stem].also)])
    also = [[frozenset(ordered_terms(form)) for form in told[stem].also] if stem in told else [] for stem in stems]
    return Question(
        text,
        tuple((frozenset({stem}), *filter(None, more)) for stem, more in zip(stems, also, strict=True)),
        tuple(told[stem].weight if stem in told else None for stem in stems),
        frozenset(place for place, stem in enumerate(stems) if stem in new),
        asked,
        tuple(filter(None, (frozenset(ordered_terms(name)) for name in subjects))),
        (asked_sections(newest) if new else frozenset()) or asked_sections(asked),
    )


def contradicts(question: str, text: str) -> bool:
    """True when ``question`` names one side of an opposite, or one stage, and ``text`` another alone."""
    sides, asked = _asked(question)
    if any(other.search(text) and not one.search(text) for one, other in sides):
        return True
    said = _numbers(text) if asked else {}
    return any(name in said and not numbers & said[name] for name, numbers in asked.items())


@lru_cache(maxsize=256)
def _asked(question: str) -> tuple[tuple[tuple[re.Pattern[str], re.Pattern[str]], ...], dict[str, set[str]]]:
    """The opposites of which ``question`` names one side alone, and the stages that it names."""
    sides = tuple((one, other) for one, other in _SIDES if one.search(question) and not other.search(question))
    return sides, _numbers(question)


def names_children(text: str) -> bool:
    """True when ``text`` speaks of children, or of an age under 18."""
    return _CHILD.search(text) is not None


def opposite_of(text: str) -> re.Pattern[str] | None:
    """The pattern of the other side, when ``text`` names one side of an opposite."""
    return next((other for one, other in _SIDES if one.search(text)), None)


def _numbers(text: str) -> dict[str, set[str]]:
    """The stages, types and the like that ``text`` names; "G3 to G5" names those between, too."""
    found: dict[str, set[str]] = {}
    for name, number in _NUMBERED.findall(text):
        found.setdefault(name.lower(), set()).add(number.lower())
    for name, low, high in _NUMBERED_RANGE.findall(text):
        found.setdefault(name.lower(), set()).update(map(str, range(int(low), min(int(high), int(low) + 20) + 1)))
    return found
