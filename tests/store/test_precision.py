"""Rings in fewer bytes: what they cost, when they are refused, and that nobody reads them wrongly."""

import hashlib
import json

import numpy as np
import pytest

from ringlet import AWRTRD, TensorRing, decompose
from ringlet.errors import ArgumentError, FormatError, PrecisionError
from ringlet.store.ringfile import load_ring, stored_precision
from ringlet.store.sealed import seal


def random_ring(dtype="float32", scale=1.0):
    rng = np.random.default_rng(0)
    shapes = [(4, 30, 6), (6, 40, 3), (3, 20, 4)]
    cores = [(scale * rng.standard_normal(shape)).astype(dtype) for shape in shapes]
    return TensorRing(cores, names=("a", "b", "c"), units="K")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("precision", "size", "most"), [("float16", 2, 2e-3), ("int8", 1, 3e-2)])
def test_a_compact_file_is_smaller_and_says_what_it_costs(tmp_path, dtype, precision, size, most):
    ring = random_ring(dtype)
    cost = ring.save(tmp_path / "x.ring", precision=precision)
    back = TensorRing.load(tmp_path / "x.ring")
    truth = np.asarray(ring)
    assert cost == pytest.approx(np.linalg.norm(np.asarray(back) - truth) / np.linalg.norm(truth), rel=0.01)
    assert 0 < cost < most
    assert (back.dtype, back.names, back.units) == (ring.dtype, ring.names, ring.units)
    assert (tmp_path / "x.ring").stat().st_size < size * ring.parameters + 90 * ring.dtype.itemsize + 1500
    assert stored_precision(tmp_path / "x.ring") == (precision, cost)


def test_full_precision_costs_nothing_and_stays_version_1(tmp_path):
    assert random_ring().save(tmp_path / "x.ring") == 0.0
    assert stored_precision(tmp_path / "x.ring") is None
    assert rb"\"version\": 1" in (tmp_path / "x.ring").read_bytes()


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_numbers_of_any_size_can_be_stored(tmp_path, scale):
    ring = random_ring("float64", scale)
    assert ring.save(tmp_path / "x.ring", precision="float16") < 2e-3
    assert load_ring(tmp_path / "x.ring").norm() == pytest.approx(ring.norm(), rel=1e-2)


def test_a_ring_of_zeros_can_be_stored(tmp_path):
    assert TensorRing([np.zeros((2, 3, 2)), np.zeros((2, 4, 2))]).save(tmp_path / "x.ring", precision="int8") == 0.0
    assert not np.asarray(load_ring(tmp_path / "x.ring")).any()


def test_a_precision_that_costs_more_than_a_quarter_of_the_error_is_refused(tmp_path):
    ring = random_ring()
    rms = ring.norm() / np.sqrt(ring.size)
    with pytest.raises(PrecisionError, match=r"precision='int8'.*quarter.*float16"):
        ring.save(tmp_path / "x.ring", precision="int8", error=1e-3 * rms)
    assert not (tmp_path / "x.ring").exists()
    assert ring.save(tmp_path / "x.ring", precision="int8", error=0.5 * rms) > 0


def test_a_fit_knows_its_own_error(tmp_path):
    rng = np.random.default_rng(0)
    truth = np.asarray(TensorRing([rng.standard_normal((2, n, 2)) for n in (20, 15, 12)]))
    noisy = decompose(truth + 0.1 * truth.std() * rng.standard_normal(truth.shape))
    assert noisy.save(tmp_path / "noisy.ring", precision="float16") < 1e-3
    exact = decompose(truth, rank=2, solver=AWRTRD(tol=0, sweeps=60))
    with pytest.raises(PrecisionError):
        exact.save(tmp_path / "exact.ring", precision="int8")
    assert exact.save(tmp_path / "exact.ring") == 0.0


@pytest.mark.parametrize("precision", ["int4", 8, ""])
def test_unknown_precisions_are_named(tmp_path, precision):
    with pytest.raises(ArgumentError, match="precision="):
        random_ring().save(tmp_path / "x.ring", precision=precision)


GOOD = {"shape": [2], "rank": [1], "dtype": "float32", "names": None, "units": None, "precision": "int8", "error": 0.1}
TENSORS = {"core.0": np.ones((1, 2, 1), np.int8), "scale.0": np.ones((1, 2, 1), np.float32)}


@pytest.mark.parametrize(
    ("tensors", "changes", "words"),
    [
        ({}, {"precision": "int4"}, "precision is 'int4'"),
        ({}, {"precision": None}, "precision is None"),
        ({}, {"error": -1}, "error is not a number"),
        ({}, {"error": "much"}, "error is not a number"),
        ({}, {"dtype": "float64"}, "scale 0 has dtype F32"),
        ({"core.0": np.ones((1, 2, 1), np.float16)}, {}, "core 0 has dtype F16"),
        ({"scale.0": np.ones((1, 1, 1), np.float32)}, {}, "scale 0 has shape"),
        ({"scale.0": np.full((1, 2, 1), np.inf, np.float32)}, {}, "NaN or infinite"),
        ({"scale.1": np.ones((1, 2, 1), np.float32)}, {}, "describes 1 cores"),
    ],
    ids=str,
)
def test_malformed_compact_files_are_refused(tmp_path, tensors, changes, words):
    parts = seal({**TENSORS, **tensors}, "ring", 2, {**GOOD, **changes})
    (tmp_path / "x.ring").write_bytes(b"".join(parts))
    with pytest.raises(FormatError, match=words):
        load_ring(tmp_path / "x.ring")


def test_versions_and_fields_must_agree(tmp_path):
    for version, fields in ((1, GOOD), (2, {name: GOOD[name] for name in GOOD if name not in ("precision", "error")})):
        (tmp_path / "x.ring").write_bytes(b"".join(seal(TENSORS, "ring", version, fields)))
        with pytest.raises(FormatError, match="lacks or adds"):
            load_ring(tmp_path / "x.ring")


def test_a_ring_of_version_2_stays_readable_for_ever(tmp_path):
    """The bytes of a compact file, written out by hand."""
    metadata = json.dumps({"kind": "ring", "version": 2, "sha256": "0" * 64, **GOOD})
    header = json.dumps(
        {
            "__metadata__": {"ringlet": metadata},
            "scale.0": {"dtype": "F32", "shape": [1, 2, 1], "data_offsets": [0, 8]},
            "core.0": {"dtype": "I8", "shape": [1, 2, 1], "data_offsets": [8, 10]},
        }
    ).encode()
    content = len(header).to_bytes(8, "little") + header + bytes.fromhex("0000803f0000004002ff")  # 1, 2; codes 2, -1
    digest = hashlib.sha256(content).hexdigest().encode()
    (tmp_path / "x.ring").write_bytes(content.replace(b"0" * 64, digest, 1))
    np.testing.assert_array_equal(load_ring(tmp_path / "x.ring"), [2.0, -2.0])
