"""Special tokens of chat templates that a server left in a message: ``<|name|>``, and some of other shapes.

``<|name|>`` is dropped wherever it is, with the role behind it in a header, and so are Gemma's unused tokens and the
marks of citations that only the server knows. What may also be ordinary text is dropped only around the message: an
``<answer>`` or ``<response>`` that begins it, and ``</s>``, ``<eos>``, an end tag without its beginning and the like at
its end. In a code span or block all of them are text.
"""

import re
from typing import Final

from chat_app.generation.text_buffer import TextBuffer

_TOKEN: Final = re.compile(
    r"""
    <\|(?:(?:im_)?start|start_header_id|channel)\|>(?:(?:assistant|final|commentary)(?=<\||\s*\n|\Z))?
    | <\|\w{3,}\|> | <unused\d+> | \ue200(?:file)?cite[\w\ue202]*\ue201
""",
    re.VERBOSE,
)
_BEGINNING: Final = re.compile(r"\A\s*<(?:answer|response)>")
_ENDING: Final = re.compile(
    r"""
    (?: </s> | <eos> | <turn\|> | <end_of_turn> | <end_of_utterance> | <\uff5cend\u2581of\u2581sentence\uff5c> | \[e~\[
      | </(?P<tag>answer|response|parameter)> )\s*\Z
""",
    re.VERBOSE,
)
_UNDECIDED: Final = re.compile(
    r"""
    \s*+ (?: (?: </?[|\uff5c]?[\w\u2581]{0,40}[|\uff5c]?(?:>[a-z]{0,10})? | \[(?:e(?:~\[?)?)?
      | \ue200[\w\ue202]{0,200} ) \s*+ )+ \Z
""",
    re.VERBOSE,
)
"""What may become a token, or an ending that nothing but more of them follows."""
_SIGNS: Final = frozenset("<[\ue200")
_MOST_HELD: Final = 400


class ControlTokens:
    """Drops the tokens from the text of one message."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str, shown: TextBuffer) -> str:
        """Return what ``text`` adds to the text that is ``shown``; what may become a token is held back."""
        if not self._held and _SIGNS.isdisjoint(text):
            return text
        text = self._held + text
        undecided = _UNDECIDED.search(text, max(0, len(text) - _MOST_HELD))
        end = undecided.start() if undecided else len(text)
        self._held = text[end:]
        return _without_tokens(text[:end], shown)

    def close(self, shown: TextBuffer) -> str:
        """Return the held text, once the message has ended."""
        text, self._held = _without_tokens(self._held, shown), ""
        while (ending := _ENDING.search(text)) and not _in_code(before := f"{shown}{text[: ending.start()]}"):
            if ending["tag"] and f"<{ending['tag']}" in before:
                break
            text = text[: ending.start()].rstrip()
        return text


def _in_code(before: str) -> bool:
    return before.count("`") % 2 == 1


def _without_tokens(text: str, shown: TextBuffer) -> str:
    """Drop the tokens outside of code from ``text``, which follows the ``shown`` text."""
    kept = _TOKEN.sub(lambda token: token[0] if _in_code(f"{shown}{text[: token.start()]}") else "", text)
    if shown or not (_BEGINNING.match(text) or _TOKEN.match(text.lstrip())):
        return kept
    return _BEGINNING.sub("", kept).lstrip()
