"""What the pages promise: short sentences where people start, and numbers that are those of the records."""

import doctest
import json
import re
from pathlib import Path

import pytest

import ringlet
import ringlet.sklearn
import ringlet.testing
from evidence import blocks, markdown
from evidence.blocks import BLOCKS, page_with, stale

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs" / "start").glob("*.md")), *sorted((ROOT / "examples").glob("*.py"))]
LONGEST = 35


def prose(path):
    """Paragraphs of a page, without generated parts, code, tables, headings and directives."""
    text = re.sub(r"<!-- ([a-z-]+): begin -->.*?<!-- \1: end -->", "", path.read_text(encoding="utf-8"), flags=re.S)
    if path.suffix == ".py":
        comments = re.findall(r"^# ?(?!%%)(.*)$", text, re.M)
        text = text.split('"""')[1] + "\n\n" + "\n".join(comments)
    text = re.sub(r"^(```|:::).*?^\1.*?$", "\n", text, flags=re.M | re.S) if path.name != "glossary.md" else text
    text = re.sub(r"^(\||#|>>>|```|:|    |-{3}|={3}).*$", "\n", text, flags=re.M)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=- )", text)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_sentences_where_people_start_are_short(path):
    sentences = [sentence for part in prose(path) for sentence in re.split(r"(?<=[.!?])\s", part)]
    assert any(sentences)
    assert not [sentence for sentence in sentences if len(sentence.split()) > LONGEST]


def test_every_example_ends_with_a_rival_and_has_a_place_in_the_gallery():
    order = (ROOT / "docs" / "_ext" / "job_order.py").read_text(encoding="utf-8")
    for path in (ROOT / "examples").glob("*.py"):
        assert f'"{path.stem}"' in order
        assert "rival" in path.read_text(encoding="utf-8")


def test_lines_of_code_beside_the_paper_are_in_the_source():
    page = (ROOT / "docs" / "how" / "method.md").read_text(encoding="utf-8")
    block = re.search(r"```{paper-and-code}\n(.*?)```", page, re.S)
    lines = [line.split(" || ") for line in block[1].splitlines()]
    assert len(lines) == 10
    for _, name, part in lines:
        source = (ROOT / "src" / "ringlet" / name).read_text(encoding="utf-8")
        assert sum(part in line for line in source.splitlines()) == 1, part


def test_tables_are_those_of_the_records():
    assert stale() == []  # else: make tables


@pytest.mark.parametrize("module", [blocks, markdown], ids=lambda module: module.__name__)
def test_examples_of_the_tools_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


def test_a_part_in_a_line_is_replaced_there_and_one_of_its_own_keeps_its_lines():
    page = "a <!-- x: begin -->old<!-- x: end -->.\n\n<!-- y: begin -->\n\nold\n\n<!-- y: end -->\n"
    page = page_with(page_with(page, "x", "new"), "y", "| new |")
    assert page == "a <!-- x: begin -->new<!-- x: end -->.\n\n<!-- y: begin -->\n\n| new |\n\n<!-- y: end -->\n"


@pytest.mark.parametrize("page", ["no marks", "<!-- x: end --> <!-- x: begin -->"])
def test_a_page_without_its_marks_is_refused(page):
    with pytest.raises(ValueError, match="x: begin"):
        page_with(page, "x", "new")


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_every_mark_of_a_page_belongs_to_a_record(page):
    marks = set(re.findall(r"<!-- ([a-z-]+): begin -->", page.read_text(encoding="utf-8")))
    assert marks - {"soak"} == set(BLOCKS.get(page.relative_to(ROOT).as_posix(), {}))


HISTORY = re.compile(r"docs/(decisions/|evidence/(earlier|speed-log))")
PRESENT = [
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if not HISTORY.match(path.relative_to(ROOT).as_posix())),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "examples").glob("*.py")),
]
# What only a measurement can tell: decibels, seconds, ratios of speed, and how one error became another.
MEASURED = re.compile(
    r"\d ?(dB|ms|processor seconds|seconds|microseconds|[GT]FLOP/s)\b|\.\d+ → |\.\d %"
    r"|[\d.]+ times (faster|slower|larger|smaller)"
)
DEFINED = {  # goals, limits and definitions
    "6 dB more means half the error",
    "less 0.2 dB",
    "loses 1 dB or more",
    "at most 1 dB",
    "3.5 or 5 % of the entries are wrong",
    "60 seconds of the processor",
    "30 seconds and 1 GB",
}


def measured_by_hand(path):
    """Sentences outside of tables, code and generated parts that tell a measurement."""
    sentences = [sentence for part in prose(path) for sentence in re.split(r"(?<=[.!?])\s", part)]
    return [one for one in sentences if MEASURED.search(one) and not any(words in one for words in DEFINED)]


@pytest.mark.parametrize("path", PRESENT, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_measurement_is_typed_into_a_page_of_present_state(path):
    assert measured_by_hand(path) == []  # else: a table of tools/evidence, docs/evidence/earlier.md, or nothing


def test_a_typed_measurement_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "Fits gain 1.5 dB.\n\n<!-- x: begin -->2 dB<!-- x: end --> is told.\n\n| 3 dB |\n\nA goal: at most 1 dB.\n",
        encoding="utf-8",
    )
    assert measured_by_hand(page) == ["Fits gain 1.5 dB."]


def test_the_version_is_the_same_everywhere():
    assert f"version: {ringlet.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {ringlet.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_history_of_benchmarks_has_this_version():
    lines = (ROOT / "benchmarks" / "history.jsonl").read_text(encoding="utf-8").splitlines()
    assert ringlet.__version__ in [json.loads(line)["version"] for line in lines]


DECISIONS = ROOT / "docs" / "decisions"
RECORDS = sorted(DECISIONS.glob("0*.md"))
STATUS = re.compile(r"accepted|rejected|superseded by \[(\d{4})\]\(([^)]+)\)( in part)?")


def status(text):
    """What became of a decision, as the list of all says it, and the file of the record that superseded it."""
    found = STATUS.match(text)
    assert found, text
    number, file, part = found.groups()
    return (found[0], None) if number is None else (f"superseded by {number}{part or ''}", file)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem[:4])
def test_every_decision_has_the_same_parts_and_stands_in_the_list(path):
    text, number = path.read_text(encoding="utf-8"), path.stem[:4]
    title = re.match(rf"# {number}: (.*)\n", text)[1]
    headings = re.findall(r"^## (.*)$", text, re.M)
    assert headings[:3] == ["Context", "Decision", "Evidence"]
    assert headings[-1] == "Status"
    now, other = status(text.rpartition("## Status\n\n")[2])
    assert other is None or (DECISIONS / other).exists()
    row = f"| [{number}]({path.name}) | {title} | {now} | "
    assert row in (DECISIONS / "README.md").read_text(encoding="utf-8")


def test_the_list_of_decisions_names_no_others():
    rows = re.findall(r"^\| \[(\d{4})\]", (DECISIONS / "README.md").read_text(encoding="utf-8"), re.M)
    assert rows == [path.stem[:4] for path in RECORDS]


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
