"""Files that pretend to be rings: each is refused with an error that names the file and what is wrong."""

import hashlib
import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ringlet.errors import FormatError
from ringlet.store.ringfile import load_ring

UNSEALED = "0" * 64
METADATA = {
    "kind": "ring",
    "version": 1,
    "sha256": UNSEALED,
    "shape": [2, 3],
    "rank": [1, 1],
    "dtype": "float32",
    "names": None,
    "units": None,
}
DATA = np.arange(5, dtype="<f4").tobytes()
MEGABYTE = 1 << 20


def tensor(start, stop, shape, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


CORES = {"core.0": tensor(0, 8, [1, 2, 1]), "core.1": tensor(8, 20, [1, 3, 1])}


def raw(header, data=DATA, length=None):
    """Assemble a file from its header, as JSON or bytes, and its data; its checksum, if it has one, is right."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    content = (len(text) if length is None else length).to_bytes(8, "little") + text + data
    return content.replace(UNSEALED.encode(), hashlib.sha256(content).hexdigest().encode(), 1)


def with_metadata(text, data=DATA, **cores):
    return raw({"__metadata__": {"ringlet": text}, **(cores or CORES)}, data)


def described(data=DATA, cores=CORES, **changes):
    return with_metadata(json.dumps(METADATA | changes), data, **cores)


def floats(*values):
    return np.array(values, "<f4").tobytes()


def twice(key):
    """The header of a good file in which one tensor is described twice."""
    text = json.dumps({"__metadata__": {"ringlet": json.dumps(METADATA)}, **CORES})
    return raw(f'{text[:-1]}, "{key}": {json.dumps(CORES["core.0"])}}}'.encode())


CASES = {
    # Not a safetensors file.
    "empty": (b"", "only 0 bytes"),
    "seven bytes": (b"1234567", "only 7 bytes"),
    "text": (b"hello, this is no ring at all", "truncated, or not a safetensors file"),
    "pickle": (
        b"\x80\x04\x95\x1a\0\0\0\0\0\0\0\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.",
        "not a safetensors",
    ),
    "zip": (b"PK\x03\x04" + bytes(100), "truncated, or not a safetensors file"),
    "zeros": (bytes(100), "header is not JSON"),
    # The header's length.
    "length huge": (raw(b"{}", length=2**64 - 1), "a header of 18446744073709551615 bytes"),
    "length one past the end": (raw(b"{}", b"", length=3), "a header of 3 bytes, 2 in the file"),
    "length zero": (raw(b"{}", length=0), "header is not JSON"),
    "length too short": (raw(b'{"a": 1}', length=4), "header is not JSON"),
    "header larger than a ring's": (raw(b" " * (MEGABYTE + 1)), "at most 1048576"),
    "header far larger than a ring's": (raw(b"[" * (4 * MEGABYTE)), "at most 1048576"),
    # The header's text.
    "not UTF-8": (raw(b'{"\xff\xfe": 1}'), "header is not UTF-8"),
    "UTF-16": (raw("{}".encode("utf-16")), "header is not UTF-8"),
    "byte order mark": (raw(b"\xef\xbb\xbf{}"), "header is not JSON"),
    "deep lists": (raw(b"[" * 500_000), "header is nested too deeply"),
    "deep objects": (raw(b'{"a":' * 200_000), "header is nested too deeply"),
    "a list": (raw(b"[]"), "header is not a JSON object"),
    "a number of many digits": (raw(b'{"a": ' + b"9" * 100_000 + b"}"), "header is not JSON"),
    "NaN in the header": (raw(b'{"a": NaN}'), "header holds NaN"),
    "a tensor twice": (twice("core.0"), "header has the same key twice"),
    "a tensor twice, escaped": (twice("core.\\u0030"), "header has the same key twice"),
    # Metadata.
    "no metadata": (raw(CORES), "without the metadata of a ring"),
    "null metadata": (raw({"__metadata__": None, **CORES}), "without the metadata of a ring"),
    "metadata of others": (
        raw({"__metadata__": {"format": "pt"}, **CORES}),
        "without the metadata of a ring",
    ),
    "metadata not text": (
        raw({"__metadata__": {"ringlet": METADATA}, **CORES}),
        "without the metadata of a ring",
    ),
    "metadata not JSON": (with_metadata("{'version': 1}"), "metadata is not JSON"),
    "metadata a list": (with_metadata("[]"), "metadata is not a JSON object"),
    "metadata deep": (with_metadata("[" * 100_000), "metadata is nested too deeply"),
    "metadata key twice": (
        with_metadata(json.dumps(METADATA)[:-1] + ', "version": 1}'),
        "metadata has the same key",
    ),
    "future version": (described(version=3), "version 3 is from the future; .* upgrade"),
    "future version with new fields": (described(version=7, codec="zip"), "version 7 is from the future"),
    "no kind": (with_metadata("{}"), "not a ring: the metadata names the kind None"),
    "a checkpoint": (described(kind="checkpoint"), "not a ring: the metadata names the kind 'checkpoint'"),
    "no version": (with_metadata('{"kind": "ring"}'), "no format version"),
    "version as text": (described(version="1"), "no format version"),
    "version true": (described(version=True), "no format version"),
    "version zero": (described(version=0), "no format version"),
    "no checksum": (with_metadata('{"kind": "ring", "version": 1}'), "no checksum"),
    "checksum of another file": (described(sha256="a" * 64), "damaged: its checksum is not that of its content"),
    "checksum a number": (described(sha256=7), "no checksum"),
    "checksum too short": (described(sha256="0" * 63), "no checksum"),
    "checksum not hexadecimal": (described(sha256="é" * 64), "no checksum"),
    "field missing": (
        with_metadata(json.dumps({name: METADATA[name] for name in ("kind", "version", "sha256", "shape")})),
        "lacks or adds .*'rank'",
    ),
    "field too many": (described(extra=1), r"lacks or adds \['extra'\]"),
    "shape not a list": (described(shape="2,3"), "shape is not a list of positive integers"),
    "shape negative": (described(shape=[2, -3]), "shape is not a list of positive integers"),
    "shape zero": (described(shape=[2, 0]), "shape is not a list of positive integers"),
    "shape fractional": (described(shape=[2, 3.0]), "shape is not a list of positive integers"),
    "rank of booleans": (described(rank=[True, True]), "rank is not a list of positive integers"),
    "rank longer than shape": (described(rank=[1, 1, 1]), r"shape \[2, 3\] but rank \[1, 1, 1\]"),
    "names not texts": (described(names=[1, 2]), "names are neither null nor"),
    "names a text": (described(names="ab"), "names are neither null nor"),
    "names too few": (described(names=["a"]), "names has 1 entries"),
    "units not a text": (described(units=["K"]), "units are neither null nor"),
    # Tensors against metadata.
    "core missing": (
        described(cores={"core.0": tensor(0, 20, [1, 5, 1])}),
        "2 cores, the tensors are: core.0",
    ),
    "core renamed": (
        described(cores={"core.0": CORES["core.0"], "core.2": CORES["core.1"]}),
        "core.0, core.2",
    ),
    "core with leading zero": (
        described(cores={"core.0": CORES["core.0"], "core.01": CORES["core.1"]}),
        "core.01",
    ),
    "tensor too many": (described(DATA + bytes(4), {**CORES, "x": tensor(20, 24, [1])}), "core.0, core.1, x"),
    "names of paths": (described(cores={"../a": CORES["core.0"], "/b": CORES["core.1"]}), r"\.\./a, /b"),
    "no cores": (
        described(b"", {"core.0": tensor(0, 0, [0])}, shape=[], rank=[]),
        "0 cores, the tensors are",
    ),
    "shape contradicts": (described(shape=[3, 2]), r"core 0 has shape \[1, 2, 1\]; .* need \(1, 3, 1\)"),
    "rank contradicts": (described(rank=[1, 2]), r"core 0 has shape \[1, 2, 1\]; .* need \(1, 2, 2\)"),
    "ring does not close": (
        described(cores={"core.0": tensor(0, 8, [1, 2, 1]), "core.1": tensor(8, 20, [1, 1, 3])}, shape=[2, 1]),
        r"core 1 has shape \[1, 1, 3\]",
    ),
    "core a matrix": (
        described(cores={**CORES, "core.0": tensor(0, 8, [1, 2])}),
        r"core 0 has shape \[1, 2\]",
    ),
    "core a number": (
        described(DATA[:16], {"core.0": tensor(0, 4, []), "core.1": tensor(4, 16, [1, 3, 1])}),
        "core 0 h",
    ),
    "shape of absurd size": (described(shape=[2**62, 3]), "core 0 has shape"),
    "dtype contradicts": (described(dtype="float64"), "core 0 has dtype F32, the metadata says 'float64'"),
    "dtype unknown to metadata": (described(dtype={"a": 1}), "core 0 has dtype F32, the metadata says"),
    "dtypes mixed": (
        described(DATA + bytes(12), {**CORES, "core.1": tensor(8, 32, [1, 3, 1], "F64")}),
        "core 1 has dtype F64",
    ),
    "not a number": (described(floats(0, 1, np.nan, 3, 4)), "core 1 has entries that are NaN or infinite"),
    "infinite": (described(floats(-np.inf, 1, 2, 3, 4)), "core 0 has entries that are NaN or infinite"),
    # Geometry, which safetensors checks.
    "offsets overlap": (described(cores={**CORES, "core.1": tensor(4, 16, [1, 3, 1])}), "invalid offset"),
    "offsets identical": (
        described(DATA[:8], {"core.0": tensor(0, 8, [1, 2, 1]), "core.1": tensor(0, 8, [1, 2, 1])}, shape=[2, 2]),
        "invalid offset",
    ),
    "offsets with a hole": (
        described(DATA + bytes(4), {**CORES, "core.1": tensor(12, 24, [1, 3, 1])}),
        "offset",
    ),
    "offsets past the end": (described(DATA[:-4]), "not fully covered"),
    "offsets far past the end": (
        described(cores={**CORES, "core.1": tensor(8, 2**60, [1, 3, 1])}),
        "not a sound",
    ),
    "offsets negative": (described(cores={**CORES, "core.0": tensor(-8, 0, [1, 2, 1])}), "integer `-8`"),
    "offsets reversed": (described(cores={**CORES, "core.0": tensor(8, 0, [1, 2, 1])}), "invalid offset"),
    "offsets too large": (described(cores={**CORES, "core.0": tensor(0, 2**70, [1, 2, 1])}), "not a sound"),
    "offsets missing": (
        described(cores={**CORES, "core.0": {"dtype": "F32", "shape": [1, 2, 1]}}),
        "data_offsets",
    ),
    "data after the end": (described(DATA + b"more"), "not fully covered"),
    "tensor not an object": (described(cores={**CORES, "core.0": 3}), "not a sound safetensors"),
    "tensor shape overflows": (
        described(cores={**CORES, "core.0": tensor(0, 8, [2**62, 2**62, 1])}),
        "overflow",
    ),
    "empty tensor of absurd shape": (
        described(b"", {"core.0": tensor(0, 0, [2**62, 2**62, 0])}, shape=[2**62], rank=[2**62]),
        "core 0 has shape|overflow",
    ),
    **{
        f"dtype {dtype}": (
            described(
                bytes(5 * size),
                {
                    "core.0": tensor(0, 2 * size, [1, 2, 1], dtype),
                    "core.1": tensor(2 * size, 5 * size, [1, 3, 1], dtype),
                },
            ),
            f"core 0 has dtype {dtype}; a ring holds F32 or F64",
        )
        for dtype, size in {"F16": 2, "BF16": 2, "I64": 8, "U8": 1, "BOOL": 1, "F8_E4M3": 1}.items()
    },
    "dtype unknown": (described(cores={**CORES, "core.0": tensor(0, 8, [1, 2, 1], "O")}), "unknown variant"),
}


@pytest.mark.parametrize(("content", "words"), CASES.values(), ids=CASES.keys())
def test_malformed_files_are_refused_in_plain_words_and_little_memory(tmp_path, content, words):
    file = tmp_path / "hostile.ring"
    file.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=words) as caught:
            load_ring(file)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(str(file))
    assert len(str(caught.value)) < len(str(file)) + 500
    assert peak < 2 * len(content) + 64 * MEGABYTE


def test_the_file_that_all_cases_vary_is_good(tmp_path):
    (tmp_path / "x.ring").write_bytes(described())
    np.testing.assert_array_equal(load_ring(tmp_path / "x.ring"), np.outer([0, 1], [2, 3, 4]))


@pytest.mark.parametrize("filler", ["{},", '{"":1},'])
def test_a_header_full_of_small_objects_stays_within_64_mb(tmp_path, filler):
    text = '{"a": [' + filler * ((MEGABYTE - 100) // len(filler)) + "0]}"
    (tmp_path / "x.ring").write_bytes(raw(text.encode()))
    tracemalloc.start()
    with pytest.raises(FormatError, match="without the metadata"):
        load_ring(tmp_path / "x.ring")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * MEGABYTE


def test_every_truncation_is_refused(tmp_path):
    file = tmp_path / "x.ring"
    content = described(names=["a", "b"], units="K")
    for length in range(len(content)):
        file.write_bytes(content[:length])
        with pytest.raises(FormatError, match=r"x\.ring"):
            load_ring(file)


def test_a_flipped_bit_in_any_byte_is_refused(tmp_path):
    file = tmp_path / "x.ring"
    content = described(names=["a", "b"], units="K")
    bits = np.random.default_rng(0).integers(8, size=len(content))
    for position, bit in enumerate(bits):
        damaged = bytearray(content)
        damaged[position] ^= 1 << bit
        file.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"x\.ring"):
            load_ring(file)


@given(data=st.data())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_damage_is_refused(tmp_path, data):
    content = described(names=["a", "b"], units="K")
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(damaged) - 1))
        stop = data.draw(st.integers(start, min(start + 8, len(damaged))))
        damaged[start:stop] = data.draw(st.binary(max_size=8))
    assume(damaged != content)
    (tmp_path / "x.ring").write_bytes(damaged)
    with pytest.raises(FormatError, match=r"x\.ring"):
        load_ring(tmp_path / "x.ring")


def assert_loads_or_is_refused(file):
    try:
        ring = load_ring(file)
    except FormatError as error:
        assert str(error).startswith(str(file))  # noqa: PT017 - either outcome is right
    else:
        assert all(np.isfinite(core).all() for core in ring.cores)


@given(data=st.data())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_damage_by_an_enemy_who_mends_the_checksum_loads_a_ring_or_is_refused(tmp_path, data):
    description = json.dumps(METADATA | {"names": ["a", "b"], "units": "K"})
    header = bytearray(json.dumps({"__metadata__": {"ringlet": description}, **CORES}).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(header) - 1))
        stop = data.draw(st.integers(start, min(start + 4, len(header))))
        header[start:stop] = data.draw(st.binary(max_size=4))
    (tmp_path / "x.ring").write_bytes(raw(bytes(header)))
    assert_loads_or_is_refused(tmp_path / "x.ring")
