"""A ring comes back from its file bit by bit, and reading one runs nothing and takes little memory."""

import hashlib
import json
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from ringlet.errors import ArgumentError, FormatError, MissingFileError, OutputExistsError
from ringlet.ring.tensor_ring import TensorRing
from ringlet.store.ringfile import load_ring, save_ring


def random_ring(shape=(3, 4, 5), rank=(2, 3, 2), dtype="float64", **labels):
    rng = np.random.default_rng(0)
    bonds = [*rank, rank[0]]
    cores = [rng.standard_normal((bonds[k], n, bonds[k + 1])).astype(dtype) for k, n in enumerate(shape)]
    return TensorRing(cores, **labels)


@st.composite
def rings(draw):
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    rank = draw(st.lists(st.integers(1, 3), min_size=len(shape), max_size=len(shape)))
    names = draw(st.none() | st.lists(st.text(), min_size=len(shape), max_size=len(shape)))
    return random_ring(
        shape,
        rank,
        draw(st.sampled_from(["float32", "float64"])),
        names=names,
        units=draw(st.none() | st.text()),
    )


@given(ring=rings())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_ring_survives_the_round_trip(quick_path, ring):
    save_ring(ring, quick_path / "x.ring", force=True)
    back = load_ring(quick_path / "x.ring")
    assert (back.names, back.units, back.dtype, back.shape, back.rank) == (
        ring.names,
        ring.units,
        ring.dtype,
        ring.shape,
        ring.rank,
    )
    for mine, theirs in zip(back.cores, ring.cores, strict=True):
        assert mine.tobytes() == theirs.tobytes()


def test_save_and_load_of_the_ring_itself_use_this_file(tmp_path):
    ring = random_ring(names=("a", "b", "c"), units="K")
    ring.save(tmp_path / "x.ring")
    assert TensorRing.load(tmp_path / "x.ring").names == ("a", "b", "c")
    with pytest.raises(OutputExistsError):
        ring.save(tmp_path / "x.ring")
    ring.save(tmp_path / "x.ring", force=True)
    assert [file.name for file in tmp_path.iterdir()] == ["x.ring"]


def test_the_file_is_plain_safetensors_that_others_can_read(tmp_path):
    ring = random_ring()
    save_ring(ring, tmp_path / "x.ring")
    tensors = load_file(tmp_path / "x.ring")
    assert sorted(tensors) == ["core.0", "core.1", "core.2"]
    np.testing.assert_array_equal(tensors["core.1"], ring.cores[1])


def test_the_metadata_tells_what_the_ring_is(tmp_path):
    save_ring(random_ring(names=("a", "b", "c"), units="°C", dtype="float32"), tmp_path / "x.ring")
    content = (tmp_path / "x.ring").read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    described = json.loads(header["__metadata__"]["ringlet"])
    digest = described.pop("sha256")
    assert digest == hashlib.sha256(content.replace(digest.encode(), b"0" * 64)).hexdigest()
    assert described == {
        "kind": "ring",
        "version": 1,
        "shape": [3, 4, 5],
        "rank": [2, 3, 2],
        "dtype": "float32",
        "names": ["a", "b", "c"],
        "units": "°C",
    }


def test_a_ring_of_version_1_stays_readable_for_ever(tmp_path):
    """The bytes of a file of the first version, written out by hand."""
    metadata = (
        '{"kind": "ring", "version": 1, "sha256": "08e4d45526623e023b4d4bcb6f311ef4eebb9ae9b2fe506719c1fb359a9ddb11", '
        '"shape": [2], "rank": [1], "dtype": "float32", "names": ["t"], "units": "K"}'
    )
    header = json.dumps(
        {
            "__metadata__": {"ringlet": metadata},
            "core.0": {"dtype": "F32", "shape": [1, 2, 1], "data_offsets": [0, 8]},
        }
    ).encode()
    data = bytes.fromhex("0000803f00000040")  # 1.0 and 2.0
    (tmp_path / "x.ring").write_bytes(len(header).to_bytes(8, "little") + header + data)
    ring = load_ring(tmp_path / "x.ring")
    np.testing.assert_array_equal(ring, [1.0, 2.0])
    assert (ring.names, ring.units) == (("t",), "K")


def test_loading_takes_at_most_twice_the_file_and_64_mb(tmp_path):
    file = tmp_path / "x.ring"
    save_ring(random_ring((200, 300, 200), (40, 40, 40), "float32"), file)
    load_ring(file)
    tracemalloc.start()
    load_ring(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * file.stat().st_size  # Stricter than the promise: one copy, and a bit to check it.


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(MissingFileError, match=r"gone\.ring does not exist") as caught:
        load_ring(tmp_path / "gone.ring")
    assert isinstance(caught.value, FileNotFoundError)


def test_a_directory_is_not_a_ring(tmp_path):
    with pytest.raises(FormatError, match="not a regular file"):
        load_ring(tmp_path)


def test_a_parent_that_is_a_file_gives_a_format_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FormatError, match="cannot be read: Not a directory"):
        load_ring(tmp_path / "file" / "x.ring")


def test_labels_too_long_to_be_read_again_are_refused_when_saving(tmp_path):
    ring = random_ring(units="x" * 2_000_000)
    with pytest.raises(ArgumentError, match="shorten them"):
        save_ring(ring, tmp_path / "x.ring")
    assert list(tmp_path.iterdir()) == []


def test_loading_good_and_bad_rings_runs_nothing(tmp_path):
    """Everything is imported and warmed up first; after that the only event may be opening the file."""
    save_ring(random_ring(), tmp_path / "good.ring")
    (tmp_path / "bad.ring").write_bytes((tmp_path / "good.ring").read_bytes()[:-3])
    (tmp_path / "pickle.ring").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    code = f"""
import sys
from pathlib import Path
from ringlet.errors import FormatError
from ringlet.store.ringfile import load_ring
folder, seen, armed = Path({str(tmp_path)!r}), [], False
def load_all():
    load_ring(folder / "good.ring")
    for name in ("bad.ring", "pickle.ring"):
        try:
            load_ring(folder / name)
        except FormatError:
            continue
        raise AssertionError(name)
def hook(event, args):
    if armed:
        seen.append(f"{{event}} {{args[1] or args[2]}}" if event == "open" else event)
load_all()
sys.addaudithook(hook)
armed = True
load_all()
armed = False
print(*seen, sep="\\n")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # For each file its descriptor is opened, and read from; no exec, import, pickle, socket, write.
    assert run.stdout.splitlines() == [f"open {os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC}", "open r"] * 3
