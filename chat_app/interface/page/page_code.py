"""Corrections to the script and style of Chainlit's page, so that it opens in one go and renders no part of it twice.

They hold for one compiled version of the page. Another version is served as it is, and a test tells that the
corrections need to be adapted.
"""

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

CORRECTIONS: Final[dict[str, str]] = tomllib.loads(Path(__file__).with_name("page_corrections.toml").read_text("utf-8"))
"""The new code by the code that it replaces; the file gives the reason for each."""
GAPS: Final = (">:not([hidden])~:not([hidden])", ">:not(:first-child)")
"""The selector of the gaps in Chainlit's style, and ours. For a sibling without a name, a browser computes the style of
the whole conversation again when a message comes or goes."""
HIGHLIGHTED: Final = ("json", "plaintext")
"""Languages whose code the page highlights, of 190 that are a fifth of Chainlit's script."""
LANGUAGE: Final = re.compile(r'[\w$]+\.registerLanguage\("([^"]+)",([\w$]+)\(\)\);')
_MODULE: Final = re.compile(
    r"var ([\w$]+),([\w$]+);function ([\w$]+)\(\)\{if\(\2\)return \1;\2=1;.*?return \1=[\w$]+,\1\}", re.DOTALL
)
ICONS: Final = (
    *("book-open", "brain", "calculator", "file-plus", "hourglass", "pill", "plug", "shuffle", "siren", "sparkles"),
    *("message-circle", "thumbs-down", "thumbs-up", "wrench"),
)
"""Icons of our steps and references. Those that neither they nor Chainlit need are a fifth of the script, too."""
ICON: Final = re.compile(r'const ([\w$]+)=\[\["[^;]*?\]\],([\w$]+)=[\w$]+\("([a-z0-9-]+)",\1\);/\*\*.*?\*/', re.DOTALL)
_ICON_NAMES: Final = re.compile(r"(?<=__proto__:null,)AArrowDown:[^}]*(?=\},Symbol)")
VERSION: Final = hashlib.sha256(repr((CORRECTIONS, GAPS, HIGHLIGHTED, ICONS)).encode()).hexdigest()[:12]
"""Part of the address of both, so that a browser that keeps them loads them again when their corrections change."""


def corrected(code: str) -> tuple[str, str]:
    """Return ``code`` with all corrections, few languages to highlight and few icons, and a module of the other icons.

    The code is unchanged when the place of a correction is not there exactly once.
    """
    if any(code.count(place) != 1 for place in CORRECTIONS):
        return code, ""
    for place, replacement in CORRECTIONS.items():
        code = code.replace(place, replacement)
    unused = {function for language, function in LANGUAGE.findall(code) if language not in HIGHLIGHTED}
    code = LANGUAGE.sub(lambda call: "" if call[2] in unused else call[0], code)
    code = _MODULE.sub(lambda module: "" if module[3] in unused else module[0], code)
    used = Counter(re.findall(r"[\w$]+", _ICON_NAMES.sub("", code)))
    others = {icon[2]: icon[0] for icon in ICON.finditer(code) if used[icon[2]] == 1 and icon[3] not in ICONS}
    names = _of_icons(_ICON_NAMES.findall(code)[-1], others.__contains__)
    code = ICON.sub(lambda icon: "" if icon[2] in others else icon[0], code)
    code = _ICON_NAMES.sub(lambda listed: _of_icons(listed[0], lambda icon: icon not in others), code)
    return code, f"export default b=>{{{''.join(others.values())}return{{{names}}}}}"


def _of_icons(names: str, wanted: Callable[[str], bool]) -> str:
    return ",".join(entry for entry in names.split(",") if wanted(entry.partition(":")[2]))
