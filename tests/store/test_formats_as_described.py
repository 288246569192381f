"""Files written and read with docs/reference/formats.md alone: nothing here calls Ringlet's own readers and writers."""

import hashlib
import json
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import ringlet
from ringlet import TensorRing, __version__

GOLDEN = Path(__file__).with_name("golden") / __version__
Description: TypeAlias = dict[str, Any]
Tensors: TypeAlias = dict[str, NDArray[Any]]
DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I8": "i1", "I64": "<i8"}


def read_sealed(path: Path) -> tuple[Description, Tensors]:
    """The description of a sealed file, and its tensors; every rule of the page is checked."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    assert size % 8 == 0
    assert size <= 1_048_576
    header = json.loads(content[8 : 8 + size])
    metadata = header.pop("__metadata__")
    assert list(metadata) == ["ringlet"]
    about = json.loads(metadata["ringlet"])
    assert list(about)[:3] == ["kind", "version", "sha256"]
    assert content.count(about["sha256"].encode()) == 1
    assert hashlib.sha256(content.replace(about["sha256"].encode(), b"0" * 64)).hexdigest() == about["sha256"]
    tensors, place, widest = {}, 0, 8
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, end = entry["data_offsets"]
        dtype = np.dtype(DTYPES[entry["dtype"]])
        assert first == place
        assert dtype.itemsize <= widest
        assert end - first == dtype.itemsize * int(np.prod(entry["shape"]))
        tensors[name] = np.frombuffer(content[8 + size + first : 8 + size + end], dtype).reshape(entry["shape"])
        place, widest = end, dtype.itemsize
    assert 8 + size + place == len(content)
    return about, tensors


def write_sealed(path: Path, about: Description, tensors: Tensors) -> None:
    """A sealed file of these tensors."""
    names = {np.dtype(code): name for name, code in DTYPES.items()}
    header, place = {}, 0
    ordered = sorted(tensors.items(), key=lambda item: -item[1].itemsize)
    for name, tensor in ordered:
        header[name] = {
            "dtype": names[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [place, place + tensor.nbytes],
        }
        place += tensor.nbytes

    def sealed(checksum: str) -> bytes:
        described = {"kind": about["kind"], "version": about["version"], "sha256": checksum} | {
            key: value for key, value in about.items() if key not in ("kind", "version", "sha256")
        }
        text = json.dumps({"__metadata__": {"ringlet": json.dumps(described)}, **header}).encode()
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text + b"".join(tensor.tobytes() for _, tensor in ordered)

    path.write_bytes(sealed(hashlib.sha256(sealed("0" * 64)).hexdigest()))


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_ring_is_read_by_the_page(precision: str) -> None:
    about, tensors = read_sealed(GOLDEN / f"{precision}.ring")
    assert (about["kind"], about["version"], about["dtype"]) == ("ring", 1, precision)
    product = tensors["core.0"][:, 1] @ tensors["core.1"][:, 2] @ tensors["core.2"][:, 0]
    np.testing.assert_allclose(np.trace(product), np.load(GOLDEN / "dense.npy")[1, 2, 0], rtol=1e-5)


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_a_ring_of_fewer_bytes_is_read_by_the_page(precision: str) -> None:
    about, tensors = read_sealed(GOLDEN / f"{precision}.ring")
    assert (about["version"], about["precision"]) == (2, precision)
    cores = [tensors[f"core.{k}"] * tensors[f"scale.{k}"] for k in range(3)]
    dense = np.einsum("aib,bjc,cka->ijk", *cores)
    truth = np.load(GOLDEN / "dense.npy")
    cost = np.linalg.norm(dense - truth) / np.linalg.norm(truth)
    np.testing.assert_allclose(cost, about["error"], rtol=1e-2)


def test_a_ring_written_by_the_page_is_loaded(tmp_path: Path) -> None:
    cores = {f"core.{k}": np.cos(np.arange(24.0) + k).reshape(2, 6, 2).astype("f4") for k in range(3)}
    about = {"kind": "ring", "version": 1, "shape": [6, 6, 6], "rank": [2, 2, 2], "dtype": "float32"}
    write_sealed(tmp_path / "x.ring", about | {"names": ["a", "b", "c"], "units": None}, cores)
    ring = TensorRing.load(tmp_path / "x.ring")
    assert ring.names == ("a", "b", "c")
    for core, written in zip(ring.cores, cores.values(), strict=True):
        np.testing.assert_array_equal(core, written)


def test_a_checkpoint_written_by_the_page_is_resumed_to_the_same_bits(tmp_path: Path) -> None:
    x = np.fromfunction(lambda i, j, k: np.sin(i) * np.cos(j) + k, (6, 5, 4))
    x[1, 2] = np.nan

    def fit(sweeps: int, folder: Path | None) -> ringlet.Fit:
        solver = ringlet.AWRTRD(smooth=0.0, sweeps=sweeps, tol=0, threads=1)
        return ringlet.decompose(x, 2, solver=solver, checkpoint=folder)

    fit(3, tmp_path / "ours")
    ours = max((read_sealed(path) for path in (tmp_path / "ours").glob("slot-*")), key=lambda slot: slot[0]["sequence"])
    about, tensors = ours
    assert {name for name in tensors if name.startswith("history.")} >= {"history.sweep", "history.seconds"}
    assert tensors["history.sweep"].tolist() == [1, 2, 3]
    (tmp_path / "theirs").mkdir()
    write_sealed(tmp_path / "theirs" / "slot-0.safetensors", about, tensors)
    resumed, whole = fit(6, tmp_path / "theirs"), fit(6, None)
    for core, expected in zip(resumed.ring.cores, whole.ring.cores, strict=True):
        np.testing.assert_array_equal(core, expected)
