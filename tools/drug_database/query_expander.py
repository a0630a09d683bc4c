"""Expand the words of a clinical question from data: brand and generic, class and member, abbreviations, translations.

The names come from the index (any loaded source) and from the shipped aliases, the classes of medicines that are not
loaded from the vocabulary of labels; general clinical words from ``tools.language``. An abbreviation with several
meanings is not expanded, nor is an ordinary word that is also a brand.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from tools.drug_database.labels.label_terms import label_terms
from tools.drug_database.names.aliases import LISTED, ClassAlias, NameAlias, aliases
from tools.drug_database.names.name_index import Known, NameIndex
from tools.drug_database.names.name_keys import class_kind, class_name
from tools.drug_database.names.name_resolution import abbreviated, foreign_name, leading, meanings_of
from tools.drug_database.names.query_words import CONTEXT, NOISE, with_joining_words
from tools.language.folding import fold_name
from tools.language.longest_matches import longest_matches
from tools.language.query_expansion import Expansion, QueryExpansion
from tools.language.vocabulary.clinical_vocabulary import (
    FOREIGN_LANGUAGES,
    Translation,
    abbreviation_meanings,
    is_english,
    shortened,
    translations,
)
from tools.language.vocabulary.common_words import Language, is_ordinary, ranks
from tools.language.vocabulary.patient_values import abnormal_values
from tools.language.vocabulary.populations import GESTATION
from tools.language.vocabulary.text_language import language_of

_LONGEST_QUESTION: Final = 1_000
_LONGEST_NAME: Final = 5
_SHORTEST_NAME: Final = 3
_MOST_MEMBERS: Final = 12
"""Members of a class that are named; a class with more is too broad to search by all of them."""
_MOST_CLASSES: Final = 4
_MOST_INGREDIENTS: Final = 3
_CODES: Final = frozenset({"clsi", "onc"})
"""Sources of drug codes that are used inside one specialty only."""


class _Word(NamedTuple):
    typed: str
    folded: str


class QueryExpander:
    """Expands questions by the names of one index; by the shipped aliases alone when the index is empty."""

    def __init__(self, index: NameIndex) -> None:
        self._index = index
        self._members = {group.alias: _core_members(index, group) for group in aliases().classes}
        self._groups: dict[int, list[ClassAlias]] = defaultdict(list)
        for group in sorted(aliases().classes, key=lambda one: len(self._members[one.alias])):
            for entry in self._members[group.alias]:
                self._groups[entry].append(group)

    def expand(self, question: str) -> QueryExpansion:
        """Return other words for the words of ``question``, in the order in which they are asked."""
        language = language_of(question[:_LONGEST_QUESTION])
        words = [
            _Word(typed, part)
            for written in with_joining_words(question[:_LONGEST_QUESTION]).split()
            for typed in ([written] if abbreviation_meanings(written) else written.split("/"))
            for part in ([fold_name(typed)] if abbreviation_meanings(typed) else fold_name(typed).split())
            if part
        ]
        found: dict[int, Expansion] = {}
        covered: set[int] = set()
        for start, end, expansion in self._named(words, language):
            covered.update(range(start, end))
            found[start] = expansion
        for start, end, terms in _translated(words, language):
            if covered.isdisjoint(range(start, end)):
                asked = " ".join(word.folded for word in words[start:end])
                found.setdefault(start, Expansion(asked=asked, same=_others(terms, asked)))
        kept = [found[start] for start in sorted(found)]
        states: dict[str, tuple[str, ...]] = {}
        for name, called in abnormal_values(question):
            states[name] = (*states.get(name, ()), called)
        kept += [Expansion(asked=name, same=called) for name, called in states.items()]
        kept += [Expansion(asked=fold_name(said), same=("pregnancy",)) for said in GESTATION.findall(question)]
        return QueryExpansion(language=language, expansions=tuple(one for one in kept if one.same or one.related))

    def _named(self, words: Sequence[_Word], language: Language) -> Iterator[tuple[int, int, Expansion]]:
        """Yield the longest names in the question with their expansions, without overlap."""

        def expansion(start: int, end: int) -> Expansion | None:
            found = self._expansion(words[start:end], language)
            return found and _with_plain(found, words[start:end])

        return longest_matches(len(words), _LONGEST_NAME, expansion)

    def _expansion(self, words: Sequence[_Word], language: Language) -> Expansion | None:
        """Return the other words for ``words`` as a whole; None when they are no name, empty when ambiguous.

        An abbreviation means what it does in the language of the question, and nothing where it is a word of it.
        """
        text = " ".join(word.folded for word in words)
        meanings = abbreviation_meanings(words[0].typed.strip(".,;:?!()")) if len(words) == 1 else ()
        if not meanings and all(word.folded in NOISE for word in words):
            return None
        alias = aliases().name(text)
        if alias is not None and alias.source in _CODES:
            return None
        if alias is not None and alias.source == LISTED and self._index.whole(text):
            alias = None
        is_short = bool(meanings) or (alias is not None and alias.kind == "abbreviation")
        if is_short and language != "en" and (_is_word(words[0], language) or any(translations([text], language))):
            return None
        if meanings:
            clear = len(meanings) == 1 and alias is None
            return Expansion(asked=text, same=meanings if clear else ())
        if len(text) < _SHORTEST_NAME:
            return None
        ordinary = all(is_ordinary(word.folded) or word.folded in CONTEXT for word in words)
        if alias is not None and not (ordinary and all(word.typed == word.typed.lower() for word in words)):
            return self._by_alias(text, alias)
        if group := aliases().drug_class(text):
            return self._of_class(text, group)
        known = leading(self._index, self._index.whole(text))
        if known and not (ordinary and known[0].kind == "brand"):
            return self._of_drug(text, known)
        short = None if known or ordinary else foreign_name(self._index, text) or abbreviated(self._index, text.split())
        if short is not None:
            return self._of_drug(text, [short])
        if not known and not ordinary and (classes := self._listed_classes(text)):
            return Expansion(asked=text, related=_others(classes, text))
        words_meant = shortened(text) if language == "en" and not known else ()
        return Expansion(asked=text, same=words_meant) if words_meant else None

    def _by_alias(self, asked: str, alias: NameAlias) -> Expansion:
        if alias.kind == "abbreviation" and len(alias.names) > 1:
            return Expansion(asked=asked)
        # Several names of a nonproprietary one are spellings of one substance; those of a brand are several medicines.
        names = alias.names if alias.kind == "inn" else alias.names[:1]
        known = [one for name in names[:1] for one in leading(self._index, meanings_of(self._index, name))]
        if known:
            return self._of_drug(asked, known, also=names)
        classes = [one for name in names[:1] for one in self._listed_classes(name)]
        return Expansion(asked=asked, same=_others(names, asked), related=_others(classes, asked))

    def _listed_classes(self, name: str) -> list[str]:
        """Return the classes in which the vocabulary of labels lists a medicine, loaded or not."""
        groups = map(aliases().drug_class, sorted(label_terms().own_groups(name)))
        return [group.alias for group in groups if group is not None]

    def _of_drug(self, asked: str, known: Sequence[Known], also: Iterable[str] = ()) -> Expansion:
        """Expand a medicine by its names and classes; nothing when the name means several medicines."""
        entries = list(dict.fromkeys(one.entry for one in known))
        ingredients = self._index.entries[entries[0]].ingredients
        if len(entries) > 1 or len(ingredients) > _MOST_INGREDIENTS:
            return Expansion(asked=asked)
        same = _with_official_names([*also, *ingredients])
        return Expansion(asked=asked, same=_others(same, asked), related=_others(self._classes_of(entries[0]), asked))

    def _classes_of(self, entry: int) -> list[str]:
        """Return what the record's established classes are called, the most specific first."""
        named = [group.alias for group in self._groups.get(entry, ())][:_MOST_CLASSES]
        own = [class_name(one) for one in self._index.entries[entry].classes if class_kind(one) in {"", "epc"}]
        return [*named, *own[:_MOST_CLASSES]]

    def _of_class(self, asked: str, group: ClassAlias) -> Expansion:
        same = [one.alias for one in aliases().classes if (one.classes, one.names) == (group.classes, group.names)]
        members = self._members[group.alias]
        few = members if len(members) <= _MOST_MEMBERS else ()
        names = [name for entry in few for name in self._index.entries[entry].ingredients]
        return Expansion(asked=asked, same=_others(same, asked), related=_others(_with_official_names(names), asked))


def _translated(words: Sequence[_Word], language: Language) -> Iterator[Translation]:
    """Yield clinical terms; in an English question, or notes of names alone, also of words that are no English ones."""
    yield from translations([word.folded for word in words], language)
    if language != "en":
        return
    foreign = ["" if is_english(word.folded) else word.folded for word in words]
    for other in FOREIGN_LANGUAGES:
        yield from translations(foreign, other)


def _core_members(index: NameIndex, group: ClassAlias) -> list[int]:
    """Return the single medicines that belong to most of the group's classes, the most common first.

    ``SABA`` is listed with FDA's class of all beta2 agonists and with a class of the short-acting ones: its members
    are those of both.
    """
    count: Counter[int] = Counter()
    for name in dict.fromkeys(map(fold_name, group.classes)):
        count.update(set(index.members.get(name, ())))
    count.update({known.entry for name in group.names for known in meanings_of(index, name) if known.kind == "generic"})
    single = [entry for entry in count if len(index.entries[entry].ingredients) == 1]
    most = max((count[entry] for entry in single), default=0)
    return sorted((entry for entry in single if count[entry] == most), key=index.prominence, reverse=True)


def _others(terms: Iterable[str], asked: str) -> tuple[str, ...]:
    """Return each term once, without the asked one."""
    return tuple({fold_name(term): term for term in reversed(list(terms)) if fold_name(term) != asked}.values())[::-1]


def _with_official_names(names: Sequence[str]) -> list[str]:
    """Return ``names``, then the other official names of the same substances."""
    return [*names, *(other for name in names for other in aliases().substance_names(name))]


def _with_plain(expansion: Expansion, words: Sequence[_Word]) -> Expansion:
    """Add a name without the accents with which it was typed: labels are in English."""
    accented = (expansion.same or expansion.related) and not all(word.typed.isascii() for word in words)
    return expansion.model_copy(update={"same": (expansion.asked, *expansion.same)}) if accented else expansion


def _is_word(word: _Word, language: Language) -> bool:
    """Return whether ``word`` is an ordinary word of ``language`` and not in capitals: ``als`` is no disease."""
    return not word.typed.isupper() and word.folded in ranks(language)
