"""Items: what is found in folders, in which shape and range it comes."""

from shutil import copytree

import numpy as np
import pytest

from ringlet.errors import ArgumentError, FormatError
from ringlet.experiments.items import builtin_photos, builtin_videos, chosen_items, photos_in, pictures, videos_in
from ringlet.sources.files import load
from ringlet.store.outputs import write_array


def test_photos_come_by_name_from_0_to_1_in_float32(images):
    items = photos_in(images)
    assert [(item.name, item.short_side) for item in items] == [("first", 40), ("second", 36)]
    tensor = items[0].tensor()
    assert (tensor.shape, tensor.dtype) == ((40, 48, 3), np.float32)
    np.testing.assert_allclose(255 * tensor, load(images / "first.png").array, atol=1e-4)


def test_videos_are_files_or_folders_of_frames_with_the_width_first(videos):
    frames, file = videos_in(videos)
    assert (frames.name, file.name) == ("frames", "moving")
    assert frames.tensor().shape == (40, 32, 3, 5)
    assert file.tensor().shape == (48, 32, 3, 6)
    assert frames.tensor().flags.c_contiguous
    assert file.tensor().flags.c_contiguous
    third = load(videos / "frames" / "00002.jpg").array
    np.testing.assert_allclose(255 * pictures(frames.tensor())[2], third, atol=1e-4)


def test_items_are_known_by_what_is_in_their_files(images, videos, tmp_path):
    copy = tmp_path / "copy"
    copytree(images, copy)
    first, second = (item.content for item in photos_in(images))
    assert [item.content for item in photos_in(copy)] == [first, second]
    write_array(copy / "first.png", np.zeros((40, 48, 3), np.uint8), force=True)
    assert [item.content == before for item, before in zip(photos_in(copy), (first, second), strict=True)] == [
        False,
        True,
    ]
    assert len({item.content for item in videos_in(videos)}) == 2


def test_only_the_first_50_frames_count(tmp_path):
    (tmp_path / "long").mkdir()
    for number in range(53):
        write_array(tmp_path / "long" / f"{number:05d}.png", np.full((8, 9, 3), number, np.uint8))
    tensor = videos_in(tmp_path)[0].tensor()
    assert tensor.shape == (9, 8, 3, 50)
    np.testing.assert_allclose(255 * tensor[0, 0, 0], np.arange(50), atol=1e-4)


def test_grey_and_transparent_photos_become_colour(tmp_path):
    write_array(tmp_path / "grey.png", np.full((9, 8), 51, np.uint8))
    write_array(tmp_path / "sixteen.png", np.full((9, 8), 13107, np.uint16))
    clear = np.full((9, 8, 4), 51, np.uint8)
    write_array(tmp_path / "clear.png", clear)
    items = photos_in(tmp_path)
    assert len(items) == 3
    for item in items:
        np.testing.assert_allclose(item.tensor(), np.full((9, 8, 3), 0.2), atol=1e-6)


def test_built_in_items_need_no_files():
    items = [*builtin_photos(), *builtin_videos()]
    assert {item.kind for item in items} == {"photo", "video"}
    for item in items:
        tensor = item.tensor()
        assert tensor.dtype == np.float32
        assert tensor.ndim == (3 if item.kind == "photo" else 4)
        assert tensor.min() >= 0
        assert tensor.max() <= 1
        assert np.ptp(tensor) > 0.8
        assert item.short_side == min(tensor.shape[:2])
        np.testing.assert_array_equal(tensor, item.tensor())


def test_folders_without_anything_to_read_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"holds no photo.*\.png"):
        photos_in(tmp_path)
    with pytest.raises(ArgumentError, match=r"holds no video.*\.mp4"):
        videos_in(tmp_path)
    with pytest.raises(ArgumentError, match="is not a folder"):
        photos_in(tmp_path / "nowhere")


def test_two_items_of_one_name_are_refused(tmp_path):
    for suffix in ("png", "bmp"):
        write_array(tmp_path / f"same.{suffix}", np.zeros((9, 8, 3), np.uint8))
    with pytest.raises(ArgumentError, match="2 items are called 'same'"):
        photos_in(tmp_path)


def test_a_damaged_photo_is_found_before_any_work(tmp_path):
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    with pytest.raises(FormatError, match=r"broken\.png"):
        photos_in(tmp_path)


def test_frames_of_different_sizes_are_refused_by_name(tmp_path):
    (tmp_path / "odd").mkdir()
    write_array(tmp_path / "odd" / "0.png", np.zeros((9, 8, 3), np.uint8))
    write_array(tmp_path / "odd" / "1.png", np.zeros((9, 9, 3), np.uint8))
    with pytest.raises(FormatError, match=r"1\.png: has another size"):
        videos_in(tmp_path)[0].tensor()


def test_items_are_chosen_by_name_in_their_own_order():
    items = builtin_photos()
    assert [item.name for item in chosen_items(items, ("rocket", "chelsea"))] == ["chelsea", "rocket"]
    with pytest.raises(ArgumentError, match="items='lena' is not known; allowed are astronaut, chelsea, coffee"):
        chosen_items(items, ("lena",))
