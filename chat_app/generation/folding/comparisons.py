"""Compare the texts and places that a server sends."""

from collections.abc import Sequence


def compact(text: str) -> str:
    """Return ``text`` without white space."""
    return "".join(text.split())


def is_broken(texts: Sequence[str], whole: str) -> bool:
    """Return whether ``whole`` is the ``texts`` joined, at least two of them without a line break."""
    if compact("".join(texts)) != compact(whole):
        return False
    rest = whole
    for text in texts[:-1]:
        for character in compact(text):
            rest = rest[rest.index(character) + 1 :]
        if "\n" not in rest[: len(rest) - len(rest.lstrip())]:
            return True
    return False


def agree(one: int | None, other: int | None) -> bool:
    """Return whether the indexes do not contradict each other."""
    return one is None or other is None or one == other


def same_index(one: int | None, other: int | None) -> bool:
    """Return whether both indexes are known and equal."""
    return one is not None and one == other


def equal(one: str, other: str) -> bool:
    """Return whether the texts differ at most in the white space around them."""
    return one == other or one.strip() == other.strip()
