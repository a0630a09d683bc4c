"""Quotes are word for word, cut no word, and lose neither a negation nor a condition."""

from __future__ import annotations

import pytest

from tools.language.quotes import find_longest, find_span, marked_segments, quotes_in

METFORMIN = "Start metformin at 500 mg once daily with food. Do not use it when the eGFR is below 30."
LIST = (
    "Metformin must not be given for:\n• Type 1 diabetes in adult patients\n• Ketoacidosis of any kind or cause\n"
    "It may be taken with or without food."
)


def found(quote: str, text: str) -> str | None:
    span = find_span(quote, text)
    return text[span.start : span.end] if span else None


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        ("Do not use it when the eGFR is below 30.", "Do not use it when the eGFR is below 30."),
        ("do not use it when the eGFR is below 30.", None),
        ("Do not use it when the eGFR is below 60.", None),
        ("Do use it when the eGFR is below 30.", None),
        ("Do\nnot  use it when the\u00a0eGFR is below 30.", "Do not use it when the eGFR is below 30."),
        ("", None),
        ("-----------------------  - - -", None),
    ],
)
def test_a_quote_is_word_for_word(candidate: str, expected: str | None) -> None:
    assert found(candidate, METFORMIN) == expected


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("5 mg daily", "2.5 mg daily"),
        ("5 mg daily", "15 mg daily"),
        ("10 mg", "5–10 mg"),
        ("510 mg", "5-10 mg"),
        ("5", "5.5"),
    ],
)
def test_no_number_is_cut_out_of_another(quote: str, text: str) -> None:
    assert found(quote, text) is None


def test_a_quote_that_loses_the_word_not_behind_an_abbreviation_is_none() -> None:
    said = "You should start with approx. 5 mg of bisoprolol once daily in the morning."
    source = "Do not start with approx. 5 mg of bisoprolol once daily in the morning."
    assert quotes_in(said, source) == ()
    assert quotes_in(source, source) == (source,)


@pytest.mark.parametrize(
    ("said", "source"),
    [
        ("give bisoprolol 5 mg once daily.", "Never give bisoprolol 5 mg once daily."),
        ("Give bisoprolol 5 mg once daily", "Give bisoprolol 5 mg once daily, unless the heart is slow."),
        ("Give bisoprolol 5 mg once daily", "Give bisoprolol 5 mg once daily; reduce it if the heart is slow."),
        ("Give bisoprolol 5 mg once daily", "Give bisoprolol 5 mg once daily in the morning."),
        ("give bisoprolol 5 mg once daily.", "In heart failure give bisoprolol 5 mg once daily."),
        ("give bisoprolol 5 mg once daily.", "Children: give bisoprolol 5 mg once daily."),
        ("gib Bisoprolol 5 mg einmal täglich.", "Bei Asthma gib Bisoprolol 5 mg einmal täglich."),
        ("start bisoprolol 5 mg once daily.", "You must not\n\nstart bisoprolol 5 mg once daily."),
        ("bisoprolol 5 mg once daily at night.", "bisoprolol 5 mg once daily at night. Then rest."),
        ("It is reduced to 110 mg at an age of", "It is reduced to 110 mg at an age of"),
        ("Type 1 diabetes in adult patients", LIST),
        ("Metformin must be given for: Type 1 diabetes in adult patients", LIST),
        ("Take metformin 500 mg with food", "Do not take metformin 500 mg with food"),
        ("80 kg and more: 10 mg once daily", "> 80 kg and more: 10 mg once daily"),
        ("> 80 kg and more: 10 mg once daily", "≥ 80 kg and more: 10 mg once daily"),
        ("give metformin 500 mg with food.", "At an eGFR ≥ 45 give metformin 500 mg with food."),
        ("Give metformin 500 mg with food", "Give metformin 500 mg with food (eGFR ≥ 45)."),
        ("Older people get half the dose.", "Not for pts. Older people get half the dose."),
        ("Take it.", "Do not take it."),
        ("2.5 mg.", "The dose is 2.5 mg."),
    ],
)
def test_a_quote_that_loses_a_negation_a_condition_or_its_end_is_none(said: str, source: str) -> None:
    assert quotes_in(said, source) == ()


@pytest.mark.parametrize(
    ("said", "source", "quotes"),
    [
        ("So: Do not use it when the eGFR is below 30.", METFORMIN, ()),
        ("Well. Do not use it when the eGFR is below 30.", METFORMIN, ("Do not use it when the eGFR is below 30.",)),
        (f"- **{METFORMIN}**", METFORMIN, (METFORMIN,)),
        (
            "Start bisoprolol at 5 mg daily.",
            "Start bisoprolol at 5 mg daily (strong).",
            ("Start bisoprolol at 5 mg daily",),
        ),
        ("It may be taken with or without food.", LIST, ("It may be taken with or without food.",)),
        (
            "Metformin must not be given for: Ketoacidosis of any kind or cause",
            LIST,
            ("Metformin must not be given for:", "Ketoacidosis of any kind or cause"),
        ),
        (
            "Never give bisoprolol 5 mg daily.",
            "Give bisoprolol 5 mg daily. Never give bisoprolol 5 mg daily.",
            ("Never give bisoprolol 5 mg daily.",),
        ),
        (
            'The source warns: "Do not use it when the eGFR is below 30." That is firm.',
            METFORMIN,
            ("Do not use it when the eGFR is below 30.",),
        ),
        ("Something else entirely is said here.", METFORMIN, ()),
        ("> 80 kg: 10 mg once daily", "> 80 kg: 10 mg once daily", ("> 80 kg: 10 mg once daily",)),
        ("> Start metformin at 500 mg once daily with food.", METFORMIN, (METFORMIN.partition(" Do not")[0],)),
        ("The dose is 2.5 mg.", "The dose is 2.5 mg. Wait.", ("The dose is 2.5 mg.",)),
        ("Avoid alcohol.", "Take it. Avoid alcohol.", ("Avoid alcohol.",)),
        ("Lancet HIV.", "Published in 2020. Lancet HIV.", ()),
        ("below 30.", METFORMIN, ()),
        ("", METFORMIN, ()),
    ],
)
def test_quotes_are_whole_sentences_lists_or_clauses(said: str, source: str, quotes: tuple[str, ...]) -> None:
    assert quotes_in(said, source) == quotes


def test_a_quote_does_not_run_across_cells_that_the_file_keeps_apart() -> None:
    row = "Metformin hydrochloride tablets\t500 mg twice a day"
    assert quotes_in("Metformin hydrochloride tablets | 500 mg twice a day", row) == (row,)
    apart = row.replace("\t", "\t\u2063")
    assert quotes_in("Metformin hydrochloride tablets | 500 mg twice a day", apart) == ()
    assert quotes_in(apart, apart) == ()


@pytest.mark.parametrize(
    "quote",
    ["never give both drugs", "Never  give\nboth drugs", "never-give both drugs", "give both drugs"],
)
def test_a_place_on_a_page_is_found_whatever_its_white_space_hyphens_and_case(quote: str) -> None:
    text = "First words. Never give both\r\ndrugs together."
    span = find_longest(quote, text, least=24)
    assert span is not None
    assert text[span.start : span.end].lower().split() == quote.lower().replace("-", " ").split()


def test_a_quote_that_runs_over_the_page_is_found_as_far_as_it_is_there() -> None:
    text = "The page ends with a sentence that must not be given to patients"
    span = find_longest("must not be given to patients with a history of angioedema.", text, least=24)
    assert span is not None
    assert text[span.start :] == "must not be given to patients"
    assert find_longest("always give all three of the drugs", text, least=24) is None
    assert find_longest("", text, least=24) is None


def test_marks_cover_the_quotes_and_the_passage_stays_whole() -> None:
    text = "One two.\nThree  four. One two."
    segments = marked_segments(text, ["two. Three four.", "not there"])
    assert "".join(part for part, _ in segments) == text
    assert [part for part, marked in segments if marked] == ["two.\nThree  four."]
    assert marked_segments("", ["x"]) == []
