"""results.jsonl: what is written stays, whatever happens next."""

from io import FileIO
from pathlib import Path

import pytest

from ringlet.errors import ArgumentError, FormatError, OutputError
from ringlet.experiments.journal import Journal, read_records
from ringlet.experiments.runner import left_to_do, seconds_left
from ringlet.experiments.trial import OUT_OF_MEMORY


def test_records_come_back_in_order(tmp_path):
    path = tmp_path / "results.jsonl"
    with Journal.open(path) as journal:
        journal.append({"a": 1})
    with Journal.open(path) as journal:
        journal.append({"b": [2, None, "ä"]})
        assert journal.records == [{"a": 1}, {"b": [2, None, "ä"]}]
    assert read_records(path) == [{"a": 1}, {"b": [2, None, "ä"]}]


@pytest.mark.parametrize("torn", ["{", '{"b": 1', '{"b": 1}'])
def test_a_torn_last_line_is_left_out_and_written_over(tmp_path, torn):
    path = tmp_path / "results.jsonl"
    path.write_text(f'{{"a": 1}}\n{torn}')
    assert read_records(path) == [{"a": 1}]
    with Journal.open(path) as journal:
        assert journal.records == [{"a": 1}]
        journal.append({"c": 3})
    assert path.read_text() == '{"a": 1}\n{"c": 3}\n'


def test_a_damaged_line_in_the_middle_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"a": 1}\nrubbish\n{"b": 2}\n')
    with pytest.raises(FormatError, match=r"results\.jsonl: line 2 is damaged; delete it to go on"):
        read_records(path)


def test_two_runs_cannot_write_at_once(tmp_path):
    path = tmp_path / "results.jsonl"
    with Journal.open(path), pytest.raises(ArgumentError, match="another run is writing"), Journal.open(path):
        pass
    with Journal.open(path):
        pass


class FullDisk(FileIO):
    def truncate(self, size=None):  # which is a device, and cannot be shortened
        return 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_an_error_of_ours(tmp_path):
    with FullDisk("/dev/full", "a") as full:
        journal = Journal(tmp_path / "results.jsonl", full)
        with pytest.raises(OutputError, match=r"cannot write results\.jsonl: No space left"):
            journal.append({"a": 1})
    assert journal.records == []


class _Task:
    job = "trial"

    def __init__(self, **identity):
        self.identity = {"experiment": "e", "item": "i", "run": 1, "settings": {"rank": [2, 2]}} | identity


def test_what_is_settled_is_not_run_again():
    done, fresh = _Task(method="a"), _Task(method="b")
    other = _Task(method="a", settings={"rank": [3, 2]})
    records = [done.identity | {"status": "ok", "budget": 5}]
    assert left_to_do([done, fresh, other], records, budget=5) == [fresh, other]


def test_another_photo_of_the_same_name_is_another_trial():
    done, other = _Task(method="a", content=1), _Task(method="a", content=2)
    records = [done.identity | {"status": "ok", "budget": 5}]
    assert left_to_do([done, other], records, budget=5) == [other]


def test_out_of_memory_is_tried_again_only_under_a_larger_budget():
    task = _Task(method="a")
    records = [task.identity | {"status": f"{OUT_OF_MEMORY}9 GB", "budget": 5}]
    assert left_to_do([task], records, budget=5) == []
    assert left_to_do([task], records, budget=4) == []
    assert left_to_do([task], records, budget=6) == [task]


def test_failures_are_tried_again_on_request():
    task = _Task(method="a")
    records = [task.identity | {"status": "failed: crash", "budget": 5}]
    assert left_to_do([task], records, budget=5) == []
    assert left_to_do([task], records, budget=5, retry=True) == [task]


def test_time_left_goes_by_like_tasks():
    records = [
        {"experiment": "e", "method": "slow", "trial_seconds": 100.0},
        {"experiment": "e", "method": "fast", "trial_seconds": 2.0},
    ]
    tasks = [{"experiment": "e", "method": "fast"}] * 3 + [{"experiment": "e", "method": "slow"}]
    assert seconds_left(tasks, records) == pytest.approx(106)
    assert seconds_left(tasks, []) is None
    assert seconds_left([{"experiment": "other", "method": "new"}], records) == pytest.approx(51)
