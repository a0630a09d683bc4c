"""Makes a follow-up question complete, from the questions before it and the drugs that were found for them.

"What about in patients with kidney disease?" after "What are the contraindications for ACE inhibitors?" becomes
"What are the contraindications for ACE inhibitors in patients with kidney disease?". Every word of the result is
the user's, or a name that the drug database found in the user's words.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from typing import Final

from chat_app.offline.extraction import phrases
from chat_app.offline.extraction.dialogue import Exchange
from chat_app.offline.extraction.drug_parts import only_parts
from chat_app.offline.extraction.evidence import Evidence
from chat_app.offline.extraction.question import opposite_of
from chat_app.offline.extraction.reading import gather
from tools.drug_database.labels.label_scope import is_form_word
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.query_words import CONTEXT
from tools.language.folding import fold_name
from tools.language.quotable_units import term_set
from tools.language.terms import terms
from tools.language.vocabulary.common_words import is_ordinary

_LEAD: Final = re.compile(
    r"^\s*(?:(?:and|but|ok(?:ay)?|so|then|also|thanks|thank you)[,.!]?\s+)*"
    r"(?:what about|how about|what if|and(?: what)?(?: about)?|what of|und|und was ist mit|y)\b\s*",
    re.IGNORECASE,
)
_CONNECTIVE: Final = re.compile(r"^\s*(?:and|but|also|or|so|then|what if)\b[,]?\s*", re.IGNORECASE)
_PRONOUN: Final = re.compile(
    r"\b(?:it|its|they|them|their|these|those|this|that)(?: (?:drugs?|medicines?|medications?|class|agents?))?\b"
    r"|\bthe (?:drug|medicine|medication|same|former|latter)\b",
    re.IGNORECASE,
)
_ASKS, _VERBS = "what|which|when|who|how|why|where", "is|are|do|does|can|should"
_PLACES: Final = r"(?:in|for|with|during|after|before|if|when|on|at|among|under|without)\b"
_INTERROGATIVE: Final = re.compile(rf"^\s*(?:{_ASKS}|{_VERBS})\b", re.IGNORECASE)
# A verb, and no "the", which would refer to what was said before.
_CLAUSE: Final = re.compile(rf"^\s*(?:(?:{_ASKS}) )?(?:{_VERBS})\b(?!.*\bthe\b)", re.IGNORECASE)
# An "it" that stands for the rest of its own sentence, as in "is it safe to give ibuprofen".
_EXPLETIVE: Final = re.compile(rf"\bit (?:\w+ )?\w+ (?:that|to \w+ (?!{_PLACES})\w)", re.IGNORECASE)
_PLACE: Final = re.compile(rf"^{_PLACES}", re.IGNORECASE)
_PATIENT: Final = re.compile(
    r"^(?:the |a |my |this )?(?:patients?|person|people|someone) (?:is|are|has|have|who (?:is|are|has|have)) ",
    re.IGNORECASE,
)
_OFFER: Final = re.compile(re.escape(phrases.DID_YOU_MEAN).replace(re.escape("{names}"), "(.+?)"))
_YES: Final = re.compile(
    r"^\s*(?:yes|yeah|yep|correct|right|exactly|that one|please|i (?:do|did))\b[^?]{0,30}$", re.IGNORECASE
)
_OVERDOSE: Final = re.compile("overdos", re.IGNORECASE)
_ENDING: Final = re.compile(r"[\s?.!]+$")
_FEW: Final = 5
"""Terms of a question that only narrows the one before."""


def standalone(turns: Sequence[Exchange], offered: Collection[str]) -> str:
    """Return the last question of a conversation as one that can be searched for without the others.

    ``offered`` names the functions of that question. One that only leaves words out leans on the question before, but
    stands alone where one of the two, and not the other, was searched for in what labels say of an overdose.
    """
    resolved = answer = topic = ""
    evidence, searched = Evidence(), frozenset[str]()
    for turn in turns:
        question = turn.question.strip()
        # A follow-up of everyday words with a pronoun asks about a calculation's result; any other has a topic itself.
        on_result = _PRONOUN.search(question) and not _unusual(question)
        used = frozenset(output.name for output in turn.outputs)
        now = offered if turn is turns[-1] else used
        alike = any(map(_OVERDOSE.search, searched)) == any(map(_OVERDOSE.search, now)) or not searched
        before = resolved if on_result else topic if alike or _refers(question) else ""
        resolved = _confirmed(question, resolved, answer) or _resolve(question, before, evidence)
        answer = turn.answer
        found = gather(turn.outputs)
        if not found.calculations or found.searched_documents or found.lookups:
            topic, searched = resolved, used
            evidence = found if turn.outputs else evidence
    return resolved


def _confirmed(question: str, before: str, answer: str) -> str:
    """The question before with the name that "Did you mean ...?" offered, when ``question`` takes it up."""
    offered = _OFFER.search(answer)
    if offered is None:
        return ""
    names = re.split(r", | or ", offered.group(1))
    said = _ENDING.sub("", question).lower()
    chosen = next((name for name in names if name.lower() == re.sub(r"^yes\W+", "", said)), None)
    if chosen is None and _YES.match(question):
        chosen = names[0]
    misspelt = difflib.get_close_matches((chosen or "").lower(), re.findall(r"[\w-]+", before.lower()), n=1)
    return re.sub(re.escape(misspelt[0]), chosen, before, count=1, flags=re.IGNORECASE) if chosen and misspelt else ""


def _resolve(question: str, before: str, evidence: Evidence) -> str:
    rest = _ENDING.sub("", _CONNECTIVE.sub("", _LEAD.sub("", question)))
    known = subjects(before, evidence)
    if known and (other := _by_route(before, rest, known)):
        return other
    if not before or not is_follow_up(question):
        return question
    if not rest:
        return before
    if _PLACE.match(rest) or _PATIENT.match(rest) or (opposite_of(rest) and not _PRONOUN.search(rest)):
        return _narrowed(before, rest)
    if _PRONOUN.search(rest):
        return (
            f"{_PRONOUN.sub(' and '.join(known), rest, count=1)}?" if known else f"{rest} ({_ENDING.sub('', before)})?"
        )
    if known and only_parts(rest):
        return f"{rest} ({' '.join([', '.join(known), *_ways(before)])})?"
    if known and _may_be_medicine(rest) and not _INTERROGATIVE.match(rest) and len(terms(rest)) <= _FEW - 2:
        return _replaced(before, known, rest)
    return f"{_ENDING.sub('', before)}, {rest}?"


def subjects(before: str, evidence: Evidence) -> tuple[str, ...]:
    """The drugs and classes that ``before`` names, in its own words."""
    records = [record for lookup in evidence.lookups for record in lookup.records if record.matched != "text"]
    names = [name for record in records for name in (record.matched_on, record.name) if name]
    found = {match.group().lower(): match.group() for name in names if (match := _mention(name, before))}
    return tuple(found.values())


def _mention(name: str, text: str) -> re.Match[str] | None:
    plain = re.sub(r"\s*\(.*", "", name)
    return re.search(rf"\b{re.escape(plain)}s?\b", text, re.IGNORECASE) if plain else None


def _narrowed(before: str, rest: str) -> str:
    """``before`` asked of other patients: what ``rest`` says takes the place of its opposite, or is added."""
    rest = _PATIENT.sub("", rest)
    joined = rest if _PLACE.match(rest) else f"in {rest}"
    repeated = re.search(re.escape(" ".join(joined.split()[:2])) + r"\b", before, re.IGNORECASE)
    if repeated:
        return f"{before[: repeated.start()].rstrip()} {joined}?"
    opposite = opposite_of(rest)
    match = opposite.search(before) if opposite else None
    if match is None:
        return f"{_ENDING.sub('', before)} {joined}?"
    phrase = re.search(rf"\b(?:in|for|of|with)?\s*{re.escape(before[match.start() : match.end()])}[\w-]*", before)
    start, end = phrase.span() if phrase else match.span()
    return f"{_ENDING.sub('', before[:start] + before[end:])} {joined}?".replace("  ", " ")


def _by_route(before: str, rest: str, known: Sequence[str]) -> str:
    """``before`` asked of the form or route that ``rest`` names instead; empty when it names another thing."""
    named = {word for name in known for word in fold_name(name).split()}
    ways = _ways(rest)
    others = [word for word in rest.split() if word not in ways and term_set(word) and fold_name(word) not in named]
    if not ways or others:
        return ""
    kept = [word for word in before.split() if not is_form_word(fold_name(word))]
    return f"{_ENDING.sub('', ' '.join(kept))} {' '.join(ways)}?"


def _ways(text: str) -> list[str]:
    """The words of ``text`` that name a form or route."""
    return [word for word in _ENDING.sub("", text).split() if is_form_word(fold_name(word))]


def is_follow_up(question: str) -> bool:
    """Return whether ``question`` can be understood only with the one before."""
    if _refers(question):
        return True
    if _CLAUSE.match(question) and _unusual(question):
        return False
    if len(terms(question)) <= _FEW and _PLACE.match(question.strip()):
        return True
    most = 1 if _INTERROGATIVE.match(question) else 2
    return only_parts(question) or (1 <= len(terms(question)) <= most and len(question.split()) <= _FEW)


def _refers(question: str) -> bool:
    """Return whether ``question`` says that it goes on from the one before."""
    if _LEAD.match(question) or _CONNECTIVE.match(question):
        return True
    pronoun = _PRONOUN.search(question) and not (_EXPLETIVE.search(question) and _unusual(question))
    return bool(pronoun) and len(terms(question)) <= _FEW


def _unusual(question: str) -> bool:
    """Return whether ``question`` has a word that is not an everyday one, such as the name of its subject."""
    return not all(map(is_ordinary, re.findall(r"[^\W_]+", question.lower())))


def _may_be_medicine(text: str) -> bool:
    """Return whether ``text`` holds a medicine or an uncommon word, diseases, foods and the like aside."""
    words = [word for word in fold_name(text).split() if word not in CONTEXT]
    return bool(label_terms().members_in(" ".join(words))) or not all(map(is_ordinary, words))


def _replaced(before: str, known: Sequence[str], named: str) -> str:
    first, *others = known
    result = before.replace(first, named, 1)
    for other in others:
        result = re.sub(rf"\s*(?:,|and|or)?\s*{re.escape(other)}", "", result, count=1)
    return result
