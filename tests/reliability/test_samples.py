"""A small sample of every family of the soak (`make soak`) that runs in the child, always the same."""

import json
from pathlib import Path

import pytest

from soak.cases import CASES, run_case
from soak.pool import Child
from soak.table import BEGIN, END, as_table

COUNTS = {"leaks": 150, "ring": 300, "checkpoint": 40, "tensor": 12, "mp4": 20, "h5": 60}
PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"


@pytest.fixture(scope="module")
def child():
    with Child() as child:
        yield child


@pytest.mark.parametrize("family", CASES)
def test_no_case_breaks_a_promise(child, family):
    told = [child.run(family, number) for number in range(COUNTS.get(family, 60))]
    assert [detail for word, detail in told if word == "violated"] == []
    assert len({word for word, _ in told}) > 1 or family in ("ring", "tensor", "leaks")


@pytest.mark.parametrize("number", [141, 175])
def test_tensors_that_once_ended_a_fit(tmp_path, number):
    """The norm of a tiny Gram matrix underflowed; a ring of zeros has no directions."""
    assert run_case("tensor", number, tmp_path) == "finite"


def test_a_case_that_ends_its_process_is_a_violation():
    with Child(seconds=0.0001) as child:
        word, detail = child.run("checkpoint", 0)
        assert (word, detail) == ("violated", "more than 0.0001 s")


def test_the_page_shows_the_recorded_counts():
    recorded = json.loads(PAGE.with_suffix(".json").read_text())
    shown = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    assert shown.strip() == as_table(recorded["rows"])
    assert sum(row["violated"] for row in recorded["rows"]) == 0
