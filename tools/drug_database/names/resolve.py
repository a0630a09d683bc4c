"""Resolves a typed text to records by name, class and spelling, without I/O.

The first of these readings counts: an exact name or a curated alias, a class, names inside a longer question, a near
spelling. A near spelling is marked as such and never presented as the name that was typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tools.drug_database.names.aliases import aliases, is_known_word
from tools.drug_database.names.foreign_names import english_ions, ions_of, salt_in_english
from tools.drug_database.names.name_index import NameIndex
from tools.drug_database.names.name_keys import joined
from tools.drug_database.names.name_resolution import (
    NameCandidate,
    class_named,
    classed,
    distinct,
    is_abbreviation,
    leading,
    named,
    named_alone,
    not_loaded,
    with_combinations,
)
from tools.drug_database.names.name_spans import NameSpan, find_spans
from tools.drug_database.names.query_words import JOINING, NOISE, TypedQuery
from tools.drug_database.names.spelling import ENOUGH, PERHAPS, Spelling, closeness
from tools.language.folding import fold_name
from tools.language.vocabulary.common_words import is_ordinary, rareness
from tools.language.vocabulary.text_language import language_of

_LONG_WORD: Final = 5
_MOST_WORDS: Final = 8
"""Maximum number of words and pairs of words of a long question that are tried."""
_SURE_WORD: Final = 80.0
"""Minimum closeness of a single word of a question; more than for a name that was typed alone."""
_SURE_IONS: Final = 90.0
"""Minimum closeness of a single word to the name of a salt."""
_CLASS_LEAD: Final = 2.0
"""Points by which a class must be closer than any name."""
_MEANINGS: Final = 3
_SURE_SPELLING: Final = 88.0
"""Closeness from which a whole text means a name although a part of the text is a name as well."""
_RIVAL: Final = 10.0
"""Difference in points within which another medicine may be meant as well."""
_CLASS_ENDS: Final = frozenset({"drug", "drugs", "medicine", "medicines", "agent", "agents"})
ABSENT: Final = "{} is another name of {}, which is not in the drug database."
NOT_LOADED: Final = "{} is not in the drug database."
_HALF: Final = 0.5
_FAR_WORDS: Final = 3


class Reading(NamedTuple):
    """The records that a text may mean."""

    candidates: tuple[NameCandidate, ...] = ()
    """The best first, each record once."""
    did_you_mean: tuple[str, ...] = ()
    """Names to ask for if the candidates are a guess."""
    notes: tuple[str, ...] = ()
    """Notes on the names; without candidates, why the text names no record."""
    misspelt: tuple[str, ...] = ()
    """The typed words that can only be a misspelling of one medicine."""
    not_loaded: tuple[str, ...] = ()
    """The notes on typed names whose medicine no record has."""
    perhaps: Reading | None = None
    """Distant spellings, for use if nothing else is found."""

    @property
    def score(self) -> float:
        """Return the score of the best candidate, or 0."""
        return self.candidates[0].score if self.candidates else 0.0


_NOTHING: Final = Reading()


def guess(index: NameIndex, text: str, *, least: float = ENOUGH, brands: bool = True) -> Reading:
    """Return the records of which ``text`` may be a misspelling; none for ordinary words and known names.

    ``brands`` tells whether to try brands that no record has. There are so many that words of a question are often
    close to one of them (``anaerobic`` and Anaerobex).
    """
    words = fold_name(text).split()
    if all(map(is_known_word, words)) or not_loaded(index, text):
        return _NOTHING
    lists = [index.spellings, aliases().spellings, *([aliases().brand_spellings] if brands else [])]
    near = [one for spellings in lists for one in spellings.near(text, least=least)]
    by_name = sorted((one for one in near if same_ions(words, one.name)), key=lambda one: -one.score)
    classes = (index.class_spellings, aliases().class_spellings)
    near_classes = (one for spellings in classes for one in spellings.near(text, least=max(least, ENOUGH), most=3))
    by_class = sorted(near_classes, key=lambda one: -one.score)
    if by_class and (not by_name or by_class[0].score > by_name[0].score + _CLASS_LEAD):
        name, score = by_class[0]
        members = (one._replace(how="spelling", score=score) for one in class_named(index, name))
        return Reading(tuple(members), (index.class_names.get(name, name),))
    return _name_guess(index, by_name[:20])._replace(misspelt=(text,) if _is_sure(index, text, by_name) else ())


def _is_sure(index: NameIndex, text: str, near: Sequence[Spelling]) -> bool:
    """Return whether ``text`` can only mean the closest name, as no other medicine, loaded or not, is spelt alike."""
    first = next(iter(near), None)
    if first is None or first.score < _SURE_SPELLING:
        return False
    least = first.score - _RIVAL
    others = (*near, *aliases().substance_spellings.near(text, least=least))
    meant, *rivals = ({one.entry for one in named(index, one.name)[0]} for one in others if one.score >= least)
    return bool(meant) and not any(map(meant.isdisjoint, rivals))


def same_ions(words: Sequence[str], name: str) -> bool:
    """Return whether ``words`` have every ion of ``name``, perhaps misspelt.

    A word that is an ion is not a misspelling of another one: calcium does not mean potassium.
    """
    typed, meant = ions_of(" ".join(words)), english_ions(name)
    if not typed and not meant:
        return True
    if len(words) == 1 and not typed and len(meant) > 1:
        return closeness(words[0], fold_name(name).replace(" ", "")) >= _SURE_IONS
    free = [word for word in words if not ions_of(word)]
    missing = [ion for ion in meant - typed if not any(closeness(word, ion) >= _SURE_WORD for word in free)]
    return not missing and (typed <= meant or not meant)


def guess_words(index: NameIndex, words: Sequence[str]) -> Reading:
    """Return what single words and pairs of words of a question may be misspellings of, the closest first."""
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    texts = [text for text in (*words, *pairs) if len(text) >= _LONG_WORD][:_MOST_WORDS]
    guesses = [guess(index, text, least=_SURE_WORD, brands=False) for text in texts]
    found = sorted((one for one in guesses if one.candidates), key=lambda one: -one.score)
    names = dict.fromkeys(name for one in found for name in one.did_you_mean)
    candidates = distinct(candidate for one in found for candidate in one.candidates)
    return Reading(candidates, tuple(names), misspelt=tuple(word for one in found for word in one.misspelt))


def _name_guess(index: NameIndex, spellings: Iterable[Spelling]) -> Reading:
    """Return the records of names, the closest first; none if the medicine of the closest name is not loaded."""
    found: dict[int, NameCandidate] = {}
    names: list[str] = []
    for spelling in spellings:
        meanings = [(known.entry, known.name) for known in leading(index, index.exact(spelling.name))]
        if not meanings:
            meanings = [(one.entry, one.on) for one in named(index, spelling.name)[0]]
        if not meanings and not found:
            break
        new = [(entry, on) for entry, on in meanings[:_MEANINGS] if entry not in found]
        names += [on for _, on in new[:1]]
        found |= {entry: NameCandidate(entry, "spelling", on, spelling.score) for entry, on in new}
    return Reading(tuple(found.values()), tuple(dict.fromkeys(names))[:5])


def interpret(index: NameIndex, question: TypedQuery) -> Reading:
    """Return the records that ``question`` most likely names."""
    if not question.words:
        return _NOTHING
    if members := _class_at_end(index, question):
        return Reading(members)
    return _in_its_language(index, question, _as_one_name(index, question) or _as_question(index, question))


def _in_its_language(index: NameIndex, question: TypedQuery, reading: Reading) -> Reading:
    """Leave out the meanings that an abbreviation does not have in the language of ``question``."""
    known = {one.on: aliases().name(one.on) for one in reading.candidates if one.how == "synonym"}
    language = language_of(question.plain)
    meant = {on: alias.foreign[language] for on, alias in known.items() if alias and language in alias.foreign}
    fitting = (one for one in reading.candidates if meant.get(one.on) in {None, index.entries[one.entry].generic})
    return reading._replace(candidates=tuple(fitting)) if meant else reading


def _as_one_name(index: NameIndex, question: TypedQuery) -> Reading | None:
    """Interpret the text, with or without its noise, as one name or class; None if it is none."""
    core = " ".join(question.core)
    # The core is one name only if its words are next to each other in the text.
    run = core if f" {core} " in f" {question.without_product_words} " else ""
    for text in dict.fromkeys(filter(None, (question.whole, question.trimmed, question.product, run))):
        apart = question.asks_together or question.lists_doses
        find = named_alone if apart or (text == core and core != question.product) else named
        found, note = find(index, text) if question.may_be_name(text.split()) else ([], "")
        if found and not (found[0].how == "brand" and not index.whole(text) and class_named(index, text)):
            return Reading(distinct(found), notes=with_combinations(index, found, note))
        if members := classed(index, text):
            return Reading(members)
    return None


def _as_question(index: NameIndex, question: TypedQuery) -> Reading:
    """Interpret the text as a question with names in it, some of which may be misspelt or not loaded."""
    spans = find_spans(index, question)
    core, written = " ".join(question.core), f" {question.without_product_words} "
    subject = "" if spans else " ".join(word for word in question.core if not is_known_word(word))
    texts = dict.fromkeys(text for text in (question.trimmed, core, subject) if text and f" {text} " in written)
    if absent := next((note for text in texts if (note := _absent(index, text))), ""):
        return Reading(notes=(absent,), not_loaded=(absent,))
    meant = [span for span in spans if not span.aside]
    covered = {place for span in spans for place in range(span.start, span.end)}
    uncovered = (word for place, word in enumerate(question.words) if place not in covered)
    other = [word for word in uncovered if word in question.subject and word not in JOINING]
    notes = {word: note for word in other if (note := _absent(index, word))}
    left = [word for word in other if word not in notes]
    if (meant or notes) and all(map(is_known_word, left)):
        reading = _from_spans(index, [*meant, *(span for span in spans if span.aside)])
    else:
        reading = _with_guesses(index, question, spans, left)
    # An abbreviation mostly means something else in a sentence: LV, TSH.
    sure = tuple(note for word, note in notes.items() if not is_abbreviation(word))
    return reading._replace(notes=(*reading.notes, *notes.values()), not_loaded=sure)


def _absent(index: NameIndex, text: str) -> str:
    """Return a note on a known name without a record; empty for an ordinary word such as ``no``."""
    if named(index, text)[0] or is_ordinary(text):
        return ""
    alias = aliases().name(text)
    if alias is not None:
        return ABSENT.format(alias.alias, joined(alias.names))
    if salt := salt_in_english(text):
        return ABSENT.format(text, salt)
    # Clinical vocabulary holds some substances, too, such as levonorgestrel. Common ones are read as words: thyroid.
    is_word = is_known_word(text) and (text not in aliases().substances or rareness(text) < 1)
    name = "" if is_word else not_loaded(index, text)
    return NOT_LOADED.format(name) if name else ""


def _class_at_end(index: NameIndex, question: TypedQuery) -> tuple[NameCandidate, ...]:
    """Return the members of a class whose name ends in a word such as "drugs": ``tetracycline-class drugs``."""
    words = question.words
    if words[-1] not in _CLASS_ENDS:
        return ()
    starts = (place for place in range(len(words)) if all(word in NOISE for word in words[:place]))
    found = (class_named(index, " ".join(words[place:])) for place in starts if len(words) - place > 1)
    return next(filter(None, found), ())


def _with_guesses(index: NameIndex, question: TypedQuery, spans: list[NameSpan], left: list[str]) -> Reading:
    """Interpret a text with words (``left``) that are not known names, and may be misspelt ones."""
    meant = [span for span in spans if not span.aside]
    # The last two texts keep parts of a name such as ``acid`` or ``13``.
    texts = [" ".join(question.subject), " ".join(question.core), *([] if question.strength else [question.trimmed])]
    whole = max((guess(index, text) for text in dict.fromkeys(texts)), key=lambda one: one.score)
    # A name that the text has is no guess.
    is_written = any(f" {fold_name(name)} " in f" {question.whole} " for name in whole.did_you_mean[:1])
    if (
        whole.candidates
        and not is_written
        and (not meant or whole.score >= _SURE_SPELLING or _covers_little(question, meant))
    ):
        return _read_as(whole, then=_from_spans(index, spans))
    words = guess_words(index, left)
    if meant:
        return _read_as(words, before=_from_spans(index, meant))
    if words.candidates or spans:
        return _read_as(words, then=_from_spans(index, spans))
    few = len(question.subject) <= _FAR_WORDS
    far = guess(index, texts[0], least=PERHAPS, brands=False) if few else _NOTHING
    return Reading(perhaps=far) if far.candidates else _NOTHING


def _covers_little(question: TypedQuery, spans: list[NameSpan]) -> bool:
    """Return whether the names inside the question have less than half of its letters."""
    named_letters = sum(len(word) for span in spans for word in question.words[span.start : span.end])
    return named_letters < _HALF * sum(map(len, question.subject))


def _read_as(guessed: Reading, *, before: Reading = _NOTHING, then: Reading = _NOTHING) -> Reading:
    candidates = distinct([*before.candidates, *guessed.candidates, *then.candidates])
    notes = tuple(dict.fromkeys([*before.notes, *then.notes]))
    return Reading(candidates, guessed.did_you_mean[:5], notes, guessed.misspelt)


def _from_spans(index: NameIndex, spans: list[NameSpan]) -> Reading:
    found = [one for span in spans for one in span.found[:1]] + [one for span in spans for one in span.found[1:]]
    notes = tuple(dict.fromkeys(span.note for span in spans if span.note))
    if len(spans) == 1 and found[0].how != "class":
        notes = with_combinations(index, found, spans[0].note)
    return Reading(distinct(found), notes=notes)
