"""Adds what an answer says of itself: names that are not known or not loaded, failed and empty searches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from chat_app.offline import phrases
from chat_app.offline.calculating.other_scores import other_scores
from chat_app.offline.composition.draft import Draft
from chat_app.offline.reading.evidence import Evidence
from tools.catalogues import in_language
from tools.drug_database.labels.pair_notes import PACKAGE
from tools.drug_database.names.foreign_names import international_key
from tools.language.folding import fold_name
from tools.language.terms import terms

_SENTENCES: Final = re.compile(r"(?<=\w\.) ")


def offer_names(draft: Draft, evidence: Evidence) -> None:
    """Ask for the medicine where no name in the question is known, before anything is quoted.

    What labels say of a pair comes before the question for a name of it.
    """
    guesses = [lookup for lookup in evidence.lookups if not any(record.is_named for record in lookup.records)]
    offered = list(dict.fromkeys(name for lookup in guesses for name in lookup.suggestions))
    if offered and not evidence.pairs:
        draft.say(phrases.NO_NAME)
        draft.say(phrases.DID_YOU_MEAN, "or", names=offered[:3])


def say_not_loaded(draft: Draft, evidence: Evidence) -> None:
    """Say that the only medicine of the question is not in the drug database."""
    _say_notes(draft, [lookup.absent for lookup in evidence.lookups if lookup.absent])


def say_discontinued(draft: Draft, evidence: Evidence) -> None:
    """Say which of the medicines that the question names have only discontinued products."""
    if names := list(dict.fromkeys(record.name for record in evidence.named if record.discontinued)):
        draft.say(phrases.DISCONTINUED, names=names)


def say_others_not_loaded(draft: Draft, evidence: Evidence, newest: str) -> None:
    """Say which other medicines of the ``newest`` words are not in the drug database, if no note on a pair says so."""
    said = " ".join(pair.note for pair in evidence.pairs if pair.note and pair.note in draft.text)
    asked = _keys(newest) - _keys(said)
    notes = (note for lookup in evidence.lookups if not lookup.absent for note in lookup.not_loaded)
    _say_notes(draft, [note for note in notes if _keys(note.split()[0]) <= asked])


def _keys(text: str) -> set[str]:
    """Return a key for each word of ``text``, the same for a name in several languages."""
    return set(map(international_key, fold_name(text).split()))


def _say_notes(draft: Draft, notes: Sequence[str]) -> None:
    for note in dict.fromkeys(notes):
        draft.paragraph(" ".join(in_language(PACKAGE, draft.language, one) for one in _SENTENCES.split(note)))


def say_missing(draft: Draft, evidence: Evidence, question: str, newest: str) -> None:
    """Say what is missing where nothing clearly answers: the medicine, the calculator, or a word in all guidelines."""
    say_not_loaded(draft, evidence)
    _say_no_calculator(draft, question, evidence)
    _say_absent_word(draft, newest, evidence)


def _say_no_calculator(draft: Draft, question: str, evidence: Evidence) -> None:
    """Say that there is no calculator for the scores that are asked for, if there are any."""
    if not (evidence.calculations or evidence.named) and (scores := other_scores(question)):
        draft.say(phrases.NO_CALCULATOR, names=scores)


def _say_absent_word(draft: Draft, question: str, evidence: Evidence) -> None:
    """Name the most telling word of the question if it occurs in no guideline of the library."""
    words = {one: word for word in re.findall(r"[^\W_]+", question) for one in terms(word)}
    telling = max(evidence.terms, key=lambda each: each.weight, default=None)
    if telling and telling.absent and telling.term in words and not evidence.named:
        draft.say(phrases.ABSENT, names=[words[telling.term]])


def say_empty_handed(draft: Draft, evidence: Evidence, *, nothing: bool) -> None:
    """Name the searches that failed, or what was searched if nothing was found."""
    if evidence.failures:
        draft.say(phrases.FAILED, names=list(dict.fromkeys(evidence.failures)))
    elif nothing:
        places = [phrases.FILES if evidence.hosted else phrases.GUIDELINES] if evidence.searched_documents else []
        places += [phrases.DRUGS] if evidence.lookups or evidence.pairs else []
        draft.say(phrases.NOTHING if places else phrases.NO_SOURCES, places=places)
