"""Small files that claim, or unpack to, far more than they are: refused before memory is taken.

Every case runs in a process of its own that cannot take 400 MB more than it has after its imports.
"""

import gzip
import json
import lzma
import struct
import sys
import zipfile
import zlib

import av
import h5py
import numpy as np
import PIL.Image
import pyarrow.parquet
import pytest
import scipy.io
import zarr
from numcodecs import BZ2, LZMA, Blosc, Zlib, Zstd

from limited import LimitedProcesses
from ringlet.errors import ArgumentError, FormatError
from ringlet.sources.files import load

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")

LOAD = "print(load(path, max_size='100MB').array.shape)"
READ = "x = load(path, max_size='100MB'); print(x.source.read(tuple(slice(0, 1) for _ in x.source.shape))[0].shape)"


@pytest.fixture(scope="module")
def run_limited():
    """Run code in a process of its own with limits: run_limited(code, path) -> what it prints."""
    with LimitedProcesses() as processes:
        yield processes.run


def npy_header(shape, descr="|u1"):
    text = str({"descr": descr, "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text


def deflated_zeros(millions, wrapped="gzip"):
    """Some millions of zeros, packed as gzip or zlib does: one block of a million, which needs no other, repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed, size, check = block * millions + packer.flush(), millions * 1_000_000, 0
    if wrapped == "zlib":  # ends with Adler-32, big-endian
        return b"\x78\xda" + packed + struct.pack(">I", (size % 65521) << 16 | 1)
    for _ in range(millions):
        check = zlib.crc32(bytes(1_000_000), check)
    return b"\x1f\x8b\x08" + bytes(5) + b"\2\xff" + packed + struct.pack("<II", check, size)


def test_these_zeros_are_what_the_libraries_unpack():
    assert gzip.decompress(deflated_zeros(3)) == zlib.decompress(deflated_zeros(3, "zlib")) == bytes(3_000_000)


def test_an_npz_member_that_unpacks_to_more_than_allowed_is_refused(tmp_path, run_limited):
    with (
        zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("a.npy", "w") as member,
    ):
        member.write(npy_header((450, 1_000_000)))
        for _ in range(45):
            member.write(bytes(10_000_000))
    assert "a takes 450 MB of memory or more, but 100 MB are allowed" in run_limited(LOAD, tmp_path / "x.npz")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_npz_with_a_compression_that_cannot_be_bounded_is_refused(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "x.npz", "w", method) as archive:
        archive.writestr("a.npy", npy_header((2, 3)) + bytes(6))
    with pytest.raises(FormatError, match="only deflate is read"):
        load(tmp_path / "x.npz")


@pytest.mark.parametrize("version", [b"\1\0", b"\2\0"])
def test_long_headers_of_npy_files_are_refused(tmp_path, version, run_limited):
    length = struct.pack("<H", 65535) if version == b"\1\0" else struct.pack("<I", 900_000_000)
    with (tmp_path / "x.npy").open("wb") as file:
        file.write(b"\x93NUMPY" + version + length)
        file.truncate(1_000_000_000)
    assert "FormatError" in run_limited(LOAD, tmp_path / "x.npy")


def test_a_mat_variable_that_unpacks_to_more_than_allowed_is_refused(tmp_path, run_limited):
    scipy.io.savemat(tmp_path / "x.mat", {"a": np.zeros((1000, 60_000))}, do_compression=True)
    assert "a takes 480 MB of memory or more" in run_limited(LOAD, tmp_path / "x.mat")


def test_a_picture_of_more_pixels_than_allowed_is_refused(tmp_path, run_limited):
    PIL.Image.new("RGB", (9000, 9000)).save(tmp_path / "x.png")
    assert "decoding 9000 x 9000 pixels takes" in run_limited(LOAD, tmp_path / "x.png")
    assert "decoding" in run_limited("load_mask(path, (9000, 9000), max_size='100MB')", tmp_path / "x.png")


def test_a_folder_of_frames_names_the_frame_that_is_too_large(tmp_path, run_limited):
    PIL.Image.new("L", (9000, 9000)).save(tmp_path / "f1.png")
    assert "f1.png: decoding 9000 x 9000 pixels" in run_limited(LOAD, tmp_path)


def test_a_video_is_decoded_no_further_than_allowed_whatever_it_says_of_its_duration(tmp_path, run_limited):
    file = tmp_path / "x.mkv"
    with av.open(str(file), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 640, 480, "yuv420p"
        frame = av.VideoFrame.from_ndarray(np.zeros((480, 640, 3), np.uint8), format="rgb24")
        for _ in range(300):
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    content = file.read_bytes()
    place = content.index(b"\x44\x89\x88") + 3  # the duration, a float of 8 bytes, in milliseconds
    file.write_bytes(content[:place] + struct.pack(">d", 40.0) + content[place + 8 :])
    assert "frames takes 100 MB of memory or more" in run_limited(LOAD, file)


# Stores.


@pytest.fixture
def gzip_store(tmp_path):
    array = zarr.create_array(
        tmp_path / "x.zarr", shape=(1000, 1000), chunks=(1000, 1000), dtype="u1", compressors=zarr.codecs.GzipCodec()
    )
    array[:] = 1
    return tmp_path / "x.zarr"


def test_a_gzip_chunk_that_unpacks_to_more_than_allowed_is_refused(gzip_store, run_limited):
    (gzip_store / "c/0/0").write_bytes(deflated_zeros(1000))
    assert "the chunk c/0/0 takes" in run_limited(READ, gzip_store)


def test_a_gzip_chunk_of_many_parts_is_counted_as_a_whole(gzip_store, run_limited):
    (gzip_store / "c/0/0").write_bytes(deflated_zeros(90) * 10)
    assert "the chunk c/0/0 takes" in run_limited(READ, gzip_store)


def parts_of_zeros(codec):
    """450 million zeros; bzip2 and xz data may have many parts, one after the other."""
    return deflated_zeros(450, "zlib") if codec.codec_id == "zlib" else codec.encode(bytes(15_000_000)) * 30


@pytest.mark.parametrize("codec", [Zlib(9), BZ2(1), LZMA(preset=0)])
def test_chunks_of_other_codecs_are_counted_too(tmp_path, codec, run_limited):
    array = zarr.create_array(
        tmp_path / "x.zarr", shape=(100, 100), chunks=(100, 100), dtype="u1", zarr_format=2, compressors=codec
    )
    array[:] = 1
    (tmp_path / "x.zarr/0.0").write_bytes(parts_of_zeros(codec))
    assert "the chunk 0.0 takes" in run_limited(READ, tmp_path / "x.zarr")


@pytest.mark.parametrize("name", ["zstd", "blosc"])
def test_chunks_that_declare_a_size_are_believed_only_up_to_the_limit(tmp_path, name, run_limited):
    codec = zarr.codecs.ZstdCodec() if name == "zstd" else zarr.codecs.BloscCodec()
    array = zarr.create_array(tmp_path / "x.zarr", shape=(100, 100), chunks=(100, 100), dtype="u1", compressors=codec)
    array[:] = 1
    (tmp_path / "x.zarr/c/0/0").write_bytes((Zstd() if name == "zstd" else Blosc()).encode(bytes(600_000_000)))
    assert "the chunk c/0/0 takes" in run_limited(READ, tmp_path / "x.zarr")


def test_ordinary_chunks_of_every_codec_pass(tmp_path):
    from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

    x = np.arange(90_000, dtype="i4").reshape(300, 300)
    for number, codec in enumerate([GzipCodec(), ZstdCodec(), BloscCodec(), None]):
        zarr.create_array(tmp_path / f"{number}.zarr", data=x, chunks=(100, 100), compressors=codec)
        np.testing.assert_array_equal(load(tmp_path / f"{number}.zarr", max_size="100kB").array, x)
    zarr.create_array(tmp_path / "s.zarr", data=x, chunks=(50, 50), shards=(100, 100))
    np.testing.assert_array_equal(load(tmp_path / "s.zarr", max_size="100kB").array, x)


def test_chunks_larger_than_allowed_are_refused(tmp_path, run_limited):
    zarr.create_array(tmp_path / "x.zarr", shape=(30_000, 30_000), chunks=(30_000, 30_000), dtype="u1")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", (30_000, 30_000), "u1", chunks=(30_000, 30_000), fillvalue=7)
    for name in ("x.zarr", "x.h5"):
        assert "takes" in run_limited(READ, tmp_path / name) or "stored" in run_limited(READ, tmp_path / name)


@pytest.mark.parametrize("chunks", [(1, 1), (1000, 1000)])
def test_stores_that_claim_far_more_than_they_hold_are_refused(tmp_path, chunks, run_limited):
    shape = (30_000_000, 30_000_000)
    zarr.create_array(tmp_path / "x.zarr", shape=(2, 2), chunks=(2, 2), dtype="u1")
    notes = json.loads((tmp_path / "x.zarr/zarr.json").read_text())
    notes["shape"], notes["chunk_grid"]["configuration"]["chunk_shape"] = shape, chunks
    (tmp_path / "x.zarr/zarr.json").write_text(json.dumps(notes))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", shape, "u1", chunks=chunks)
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file.create_dataset("y", shape, "u1")
    for name in ("x.zarr", "x.h5", "y.h5"):
        assert "needs 900 TB, but only" in run_limited(READ, tmp_path / name, seconds=30)


def test_chunk_grids_of_any_size_are_never_listed_whole(tmp_path, run_limited):
    """Here the claim is allowed; the chunks of one entry each would still be a thousand million."""
    zarr.create_array(tmp_path / "x.zarr", shape=(1000, 1_000_000), chunks=(1, 1), dtype="u1", fill_value=7)
    code = READ.replace("100MB", "2GB")
    assert run_limited(code, tmp_path / "x.zarr", memory=700_000_000, seconds=60).strip() == "(1, 1)"


def test_an_hdf5_chunk_that_unpacks_to_more_than_allowed_is_refused(tmp_path, run_limited):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("x", (100, 100), "u1", chunks=(100, 100), compression="gzip")
        dataset.id.write_direct_chunk((0, 0), deflated_zeros(1000, "zlib"))
    assert "the chunk at (0, 0) takes" in run_limited(READ, tmp_path / "x.h5")


def test_hdf5_chunks_are_looked_at_where_they_are_read(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("x", (30, 20), "u1", chunks=(10, 20), compression="gzip")
        dataset[:10], dataset[20:] = 1, 0
        dataset.id.write_direct_chunk((10, 0), deflated_zeros(2, "zlib"))
    source = load(tmp_path / "x.h5", max_size="1MB").source
    for part in (slice(0, 10), slice(20, 30)):
        assert source.read((part, slice(0, 20)))[0].max() == (part.start == 0)
    for part in (slice(9, 11), slice(19, 21)):
        with pytest.raises(FormatError, match=r"the chunk at \(10, 0\) takes"):
            source.read((part, slice(3, 5)))


def test_netcdf_files_of_many_chunks_pass_their_trial(tmp_path):
    """Half a minute is given, in which they are not to be looked through for every chunk."""
    with h5py.File(tmp_path / "x.nc", "w") as file:
        file.create_dataset("x", data=np.ones((70_000, 2), "u1"), chunks=(1, 2), compression="gzip")
    assert load(tmp_path / "x.nc").source.shape == (70_000, 2)


@pytest.mark.parametrize("kind", ["claim", "chunk", "packed"])
def test_netcdf_files_are_bounded_as_hdf5_files_are(tmp_path, kind, run_limited):
    length, size = {"claim": (60_000, 600), "chunk": (5000, 5000), "packed": (90, 90)}[kind]
    with h5py.File(tmp_path / "x.nc", "w") as file:
        dataset = file.create_dataset("x", (length,) * 2, "f8", chunks=(size,) * 2, compression="gzip")
        if kind == "chunk":
            dataset[:10] = 0
        elif kind == "packed":
            dataset.id.write_direct_chunk((0, 0), deflated_zeros(200, "zlib"))
    told = {"claim": "only 0 B are stored", "chunk": "a chunk takes 200 MB", "packed": "the chunk at (0, 0) takes 1"}
    assert told[kind] in run_limited(READ, tmp_path / "x.nc")


@pytest.mark.parametrize("code", [8, 34925])  # deflate and xz, as TIFF has them
def test_a_strip_that_unpacks_to_more_than_allowed_is_refused(tmp_path, code, run_limited):
    packed = deflated_zeros(450, "zlib") if code == 8 else lzma.compress(bytes(120_000_000), preset=0)
    tags = {256: 8, 257: 8, 258: 8, 259: code, 262: 1, 273: 8, 277: 1, 278: 8, 279: len(packed)}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    end = struct.pack("<H", len(tags)) + entries + bytes(4)
    (tmp_path / "x.tif").write_bytes(b"II*\0" + struct.pack("<I", 8 + len(packed)) + packed + end)
    assert "a strip or tile takes 10" in run_limited(LOAD, tmp_path / "x.tif")


def test_tiff_files_whose_directories_share_bytes_are_refused(tmp_path):
    """There could be one for every byte of a file, each with thousands of tags."""
    tags = [(256, 3, 1, 1), (257, 3, 1, 1), (258, 3, 1, 8), (262, 3, 1, 1), (273, 4, 1, 8), (279, 4, 1, 1)]
    first, size = 10, 2 + 12 * len(tags) + 4
    pages = [
        struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags) + struct.pack("<I", after)
        for after in (first + size, first)  # each is followed by the other
    ]
    (tmp_path / "x.tif").write_bytes(b"II*\0" + struct.pack("<I", first) + b"\7\0" + b"".join(pages))
    with pytest.raises(FormatError, match=r"x\.tif: damaged: the directories of its pages overlap"):
        load(tmp_path / "x.tif")


@pytest.mark.parametrize("form", [{}, {"bigtiff": True}, {"byteorder": ">"}])
def test_stacks_of_every_form_are_read(tmp_path, form):
    tifffile = pytest.importorskip("tifffile")
    x = np.arange(24, dtype=np.uint16).reshape(4, 2, 3)
    with tifffile.TiffWriter(tmp_path / "x.tif", **form) as file:
        for page in x:
            file.write(page, photometric="minisblack", metadata=None)
    np.testing.assert_array_equal(load(tmp_path / "x.tif").source.read((slice(None),) * 3)[0], x)


@pytest.mark.parametrize("kind", ["texts", "one text", "bytes", "fixed bytes", "numbers", "lists"])
def test_parquet_files_that_unpack_to_more_than_allowed_are_refused(tmp_path, kind, run_limited):
    rows = {"numbers": 8_000_000, "lists": 4}.get(kind, 150)
    column = {
        "texts": lambda: pyarrow.array([str(number % 10) + "x" * 1_000_000 for number in range(rows)]),
        "one text": lambda: pyarrow.array(["x" * 1_000_000] * rows),
        "bytes": lambda: pyarrow.array([b"x" * 1_000_000] * rows, pyarrow.large_binary()),
        "fixed bytes": lambda: pyarrow.array([b"x" * 1_000_000] * rows, pyarrow.binary(1_000_000)),
        "numbers": lambda: np.zeros(rows),
        "lists": lambda: pyarrow.array([[0] * 1_000_000] * rows, pyarrow.list_(pyarrow.int8())),
    }[kind]()
    plain = kind == "texts"
    pyarrow.parquet.write_table(
        pyarrow.table({"v": np.arange(rows, dtype="f4"), "x": column}),
        tmp_path / "x.parquet",
        compression="zstd",
        use_dictionary=not plain,
    )
    del column
    told = "holds several values in a row" if kind == "lists" else "but 100 MB are allowed"
    # Every thread of Arrow reserves address space.
    assert told in run_limited(LOAD, tmp_path / "x.parquet", memory=1_000_000_000)


def test_a_parquet_column_of_texts_of_an_extension_type_is_refused(tmp_path):
    kind = getattr(pyarrow, "json_", None)
    if kind is None:
        pytest.skip("this pyarrow has no extension type of texts")
    column = pyarrow.ExtensionArray.from_storage(kind(), pyarrow.array(["1", "2"]))
    pyarrow.parquet.write_table(pyarrow.table({"v": [1.0, 2.0], "x": column}), tmp_path / "x.parquet")
    with pytest.raises(FormatError, match=r"column 'x' is of the type .*save it as plain texts"):
        load(tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1,2\n" * 9_000_000, "144 MB of memory or more, but 100 MB"),
        ("1,2\r" * 9_000_000, "144 MB of memory or more, but 100 MB"),
        ("1," * 200_000 + "1\n", "at most 65536 are read"),
        ("a name of a column," * 80_000 + "1\n", "at most 65536 are read"),
    ],
    ids=["rows", "rows of old files", "columns", "columns with long names"],
)
def test_csv_files_of_too_many_fields_are_refused(tmp_path, text, told, run_limited):
    (tmp_path / "x.csv").write_text(text)
    assert told in run_limited(LOAD, tmp_path / "x.csv")


def test_metadata_and_attributes_of_absurd_length_are_refused(tmp_path, run_limited):
    zarr.create_array(tmp_path / "x.zarr", data=np.ones((3, 4)))
    text = (tmp_path / "x.zarr/zarr.json").read_text()
    (tmp_path / "x.zarr/zarr.json").write_text(text + " " * 300_000_000)
    assert "zarr.json in the store has" in run_limited(READ, tmp_path / "x.zarr")
    with h5py.File(tmp_path / "x.h5", "w", libver="latest") as file:
        file["x"] = np.ones((3, 4))
        file["x"].attrs.create("units", np.zeros(600_000))
    assert "the attribute units has the shape (600000,)" in run_limited(READ, tmp_path / "x.h5")


def test_an_array_of_ordinary_size_passes_every_limit(gzip_store, run_limited):
    assert run_limited(READ, gzip_store).strip() == "(1, 1)"
    assert gzip.decompress((gzip_store / "c/0/0").read_bytes()) == bytes([1]) * 1_000_000


# Names.


def test_a_file_of_many_arrays_lists_only_some_of_them(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        for number in range(5000):
            archive.writestr(f"a{number}.npy", npy_header((2, 3)) + bytes(6))
    with pytest.raises(ArgumentError, match=r"a19 \(2, 3\) and 4,980 more$") as caught:
        load(tmp_path / "x.npz")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("name", ["../up", "/etc/x", "a/../../x", "..", "a\\..\\x"])
def test_names_that_lead_out_of_a_folder_are_refused(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr(f"{name}/x.npy" if name == ".." else f"{name}.npy", npy_header((2, 3)) + bytes(6))
    with pytest.raises(FormatError, match="leads out of the folder"):
        load(tmp_path / "x.npz")


@pytest.mark.parametrize("labels", [np.arange(2), np.arange(7.0), "text", np.float64(3)])
def test_labels_of_modes_that_are_none_do_not_end_the_process(tmp_path, labels, run_limited):
    """HDF5's own reader of labels takes whatever the attribute holds for addresses of texts."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = np.ones((3, 4))
        file["x"].attrs["DIMENSION_LABELS"] = labels
    assert run_limited("print(load(path).source.names)", tmp_path / "x.h5").strip() == "None"
