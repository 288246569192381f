"""What the pages promise: short sentences where people start, and numbers that are those of the records."""

import json
import re
from pathlib import Path

import pytest

import ringlet
import ringlet.sklearn
import ringlet.testing
from ringlet.bench.impute.table import markdown, rows_of
from ringlet.experiments.journal import read_records

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs" / "start").glob("*.md")), *sorted((ROOT / "examples").glob("*.py"))]
LONGEST = 35


def prose(path):
    """Paragraphs of a page, without code, tables, headings and directives."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        comments = re.findall(r"^# ?(?!%%)(.*)$", text, re.M)
        text = text.split('"""')[1] + "\n\n" + "\n".join(comments)
    text = re.sub(r"^(```|:::).*?^\1.*?$", "\n", text, flags=re.M | re.S) if path.name != "glossary.md" else text
    text = re.sub(r"^(\||#|>>>|```|:|    |-{3}|={3}).*$", "\n", text, flags=re.M)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=- )", text)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_sentences_where_people_start_are_short(path):
    sentences = [sentence for part in prose(path) for sentence in re.split(r"(?<=[.!?:;])\s", part)]
    assert any(sentences)
    assert not [sentence for sentence in sentences if len(sentence.split()) > LONGEST]


def test_every_example_ends_with_a_rival_and_has_a_place_in_the_gallery():
    order = (ROOT / "docs" / "_ext" / "job_order.py").read_text(encoding="utf-8")
    for path in (ROOT / "examples").glob("*.py"):
        assert f'"{path.stem}"' in order
        assert "rival" in path.read_text(encoding="utf-8")


def test_the_table_of_imputation_is_that_of_the_record():
    rows = rows_of(read_records(ROOT / "benchmarks" / "imputation.jsonl"))
    assert markdown(rows) in (ROOT / "docs" / "imputation.md").read_text(encoding="utf-8")


def test_the_readme_counts_the_cases_of_the_record():
    table = (ROOT / "docs" / "imputation.md").read_text(encoding="utf-8")
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    for wrong, said in (
        ("5 %", "in {} of {} cases in which 5 % of the entries are wrong"),
        ("0 %", "in {} of {} in which"),
    ):
        cases = [line for line in table.splitlines() if re.match(rf"\| \w+ \| \w+ \| {wrong} \|", line)]
        best = [line for line in cases if line.split("|")[4].strip().startswith("**")]
        assert said.format(len(best), len(cases)) in readme


def test_the_version_is_the_same_everywhere():
    assert f"version: {ringlet.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {ringlet.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_history_of_benchmarks_has_this_version():
    lines = (ROOT / "benchmarks" / "history.jsonl").read_text(encoding="utf-8").splitlines()
    assert ringlet.__version__ in [json.loads(line)["version"] for line in lines]


@pytest.mark.parametrize("name", [name for name in ringlet.__all__ if name not in ("baselines", "errors")])
def test_every_public_name_is_in_the_reference(name):
    reference = (ROOT / "docs" / "reference" / "python.rst").read_text(encoding="utf-8")
    assert re.search(rf"^   {name}$", reference, re.M)


@pytest.mark.parametrize(
    "room", [ringlet, ringlet.baselines, ringlet.sklearn, ringlet.testing], ids=lambda room: room.__name__
)
def test_every_public_name_has_an_example(room):
    names = set(room.__all__) - {"baselines", "errors"}
    assert not [name for name in names if ">>> " not in getattr(room, name).__doc__]
