"""Which label is shown for the asked form, route and population."""

from __future__ import annotations

import pytest

from tools.drug_database.labels.label_scope import (
    asked_forms,
    covers,
    doses_for,
    form_words,
    labelled_first,
    scope_notes,
    scope_of,
    with_asked_label_first,
)
from tools.drug_database.labels.record_rendering import passage
from tools.drug_database.names.query_words import parse_query
from tools.drug_database.records.drug_record import DataSource, DrugRecord, Label, Product
from tools.drug_database.records.queries import DrugHit, Match
from tools.language.folding import fold_name
from tools.language.vocabulary.populations import Population, populations_in, speaks_of

SOURCE = DataSource(id="label:a", title="A label", publisher="FDA")
ORAL = Label(source=SOURCE, sections={"dosage": ("Adults take 10 mg.",)}, dosage_forms=("tablet",), routes=("oral",))
NASAL = Label(
    source=SOURCE,
    sections={"dosage": ("Children aged 4 years use 1 spray.",)},
    dosage_forms=("spray, metered",),
    routes=("nasal",),
    brand_name="Nasaline",
)
CREAM = Label(source=SOURCE, sections={}, dosage_forms=("cream",), routes=("topical",))
LOTION = CREAM.model_copy(update={"dosage_forms": ("lotion",)})
UNKNOWN = Label(source=SOURCE, sections={})
RECORD = DrugRecord(key="a", generic_name="a", ingredients=("a",), labels=(ORAL, NASAL, CREAM, LOTION))


@pytest.mark.parametrize(
    ("asked", "forms"),
    [
        ("Darf man a im Alter geben?", ()),
        ("Dosis von a im Stadium 4", ()),
        ("Dosis von a IM bei Kindern", ("intramuscular",)),
        ("What is the im dose of a?", ("intramuscular",)),
        ("ketorolac im", ("intramuscular",)),
        ("fresh blood PR on a", ()),
        ("vaginal bleeding on a tablets", ("tablet",)),
        ("a PR dose", ("rectal",)),
        ("a rectal dose for pain", ("rectal",)),
        ("rectal a dose for proctitis with bleeding", ("rectal",)),
        ("vaginal a dose for discharge", ("vaginal",)),
        ("oral and rectal a pain", ("oral", "rectal")),
        ("rectal bleeding on rectal a", ("rectal",)),
        ("a rectal for pain", ("rectal",)),
        ("pain in the rectal area on a", ()),
        ("bright red rectal bleeding on a", ()),
        ("bleeding heavily PR on a", ()),
    ],
)
def test_a_word_for_a_place_or_of_the_language_is_no_route(asked: str, forms: tuple[str, ...]) -> None:
    assert asked_forms(form_words(parse_query(asked), asked)) == forms


def test_a_label_that_speaks_of_infants_to_their_mothers_alone_does_not_mention_them() -> None:
    label = Label(source=SOURCE, sections={"lactation": ("Effects on the infant are unknown.",)})
    record = RECORD.model_copy(update={"labels": (label,)})
    for asked, missing in ((("infants",), ("infants",)), (("infants", "breastfeeding"), ())):
        scope = scope_of(record, (), asked)
        assert scope is not None
        assert scope.not_mentioned == missing


@pytest.mark.parametrize(
    ("asked", "label"),
    [
        ("a nasal spray dose", NASAL),
        ("dose of a cream", CREAM),
        ("a lotion for lice", LOTION),
        ("a tablets", ORAL),
        ("dose of a", ORAL),
        ("iv a", ORAL),
    ],
)
def test_the_label_of_the_asked_form_comes_first(asked: str, label: Label) -> None:
    assert with_asked_label_first(RECORD, asked_forms(asked.split())).labels[0] == label


def test_the_label_of_the_asked_brand_comes_before_others() -> None:
    assert with_asked_label_first(RECORD, (), brand="NASALINE").labels[0] == NASAL


def test_a_brand_without_a_label_has_the_forms_and_routes_of_its_products() -> None:
    products = (
        Product(dosage_form="lotion", routes=("topical",), brand_name="Lotia"),
        Product(dosage_form="tablet", routes=("oral",), brand_name="Tablia"),
        Product(dosage_form="granule", brand_name="Granulia"),
    )
    record = RECORD.model_copy(update={"products": products, "labels": (NASAL, UNKNOWN, CREAM, LOTION, ORAL)})
    for brand, label in (("lotia", LOTION), ("Tablia", ORAL), ("Granulia", NASAL)):
        assert with_asked_label_first(record, (), brand=brand).labels[0] == label


def test_a_label_of_another_brand_is_named_as_such() -> None:
    for labels, brand, fits, note in (
        ((NASAL,), "Tablia", False, "the label shown is for: Nasaline (nasal)."),
        ((NASAL.model_copy(update={"routes": ()}),), "Tablia", False, "the label shown is for: Nasaline."),
        ((NASAL,), "nasaline", None, ""),
        ((ORAL,), "Tablia", None, ""),
        ((NASAL,), "", None, ""),
        ((NASAL.model_copy(update={"brand_name": "Nasaline HFA"}),), "nasaline", None, ""),
        (
            (NASAL.model_copy(update={"brand_name": "Nasaline XR"}),),
            "nasaline",
            False,
            "the label shown is for: Nasaline XR (nasal).",
        ),
    ):
        scope = scope_of(RECORD.model_copy(update={"labels": labels}), (), (), brand)
        assert scope is not None
        assert scope.fits is fits
        assert scope.asked == ((brand,) if note else ())
        assert " ".join(scope_notes(scope)).endswith(note)


def test_doses_for_other_routes_than_those_of_the_asked_brand_are_left_out() -> None:
    doses = ("Give 1 mg orally.", "Apply one patch.")
    label = NASAL.model_copy(update={"routes": (), "sections": {"dosage": doses}})
    products = (
        Product(dosage_form="patch", routes=("transdermal",), brand_name="Patchia"),
        Product(dosage_form="ointment", routes=("rectal", "by ear"), brand_name="Rectia"),
    )
    record = RECORD.model_copy(update={"products": products, "labels": (label,)})
    for brand, implied, shown in (
        ("Patchia", "transdermal", doses[1:]),
        ("Rectia", "rectal", ()),
        ("Nasaline", "", doses),
    ):
        scope = scope_of(record, (), (), brand)
        assert scope is not None
        assert scope.implied == ((implied,) if implied else ())
        assert doses_for(record, doses, scope.implied) == shown
        assert scope.no_dose_for == (() if shown else ("rectal",))


def test_the_route_of_a_form_is_that_of_the_medicines_products() -> None:
    products = (Product(dosage_form="tablet", routes=("sublingual",)), Product(dosage_form="patch"))
    record = RECORD.model_copy(update={"products": products, "labels": (UNKNOWN,)})
    doses = ["Dissolve one tablet.", "Take 1 mg by mouth.", "It is infused over an hour.", "Put it under the tongue."]
    for asked, shown in (("sl", doses[:1] + doses[3:]), ("iv", doses[2:3]), ("po", doses[1:2]), ("tablet", doses[::3])):
        assert doses_for(record, doses, asked_forms([asked])) == tuple(shown)
    assert covers(record, ORAL, ("tablet",)) is False


def test_a_section_on_a_population_mentions_it() -> None:
    label = UNKNOWN.model_copy(update={"sections": {"pregnancy": ("Avoid it in the third trimester.",)}})
    scope = scope_of(RECORD.model_copy(update={"labels": (label,)}), (), ("pregnancy", "breastfeeding", "infants"))
    assert scope is not None
    assert scope.not_mentioned == ("breastfeeding", "infants")


def test_of_two_records_of_a_brand_the_one_with_its_label_comes_first() -> None:
    records = [RECORD.model_copy(update={"key": key, "labels": (label,)}) for key, label in (("b", ORAL), ("c", NASAL))]
    hits = [DrugHit(record=one, matched=Match(how="brand", on="nasaline"), score=100.0) for one in records]
    exact = DrugHit(record=RECORD, matched=Match(how="exact", on="a"), score=100.0)
    assert [hit.record.key for hit in labelled_first([exact, *hits])] == ["a", "c", "b"]


def test_a_label_of_another_form_is_named_as_such() -> None:
    scope = scope_of(RECORD, asked_forms(["iv"]), ())
    assert scope is not None
    assert scope.fits is False
    assert scope.routes == ("oral",)
    assert scope_notes(scope) == ["Asked for: intravenous. No label for that is loaded; the label shown is for: oral."]
    both = scope_of(RECORD, asked_forms(["iv", "or", "oral"]), ())
    assert both is not None
    assert both.asked == ("intravenous",)


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        ("Give 10 mg of oral a twice daily.", True),
        ("Intravenous a starts at 5 mg.", True),
        ("Give 10 mg rectally or as a rectal gel.", False),
        ("After an intravenous dose continue with rectal a.", False),
        ("Give 10 mg twice daily.", False),
    ],
)
def test_a_dose_for_another_route_than_the_asked_one_is_told_apart(sentence: str, other: bool) -> None:
    assert doses_for(RECORD, [sentence], asked_forms(["rectal"])) == (() if other else (sentence,))
    assert doses_for(RECORD, [sentence], asked_forms(["xr"])) == (sentence,)


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("brand xr", ["Extended-release a", "a is"]),
        ("sustained release a", ["Extended-release a", "a is"]),
        ("immediate release a", ["Immediate-release a", "a is"]),
        ("delayed-release a", ["a is"]),
        ("a", ["Immediate-release a", "Extended-release a", "a is"]),
        ("Darf er a nehmen", ["Immediate-release a", "Extended-release a", "a is"]),
    ],
)
def test_a_dose_for_another_release_than_the_asked_one_is_left_out(asked: str, shown: list[str]) -> None:
    doses = [f"{start} taken once daily." for start in ("Immediate-release a", "Extended-release a", "a is")]
    kept = doses_for(RECORD, doses, asked_forms(fold_name(asked).split()))
    assert [dose.removesuffix(" taken once daily.") for dose in kept] == shown


@pytest.mark.parametrize(
    ("asked", "routes", "sentence", "shown"),
    [
        ("a eye drops", ("oral", "ophthalmic"), "Give 10 mg twice daily.", False),
        ("a Augentropfen", ("oral", "ophthalmic"), "Put 1 drop in each eye twice daily.", True),
        ("a eye drops", ("ophthalmic",), "Use 1 drop twice daily.", True),
        ("a for an eye infection", ("oral", "ophthalmic"), "Give 10 mg twice daily.", True),
        ("a cream", ("oral", "topical"), "For skin infections give 10 mg twice daily.", False),
    ],
)
def test_a_dose_without_a_route_is_none_for_the_eye_or_skin(
    asked: str, routes: tuple[str, ...], sentence: str, shown: bool
) -> None:
    record = RECORD.model_copy(update={"labels": (UNKNOWN.model_copy(update={"routes": routes}),)})
    assert doses_for(record, [sentence], asked_forms(fold_name(asked).split())) == ((sentence,) if shown else ())


def test_a_dose_by_injection_must_be_said_to_be_one_where_the_medicine_is_also_swallowed() -> None:
    for routes, dose, without in (
        (("oral", "intravenous"), "Give 10 mg twice daily.", ("intravenous",)),
        (("oral", "intravenous"), "Give 10 mg intravenously.", ()),
        (("intravenous",), "Give 10 mg twice daily.", ()),
    ):
        label = UNKNOWN.model_copy(update={"routes": routes, "sections": {"dosage": (dose,)}})
        scope = scope_of(RECORD.model_copy(update={"labels": (label,)}), asked_forms(["iv"]), ())
        assert scope is not None
        assert scope.no_dose_for == without


def test_nothing_is_claimed_where_the_source_does_not_say() -> None:
    assert covers(RECORD, UNKNOWN, ("intravenous",)) is None
    assert covers(RECORD, ORAL, ()) is None
    assert covers(RECORD, ORAL, asked_forms(["xr"])) is None


def test_an_asked_population_that_the_label_leaves_out_is_named() -> None:
    populations = populations_in("dose in children")
    for label, missing in ((ORAL, ("children",)), (NASAL, ())):
        record = RECORD.model_copy(update={"labels": (label,)})
        scope = scope_of(record, (), populations)
        assert scope is not None
        assert scope.not_mentioned == missing


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Dosis in der Schwangerschaft", ("pregnancy",)),
        ("is it ok to breastfeed on sertraline", ("breastfeeding",)),
        ("darf sie unter Lithium stillen?", ("breastfeeding",)),
        ("dabigatran in kids", ("children",)),
        ("doxycycline for a 5 year old", ("children",)),
        ("paracetamol for babies", ("infants",)),
        ("avoid in liver disease (Child-Pugh C)", ()),
        ("the nursing home asks for a kind of pump", ()),
    ],
)
def test_a_population_is_told_by_its_words(text: str, named: tuple[str, ...]) -> None:
    assert populations_in(text) == named


def test_a_label_whose_doses_are_all_for_other_routes_says_so() -> None:
    for doses, without in (
        (("Give 10 mg of oral a twice daily.",), ("rectal",)),
        (("Give 10 mg of oral a twice daily.", "Reduce the dose in the elderly."), ()),
        (("Give 10 mg rectally.",), ()),
        ((), ()),
    ):
        label = ORAL.model_copy(update={"sections": {"dosage": doses}})
        scope = scope_of(RECORD.model_copy(update={"labels": (label,)}), asked_forms(["rectally"]), ())
        assert scope is not None
        assert scope.no_dose_for == without
        assert len(scope_notes(scope)) == (scope.fits is False) + bool(without)


def test_a_reference_to_a_label_without_a_date_says_so() -> None:
    dated = ORAL.model_copy(update={"source": SOURCE.model_copy(update={"date": "2024-05"})})
    for label, version in ((ORAL, "label date not given"), (dated, "2024-05")):
        record = passage(RECORD.model_copy(update={"labels": (label,)}))
        assert record.with_source_of(record.sections[-1]).version == version
    assert passage(RECORD.model_copy(update={"labels": ()})).version == ""


def test_a_record_without_a_label_has_no_scope() -> None:
    assert scope_of(RECORD.model_copy(update={"labels": ()}), ("oral",), ()) is None


@pytest.mark.parametrize(
    ("text", "population", "said"),
    [
        ("Use during tooth development (to 8 years of age) discolors teeth.", "children", True),
        ("Treat for up to 5 years.", "children", False),
        ("Toxicity is favored by old age.", "older patients", True),
        ("Adults aged 75 years or older take half.", "older patients", True),
        ("The maximum is 20 mg a day in patients over 60 years.", "older patients", True),
        ("People aged 60 and more take half.", "older patients", True),
        ("Adults aged 58 years take half.", "older patients", False),
        ("It is infused over 60 minutes, at a clearance over 70 mL/min.", "older patients", False),
        ("Give 70 mg once a week.", "older patients", False),
    ],
)
def test_a_text_speaks_of_a_population_by_its_ages_too(text: str, population: Population, said: bool) -> None:
    assert speaks_of(text, population) is said
