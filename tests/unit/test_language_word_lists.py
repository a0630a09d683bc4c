"""The word lists are in order, and compiled into what the README says."""

from __future__ import annotations

import re
from collections import Counter
from importlib import resources
from itertools import islice
from threading import Thread

import pytest

from tools.drug_database.importers import demo
from tools.language.folding import fold_name
from tools.language.inn_stems import has_drug_stem
from tools.language.question_words import term_rareness
from tools.language.terms import stem, terms
from tools.language.vocabulary.clinical_vocabulary import FOREIGN_LANGUAGES, ForeignLanguage, entries
from tools.language.vocabulary.common_words import LANGUAGES, Language, ranks, rareness
from tools.language.vocabulary.text_language import language_of
from tools.language.word_lists import word_entries, word_lines

LISTS = sorted(
    entry.name.removesuffix(".txt")
    for entry in (resources.files("tools.language") / "words").iterdir()
    if entry.name.endswith(".txt")
)
DEMO = resources.files("tools.guidelines") / "demo"
ENTRIES = ["british_spellings", "clinical_abbreviations", "eponyms", "units", "word_forms"]


@pytest.mark.parametrize("name", sorted({*LISTS} - {*ENTRIES}))
def test_a_list_is_in_small_letters_and_named_in_the_readme(name: str) -> None:
    words = [word for line in word_lines(name) for word in line.split()]
    assert words
    assert [word for word in words if word != word.lower()] == []
    assert f"`{name}.txt`" in (resources.files("tools.language") / "words" / "README.md").read_text(encoding="utf-8")


def test_no_form_belongs_to_two_families() -> None:
    families = word_entries("word_forms")
    forms = [form for words in families.values() for form in words.split()]
    assert sorted(forms) == sorted({*forms} - {*families})
    assert all(short.isupper() or short[-1].isdigit() for short in word_entries("clinical_abbreviations"))


def test_words_are_stemmed_alike_in_many_threads() -> None:
    """A Snowball stemmer shared by threads mixes their words up."""
    words = [
        f"{root}{ending}" for root in ("treat", "infect", "prevent", "dialys") for ending in ("ing", "ed", "ion", "s")
    ]
    expected = [stem.__wrapped__(word) for word in words]
    found: list[bool] = []

    def run() -> None:
        found.append(all([stem.__wrapped__(word) for word in words] == expected for _ in range(200)))

    threads = [Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


def test_everyday_words_of_a_question_weigh_less_than_clinical_ones() -> None:
    rare = term_rareness("What is the target of apixaban levels?")
    assert rare["apixaban"] == 1.0
    assert rare["target"] < rare["apixaban"]
    assert rareness("the") < rareness("target")
    assert term_rareness("yesterdays") == term_rareness("yesterday")


@pytest.mark.parametrize("language", FOREIGN_LANGUAGES)
def test_the_words_of_the_sources_have_words_in_the_other_languages(language: ForeignLanguage) -> None:
    """Of the words that four or more lines of the demonstration guidelines hold; medicines have their own names."""
    texts = [
        file.read_text(encoding="utf-8").partition("\n# ")[2] for file in DEMO.iterdir() if file.name.endswith(".md")
    ]
    lines = [set(re.findall(r"[a-z]{4,}", line.lower())) for text in texts for line in text.splitlines()]
    count = Counter(stem for line in lines for stem in {term for word in line for term in terms(word)})
    medicines = {stem for name in medicine_names() for stem in terms(name)}
    everyday = {stem for word in islice(ranks("en"), 500) for stem in terms(word)}
    wanted = {stem for stem, held in count.items() if held > 3} - medicines - everyday
    tsv = (resources.files("tools.language.vocabulary") / "clinical" / f"{language}.tsv").read_text(encoding="utf-8")
    reached = {stem for line in tsv.splitlines() for stem in terms(line.partition("\t")[2])}
    assert len(wanted) > 200
    assert len(wanted & reached) > 0.8 * len(wanted), sorted(wanted - reached)


def test_colloquial_phrases_are_in_order_once_and_name_something_else() -> None:
    phrases = [phrase for phrase, _ in entries("en.tsv")]
    assert phrases == sorted({*phrases})
    assert [phrase for phrase, terms in entries("en.tsv") if phrase in terms or not terms] == []
    named = {fold_name(name) for name in medicine_names()}
    assert named.isdisjoint(phrases)


def medicine_names() -> list[str]:
    return [name for record in demo.records() for name in (record.generic_name, *record.ingredients)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_common_word_is_taken_for_a_medicine_by_its_ending(language: Language) -> None:
    """But for the medicines among them."""
    assert {word for word in ranks(language) if has_drug_stem(word)} <= {"cocaine", "penicillin"}


def test_most_medicines_are_told_by_their_endings() -> None:
    names = [name for name in medicine_names() if " " not in name]
    told = [name for name in names if has_drug_stem(name)]
    assert len(told) > 0.6 * len(names), sorted({*names} - {*told})


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Wells LE Puls 110, Z.n. TVT", "de"),
        ("HAS-BLED Mann 71, Leberzirrhose", "de"),
        ("Albuminkorrigiertes Calcium bei Ca 2,1 mmol/l, Albumin 30 g/l", "de"),
        ("CURB-65 de 1, vive solo, ¿ingreso?", "es"),
        ("Wells PE pulse 110, previous DVT", "en"),
        ("Apixaban 2.5 vs 5 mg: 81 yo, 58 kg, creatinine 1.2 mg/dL in AF", "en"),
        ("COPD 81 yo, HTN", "en"),
        ("78 yo sepsis BP 80/40", "en"),
        ("55yo, hba1c 9.5", "en"),
        ("yo tomo metformina", "es"),
        ("ibuprofeno 1 g y yo tomo warfarina", "es"),
        ("Omeprazol bei Zollinger-Ellison", "de"),
        ("Pat. schwanger, nimmt Ramipril", "de"),
        ("Vancomycin Talspiegel", "de"),
    ],
)
def test_names_of_scores_and_abbreviations_tell_no_language(question: str, language: Language) -> None:
    assert language_of(question) == language


@pytest.mark.parametrize("fragment", ["QT?", "heparin?", "Delirium tremens"])
def test_a_fragment_takes_the_language_of_the_question_before(fragment: str) -> None:
    assert language_of(fragment, "Wie hoch ist die Dosis?") == "de"
    assert language_of(fragment) == "en"
