"""A question as the extractor reads it: its terms with synonyms and weights, its patients, and the kind of answer.

A term is given by its index in ``Question.forms``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from chat_app.offline.extraction.answer_kinds import (
    DIGIT,
    DURATION,
    FIGURE,
    FORBIDDEN,
    FORBIDDEN_USE,
    HOW_OFTEN,
    LASTS,
    LISTS,
    SEVERAL,
    STOPPED,
    TIME,
    WAITS,
)
from chat_app.offline.extraction.drug_parts import ASKING, CAUTIONS, RECORD_TERMS, section_terms, tells_onset
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.query_words import CONTEXT, FORMS, OFFERED, PRODUCT_WORDS
from tools.drug_database.records.drug_record import DOSE_SECTIONS
from tools.language.folding import fold_name
from tools.language.question_words import ASKS_FOR_MEDICINE
from tools.language.quotable_units import Unit, term_set
from tools.language.vocabulary.absence import absence
from tools.language.vocabulary.patient_values import value_names
from tools.language.vocabulary.populations import (
    MOTHERS,
    WITH_THEIR_MOTHERS,
    YOUNG,
    Population,
    populations_in,
    speaks_of,
)

_CONTEXT: Final = term_set(" ".join(CONTEXT))
"""Terms of patients and diseases. They describe the patient although they are everyday words."""
_PRODUCT: Final = term_set(" ".join(PRODUCT_WORDS))
_FORMS: Final = term_set(" ".join(FORMS))
_OF_RECORD: Final = _FORMS | RECORD_TERMS | term_set(" ".join((*OFFERED, "name")))
"""Terms that ask for fields of a record; "name" is one of a brand name, which has one word in German."""
_ADULTS: Final = re.compile(r"\b(?:adults?|erwachsene\w?|adultos?)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Question:
    """A question with its terms; a unit holds a term if it has all stems of one of the term's forms."""

    text: str
    """The words that ask."""
    patient: str
    """The text with the patient's values and groups: the question, or the whole case that it belongs to."""
    forms: tuple[tuple[frozenset[str], ...], ...]
    """For each term its own stem, then its synonyms, each as a set of stems."""
    weights: tuple[float | None, ...]
    """The weight of each term in the whole library, if the search gave one."""
    related: Mapping[str, Sequence[tuple[frozenset[str], int]]]
    """For each stem the related words and phrases that contain it, each with the term to which it is related."""
    present: tuple[frozenset[str], ...] = ()
    """What the patient is allergic to; if ``asks_another``, the patient's medicines and their classes."""
    excluded: tuple[frozenset[str], ...] = ()
    """The medicines other than which one is asked for, with the members of classes."""
    asks_another: bool = False
    """Whether another medicine than the patient's is asked for, which then are no ``subjects``."""
    asked: str = ""
    """The text with the synonyms and translations of its words; it tells the kind of answer."""
    subjects: tuple[frozenset[str], ...] = ()
    """The names and classes of the asked drugs, each as its stems; empty if the question names no drug."""
    medicines: tuple[frozenset[str], ...] = ()
    """The names among them."""
    unknown: frozenset[int] = frozenset()
    """Terms that name a medicine missing from the drug database."""
    sections: frozenset[str] = frozenset()
    """The sections of a label that are asked for."""
    populations: frozenset[Population] = frozenset()
    """The groups of patients that are asked about."""
    group: frozenset[int] = frozenset()
    """Terms that name such a group. A text that speaks of the group in any words holds them."""
    absent: frozenset[str] = frozenset()
    """Stems that the question says are absent ("without …"). Only a text that says the same holds them."""
    denied: frozenset[int] = frozenset()
    """Terms that the question says are absent."""
    everyday: frozenset[int] = frozenset()
    """Everyday words, numbers and ambiguous abbreviations. If no text holds them, they do not name the subject."""
    states: tuple[frozenset[str], ...] = ()
    """The names of the states that the patient's abnormal values indicate, each as its stems."""
    numbers: Mapping[str, re.Pattern[str]] = field(default_factory=dict[str, re.Pattern[str]])
    """Stems that mean nothing alone, each with a pattern for it beside one of its neighbours, as in "stage 4"."""
    kinds: frozenset[int] = frozenset()
    """Terms that name a numbered kind of the subject, as in "type 1 diabetes"."""
    inherited: frozenset[int] = frozenset()
    """Terms that only earlier questions of the conversation contain."""

    asks_only: str = ""
    """The last words of the user, if they have no term of their own: "how long?"."""

    @property
    def is_of_case(self) -> bool:
        """Return whether the question is asked of a patient whom other sentences describe."""
        return self.patient != self.text

    @cached_property
    def names_alone(self) -> bool:
        """Return whether all terms are names of drugs and classes, or words that ask for anything on them."""
        return bool(self.subjects) and not self.beyond_names and not self.populations

    @cached_property
    def beyond_names(self) -> frozenset[int]:
        """Return the terms that are not names of asked drugs and classes; none if the question names no drug."""
        names = term_set(ASKING).union(*self.subjects)
        return frozenset(range(len(self.forms))) - self.held(names) if self.subjects else frozenset()

    @cached_property
    def circumstances(self) -> frozenset[int]:
        """Return the terms that describe the patient, or ask for anything besides the medicines taken."""
        values, words = term_set(value_names(self.patient)), [forms[0] for forms in self.forms]
        idle = self.everyday - self.held(_CONTEXT) | {place for place, word in enumerate(words) if word <= _PRODUCT}
        return self.beyond_names - idle | {place for place, word in enumerate(words) if word <= values}

    @cached_property
    def is_on_child(self) -> bool:
        """Return whether the patient is under 18 years old, and neither pregnant nor breastfeeding."""
        return not self.populations.isdisjoint(YOUNG) and self.populations.isdisjoint(MOTHERS)

    @cached_property
    def searched_sections(self) -> frozenset[str]:
        """Return the label sections that are asked for; the warning ones if the question only describes a patient."""
        only_describes = self.medicines and self.circumstances and not self.asks_kind
        return self.sections or (CAUTIONS if only_describes else frozenset())

    @cached_property
    def told_before(self) -> frozenset[int]:
        """Return the terms that describe the patient if only questions before the one for a dose did; else none."""
        if not (self.medicines and self.sections & DOSE_SECTIONS):
            return frozenset()
        told = self.circumstances - self.held(section_terms("dosage"))
        return told if told <= self.inherited else frozenset()

    @cached_property
    def names_before(self) -> bool:
        """Return whether only earlier questions name the medicines."""
        return self.held(frozenset[str]().union(*self.medicines)) <= self.inherited

    @property
    def asks_time(self) -> bool:
        """Return whether the question asks how often, how long, or after what time."""
        return any(asks.search(self.asked) for asks in (HOW_OFTEN, WAITS))

    def names_group(self, text: str) -> bool:
        """Return whether ``text`` speaks of a group of patients that the question names."""
        return any(speaks_of(text, group) for group in self.populations)

    def on_group(self, text: str) -> float:
        """Return 1 if ``text`` is on a group of patients that the question names, -1 if only on others, otherwise 0.

        No group counts as another if the question is about an infant, who may be the patient or breastfed by the
        patient, or if it asks who must not have something.
        """
        if self.names_group(text):
            return 1.0
        asks_all = not self.populations.isdisjoint(WITH_THEIR_MOTHERS) or "contraindications" in self.sections
        return 0.0 if asks_all or _ADULTS.search(text) or not populations_in(text) else -1.0

    def said_in(self, *texts: str) -> frozenset[str]:
        """Return the stems of ``texts`` that may match the question.

        Left out are stems that only the text or only the question says are absent, and numbers without the neighbour
        that they have in the question.
        """
        denied, states = (frozenset[str]().union(*parts) for parts in zip(*map(absence, texts), strict=True))
        text = " ".join(texts)
        loose = {number for number, beside in self.numbers.items() if not beside.search(text)}
        also = frozenset[str]().union(*(form for place in self.denied for form in self.forms[place]))
        return term_set(text) - (states - self.absent - also) - (self.absent - denied) - loose

    def asserted(self, *texts: str) -> frozenset[int]:
        """Return the terms that the question says are absent, and that ``texts`` speak of without saying so."""
        named = self.denied & self.held(term_set(" ".join(texts))) if self.denied else frozenset[int]()
        denied = frozenset[str]().union(*(absence(text).denied for text in texts)) if named else frozenset[str]()
        return frozenset(place for place in named if not any(form <= denied for form in self.forms[place]))

    def states_in(self, stems: Set[str]) -> int:
        """Return how many of the states that values of the patient indicate ``stems`` name."""
        return sum(state <= stems for state in self.states)

    def held(self, stems: Collection[str]) -> frozenset[int]:
        """Return the terms that ``stems`` hold in any of their forms."""
        return frozenset(place for place, forms in enumerate(self.forms) if any(form.issubset(stems) for form in forms))

    def weights_of(self, places: Iterable[int]) -> dict[int, float]:
        """Return the weight of each of the terms; 1 if the search gave none."""
        return {place: self.weights[place] or 1.0 for place in places}

    def nearly_held(self, stems: Set[str]) -> frozenset[int]:
        """Return the terms to which a word or phrase of ``stems`` is related."""
        named = self.related.keys() & stems
        return frozenset(place for stem in named for form, place in self.related[stem] if form <= stems)

    def bounded_terms(self, text: str) -> frozenset[int]:
        """Return the terms that name a value of the patient for which ``text`` gives bounds."""
        return self.held(term_set(value_names(self.patient, text)))

    @property
    def asks_product(self) -> bool:
        """Return whether the question only asks in which forms the medicines exist ("Does it come as a solution?")."""
        offered = not OFFERED.isdisjoint(fold_name(self.text).split())
        return offered and bool(self.held(_FORMS)) and not (self.sections or self.beyond_record)

    @cached_property
    def beyond_record(self) -> frozenset[int]:
        """Return the terms that describe the patient, or ask for more than the fields of a record."""
        return self.circumstances - self.held(_OF_RECORD)

    @cached_property
    def asks_list(self) -> bool:
        """Return whether the question asks for a list, such as criteria or steps."""
        return LISTS.search(self.text) is not None

    @property
    def asks_several(self) -> bool:
        """Return whether the question asks for several things, such as contraindications."""
        return self.asks_list or SEVERAL.search(self.text) is not None

    def kind_matches(self, unit: Unit, group: float = 1.0) -> bool:
        """Return whether ``unit`` has what the question asks for: a time, a figure, a prohibition or a medicine.

        If the question names patients, a medicine counts only in a unit on them: ``group`` is its ``on_group``.
        """
        on_patients = group > 0 or not self.populations
        return any(says.search(unit.text) for says in self._kinds) or (
            self.asks_medicine and on_patients and label_terms().names_any(unit.text)
        )

    def has_time(self, unit: Unit) -> bool:
        """Return whether ``unit`` tells a time, if the last words of the user only ask for one."""
        says = DURATION if LASTS.search(self.asks_only) else TIME
        return not HOW_OFTEN.search(self.asks_only) or says.search(unit.text) is not None

    def forbids(self, unit: Unit) -> bool:
        """Return whether the question names a medicine, and ``unit`` forbids the use of one."""
        forbids = FORBIDDEN_USE.search(unit.text) if self.medicines else None
        return forbids is not None and label_terms().names_any(unit.text)

    def forbids_in_state(self, unit: Unit) -> bool:
        """Return whether ``unit`` forbids the use of a medicine in a state that a value of the patient indicates."""
        forbids = FORBIDDEN_USE.search(unit.text) if self.states else None
        named = forbids is not None and self.states_in(term_set(unit.text[forbids.end() :])) > 0
        return named and label_terms().names_any(unit.text)

    @cached_property
    def asks_medicine(self) -> bool:
        """Return whether the question asks for a medicine and names none."""
        return self.asks_another or (not self.medicines and ASKS_FOR_MEDICINE.search(self.asked) is not None)

    @property
    def asks_kind(self) -> bool:
        """Return whether the question asks for a time, a figure, a prohibition or a medicine."""
        return bool(self._kinds) or self.asks_medicine

    @cached_property
    def _kinds(self) -> list[re.Pattern[str]]:
        """Return the patterns of the kinds of answer that the question asks for."""
        forbids = FORBIDDEN if STOPPED.search(self.asked) else FORBIDDEN_USE
        # "Can't sleep since starting it" asks for no prohibition.
        forbidden = [forbids] if FORBIDDEN.search(self.text) and not tells_onset(self.text) else []
        return [*forbidden, *(says for asks, says in ((HOW_OFTEN, TIME), (FIGURE, DIGIT)) if asks.search(self.asked))]
