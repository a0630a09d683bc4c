"""The corrections of Chainlit's script fit the installed version."""

from __future__ import annotations

import re
from pathlib import Path

import chainlit
import pytest

from chat_app.interface.page.page_code import CORRECTIONS, GAPS, HIGHLIGHTED, ICON, ICONS, LANGUAGE, corrected

_PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script() -> tuple[str, str, str]:
    """Return Chainlit's installed script, the corrected one, and the code that was moved out of it."""
    (script,) = Path(chainlit.__file__).parent.glob("frontend/dist/assets/index-*.js")
    code = script.read_text("utf-8")
    return code, *corrected(code)


def test_every_correction_has_its_place_in_the_installed_script(script: tuple[str, str, str]) -> None:
    code, changed, _ = script
    assert [place for place in CORRECTIONS if code.count(place) != 1] == []
    assert [replacement for replacement in CORRECTIONS.values() if changed.count(replacement) != 1] == []
    kept = dict(LANGUAGE.findall(changed))
    assert sorted(kept) == sorted(HIGHLIGHTED)
    left_out = {function for _, function in LANGUAGE.findall(code)} - set(kept.values())
    assert len(left_out) > 100
    assert left_out & set(re.findall(r"[\w$]+", changed)) == set()


def test_the_page_has_the_icons_of_its_own_steps_and_makes_the_others_later(script: tuple[str, str, str]) -> None:
    code, changed, others = script
    kept, later, known = ({icon[3] for icon in ICON.finditer(text)} for text in (changed, others, code))
    assert kept.isdisjoint(later)
    assert kept | later == known
    assert len(later) > 1_000
    folders = ("chat_app/interface", "chat_app/mcp", "tools")
    sources = [path.read_text("utf-8") for folder in folders for path in (_PROJECT / folder).rglob("*.py")]
    shown = re.findall(r'(?:icon(?:: str)?|\["icon"\]) ?= ?"([a-z-]+)"', "\n".join(sources))
    assert set(ICONS) >= set(shown) > {"pill", "brain", "wrench"}
    (imported,) = re.findall(
        r"\{ ([^}]+) \} from 'lucide-react'", (_PROJECT / "public/elements/References.jsx").read_text()
    )
    for name in imported.split(", "):
        assert re.search(rf"[{{,]{name}:", changed), name


def test_no_rule_of_the_style_is_for_a_sibling_without_a_name() -> None:
    (style,) = Path(chainlit.__file__).parent.glob("frontend/dist/assets/index-*.css")
    code = style.read_text("utf-8")
    unnamed = re.compile(r"[~+](?:\*|:not\([^()]*\))\s*[,{]")
    assert len(unnamed.findall(code)) == code.count(GAPS[0]) > 0
    assert unnamed.findall(code.replace(*GAPS)) == []


def test_a_script_with_other_code_is_served_unchanged() -> None:
    only_one = f"before {next(iter(CORRECTIONS))} after"
    assert corrected(only_one) == (only_one, "")
