"""Checkpoints against damage, other fits, other processes, full disks: nothing is lost, what is refused is named."""

import contextlib
import dataclasses
import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest

from checkpointed_fits import DATA, SLOTS, SOLVER, begun, bits, fit, names_in
from file_operations import unwatch, watch
from ringlet import AWRTRD, SAWRTRD, TensorRing, decompose
from ringlet.baselines import RandomizedTRALS, SampledTRALS
from ringlet.errors import (
    ArgumentError,
    CheckpointError,
    CheckpointWarning,
    FormatError,
    MissingFileError,
    OutputError,
    RingletError,
)
from ringlet.results.records import Saved, SweepRecord
from ringlet.store.checkpoint import FitCheckpoint, read_checkpoint


@pytest.fixture(scope="module")
def expected():
    return bits(fit())


def test_a_fit_that_is_refused_leaves_no_folder(quick_path):
    with pytest.raises(RingletError):
        fit(quick_path / "x", init=[np.ones((3, 3, 3))] * 3)
    assert names_in(quick_path) == []


def test_what_a_killed_process_has_left_half_written_is_swept_away(quick_path, expected):
    folder = begun(quick_path / "x")
    (folder / ".ringlet-0123456789abcdef.safetensors").write_bytes(b"half")
    assert bits(fit(folder)) == expected
    assert names_in(folder) == ["lock", *SLOTS]


def test_a_look_at_a_checkpoint_needs_one(quick_path):
    assert len(read_checkpoint(begun(quick_path / "x")).saved.history) == 3
    with pytest.raises(MissingFileError, match="nowhere holds no checkpoint"):
        read_checkpoint(quick_path / "nowhere")


def test_links_are_followed(quick_path, expected):
    (quick_path / "real").mkdir()
    (quick_path / "link").symlink_to(quick_path / "real")
    begun(quick_path / "link" / "run.ckpt")
    assert bits(fit(quick_path / "real" / "run.ckpt")) == expected


def damaged(content, rng, kind):
    if kind == "flip":
        place = int(rng.integers(len(content)))
        return content[:place] + bytes([content[place] ^ 1 << int(rng.integers(8))]) + content[place + 1 :]
    if kind == "cut":
        return content[: int(rng.integers(len(content)))]
    if kind == "zeroed":
        return bytes(len(content))
    return {"empty": b"", "longer": content + b"\0"}[kind]


@pytest.mark.parametrize("newest", [True, False], ids=["the newest", "the older"])
@pytest.mark.parametrize("kind", ["flip", "cut", "zeroed", "empty", "longer"])
def test_a_damaged_slot_is_told_and_the_other_one_used(quick_path, expected, kind, newest):
    folder = begun(quick_path / "x", sweeps=3)
    slot = folder / SLOTS[0 if newest else 1]  # sweep 3, sweep 2
    slot.write_bytes(damaged(slot.read_bytes(), np.random.default_rng(1), kind))
    sweeps = []
    with pytest.warns(CheckpointWarning, match=rf"{slot.name}: .* continues from the other slot, sweep {3 - newest}"):
        done = fit(folder, callback=lambda state: sweeps.append(state.sweep))
    assert sweeps == [3, 4] if newest else [4]
    assert bits(done) == expected
    assert bits(fit(folder)) == expected  # both slots are whole again


def test_a_checkpoint_of_which_nothing_is_left_is_not_begun_anew_in_silence(quick_path, expected):
    folder = begun(quick_path / "x")
    for name in SLOTS:
        (folder / name).write_bytes(b"nothing")
    with pytest.raises(
        FormatError, match=r"slot-0.*slot-1.*nothing of checkpoint .*x is usable: delete it to start again"
    ):
        fit(folder)
    shutil.rmtree(folder)
    assert bits(fit(folder)) == expected


def test_the_newest_slot_is_known_by_its_number_not_its_name(quick_path, expected):
    folder = begun(quick_path / "x", sweeps=3)
    first, second = (folder / name for name in SLOTS)
    content = first.read_bytes(), second.read_bytes()
    first.write_bytes(content[1])
    second.write_bytes(content[0])
    assert bits(fit(folder)) == expected


OTHERS = {
    "shape": ({"data": DATA[:7]}, r"shape is \[8, 7, 6\] there and \[7, 7, 6\] here"),
    "dtype": ({"data": DATA.astype("f4")}, "data's dtype is float64 there and float32 here"),
    "one entry": (
        {"data": np.where(np.arange(6) + np.zeros((8, 7, 1)) == 0, DATA + 1e-9, DATA)},
        "fingerprint of the data",
    ),
    "mask": ({"mask": np.arange(DATA.size).reshape(DATA.shape) % 9 > 0}, "observed entries is .* there and"),
    "rank": ({"rank": 3}, r"rank is \[2, 2, 2\] there and \[3, 3, 3\] here"),
    "seed": ({"seed": 4}, "seed is 3 there and 4 here"),
    "solver": ({"solver": AWRTRD(smooth=0.0, sweeps=4, tol=0)}, "solver is SAWRTRD there and AWRTRD here"),
    "samples": ({"solver": dataclasses.replace(SOLVER, samples=21)}, "samples is 20 there and 21 here"),
    "tol": ({"solver": dataclasses.replace(SOLVER, tol=1e-9)}, "tol is 0 there and 1e-09 here"),
    "loss": ({"solver": dataclasses.replace(SOLVER, loss="huber")}, "loss is learned there and huber here"),
    "sigma": ({"solver": dataclasses.replace(SOLVER, sigma=np.inf)}, "sigma is iqr there and inf here"),
    "init": ({"init": [np.ones((2, length, 2)) for length in DATA.shape]}, "init is None there and [0-9a-f]+ here"),
    "all at once": ({"rank": 3, "seed": 4}, r"rank is \[2, 2, 2\] .*; seed is 3 there and 4 here; give the arguments"),
}


@pytest.mark.parametrize(("changes", "words"), OTHERS.values(), ids=OTHERS.keys())
def test_the_checkpoint_of_another_fit_is_refused_by_what_differs(quick_path, expected, changes, words):
    folder = begun(quick_path / "x")
    with pytest.raises(ArgumentError, match=rf"checkpoint='.*x' is of another fit: .*{words}"):
        fit(folder, **changes)
    assert bits(fit(folder)) == expected  # and it is as it was


def test_the_same_fit_written_otherwise_is_the_same(quick_path, expected):
    folder = begun(quick_path / "x")
    masked = np.ma.masked_invalid(np.asfortranarray(DATA))
    solver = SAWRTRD(smooth=0.0, samples=np.int64(20), sweeps=4, tol=0.0, ridge="auto")
    assert bits(fit(folder, data=masked, rank=(2, 2, 2, 2), solver=solver, seed=np.int64(3))) == expected


def test_large_data_are_told_apart_without_hashing_all_of_them(quick_path):
    data = np.random.default_rng(0).random((180, 160, 150)).astype("f4")  # above 2^22 entries
    solver = SAWRTRD(smooth=0.0, samples=50, sweeps=2, tol=0)
    decompose(data, 1, solver=solver, checkpoint=quick_path / "x")
    other = data.copy()
    other[:90] = other[:90][:, ::-1]
    with pytest.raises(ArgumentError, match="fingerprint"):
        decompose(other, 1, solver=solver, checkpoint=quick_path / "x")
    assert len(decompose(data, 1, solver=solver, checkpoint=quick_path / "x").history) == 2


def test_parameters_that_are_lists_are_told_apart_too(quick_path):
    data = np.nan_to_num(DATA)
    decompose(data, 2, solver=RandomizedTRALS(sketch=[5, 5, 4], sweeps=1), checkpoint=quick_path / "x")
    decompose(data, 2, solver=RandomizedTRALS(sketch=(5, 5, 4), sweeps=2), checkpoint=quick_path / "x")
    with pytest.raises(ArgumentError, match=r"sketch is \[5, 5, 4\] there and \[5, 5, 5\] here"):
        decompose(data, 2, solver=RandomizedTRALS(sketch=(5, 5, 5), sweeps=2), checkpoint=quick_path / "x")


def test_sweeps_count_where_they_change_what_a_sweep_does(quick_path):
    """SampledTRALS averages in the last third of its sweeps."""
    data = np.nan_to_num(DATA)
    decompose(data, 2, solver=SampledTRALS(sweeps=3, tol=0), checkpoint=quick_path / "x")
    with pytest.raises(ArgumentError, match="sweeps is 3 there and 5 here"):
        decompose(data, 2, solver=SampledTRALS(sweeps=5, tol=0), checkpoint=quick_path / "x")


def test_a_file_is_no_checkpoint(quick_path):
    (quick_path / "x").write_text("mine")
    with pytest.raises(ArgumentError, match="is a file, not the folder of a checkpoint"):
        fit(quick_path / "x")
    assert (quick_path / "x").read_text() == "mine"


def test_a_folder_of_other_things_is_left_alone(quick_path):
    (quick_path / "thesis.tex").touch()
    with pytest.raises(ArgumentError, match=r"holds other things, e.g. 'thesis.tex'; give a path of its own"):
        fit(quick_path)
    assert names_in(quick_path) == ["thesis.tex"]


def test_an_empty_folder_will_do(quick_path, expected):
    (quick_path / "x").mkdir()
    assert bits(fit(quick_path / "x")) == expected


def test_paths_that_no_file_system_holds_are_refused(quick_path):
    with pytest.raises(ArgumentError, match="too long"):
        fit(quick_path / ("x" * 300))


def test_a_read_only_directory_is_a_named_error_before_the_fit(quick_path):
    """Root may write anywhere, so the program drops that right."""
    (quick_path / "fixed").mkdir(mode=0o555)
    code = f"""
import os, sys
import numpy as np
import ringlet, ringlet.api
if os.getuid() == 0:
    os.setresuid(65534, 65534, 65534)
try:
    ringlet.decompose(np.eye(4), 1, checkpoint={str(quick_path / "fixed" / "x")!r}, callback=print)
except ringlet.errors.CheckpointError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == f"cannot write checkpoint {quick_path / 'fixed' / 'x'}: Permission denied\n"


def assert_named(error, folder, code):
    assert isinstance(error, CheckpointError)
    assert isinstance(error, OutputError | OSError)
    assert str(folder) in str(error)
    assert os.strerror(code) in str(error)
    assert error.errno == code


def test_a_write_that_the_system_cuts_off_leaves_the_old_checkpoint(quick_path, expected):
    folder = begun(quick_path / "x", sweeps=2)
    before = {name: (folder / name).read_bytes() for name in SLOTS}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before[SLOTS[0]]) - 100, hard))
    try:
        with pytest.raises(CheckpointError, match="File too large; it holds what was saved before sweep 3") as caught:
            fit(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert_named(caught.value, folder, errno.EFBIG)
    assert names_in(folder) == ["lock", *SLOTS]
    assert {name: (folder / name).read_bytes() for name in SLOTS} == before
    assert bits(fit(folder)) == expected


def test_saving_copies_no_core(quick_path):
    cores = [np.ones((1000, 20, 8)).transpose(1, 0, 2), np.ones((500, 8, 20)).transpose(1, 0, 2)]  # slice by slice
    ring = TensorRing(cores)
    saved = Saved(
        (SweepRecord(1, 0.1, 0.2, 0.3, 0.4, 0.5),), 0, None, {f"cores.{k}": core for k, core in enumerate(cores)}
    )
    checkpoint = FitCheckpoint("x", quick_path, 1, 5, {"shape": [1000, 500]})
    checkpoint.save(saved)  # what is imported only once is not to be counted
    tracemalloc.start()
    peaks = []
    for _ in range(3):  # threads of other tests may allocate meanwhile; a copy would be seen every time
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        checkpoint.save(saved)
        peaks.append(tracemalloc.get_traced_memory()[1] - before)
    tracemalloc.stop()
    assert min(peaks) < 0.1 * ring.nbytes
    state = read_checkpoint(quick_path).saved.state
    assert all(np.array_equal(core, state[f"cores.{k}"]) for k, core in enumerate(cores))
    assert [core.strides for core in cores] == [state[f"cores.{k}"].strides for k in range(2)]


# What may fail in a real system. (A failing `close` has nothing more to lose: the file was synced.)
FALLIBLE = {
    "open",
    "writelines",
    "read",
    "fsync",
    "replace",
    "mkdir",
    "flock",
    "chmod",
    "scandir",
    "stat",
    "unlink",
    "rmdir",
}


def operations_of_a_fit(folder):
    found = []
    watch(lambda number, name: found.append(name))
    try:
        fit(folder)
    finally:
        unwatch()
    return found


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS], ids=errno.errorcode.get)
def test_a_failure_of_any_file_operation_is_named_and_loses_nothing(quick_path, expected, code):
    old = begun(quick_path / "old", sweeps=3)
    fit(shutil.copytree(old, quick_path / "warm"))
    operations = operations_of_a_fit(shutil.copytree(old, quick_path / "count"))
    refusals = []
    for number, name in enumerate(operations, 1):
        if name not in FALLIBLE:
            continue
        folder = shutil.copytree(old, quick_path / str(number))

        def fail(count, _, number=number):
            if count == number:
                raise OSError(code, os.strerror(code))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CheckpointWarning)  # a slot that cannot be read
            watch(fail)
            try:
                done = fit(folder)
            except RingletError as error:
                refusals.append(str(error))
            else:
                assert bits(done) == expected, (name, number)  # a slot that cannot be read, a leftover that stays
            finally:
                unwatch()
        assert names_in(folder) == ["lock", *SLOTS], (name, number)
        assert bits(fit(folder)) == expected
    assert len(refusals) > 10
    assert all(os.strerror(code) in refusal and str(quick_path) in refusal for refusal in refusals)


@pytest.mark.parametrize("name", ["writelines", "fsync", "replace"])
def test_a_first_save_that_fails_leaves_nothing_behind(quick_path, name):
    fit(quick_path / "warm")
    failed = []

    def fail(_, this):
        if this == name and Path(quick_path, "x", "lock").exists() and not failed:
            failed.append(name)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    watch(fail)
    try:
        with pytest.raises(CheckpointError, match="No space left on device") as caught:
            fit(quick_path / "x")
    finally:
        unwatch()
    assert_named(caught.value, quick_path / "x", errno.ENOSPC)
    assert names_in(quick_path) == ["warm"]


HOLDER = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from checkpointed_fits import fit
def hold(state):
    if state.sweep == 3:
        print("three sweeps", flush=True)
        time.sleep(600)
fit(sys.argv[1], callback=hold)
"""


def test_a_second_process_is_refused_and_a_dead_one_forgotten(quick_path, expected):
    command = [sys.executable, "-c", HOLDER, str(quick_path / "x")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as holder:
        try:
            assert holder.stdout.readline() == "three sweeps\n"
            with pytest.raises(
                CheckpointError, match="x is in use by another fit; wait for it, or give another"
            ) as caught:
                fit(quick_path / "x")
            assert caught.value.errno == errno.EAGAIN
        finally:
            holder.send_signal(signal.SIGKILL)
    sweeps = []
    assert bits(fit(quick_path / "x", callback=lambda state: sweeps.append(state.sweep))) == expected
    assert sweeps == [3, 4]  # the third was not saved yet


def test_a_fit_inside_a_fit_is_refused_too(quick_path):
    refused = []

    def again(state):
        with pytest.raises(CheckpointError, match="in use"):
            fit(quick_path / "x")
        refused.append(state.sweep)

    fit(quick_path / "x", callback=again)
    assert refused == [1, 2, 3, 4]


def test_a_folder_that_another_fit_takes_away_meanwhile_is_not_used(quick_path):
    """Between opening the lock's file and locking it, the other fit ends, and a third one begins."""

    def take_away(_, name):
        if name == "flock":
            (quick_path / "x" / "lock").unlink()
            (quick_path / "x" / "lock").touch()

    watch(take_away)
    try:
        with pytest.raises(CheckpointError, match="in use by another fit"):
            fit(quick_path / "x")
    finally:
        unwatch()


def test_the_lock_is_free_again_after_an_error(quick_path, expected):
    with contextlib.suppress(ZeroDivisionError):
        fit(quick_path / "x", callback=lambda state: 1 / (state.sweep - 2))
    assert bits(fit(quick_path / "x")) == expected
