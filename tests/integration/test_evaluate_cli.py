"""``asclepius eval`` as its users run it: JSON for machines, figures for people, a sentence of why it cannot."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.served import Served, asclepius


def report(served: Served, *arguments: str) -> dict[str, Any]:
    done = asclepius("eval", *arguments, "--json", data_dir=served.data_dir)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A test collection in the BEIR layout: four passages, three questions."""
    passages = {
        "a": "Metformin is stopped when eGFR falls below 30.",
        "b": "Aspirin 300 mg is given at once.",
        "c": "Heparin causes thrombocytopenia in some patients.",
        "d": "Amoxicillin treats otitis media in children.",
    }
    with gzip.open(tmp_path / "corpus.jsonl.gz", "wt") as corpus:
        corpus.writelines(json.dumps({"_id": key, "title": "", "text": text}) + "\n" for key, text in passages.items())
    questions = {"q1": "metformin and eGFR", "q2": "aspirin dose", "q3": "heparin thrombocytopenia"}
    lines = [json.dumps({"_id": key, "text": text}) for key, text in questions.items()]
    (tmp_path / "queries.jsonl").write_text("\n".join(lines))
    (tmp_path / "qrels_test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tb\t1\nq3\tc\t2\n")
    return tmp_path


def test_retrieval_prints_ndcg_recall_and_time(served: Served, collection: Path) -> None:
    found = report(served, "retrieval", str(collection))
    assert (found["ndcg@10"], found["recall@10"]) == (1.0, 1.0)
    assert found["ms_per_query"] > 0


def test_retrieval_of_a_folder_of_another_shape_says_what_it_needs(served: Served, tmp_path: Path) -> None:
    done = asclepius("eval", "retrieval", str(tmp_path), data_dir=served.data_dir)
    assert done.returncode == 1
    assert "BEIR" in done.stderr
    assert "Traceback" not in done.stderr


def test_pages_prints_hits_by_pdf_page(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "pages.json"
    file.write_text(
        json.dumps(
            [
                {
                    "question": "What are the contraindications for ACE inhibitors?",
                    "document": "hypertension",
                    "gold_pages": [4],
                },
                {
                    "question": "What is the usual HbA1c goal in type 2 diabetes?",
                    "document": "type-2-diabetes.pdf",
                    "gold_pages": [99],
                },
            ]
        )
    )
    found = report(served, "pages", str(file))
    assert (found["hit@1"], found["hit@5"]) == (0.5, 0.5)
    shown = asclepius("eval", "pages", str(file), data_dir=served.data_dir).stdout
    assert "hit@1  0.5" in shown
    assert "missed: What is the usual HbA1c goal" in shown


def test_drugs_prints_hits_overall_and_by_kind(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    queries = [
        {"id": "1", "type": "brand", "query": "Glucophage", "expect": ["metformin"]},
        {"id": "2", "type": "generic", "query": "metformin", "expect": ["metformin"]},
        {"id": "3", "type": "generic", "query": "metformin", "expect": ["warfarin"]},
    ]
    file.write_text("\n".join(map(json.dumps, queries)))
    found = report(served, "drugs", str(file))
    assert found["overall"]["hit@1"] == pytest.approx(2 / 3, abs=0.001)
    assert found["by_kind"]["brand"] == {"hit@1": 1.0, "hit@5": 1.0, "queries": 1}
    assert found["by_kind"]["generic"]["hit@1"] == 0.5


def test_citations_of_the_demonstration_are_all_verbatim_on_their_page(served: Served) -> None:
    found = report(served, "citations", "--limit", "24")
    assert found["questions"] == 24
    assert found["answered"] >= 20
    assert found["quotes"] >= 24
    assert found["quotes_verbatim"] == 1.0
    assert (found["wrong_numbers"], found["unsupported_figures"], found["failed"]) == (0, 0, 0)
    assert found["findings"] == []


def test_citations_takes_questions_of_ones_own(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps([{"question": "When is metformin contraindicated?"}]))
    done = asclepius("eval", "citations", str(file), data_dir=served.data_dir)
    assert done.returncode == 0, done.stdout
    assert "quotes verbatim  1" in done.stdout


def test_questions_of_another_shape_are_refused_by_name(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text("{}")
    for kind in ("pages", "citations", "drugs"):
        done = asclepius("eval", kind, str(file), data_dir=served.data_dir)
        assert done.returncode == 1, kind
        assert "other.json" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("style", ["vancouver", "markdown", "ris"])
def test_references_are_printed_in_the_style_that_is_asked_for(style: str, served: Served) -> None:
    done = asclepius(
        "ask", "What are the contraindications for ACE inhibitors?", "--references", style, data_dir=served.data_dir
    )
    references = done.stdout.partition("\nReferences\n")[2]
    expected = {"vancouver": "p. 4", "markdown": "> ", "ris": "TY  - RPRT\nTI  - Hypertension in adults\n"}[style]
    assert expected in references


def test_the_index_is_built_anew_from_the_files_that_were_added(served: Served) -> None:
    done = asclepius("guidelines", "reindex", "--json", data_dir=served.data_dir)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["documents"]) >= 6
    found = asclepius("guidelines", "search", "ACE inhibitors in pregnancy", "--json", data_dir=served.data_dir)
    assert json.loads(found.stdout)["passages"]


def test_a_search_can_be_limited_by_issuer_and_date(served: Served) -> None:
    question = ("guidelines", "search", "ACE inhibitors in pregnancy", "--json")
    some = asclepius(*question, "--from", "2026", data_dir=served.data_dir)
    none = asclepius(*question, "--to", "1999", data_dir=served.data_dir)
    assert json.loads(some.stdout)["passages"]
    assert json.loads(none.stdout)["passages"] == []


def test_answers_prints_facts_denials_and_claims(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    questions: list[dict[str, Any]] = [
        {"question": "What is the usual HbA1c goal in type 2 diabetes?", "must": ["below 7 %"]},
        {"question": "What is the usual HbA1c goal in type 2 diabetes?", "must": ["below 7 %", "no such words"]},
        {
            "question": "What is the usual HbA1c goal in type 2 diabetes?",
            "must": ["below 7 %", "no such words"],
            "any": True,
        },
        {"question": "Which enzyme replacement suits Kawasaki syndrome in astronauts?", "answerable": False},
        {"question": "Welcher Zielwert gilt beim Kawasaki-Syndrom?", "answerable": False},
    ]
    file.write_text("".join(json.dumps(question) + "\n" for question in questions))
    found = report(served, "answers", str(file))
    assert (found["answerable"], found["unanswerable"], found["failed"]) == (3, 2, 0)
    assert found["fact_in_answer"] == pytest.approx(2 / 3)
    assert found["fact_in_cited_passage"] == pytest.approx(2 / 3)
    assert (found["falsely_denied"], found["unanswerable_handled"]) == (0.0, 1.0)
    assert [miss["what"] for miss in found["misses"]] == ["fact not in the answer"]


def test_answers_are_measured_on_passages_of_their_own_beside_the_data_directory(
    served: Served, tmp_path: Path
) -> None:
    passages = tmp_path / "passages.json"
    passages.write_text(json.dumps(["Zorbium is given as 15 mg once daily.", "Wash hands before every visit."]))
    questions = tmp_path / "questions.json"
    questions.write_text(json.dumps([{"question": "What dose of zorbium is given?", "answer": "15 mg once daily"}]))
    found = report(served, "answers", str(questions), "--guidelines", str(passages))
    assert (found["fact_in_answer"], found["naive_ranker"]) == (1.0, 1.0)
    nothing = report(served, "answers", str(questions))
    assert nothing["fact_in_answer"] == 0.0


def test_answers_of_a_file_without_facts_says_what_it_needs(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"question": "What dose of zorbium is given?"}')
    done = asclepius("eval", "answers", str(file), data_dir=served.data_dir)
    assert done.returncode == 1
    assert "must" in done.stderr
    assert "Traceback" not in done.stderr
