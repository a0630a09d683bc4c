"""The expansion of a question: other words for its words, which searches and answers may use as well."""

from collections.abc import Awaitable, Callable

from tools.language.vocabulary.common_words import Language
from tools.types import Frozen


class Expansion(Frozen):
    """Other words for one word or phrase of a question."""

    asked: str
    """The word or phrase of the question, folded."""
    same: tuple[str, ...] = ()
    """Words that mean the same: a generic for its brand, a translation, the long form of an abbreviation."""
    related: tuple[str, ...] = ()
    """Members of an asked class, or classes of an asked medicine."""


class QueryExpansion(Frozen):
    """The language of a question and other words for it."""

    language: Language = "en"
    expansions: tuple[Expansion, ...] = ()


Expand = Callable[[str], Awaitable[QueryExpansion]]
