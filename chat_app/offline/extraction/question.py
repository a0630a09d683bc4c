"""A question as the extractor reads it: its terms, their other words and weights, and the kind of answer asked for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final

from chat_app.offline.extraction.answer_kinds import (
    DIGIT,
    FIGURE,
    FORBIDDEN,
    FORBIDDEN_USE,
    HOW_OFTEN,
    STOPS,
    TIME,
    WAITS,
)
from chat_app.offline.extraction.drug_parts import (
    ASKING,
    CAUTIONS,
    RECORD_TERMS,
    words_of_use,
)
from chat_app.offline.extraction.numbers_beside import NEVER, kind_terms, numbers_beside
from chat_app.offline.extraction.question_parts import in_all_words, is_unread, named_in, related_words, sections_in
from chat_app.offline.reading.evidence import WeightedTerm
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.query_words import CONTEXT, FORMS, OFFERED, PRODUCT_WORDS
from tools.language.folding import fold_name
from tools.language.question_words import ASKS_FOR_MEDICINE, everyday_terms
from tools.language.quotable_units import Unit, ordered_terms, term_set
from tools.language.vocabulary.absence import absence
from tools.language.vocabulary.patient_values import abnormal_values, value_names, without_values
from tools.language.vocabulary.populations import (
    MOTHERS,
    NAMED,
    WITH_THEIR_MOTHERS,
    YOUNG,
    Population,
    populations_in,
    speaks_of,
)

_CONTEXT: Final = term_set(" ".join(CONTEXT))
"""Terms of patients and diseases, which are not idle where they are everyday words."""
_PRODUCT: Final = term_set(" ".join(PRODUCT_WORDS))
_FORMS: Final = term_set(" ".join(FORMS))
_PRODUCTS: Final = _FORMS | term_set(" ".join(OFFERED))
_ADULTS: Final = re.compile(r"\b(?:adults?|erwachsene\w?|adultos?)\b", re.IGNORECASE)
_LIST: Final = re.compile(
    r"\bcomponents?\b|\bcriteria\b|\bconsists?\b|\bincludes?\b|\blist\b|\bstages\b|\bsteps\b|\bcategories\b",
    re.IGNORECASE,
)
_PLURAL: Final = r"(?!(?:does|has|was)\b)\w+[^\W\dius]s\b"
_SEVERAL: Final = re.compile(
    rf"\b(?:what|which) (?:\w+ )?(?:are|were)\b|\bwhich (?:\w+ )?{_PLURAL}|\bexamples\b"
    rf"|\bwhat {_PLURAL} (?:are|can|could|do|does|has|have|is|may|must|need|should|were)\b"
    rf"|^\W*{_PLURAL} (?:for|in|of|to|with)\b"
    r"|\b(?:who|whom|wer|wem|wen|quién(?:es)?)\b|\b(?:reasons?|gründe?n?|razones|motivos) (?:for|to|für|para|de)\b"
    r"|\b(?:when|wann|cuándo)\b.*(?:\b(?:not|never|avoid\w*|refer\w*|nicht|nie|\w*meide\w*|überw\w+|no|nunca|evitar\w*"
    r"|deriv\w+|remit\w+)\b|n['’]t\b|kontraindiz|contraindi)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Question:
    """``forms`` are the ways to say each term, each a set of stems that must all be held."""

    text: str
    forms: tuple[tuple[frozenset[str], ...], ...]
    weights: tuple[float | None, ...]
    """The weight of each term in the whole library, where the search gave one."""
    related: Mapping[str, Sequence[tuple[frozenset[str], int]]]
    """For each stem the related words and phrases that it is in, each with the place of the term it is related to."""
    asked: str = ""
    """The text with the other words for its words, such as translations: it tells what kind of answer is asked for."""
    subjects: tuple[frozenset[str], ...] = ()
    """The names and classes of the drugs asked about, each as its stems; empty where no drug is named."""
    medicines: tuple[frozenset[str], ...] = ()
    """The names of the drugs among them."""
    unknown: frozenset[int] = frozenset()
    """The places of the terms that name a medicine which the drug database does not have."""
    sections: frozenset[str] = frozenset()
    """The sections of a label that are asked for."""
    populations: frozenset[Population] = frozenset()
    """The groups of patients that are asked about."""
    group: frozenset[int] = frozenset()
    """The places of the terms that name such a group: what speaks of it in any words holds them."""
    absent: frozenset[str] = frozenset()
    """The terms that the question says to be absent: no text that says the contrary holds them."""
    everyday: frozenset[int] = frozenset()
    """The places of everyday words, numbers and unread abbreviations: where no text holds them they tell nothing of
    the subject."""
    states: tuple[frozenset[str], ...] = ()
    """What the patient's values outside the reference range are called, each as its stems."""
    numbers: Mapping[str, re.Pattern[str]] = field(default_factory=dict[str, re.Pattern[str]])
    """Terms that tell nothing alone, each with a pattern for it beside one of its neighbours, as in "stage 4"."""
    kinds: frozenset[int] = frozenset()
    """The places of the terms that name a numbered kind of the subject, as in "type 1 diabetes"."""
    inherited: frozenset[int] = frozenset()
    """The places of the terms that the questions before gave, and not the user's last words."""

    @property
    def names_alone(self) -> bool:
        """Whether there is no term but names of drugs and classes, and words that ask for anything on them."""
        return bool(self.subjects) and not self.beyond_names and not self.populations

    @property
    def beyond_names(self) -> frozenset[int]:
        """The places of the terms that are no names of asked drugs and classes; empty where none is named."""
        names = term_set(ASKING).union(*self.subjects)
        return frozenset(
            place
            for place, forms in enumerate(self.forms)
            if self.subjects and not any(form <= names for form in forms)
        )

    @property
    def circumstances(self) -> frozenset[int]:
        """The places of the terms that describe the patient, or ask for anything beside the medicines taken."""
        values, words = term_set(value_names(self.text)), [forms[0] for forms in self.forms]
        idle = {place for place in self.everyday if not words[place] <= _CONTEXT}
        idle |= {place for place, word in enumerate(words) if word <= _PRODUCT}
        return self.beyond_names - idle | {place for place, word in enumerate(words) if word <= values}

    @property
    def is_on_child(self) -> bool:
        """Whether the patient is under 18 years old, and neither pregnant nor breastfeeding."""
        return not self.populations.isdisjoint(YOUNG) and self.populations.isdisjoint(MOTHERS)

    @property
    def searched_sections(self) -> frozenset[str]:
        """The sections of a label that are asked for, or that warn where a patient is told of and nothing asked for."""
        tells = self.medicines and self.circumstances and not self.asks_kind
        return self.sections or (CAUTIONS if tells else frozenset())

    @property
    def asks_time(self) -> bool:
        """Whether it is asked how often or how long, or after what time."""
        return any(asks.search(self.asked) for asks in (HOW_OFTEN, WAITS))

    def on_group(self, text: str) -> float:
        """Return 1 where ``text`` is on a group of patients that the question names, and -1 where on others alone.

        An infant is the patient, or whom the patient breastfeeds: then no group is another. Nor is one where it
        is asked who must not have something.
        """
        if any(speaks_of(text, group) for group in self.populations):
            return 1.0
        asks_all = not self.populations.isdisjoint(WITH_THEIR_MOTHERS) or "contraindications" in self.sections
        return 0.0 if asks_all or _ADULTS.search(text) or not populations_in(text) else -1.0

    def said_in(self, *texts: str) -> frozenset[str]:
        """Return the terms of ``texts`` but for those that one side alone says to be absent, and other numbers."""
        denied, states = (frozenset[str]().union(*parts) for parts in zip(*map(absence, texts), strict=True))
        text = " ".join(texts)
        loose = {number for number, beside in self.numbers.items() if not beside.search(text)}
        return term_set(text) - (states - self.absent) - (self.absent - denied) - loose

    def names_state(self, stems: Set[str]) -> bool:
        """Return whether ``stems`` name the state in which a value of the patient is."""
        return any(state <= stems for state in self.states)

    def held(self, stems: Collection[str]) -> frozenset[int]:
        """The places of the terms that ``stems`` hold in any of their forms."""
        return frozenset(place for place, forms in enumerate(self.forms) if any(form.issubset(stems) for form in forms))

    def nearly_held(self, stems: Set[str]) -> frozenset[int]:
        """The places of the terms to which a word or phrase of ``stems`` is related."""
        named = self.related.keys() & stems
        return frozenset(place for stem in named for form, place in self.related[stem] if form <= stems)

    def bounded_terms(self, text: str) -> frozenset[int]:
        """The places of the terms that name a patient's value of which ``text`` gives bounds: they hold its name."""
        return self.held(term_set(value_names(self.text, text)))

    @property
    def asks_product(self) -> bool:
        """Return whether nothing is asked but in which forms the medicines exist: "Does it come as a solution?"."""
        offered = not OFFERED.isdisjoint(fold_name(self.text).split())
        return offered and bool(self.held(_FORMS)) and not (self.sections or self.beyond_record)

    @property
    def beyond_record(self) -> frozenset[int]:
        """The places of the terms that describe the patient, or ask for more than the fields of a record."""
        return self.circumstances - self.held(_PRODUCTS | RECORD_TERMS)

    @property
    def asks_list(self) -> bool:
        return _LIST.search(self.text) is not None

    @property
    def asks_several(self) -> bool:
        """Return whether the question asks for several things, such as contraindications."""
        return self.asks_list or _SEVERAL.search(self.text) is not None

    def kind_matches(self, unit: Unit, group: float = 1.0) -> bool:
        """Return whether ``unit`` has what the question asks for: a time, a figure, a prohibition or a medicine.

        A medicine for a group of patients is one that is said of them, by the ``group`` of ``on_group``.
        """
        asked_of = group > 0 or not self.populations
        return any(says.search(unit.text) for says in self._kinds) or (
            self.asks_medicine and asked_of and label_terms().names_any(unit.text)
        )

    def forbids(self, unit: Unit) -> bool:
        """Return whether a medicine is asked for or named, and ``unit`` forbids the use of one."""
        asks = bool(self.medicines) or self.asks_medicine
        return asks and FORBIDDEN_USE.search(unit.text) is not None and label_terms().names_any(unit.text)

    def forbids_in_state(self, unit: Unit) -> bool:
        """Return whether ``unit`` forbids the use of a medicine in the state in which a value of the patient is."""
        forbids = FORBIDDEN_USE.search(unit.text) if self.states else None
        named = forbids is not None and self.names_state(term_set(unit.text[forbids.end() :]))
        return named and label_terms().names_any(unit.text)

    @property
    def asks_medicine(self) -> bool:
        """Return whether a medicine is asked for, and none is named."""
        return not self.medicines and ASKS_FOR_MEDICINE.search(self.asked) is not None

    @property
    def asks_kind(self) -> bool:
        """Return whether a time, figure, prohibition or medicine is asked for."""
        return bool(self._kinds) or self.asks_medicine

    @property
    def _kinds(self) -> list[re.Pattern[str]]:
        kinds = ((HOW_OFTEN, TIME), (FIGURE, DIGIT))
        forbids = FORBIDDEN if re.search(rf"\b{STOPS}", self.asked, re.IGNORECASE) else FORBIDDEN_USE
        forbidden = [forbids] if FORBIDDEN.search(self.text) else []
        return [*forbidden, *(says for asks, says in kinds if asks.search(self.asked))]


def read_question(
    text: str,
    known: Iterable[WeightedTerm] = (),
    *,
    newest: str = "",
    subjects: Iterable[str] = (),
    medicines: Iterable[str] = (),
    classes: Iterable[tuple[str, str]] = (),
    notes: Iterable[str] = (),
) -> Question:
    """The question with its terms.

    Args:
        text: The question, complete in itself.
        known: The terms as the searches read them; those that they left out only ask, and are left out here, too.
        newest: The last thing the user wrote, where ``text`` was completed from the questions before it.
        subjects: Names and classes of the drugs that the question names, and of what else is taken with them.
        medicines: The names among them.
        classes: Each name of a medicine with each class that it belongs to.
        notes: What the drug search says of medicines that it does not have; it names them.
    """
    told = {term.term: term for term in known}
    named = tuple(filter(None, map(term_set, subjects)))
    stems = _asked_stems(text, told)
    also = [told[stem].also if stem in told else () for stem in stems]
    everyday, unknown = everyday_terms(text), named_in(" ".join(notes), stems)
    asked, populations = in_all_words(text, also)
    abnormal, of_kind = abnormal_values(text), kind_terms(text)
    valued = term_set(" ".join(name for name, _ in abnormal))
    forms = tuple(
        (frozenset({stem}), *filter(None, map(term_set, other))) for stem, other in zip(stems, also, strict=True)
    )
    group = term_set(" ".join(match[0] for name in populations for match in NAMED[name].finditer(text)))
    return Question(
        text,
        forms,
        tuple(told[stem].weight if stem in told else None for stem in stems),
        related_words(stems, forms, classes, unknown, told),
        asked,
        named,
        tuple(filter(None, map(term_set, medicines))),
        unknown,
        sections_in(text, asked, newest, frozenset[str]().union(*named)),
        populations,
        frozenset(place for place, stem in enumerate(stems) if stem in group),
        absence(text).denied.difference(*named),
        frozenset(
            place for place, stem in enumerate(stems) if (stem in everyday or is_unread(stem)) and stem not in valued
        ),
        tuple(term_set(called) for _, called in abnormal),
        numbers_beside(text, frozenset(stems)) | {stem: NEVER for stem in valued if len(stem) == 1},
        frozenset(place for place, stem in enumerate(stems) if stem in of_kind),
        frozenset(place for place, stem in enumerate(stems) if newest and stem not in ordered_terms(newest)),
    )


def _asked_stems(text: str, told: Collection[str]) -> list[str]:
    """Return the terms of ``text`` that the searches ``told`` of, without those that only ask whether it is used."""
    stems = [stem for stem in dict.fromkeys(ordered_terms(without_values(text))) if stem in told or not told]
    asking = words_of_use(text)
    return [stem for stem in stems if stem not in asking] or stems
