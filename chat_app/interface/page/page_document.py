"""The page's HTML: Chainlit's with our scripts before its own, and without references to other hosts."""

import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Final

from chat_app.errors import ConfigurationError
from chat_app.interface.i18n.translation import Language, language_of, script_texts
from chat_app.interface.page.page_code import VERSION

_PACKAGE = Path(__file__).resolve().parents[2]
_FOREIGN_TAGS = re.compile(
    r'<link\b[^>]*href="https?://[^>]*>|<meta property="og:(?:image|url)"[^>]*>'
    r"|<!-- FONT (?:START|END) -->"
)
# Chainlit takes one script; the one with all of them takes its place.
_OWN_SCRIPT = re.compile(r'<script src="([^"]*)/public/asclepius\.js"')
_INSTALLABLE: Final = (
    r'<link rel="manifest" href="\1/public/manifest.webmanifest">'
    r'<link rel="apple-touch-icon" href="\1/public/icon-192.png">'
)
_EMPTY_ROOT: Final = '<div id="root"></div>'
_FIRST_PAINT: Final = f'{_EMPTY_ROOT}<p class="asc-starting" aria-hidden="true">Asclepius</p>'
"""Shown until the page's script has filled the root, which takes a slow machine more than a second."""
_SCRIPTS: Final = (
    *("language", "dom", "requests", "mending", "reading", "library", "draft", "connection", "safeguards"),
    *("statements", "earlier", "settings", "passage", "clipboard", "source", "account", "asclepius"),
)
"""Each after those that it builds on."""


def page_sources() -> Path:
    """Return the folder that holds ``public``, ``.chainlit`` and ``chainlit.md``.

    Raises ``ConfigurationError`` when neither the project nor the installed package has them.
    """
    for folder in (_PACKAGE.parent, _PACKAGE / "assets"):
        if (folder / ".chainlit" / "config.toml").is_file():
            return folder
    raise ConfigurationError("The page's files (.chainlit, public) are missing here: install Asclepius again.")


@cache
def own_scripts(language: Language) -> str:
    """Return the page's own scripts with their texts in ``language``."""
    data = json.dumps({"language": language, "texts": script_texts(language)}, ensure_ascii=False)
    folder = page_sources() / "public"
    scripts = [(folder / f"{name}.js").read_text("utf-8") for name in _SCRIPTS]
    return "\n".join([f"window.asclepiusTexts = {data};", *scripts])


@cache
def scripts_address(language: Language) -> str:
    """Return the address of the page's own scripts, which changes with their content."""
    return f"/scripts/{language}.js?v={hashlib.sha256(own_scripts(language).encode()).hexdigest()[:12]}"


def own_page(html: str, nonce: str, accept_language: str | None) -> str:
    """Return Chainlit's page without references to other hosts, with our scripts before Chainlit's.

    ``nonce`` allows the page's inline scripts.
    """
    scripts = scripts_address(language_of(accept_language))
    html = _FOREIGN_TAGS.sub("", html).replace(_EMPTY_ROOT, _FIRST_PAINT)
    html = _OWN_SCRIPT.sub(rf'{_INSTALLABLE}<script src="\1{scripts}"', html)
    html = html.replace("/assets/index-", f"/assets/{VERSION}/index-")
    return html.replace("<script>", f'<script nonce="{nonce}">')
