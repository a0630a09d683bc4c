"""Tells whether a question on several medicines asks about taking them together, or about something else.

Labels' statements on a pair lead the answer only in the first case. "How do I switch from … to …?" and "… or … in renal
impairment?" name alternatives: what they ask for comes first.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import chain
from typing import Final

from chat_app.offline.extraction.drug_parts import HARMS
from chat_app.offline.extraction.question import Question
from chat_app.offline.reading.evidence import CONTRAINDICATED, Evidence
from tools.drug_database.names.foreign_names import international_key
from tools.drug_database.names.query_words import JOINING, understand
from tools.language.folding import fold_name
from tools.language.vocabulary.clinical_vocabulary import translations
from tools.language.vocabulary.text_language import language_of

_INSTEAD: Final = re.compile(
    r"\b(?:switch\w*|convert\w*|conversion|chang(?:e|ed|ing) (?:from|to)|transition\w*|replac\w*|instead|rather than"
    r"|versus|vs|compar\w*|umstell\w*|umgestellt|umsetz\w*|wechsel(?!wirk)\w*|statt|anstelle|anstatt|gegenuber"
    r"|vergleich\w*|cambi\w*|en lugar|en vez)\b"
)
_BESIDE: Final = (
    "with|on|plus|add|added|adding|while|alongside|takes|taking|take|receives|receiving|using"
    "|mit|unter|neben|zu|nimmt|einnimmt|bekommt|erhalt|con|toma|tomando"
)
"""Words before a medicine that is taken beside another."""
_CHOICE: Final = "or|oder|better|besser|preferred|bevorzugt"


def asks_combination(question: Question, evidence: Evidence, *, answered: bool) -> bool:
    """Return whether the pairs of ``evidence`` are what ``question`` asks about.

    Args:
        question: The question.
        evidence: What the searches found.
        answered: Whether a quote answers what the question asks beside the names.
    """
    if not evidence.pairs:
        return False
    text = fold_name(question.text.replace("+", " plus ").replace("&", " plus "))
    if understand(question.text).asks_together or evidence.on_overdose:
        return True
    names = {*map(fold_name, chain(evidence.medicines, *(pair.names for pair in evidence.pairs)))} - {""}
    name = f"(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})(?:s|e|en)?"
    if _names_only(question.text, names):
        return True
    if _INSTEAD.search(text) or re.search(rf"\b(?:from|von|de) {name} .*\b(?:to|auf|zu|a) {name}\b", text):
        return False
    if re.search(rf"\b(?:{_BESIDE}) (?:(?!(?:{_CHOICE}) )\w+ ){{0,2}}{name}\b(?! (?:{_CHOICE}) )", text):
        return True
    if re.search(rf"\b(?:{_CHOICE})\b", text):
        return False
    # Where only doses are asked for, a statement on both that changes one says more than the usual doses of each.
    severities = {said.severity for pair in evidence.pairs for said in pair.said}
    if question.sections - HARMS == frozenset({"dosage"}) and severities & {CONTRAINDICATED, "avoid", "adjust dose"}:
        return True
    return question.names_alone or not (question.sections - HARMS or answered)


def _names_only(text: str, names: Collection[str]) -> bool:
    """Return whether ``text`` says nothing beside ``names``, which are folded; its words may be German or Spanish."""
    words = understand(text).words
    known = JOINING.union(*(name.split() for name in names))
    for one in translations(words, language_of(text)):
        if any(known.issuperset(fold_name(term).split()) for term in one.terms):
            known = known.union(words[one.start : one.end])
    return set(map(international_key, known)).issuperset(map(international_key, words))
