"""The soak's own promises: what it has run counts for the code that it was about, and no case is left out."""

from collections import Counter

from soak.code import meaning, reached
from soak.families import FAMILIES, Family
from soak.journal import Journal
from soak.run import run_families

BY_NAME = {family.name: family for family in FAMILIES}


def rooms(family):
    """The rooms and modules of the package that a family is about."""
    files = [path.as_posix().partition("/src/ringlet/")[2] for path in reached(family.about, family.own)]
    return {name.partition("/")[0] for name in files if name}


def test_damaged_data_files_are_run_again_only_where_files_are_read():
    assert rooms(BY_NAME["npy"]) == {"amounts.py", "checks.py", "errors.py", "ring", "sources"}
    assert BY_NAME["npy"].code() == BY_NAME["h5"].code() != BY_NAME["ring"].code()


def test_fits_of_a_fixed_rank_do_not_depend_on_what_is_told_afterwards():
    for name in ("checkpoint", "kills", "interrupts", "workers"):
        assert {"solvers", "store", "sources"} <= rooms(BY_NAME[name])
        assert not {"local", "api.py", "restoration", "cli"} & rooms(BY_NAME[name])
    about = reached(BY_NAME["checkpoint"].about, ())
    assert not [path for path in about if "tuning" in path.parts]


def test_tests_of_the_suite_depend_on_what_they_import():
    assert {"sklearn", "solvers"} <= rooms(BY_NAME["estimators"])
    assert not {"cli", "bench", "report"} & rooms(BY_NAME["references"])
    assert "cli" in rooms(BY_NAME["bad inputs"])
    assert "solvers" in rooms(BY_NAME["locks"])


def counted(ran, total=23, batch=10, group=1):
    def run(first, count):
        ran.extend(range(first, first + count))
        return Counter(fine=count), []

    return Family("numbers", "R0", "numbers", total, batch, (), ("oracles.py",), run, group)


def test_every_case_is_run_once_whatever_shares_came_before(tmp_path):
    ran = []
    family, journal = counted(ran), Journal(tmp_path / "journal.jsonl")
    for share in (0.3, 0.6, 1.0, 1.0):
        run_families([family], journal, share, processes=2)
        assert sorted(ran) == list(range(family.count(share)))
    (row,) = journal.summary([family])
    assert (row["cases"], row["total"], row["outcomes"]) == (23, 23, {"fine": 23})


def test_batches_of_other_code_do_not_count(tmp_path):
    ran = []
    journal = Journal(tmp_path / "journal.jsonl")
    run_families([counted(ran)], journal, 1.0, processes=1)
    other = Family("numbers", "R0", "numbers", 23, 10, (), ("killing.py",), counted(ran).run)
    assert journal.left(other) == [(0, 10), (10, 10), (20, 3)]
    assert journal.summary([other]) == []


def test_cases_that_belong_together_are_run_together(tmp_path):
    family = counted([], total=18, batch=9, group=9)
    assert [family.count(share) for share in (0.01, 0.5, 0.7, 1.0)] == [9, 9, 9, 18]
    assert Journal(tmp_path / "journal.jsonl").left(family, 0.01) == [(0, 9)]


def test_only_comments_docstrings_and_layout_may_change(tmp_path):
    one, other, third = (tmp_path / f"{number}.py" for number in range(3))
    one.write_text('def f(x):\n    """Twice."""\n    return 2 * x  # as said\n')
    other.write_text('def f(x):\n    """Two times it."""\n\n    return (2 * x)\n')
    third.write_text("def f(x):\n    return 3 * x\n")
    assert meaning(one) == meaning(other) != meaning(third)
