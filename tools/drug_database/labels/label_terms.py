"""The vocabulary in which labels name other medicines: classes, enzymes and transporters.

``data/label_terms.json`` has the classes with their wordings and members, and the inhibitors, inducers and substrates
of each enzyme. The longest wording at each position of a sentence counts, so that "thiazide diuretics" names thiazides
and not every diuretic.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, Generic, NamedTuple, TypeVar

from tools.drug_database.names.aliases import singular
from tools.drug_database.names.name_keys import base_moiety
from tools.drug_database.records.shipped_data import shipped
from tools.language.folding import fold_name
from tools.language.inn_stems import names_medicine
from tools.types import Frozen

T = TypeVar("T")
Tokens = tuple[str, ...]
_EFFECTS: Final = frozenset(("effect", "action", "activity", "response", "efficacy", "property", "level", "deficiency"))
NO_USE: Final = _EFFECTS | {"inhibition", "dose", "malignant", "angioedema", "pump"}
"""Words after which a class name describes something else, as in "the antihypertensive effect of lisinopril"."""
_VACCINE: Final = " vaccine"
_VACCINATION: Final = re.compile(r"\b(?:vaccin|immuni[sz]|jab|shot)")
_ACRONYM: Final = 3
_NEAR: Final = 7
"""Maximum number of words between an enzyme and its role: "inhibitors of the cytochrome P450 3A4 isoenzyme"."""
_STRENGTHS: Final = {
    "strong": "strong",
    "potent": "strong",
    "powerful": "strong",
    "moderate": "moderate",
    "weak": "weak",
}
_JOINT: Final = re.compile(r"\b(?:and|or)\b")
_PARENTHESES = re.compile(r"\([^()]{1,12}\)")
_ENZYME_NUMBER: Final = re.compile(r"(?<= )(\d[a-z]\d{1,2})(?= )")
"""A later enzyme of a list, without its prefix: "CYP2C9, 3A4 or 1A2 inhibitors"."""
_MEANT: Final = r"\b(?:that|which|known to|may|can) (?:\w+ ){0,3}"
_ROLES: Final = (
    ("inhibitor", re.compile(rf"\binhibitors\b|{_MEANT}inhibit\b|\binhibiting\b")),
    ("inducer", re.compile(rf"\binducers\b|{_MEANT}induce\b|\binducing\b")),
    (
        "substrate",
        re.compile(
            r"\bsubstrates\b(?! (?:that|which)\b)"
            r"|\b(?:drugs|products|agents|medicines|medications|substances|compounds)(?: \w+){0,4}"
            r" (?:metabolized|metabolised|transported|eliminated|cleared)\b"
        ),
    ),
)
_RESTRICTS: Final = (
    "".join(f"(?<!{noun} )" for noun in ("drugs", "agents", "products", "medications", "medicines", "substances"))
    + r"\b(?:that|which) are (?:\w+ ){0,3}"
)
"""Restricts named medicines to those with a role, as in "statins that are CYP3A4 substrates"."""
_SINGULAR_ROLE: Final = r"\b(?:an?|any|each|other|another|with) (?:\w+ ){{0,4}}{}\b"


class Group(Frozen):
    """A class as labels word it. Members are named, or belong by a database class that equals one of ``phrases``."""

    name: str
    phrases: tuple[str, ...]
    names: tuple[str, ...]
    within: tuple[str, ...]
    """Wider groups to which all members belong, too."""
    alike: bool = False
    """Whether the members interact so much alike that a statement on one is quoted for another without a record."""


class Enzyme(Frozen):
    """An enzyme or transporter: its spellings, and its inhibitors and inducers by strength."""

    name: str
    spellings: tuple[str, ...]
    inhibitors: dict[str, tuple[str, ...]]
    inducers: dict[str, tuple[str, ...]]
    substrates: tuple[str, ...]


class TermFile(Frozen):
    """The file of label terms: enzymes with their medicines, and groups."""

    sources: dict[str, str]
    enzymes: tuple[Enzyme, ...]
    groups: tuple[Group, ...]


class EnzymeRole(NamedTuple):
    """The role of a medicine for an enzyme, or the role by which a label means medicines."""

    enzyme: str
    role: str
    strength: str = ""
    """``strong``, ``moderate`` or ``weak``; empty when it is not rated."""

    def title(self) -> str:
        """Return the words for it: ``strong CYP3A4 inhibitor``."""
        return " ".join(filter(None, (self.strength, self.enzyme, self.role)))


@lru_cache(maxsize=65_536)
def tokens(text: str) -> Tokens:
    """Return the folded words of ``text``, each in the singular."""
    return tuple(map(singular, fold_name(text).split()))


class PhraseIndex(Generic[T]):
    """Finds phrases in a sentence, the longest at each position."""

    def __init__(self, phrases: Iterable[tuple[str, T]]) -> None:
        self._by_first: dict[str, dict[Tokens, list[T]]] = {}
        for phrase, value in phrases:
            words = tokens(phrase)
            if words:
                self._by_first.setdefault(words[0], {}).setdefault(words, []).append(value)

    def find(self, words: Tokens) -> list[tuple[int, int, T]]:
        """Return the phrases in ``words`` as start, end and value."""
        found: list[tuple[int, int, T]] = []
        free = 0
        for place, word in enumerate(words):
            starting = self._by_first.get(word)
            if starting is None or place < free:
                continue
            fitting = [phrase for phrase in starting if words[place : place + len(phrase)] == phrase]
            longest = max(fitting, key=len, default=())
            found += ((place, place + len(longest), value) for value in starting.get(longest, ()))
            free = place + len(longest)
        return found


class LabelTerms:
    """Membership and wordings of groups and enzymes."""

    def __init__(self, data: TermFile) -> None:
        self._groups: Mapping[str, Group] = {group.name: group for group in data.groups}
        self._phrases = PhraseIndex((phrase, group.name) for group in data.groups for phrase in group.phrases)
        self._members = PhraseIndex((name, name) for group in data.groups for name in group.names)
        self._by_phrase: dict[Tokens, set[str]] = {}
        self._by_member: dict[str, set[str]] = {}
        for group in data.groups:
            for phrase in (group.name, *group.phrases):
                self._by_phrase.setdefault(tokens(phrase), set()).add(group.name)
            for name in group.names:
                self._by_member.setdefault(fold_name(name), set()).add(group.name)
        self.names = tuple(self._groups)
        self.members = frozenset(self._by_member)
        vaccines = (name for name in self.members if name.endswith(_VACCINE))
        self._vaccines = PhraseIndex((name.removesuffix(_VACCINE), name) for name in vaccines)
        self._roles = _roles_by_name(data.enzymes)
        self.acting = frozenset(self._roles)
        self._spellings = {fold_name(spelling): enzyme.name for enzyme in data.enzymes for spelling in enzyme.spellings}
        longest_first = sorted(self._spellings, key=len, reverse=True)
        enzyme = f"(?:{'|'.join(map(re.escape, longest_first))})"
        self._enzyme = re.compile(rf"\b{enzyme}\b")
        self._combined = re.compile(rf"\b(?:combined|dual|both)(?: \w+)? {enzyme} and (?:\w+ )?{enzyme}\b")
        self._restriction = re.compile(rf"{_RESTRICTS}{enzyme} (?:substrates|inhibitors|inducers)\b")

    def groups_of(self, names: Iterable[str], classes: Iterable[str] = ()) -> frozenset[str]:
        """Return the groups of medicines with these names or database classes, and the wider groups."""
        found: set[str] = set()
        for name in names:
            found |= self._by_member.get(fold_name(name), set()) | self._by_member.get(base_moiety(name), set())
        for drug_class in classes:
            found |= self._by_phrase.get(tokens(drug_class), set())
        return self._closed(found)

    def own_groups(self, name: str) -> frozenset[str]:
        """Return the groups that list the medicine ``name`` itself."""
        return frozenset(self._by_member.get(fold_name(name), ()))

    def _named(self, text: str) -> set[str]:
        words = tokens(text)
        return self._by_phrase.get(words) or self._by_phrase.get((*words, "salt"), set())

    def group_named(self, text: str) -> frozenset[str]:
        """Return the groups that have ``text`` as a wording, and the narrower ones; an element means its salts."""
        found = self._named(text)
        return frozenset(name for name in self._groups if name in found or self._closed([name]) & found)

    def like(self, names: Iterable[str]) -> list[str]:
        """Return the medicines that interact like one of ``names``, without these."""
        groups = {group for name in names for group in self.own_groups(name) if self._groups[group].alike}
        return [name for name in self.members_of(sorted(groups)) if name not in names]

    def wider(self, text: str) -> frozenset[str]:
        """Return the groups that have ``text`` as a wording, and the wider ones."""
        return self._closed(self._named(text))

    def members_of(self, groups: Iterable[str]) -> list[str]:
        """Return the named members of ``groups``."""
        return [name for group in groups for name in self._groups[group].names]

    def members_in(self, text: str) -> frozenset[str]:
        """Return the members of any group that ``text`` names."""
        return frozenset(name for _, _, name in self._members.find(tokens(text)))

    def vaccines_in(self, text: str) -> frozenset[str]:
        """Return the vaccines for which ``text`` has the disease and a word for vaccination."""
        found = self._vaccines.find(tokens(text)) if _VACCINATION.search(text) else ()
        return frozenset(name for _, _, name in found)

    def names_any(self, text: str) -> bool:
        """Return whether ``text`` names a medicine or a group of medicines."""
        return bool(names_medicine(text) or self.members_in(text) or self.groups_in(text))

    def phrases_of(self, groups: Iterable[str]) -> list[str]:
        """Return the wordings of ``groups``."""
        return [phrase for name in groups for phrase in self._groups[name].phrases]

    def words_of(self, groups: Iterable[str]) -> frozenset[str]:
        """Return the words of the wordings of ``groups``."""
        return frozenset(word for phrase in self.phrases_of(groups) for word in tokens(phrase))

    def _closed(self, names: Iterable[str]) -> frozenset[str]:
        """Return the groups ``names`` and all wider groups."""
        found: set[str] = set()
        left = list(names)
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += self._groups[name].within
        return frozenset(found)

    def groups_in(self, sentence: str) -> frozenset[str]:
        """Return the groups that ``sentence`` names."""
        texts = {sentence, _PARENTHESES.sub(" ", sentence)}
        found: set[str] = set()
        for words in map(tokens, texts):
            for start, end, name in self._phrases.find(words):
                described = end < len(words) and words[end] in NO_USE
                if not described and _is_written(words[start:end], sentence):
                    found.add(name)
        return frozenset(found)

    def places_of(self, group: str, words: Tokens) -> list[tuple[int, int]]:
        """Return where ``words`` name ``group``: start and end."""
        return [(start, end) for start, end, name in self._phrases.find(words) if name == group]

    def roles_of(self, names: Iterable[str]) -> frozenset[EnzymeRole]:
        """Return the enzyme roles of medicines with these names."""
        folded = [form for name in names for form in (fold_name(name), base_moiety(name))]
        return frozenset(role for name in folded for role in self._roles.get(name, ()))

    def needs_all_roles(self, sentence: str) -> bool:
        """Return whether ``sentence`` means medicines that act on several enzymes at once ("dual inhibitors")."""
        return self._combined.search(fold_name(sentence)) is not None

    def roles_in(self, sentence: str) -> list[EnzymeRole]:
        """Return the kinds of inhibitors, inducers and substrates that ``sentence`` names."""
        folded = self._restriction.sub(" ", _ENZYME_NUMBER.sub(r"cyp\1", fold_name(sentence)))
        found: dict[EnzymeRole, None] = {}
        for match in self._enzyme.finditer(folded):
            before = " ".join(folded[: match.start()].split()[-_NEAR:])
            after = " ".join(folded[match.end() :].split()[:_NEAR])
            near = f"{before} {match[0]} {after}"
            rated = before.split() + _JOINT.split(after)[0].split()[:3]
            strengths = {_STRENGTHS[word] for word in rated if word in _STRENGTHS} or {""}
            roles = [role for role, wording in _ROLES if wording.search(near)]
            roles += [role for role, _ in _ROLES if re.search(_SINGULAR_ROLE.format(role), near)]
            for role in roles:
                for strength in strengths:
                    found[EnzymeRole(self._spellings[match[0]], role, strength)] = None
        return list(found)


def _roles_by_name(enzymes: Sequence[Enzyme]) -> dict[str, list[EnzymeRole]]:
    found: dict[str, list[EnzymeRole]] = {}
    for enzyme in enzymes:
        for role, rated in (("inhibitor", enzyme.inhibitors), ("inducer", enzyme.inducers)):
            for strength, names in rated.items():
                for name in names:
                    kept = EnzymeRole(enzyme.name, role, strength if strength in _STRENGTHS else "")
                    found.setdefault(fold_name(name), []).append(kept)
        for name in enzyme.substrates:
            found.setdefault(fold_name(name), []).append(EnzymeRole(enzyme.name, "substrate"))
    return found


def _is_written(words: Tokens, sentence: str) -> bool:
    """Return whether an acronym of up to three letters is written in capitals; longer wordings always count."""
    several = len(words) > 1
    return any(several or len(word) > _ACRONYM or word.upper() in sentence for word in words)


@cache
def label_terms() -> LabelTerms:
    """Return the vocabulary of ``data/label_terms.json``."""
    return LabelTerms(shipped("label_terms.json", TermFile))
