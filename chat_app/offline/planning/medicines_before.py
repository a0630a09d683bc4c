"""The medicines of the question before, and which of them a follow-up replaces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from chat_app.offline.planning.small_talk import without_courtesy
from chat_app.offline.reading.dialogue import ADDED, Exchange
from chat_app.offline.reading.evidence import Evidence
from chat_app.offline.reading.tool_outputs import gather
from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.labels.shared_risks import RISKS
from tools.drug_database.names.aliases import aliases
from tools.drug_database.names.foreign_names import international_key
from tools.drug_database.names.name_resolution import known_name
from tools.language.folding import fold_name

BESIDE: Final = re.compile(r"^\s*(?:with|plus|alongside|mit|con)\b\s*", re.IGNORECASE)
"""A preposition before the new medicine: after "A and B", "with C" may replace A or B."""
IN_PLACE: Final = re.compile(r"\s*\b(?:instead|stattdessen|en su lugar)\b", re.IGNORECASE)


def subjects(before: str, evidence: Evidence, *, beside: bool = True) -> tuple[str, ...]:
    """Return the drugs and classes of ``evidence`` as ``before`` names them, which may be in German or Spanish.

    With ``beside``, also what the search found besides drugs, such as a food.
    """
    records = [record for lookup in evidence.lookups for record in lookup.records if record.matched != "text"]
    names = [re.sub(r"\s*\(.*", "", name) for record in records for name in (record.matched_on, record.name)]
    names += [name for lookup in evidence.lookups if beside for name in lookup.also_named]
    words = {international_key(fold_name(word)): word for word in re.findall(r"[\w-]+", before)}
    mentions = ((name, re.search(rf"\b{re.escape(name)}s?\b", before, re.IGNORECASE)) for name in names if name)
    written = [match[0] if match else words.get(international_key(fold_name(name)), "") for name, match in mentions]
    return tuple({mention.lower(): mention for mention in written if mention}.values())


def taken_out(before: str, rest: str, known: Sequence[str], *, one: bool) -> Sequence[str]:
    """Return the medicines of ``before`` that those of ``rest`` replace.

    ``one`` tells whether ``rest`` names a single medicine. Of several medicines it replaces the one of its own class;
    if there is none of its class, it is added.
    """
    added = ADDED.search(BESIDE.sub("", rest)) or (BESIDE.match(rest) and len(known) < 2)
    if added or not one:
        return () if added else known
    in_order = sorted(known, key=lambda name: (*_likeness(name, rest), before.lower().find(name.lower())))
    alone = len(known) < 2 or IN_PLACE.search(rest) or _likeness(in_order[-1], rest)[0]
    return in_order[-1:] if alone else ()


def replaced_medicines(turns: Sequence[Exchange], question: str, evidence: Evidence) -> tuple[str, ...]:
    """Return the medicines of the question before that ``question``, completed from it, does not name any more.

    The patient may take them beside the new one. One of the same class is an alternative, and left out.
    """
    if len(turns) < 2 or question == without_courtesy(turns[-1].question.strip()):
        return ()
    named = {record.name for record in evidence.named}
    before = dict.fromkeys(record.name for record in gather(turns[-2].outputs).named)
    return tuple(one for one in before if named - {one} == named and not any(_likeness(one, it)[0] for it in named))


def _likeness(one: str, other: str) -> tuple[int, int]:
    """Return how many of their medicines' narrowest classes, and how many of all classes, two texts share.

    A shared risk, such as bleeding, does not count as a class.
    """
    known, risks = label_terms(), {risk.group for risk in RISKS.values()}
    first, second = (
        {*known.members_in(text), *(name for word in text.split() for name in _generic(word))} for text in (one, other)
    )
    own = [{group for name in names for group in known.own_groups(name)} - risks for names in (first, second)]
    return len(own[0] & own[1]), len((known.groups_of(first) & known.groups_of(second)) - risks)


def _generic(word: str) -> tuple[str, ...]:
    """Return the English generic names for ``word``, which may be a brand or a German or Spanish name."""
    name = known_name(word)
    alias = aliases().name(name)
    return (name, *(alias.names if alias else ()))
