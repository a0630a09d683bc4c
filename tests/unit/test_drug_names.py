"""How names of medicines are compared."""

from __future__ import annotations

import zipfile
from collections import defaultdict
from pathlib import Path

import pytest

from tools.drug_database.importing.rollup import roll_up
from tools.drug_database.names.aliases import aliases, is_known_word
from tools.drug_database.names.name_keys import base_moieties, base_moiety, joined, record_key
from tools.drug_database.records.drug_record import Contribution, DataSource
from tools.drug_database.storage.drug_collection import grams, stems
from tools.drug_database.storage.staging import StagedGroup
from tools.language.folding import fold_name


@pytest.mark.parametrize(
    ("one", "other"),
    [("Coumadin®", "COUMADIN"), ("avar-e", "AVAR E"), ("naïve", "naive"), ("5-FU", "5 fu"), ("  a\tb ", "A  B")],
)
def test_case_accents_hyphens_and_spaces_make_no_other_name(one: str, other: str) -> None:
    assert fold_name(one).replace(" r", "") == fold_name(other)


@pytest.mark.parametrize(("word", "is_known"), [("banan", False), ("crystalviolet", False), ("nierenschmerzen", True)])
def test_an_alias_is_no_known_word_as_a_form_or_compound_of_german_words(word: str, *, is_known: bool) -> None:
    assert is_known_word(word) is is_known


def test_an_abbreviation_is_the_same_with_and_without_its_hyphen() -> None:
    assert aliases().name("L-T4") is aliases().name("LT4") is aliases().name("l t4") is not None


@pytest.mark.parametrize(
    ("substance", "base"),
    [
        ("METFORMIN HYDROCHLORIDE", "metformin"),
        ("Hydrocortisone Sodium Succinate", "hydrocortisone"),
        ("amphetamine aspartate monohydrate", "amphetamine"),
        ("estrogens, conjugated", "conjugated estrogens"),
        ("lithium carbonate", "lithium"),
        ("trastuzumab-dkst", "trastuzumab"),
        ("anhydrous citric acid", "citric acid"),
        ("vasopressin (USP)", "vasopressin"),
        ("peginterferon alfa-2a", "peginterferon alfa 2a"),
    ],
)
def test_a_salt_rolls_up_to_its_base(substance: str, base: str) -> None:
    assert base_moiety(substance) == base


@pytest.mark.parametrize(
    "whole", ["potassium chloride", "ferrous sulfate", "calcium acetate", "ethyl chloride", "zinc"]
)
def test_a_salt_whose_ion_is_the_medicine_stays_whole(whole: str) -> None:
    assert base_moiety(whole) == whole


def test_the_key_does_not_depend_on_the_order_of_the_ingredients() -> None:
    assert record_key(["amlodipine", "benazepril"]) == record_key(["benazepril", "amlodipine"])
    assert record_key(["estrogens conjugated"]) == record_key(["conjugated estrogens"])


def test_the_key_of_fifty_ingredients_is_short_and_its_own() -> None:
    many = [f"ingredient number {n}" for n in range(50)]
    key = record_key(many)
    assert len(key) <= 120
    assert key != record_key([*many, "one more"])
    assert set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-+")


def test_a_name_without_letters_makes_no_key() -> None:
    with pytest.raises(ValueError, match="at least one name"):
        record_key(["--", " "])


def test_a_name_in_another_script_has_a_key() -> None:
    assert record_key(["парацетамол"]) != record_key(["ибупрофен"])


def test_names_are_joined_as_one_would_say_them() -> None:
    assert joined(["a"]) == "a"
    assert joined(["a", "b"]) == "a and b"
    assert joined(["a", "b", "c"]) == "a, b and c"
    assert joined(list("abcdefg")) == "a, b, c, d, e, f and g"


def test_a_medicine_of_many_ingredients_is_named_by_the_first_four() -> None:
    item = Contribution(source="test", item="1", substances=(), ingredients=tuple("abcdefg"))
    sources = {"test": DataSource(id="test", title="Test", publisher="Test")}
    record = roll_up(StagedGroup("a", [item.model_dump_json()]), sources)
    assert record.generic_name == "a, b, c, d and 3 more ingredients"


def test_the_salt_rule_agrees_with_rxnorms_precise_ingredients(shared: Path) -> None:
    """RxNorm names each salt's ingredient; biologics, liposomes and acids (as anions) follow rules of their own."""
    kind: dict[str, str] = {}
    name: dict[str, str] = {}
    plain: dict[str, set[str]] = defaultdict(set)
    precise: dict[str, set[str]] = defaultdict(set)
    with zipfile.ZipFile(shared / "data/drugs/rxnorm_prescribable_2025-10.zip") as archive:
        for line in archive.read("rrf/RXNCONSO.RRF").decode().splitlines():
            cells = line.split("|")
            kind[cells[0]], name[cells[0]] = cells[12], cells[14]
        for line in archive.read("rrf/RXNREL.RRF").decode().splitlines():
            cells = line.split("|")
            if cells[7] == "has_ingredient":
                plain[cells[4]].add(cells[0])
            elif cells[7] == "has_precise_ingredient":
                precise[cells[4]].add(cells[0])
    salts = {
        (name[next(iter(salt))], name[next(iter(plain[strength]))])
        for strength, salt in precise.items()
        if len(salt) == 1 and len(plain[strength]) == 1
    }
    special = (
        "vaccin",
        "virus",
        "factor",
        "human",
        "liposom",
        "globulin",
        "serogroup",
        "immune",
        " acid",
        "botulinum",
        "antigen",
        "rombin",
        "protein ",
        "hyaluronidase",
        "plasm",
        "recombinant",
        "Lu 177",
        "vedotin",
    )
    chemical = [(salt, base) for salt, base in salts if not any(word in salt for word in special)]
    agreeing = [1 for salt, base in chemical if record_key(base_moieties([salt])) == record_key(base_moieties([base]))]
    assert len(chemical) > 500
    assert len(agreeing) / len(chemical) >= 0.88


def test_what_text_search_compares_fits_into_milvus_in_any_script() -> None:
    names = [f"薬{number}名前" for number in range(9_000)]
    for text in (stems(names), grams(names)):
        assert 50_000 < len(text.encode()) <= 65_535
