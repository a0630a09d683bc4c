"""From what was typed to the medicine it means, without a Milvus."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.drugs import index_entry
from tools.drug_database.importing.rollup import is_brand
from tools.drug_database.names.aliases import AliasFile, aliases, look_alikes, singular
from tools.drug_database.names.name_index import NameIndex
from tools.drug_database.names.name_keys import acid_or_ion
from tools.drug_database.names.not_taken import without_allergens, without_excluded, without_withdrawn
from tools.drug_database.names.query_words import parse_query
from tools.drug_database.names.resolve import interpret
from tools.drug_database.names.spelling import Spellings, closeness, phonetic_keys
from tools.drug_database.records.shipped_data import shipped
from tools.language.folding import fold_name
from tools.language.measurement_units import UNITS

NSAID = ["Nonsteroidal Anti-inflammatory Drug [EPC]"]
INDEX = NameIndex(
    [
        index_entry(
            "metformin",
            brands=["Glucophage"],
            classes=["Biguanide [EPC]"],
            substances=["metformin hydrochloride"],
            products=9,
        ),
        index_entry("glyburide+metformin", brands=["Glucovance"], products=3),
        index_entry("fluticasone+salmeterol", brands=["Advair Diskus", "Advair HFA"]),
        index_entry("acetaminophen", brands=["Tylenol"], products=50),
        index_entry("hydroxyzine", brands=["Atarax"]),
        index_entry("hydralazine"),
        index_entry("ibuprofen", brands=["Good Sense Ibuprofen"], classes=NSAID, products=20),
        index_entry("naproxen", brands=["Good Sense Naproxen"], classes=NSAID, products=30),
        index_entry("aspirin", brands=["Good Sense Aspirin"]),
        index_entry("famotidine", brands=["Good Sense Acid Reducer"]),
        index_entry("zidovudine"),
        index_entry("azathioprine"),
        index_entry("vitamin k"),
        index_entry("warfarin", classes=["Vitamin K Antagonist [EPC]"]),
        index_entry("estradiol"),
        index_entry("estramustine", classes=["Estradiol Congeners [EPC]"]),
        index_entry("doxycycline", classes=["Tetracycline-class Drug [EPC]"]),
        index_entry("tetracycline"),
        index_entry("alcohol"),
        index_entry("adapalene", brands=["Differin"]),
        index_entry("dextrose"),
        index_entry("chloride-sodium"),
        index_entry("chloride-sodium+dextrose", substances=["dextrose", "sodium chloride"]),
        index_entry("aspirin+dipyridamole", brands=["Aggrenox"]),
        index_entry("dipyridamole"),
        index_entry("sulfur", brands=["Asthma"]),
        index_entry("kit", brands=["Marcaine"]),
        index_entry("iodine+lidocaine", substances=["iodine", "marcaine"]),
        index_entry("cholate"),
        index_entry("lithium"),
        index_entry("minocycline"),
        index_entry("hydroxide-magnesium", substances=["magnesium hydroxide"]),
        index_entry("citrate", brands=["Anticoagulant Citrate"]),
        index_entry("bupivacaine", brands=["Marcaine"], products=40),
        index_entry("cetirizine", classes=["Histamine-1 Receptor Antagonist [EPC]"], products=90),
        index_entry(
            "diphenhydramine", classes=["Antihistamine [EPC]", "Histamine-1 Receptor Antagonist [EPC]"], products=5
        ),
    ]
)


def found(typed: str) -> list[tuple[str, str]]:
    reading = interpret(INDEX, parse_query(typed))
    return [(INDEX.entries[one.entry].key, one.how) for one in reading.candidates]


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_after_its_number_is_no_part_of_a_name(unit: str) -> None:
    reading = interpret(INDEX, parse_query(f"ibuprofen 12 {unit}"))
    assert [(INDEX.entries[one.entry].key, one.how) for one in reading.candidates] == [("ibuprofen", "exact")]
    assert not reading.did_you_mean


def test_a_name_of_the_text_is_taken_and_no_guess() -> None:
    for typed in ("ibuprofen h", "ibuprofen q", "max naproxen in h"):
        reading = interpret(INDEX, parse_query(typed))
        assert (reading.candidates[0].how, reading.did_you_mean) == ("exact", ())
    assert interpret(INDEX, parse_query("aspirin dipyridmole")).did_you_mean == ("aspirin and dipyridamole",)


@pytest.mark.parametrize(
    "typed", ["Does Glucophage interact with lithium?", "May someone on metformin be given lithium?"]
)
def test_an_ion_further_on_in_the_question_is_no_salt_of_the_medicine(typed: str) -> None:
    assert [key for key, _ in found(typed)] == ["metformin", "lithium"]


@pytest.mark.parametrize(
    ("typed", "key", "how"),
    [
        ("metformin", "metformin", "exact"),
        ("Metformin HCl", "metformin", "exact"),
        ("GLUCOPHAGE", "metformin", "brand"),
        ("advair", "fluticasone+salmeterol", "brand"),
        ("what is the dose of Advair?", "fluticasone+salmeterol", "brand"),
        ("paracetamol 500 mg tablets", "acetaminophen", "synonym"),
        ("glyburide/metformin", "glyburide+metformin", "exact"),
        ("metformin with glyburide", "glyburide+metformin", "exact"),
        ("metfromin", "metformin", "spelling"),
        ("is metfromin safe in pregnancy", "metformin", "spelling"),
        ("NSAIDs", "naproxen", "class"),
        ("vitamin k antagonist drugs", "warfarin", "class"),
        ("AZT", "zidovudine", "synonym"),
        ("estradiol 500 mg", "estradiol", "exact"),
        ("metformin500mg tab", "metformin", "exact"),
        ("Tylenol™", "acetaminophen", "brand"),
        ("dipyridamole-aspirin", "aspirin+dipyridamole", "exact"),
        ("is dipyridamole/aspirin contraindicated in asthma?", "aspirin+dipyridamole", "exact"),
        ("metformin 500 mg / glyburide 5 mg", "glyburide+metformin", "exact"),
        ("Marcaine", "bupivacaine", "brand"),
        ("list of tetracycline-class drugs", "doxycycline", "class"),
        ("examples of NSAIDs", "naproxen", "class"),
        ("which vitamin K antagonists are available", "warfarin", "class"),
        ("vitamin k antagonst", "warfarin", "spelling"),
        ("paracetmol", "acetaminophen", "spelling"),
        ("does metfromin interact with alcohol", "metformin", "spelling"),
        ("glukofage", "metformin", "spelling"),
        ("Is azathiprine contraindicated in asthma?", "azathioprine", "spelling"),
        ("antihistamine", "diphenhydramine", "class"),
        ("norepinefrin", "", ""),
    ],
)
def test_what_is_typed_leads_to_its_medicine(typed: str, key: str, how: str) -> None:
    assert found(typed)[:1] == ([(key, how)] if key else [])


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        ("Does Glucovance interact with metformin?", ["glyburide+metformin", "metformin"]),
        ("metformin on top of Glucovance?", ["metformin", "glyburide+metformin"]),
        ("May I add dipyridamole to aspirin?", ["dipyridamole", "aspirin"]),
        ("Can I take aspirin and dipyridamole together?", ["aspirin", "dipyridamole"]),
        ("Wechselwirkung von aspirin und dipyridamole?", ["aspirin", "dipyridamole"]),
        ("dose of aspirin and dipyridamole capsules", ["aspirin+dipyridamole"]),
        ("warfarin and aspirin with dipyridamole", ["warfarin", "aspirin", "dipyridamole"]),
        ("warfarin and aspirin, dipyridamole", ["warfarin", "aspirin", "dipyridamole"]),
        ("aspirin, lithium and dipyridamole", ["aspirin", "lithium", "dipyridamole"]),
        ("warfarin with aspirin and dipyridamole", ["warfarin", "aspirin+dipyridamole"]),
        ("aspirin, dipyridamole", ["aspirin+dipyridamole"]),
        ("aspirin 75 mg, dipyridamole 200 mg", ["aspirin", "dipyridamole"]),
        ("aspirin 75 mg\ndipyridamole 200 mg\nwarfarin", ["aspirin", "dipyridamole", "warfarin"]),
        ("warfarin\naspirin\ndipyridamole", ["warfarin", "aspirin", "dipyridamole"]),
        ("warfarin 5 mg, aspirin 75 mg, dipyridamole", ["warfarin", "aspirin", "dipyridamole"]),
    ],
)
def test_two_medicines_of_a_question_are_not_taken_for_the_product_that_combines_them(
    asked: str, keys: list[str]
) -> None:
    assert [key for key, _ in found(asked)] == keys


def test_a_medicine_beside_a_misspelt_one_is_not_taken_for_it() -> None:
    reading = interpret(INDEX, parse_query("metformin and estradoil"))
    assert [(INDEX.entries[one.entry].key, one.how) for one in reading.candidates[:2]] == [
        ("metformin", "exact"),
        ("estradiol", "spelling"),
    ]
    assert reading.did_you_mean == ("estradiol",)


def test_the_other_name_of_a_medicine_that_is_not_there_is_not_taken_for_a_misspelling() -> None:
    reading = interpret(INDEX, parse_query("ergometrine injection"))
    assert reading.candidates == ()
    assert reading.notes == ("ergometrine is another name of ergonovine, which is not in the drug database.",)


def test_an_acid_is_found_by_its_ion_and_an_ion_by_its_acid() -> None:
    assert acid_or_ion("risedronic acid") == "risedronate"
    assert acid_or_ion("Risedronate") == "risedronic acid"
    assert acid_or_ion("metformin") == ""
    assert found("cholic acid") == [("cholate", "synonym")]


def test_a_class_is_not_the_start_of_a_brand() -> None:
    assert found("anticoagulants")[0] == ("warfarin", "class")
    assert found("Good Sense Aspirin")[0] == ("aspirin", "brand")


def test_a_far_spelling_is_kept_for_when_nothing_else_is_found() -> None:
    reading = interpret(INDEX, parse_query("teylonel"))
    assert reading.candidates == ()
    assert reading.perhaps.did_you_mean == ("Tylenol",)
    assert interpret(INDEX, parse_query("xqzzkw vvv")).perhaps is None


def test_a_generic_name_does_not_bring_its_combinations_but_names_them() -> None:
    reading = interpret(INDEX, parse_query("metformin"))
    assert [INDEX.entries[one.entry].key for one in reading.candidates] == ["metformin"]
    assert reading.notes == ("Also in combination products: glyburide and metformin.",)


def test_a_store_brand_that_many_medicines_share_means_none_of_them() -> None:
    assert all(how == "spelling" for _, how in found("Good Sense"))


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("two min of atrial fibrillation", []),
        ("my mom swims", []),
        ("MIN for acne", ["minocycline"]),
        ("takes MOM at night", ["hydroxide-magnesium"]),
        ("CAN MY MOM SWIM", []),
        ("min", ["minocycline"]),
        ("her GFR by CKD-MIN 2021", []),
        ("MIN-GEL for acne", ["minocycline"]),
    ],
)
def test_an_ordinary_word_is_an_abbreviation_only_in_capitals(typed: str, names: list[str]) -> None:
    assert [key for key, how in found(typed) if how == "synonym"] == names


def test_an_ambiguous_abbreviation_gives_every_meaning_and_its_warning() -> None:
    reading = interpret(INDEX, parse_query("AZT"))
    assert {INDEX.entries[one.entry].key for one in reading.candidates} == {"zidovudine", "azathioprine"}
    assert "mistaken for azathioprine" in reading.notes[0]


def test_a_look_alike_is_not_taken_for_the_name() -> None:
    assert found("hydroxyzine") == [("hydroxyzine", "exact")]
    assert look_alikes(["hydroxyzine hydrochloride"]) == ("hydralazine", "hydromorphone")


def test_nothing_like_a_name_means_nothing() -> None:
    assert found("xqzzkw vvv") == []
    assert found("") == []
    assert found("the of and mg") == []


@given(st.text(max_size=600))
def test_no_text_breaks_the_reading(typed: str) -> None:
    for key, how in found(typed):
        assert key in INDEX.by_key
        assert how in {"exact", "brand", "synonym", "class", "spelling"}


def test_the_question_around_a_name_is_taken_off() -> None:
    question = parse_query("What is the max dose of Metformin 500 mg tablets?")
    assert question.core == ("metformin",)
    assert question.strength == "500 mg"


def test_a_swap_of_neighbours_is_nearer_than_two_other_letters() -> None:
    assert closeness("qiuxin", "quixin") > closeness("qaaxin", "quixin")
    assert closeness("quixin", "quixin") == 100.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("xarelto", "zarelto"),
        ("amrix", "amriks"),
        ("phenytoin", "fenitoin"),
        ("cholecalciferol", "colecalsiferol"),
        ("fosamax", "phosamax"),
    ],
)
def test_names_that_are_read_alike_are_one_sound(one: str, other: str) -> None:
    assert phonetic_keys([one]) == phonetic_keys([other])
    assert closeness(other, one) > closeness(other[:-1] + "b", one)


@given(st.lists(st.text("abcxyz éñ9", min_size=1).map(fold_name).filter(lambda name: len(name.replace(" ", "")) >= 4)))
def test_every_name_is_nearest_to_itself(names: list[str]) -> None:
    spellings = Spellings(names)
    for name in names:
        assert spellings.near(name)[0].score == pytest.approx(100.0)


@given(st.lists(st.text(min_size=1, max_size=12).map(fold_name).filter(bool)), st.text(max_size=200))
def test_no_text_breaks_the_search_for_spellings(names: list[str], typed: str) -> None:
    assert {found.name for found in Spellings(names).near(typed, least=0.0)} <= set(names)


def test_plural_class_names_are_singular() -> None:
    assert singular("loop diuretics") == "loop diuretic"
    assert singular("anti inflammatories") == "anti inflammatory"
    assert singular("glass") == "glass"


def test_every_alias_has_its_source() -> None:
    shipped_aliases = shipped("aliases.json", AliasFile)
    table = (*aliases()._names.values(), *shipped_aliases.classes)
    assert {one.source for one in table} <= set(shipped_aliases.sources)


def test_a_misspelt_generic_name_in_a_source_is_no_brand() -> None:
    plain = frozenset({"metformin", "hydrochloride", "er"})
    assert not is_brand("Metfomin Hydrochloride", plain)
    assert not is_brand("Metformin Hydrochloride ER 500", plain)
    assert is_brand("Glucophage", plain)
    assert is_brand("Metformin Plus", plain)


@pytest.mark.parametrize(
    "typed", ["may I add alcohol to warfarin", "what happens when alcohol is started in someone taking warfarin"]
)
def test_a_word_that_is_a_medicine_too_is_one_beside_ordinary_words(typed: str) -> None:
    found = interpret(INDEX, parse_query(typed))
    assert {one.on for one in found.candidates} == {"alcohol", "warfarin"}


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("Allergic to aspirin, can I give ketorolac?", ", can I give ketorolac?"),
        ("Allergy to the penicillins and sulfa: cefepime?", ": cefepime?"),
        ("penicillin-allergic, meropenem dose", ", meropenem dose"),
        ("Cefazolin bei Penicillinallergie", "Cefazolin bei"),
        ("Überempfindlichkeit gegen Diclofenac: Naproxen?", ": Naproxen?"),
        ("alergia a la penicilina: cefalexina", ": cefalexina"),
        ("statin intolerance, ezetimibe", ", ezetimibe"),
        ("cetirizine for allergic rhinitis with alcohol", "cetirizine for allergic rhinitis with alcohol"),
        ("pneumonia, penicillin anaphylaxis?", "pneumonia, ?"),
        ("epinephrine anaphylaxis", "epinephrine anaphylaxis"),
        ("epinephrine anaphylaxis dose on propranolol", "epinephrine anaphylaxis dose on propranolol"),
        ("adverse reactions of amiodarone with digoxin", "adverse reactions of amiodarone with digoxin"),
        ("Is an allergy to be expected with lithium?", "Is an allergy to be expected with lithium?"),
    ],
)
def test_what_a_patient_is_allergic_to_is_not_taken(text: str, without: str) -> None:
    assert " ".join(without_allergens(text).split()) == without


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("clonidine dose for opioid withdrawal", "clonidine dose for withdrawal"),
        ("naltrexone in alcohol-use disorder", "naltrexone in use disorder"),
        ("naltrexone in alcohol use disorder", "naltrexone in use disorder"),
        ("Clonidin bei Opioidentzug", "Clonidin bei entzug"),
        ("Diazepam bei Benzodiazepinabhängigkeit", "Diazepam bei abhängigkeit"),
        ("withdraw clonidine with propranolol", "withdraw clonidine with propranolol"),
    ],
)
def test_the_substance_of_a_withdrawal_is_no_second_medicine(text: str, without: str) -> None:
    assert without_withdrawn(text) == without


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("anything for pain that isn't ibuprofen?", "anything for pain ?"),
        ("pain relief that isnt ibuprofen based", "pain relief"),
        ("anticoagulant other than warfarin or apixaban in AF", "anticoagulant in AF"),
        ("anything but macrolides for pneumonia", "for pneumonia"),
        ("Blutdrucksenker außer Ramipril", "Blutdrucksenker"),
        ("can't tolerate metformin, what else can I use?", ", what else can I use?"),
        ("Verträgt kein Metformin, welches Medikament?", ", welches Medikament?"),
        ("who can't take metformin?", "who can't take metformin?"),
        ("which drugs can you not take ibuprofen with?", "which drugs can you not take ibuprofen with?"),
        ("side effects of metformin other than diarrhoea", "side effects of metformin other than diarrhoea"),
    ],
)
def test_a_medicine_other_than_which_one_is_asked_for_is_not_taken(text: str, without: str) -> None:
    assert " ".join(without_excluded(text).split()) == without


@pytest.mark.parametrize("name", ["levonorgestrel", "vincristine"])
def test_a_substance_among_clinical_words_is_told_not_to_be_loaded(name: str) -> None:
    reading = interpret(INDEX, parse_query(f"{name} four days later, does it still work?"))
    assert reading.not_loaded == (f"{name} is not in the drug database.",)
    assert not interpret(INDEX, parse_query("thyroid disease, does it still work?")).not_loaded
