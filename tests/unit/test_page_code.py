"""The corrections of Chainlit's script fit the installed version."""

from __future__ import annotations

import re
from pathlib import Path

import chainlit

from chat_app.interface.page.page_code import CORRECTIONS, GAPS, HIGHLIGHTED, LANGUAGE, corrected


def test_every_correction_has_its_place_in_the_installed_script() -> None:
    (script,) = Path(chainlit.__file__).parent.glob("frontend/dist/assets/index-*.js")
    code = script.read_text("utf-8")
    changed = corrected(code)
    assert [place for place in CORRECTIONS if code.count(place) != 1] == []
    assert [replacement for replacement in CORRECTIONS.values() if changed.count(replacement) != 1] == []
    kept = dict(LANGUAGE.findall(changed))
    assert sorted(kept) == sorted(HIGHLIGHTED)
    left_out = {function for _, function in LANGUAGE.findall(code)} - set(kept.values())
    assert len(left_out) > 100
    assert left_out & set(re.findall(r"[\w$]+", changed)) == set()


def test_no_rule_of_the_style_is_for_a_sibling_without_a_name() -> None:
    (style,) = Path(chainlit.__file__).parent.glob("frontend/dist/assets/index-*.css")
    code = style.read_text("utf-8")
    unnamed = re.compile(r"[~+](?:\*|:not\([^()]*\))\s*[,{]")
    assert len(unnamed.findall(code)) == code.count(GAPS[0]) > 0
    assert unnamed.findall(code.replace(*GAPS)) == []


def test_a_script_with_other_code_is_served_unchanged() -> None:
    only_one = f"before {next(iter(CORRECTIONS))} after"
    assert corrected(only_one) == only_one
