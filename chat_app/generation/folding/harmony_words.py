"""Harmony's headers (gpt-oss) in a text from which a server dropped the special tokens and kept the words.

``analysisThey ask.assistantfinalGive it.`` was ``<|channel|>analysis<|message|>They ask.<|end|>`` and so on. The tokens
are put back for those who read them. Only a text that begins with a header has others: no sentence begins with
``analysis`` and a capital letter right behind it, or with two of these words joined.
"""

import re
from typing import Final

_HEADER: Final = re.compile(r"assistant(?:analysis|commentary|final|(?= to=))|commentary(?= to=)")
_FIRST: Final = re.compile(rf"\s*?({_HEADER.pattern}|(?:analysis|commentary)(?=[A-Z])|(?= to=functions\.))")
_WORDS: Final = ("assistant to=", "assistantanalysis", "assistantcommentary to=", "assistantfinal", "commentary to=")
_FIRST_WORDS: Final = (*_WORDS, "analysis", "to=functions.")


class HarmonyWords:
    """Puts the tokens back into the text of one message."""

    def __init__(self) -> None:
        self._held = ""
        self._begun = self.absent = False
        """Whether the text began with a header, or otherwise, so that it stays as it is."""

    def feed(self, text: str, *, ended: bool = False) -> str:
        """Return what ``text`` adds; what may become a header is held back until the message has ended."""
        text, self._held, restored = self._held + text, "", ""
        if not self._begun:
            lead = text.lstrip()
            # No server cuts these words into single letters.
            if len(text) != 1 and not ended and any(words.startswith(lead) for words in _FIRST_WORDS):
                self._held = text
                return ""
            if (first := _FIRST.match(text)) is None:
                self.absent = True
                return text
            self._begun = True
            restored, text = _tokens(first, first[1]).removeprefix("<|end|>"), text[first.end() :]
        tails = [] if ended else range(max(0, len(text) - len("assistantcommentary to=")), len(text))
        end = next((at for at in tails if any(words.startswith(text[at:]) for words in _WORDS)), len(text))
        self._held = text[end:]
        return restored + _HEADER.sub(lambda header: _tokens(header, header[0]), text[:end])


def _tokens(header: re.Match[str], words: str) -> str:
    """Return a header with its tokens; the recipient of a call is part of it."""
    channel = f"<|channel|>{name}" if (name := words.removeprefix("assistant")) else ""
    calls = header.string.startswith(" to=", header.end())
    return f"<|end|><|start|>assistant{channel}" + ("" if calls else "<|message|>")
