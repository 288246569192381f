"""A fit with a limit of time writes a preview first, and the final result in its place."""

import numpy as np
import pytest

import ringlet
from ringlet.restoration.clean_entries import Cleaning
from ringlet.restoration.clean_file import CleanFile
from ringlet.restoration.inputs import ReadOptions, open_input
from ringlet.restoration.preview import Preview

SOON = 1e-6  # seconds: a tenth of it is over when the first sweep ends


def fitted(preview, given, **options):
    return ringlet.decompose(given.source, 3, sweeps=4, tol=0, callback=preview, **options)


def test_the_preview_holds_the_ring_of_an_early_sweep_and_the_final_file_that_of_the_last(tmp_path, damaged, known):
    given = open_input(damaged, ReadOptions(mask=known))
    clean = CleanFile(tmp_path / "clean.npy", given, Cleaning("never", "never"))
    seen = []

    def tell(state, seconds):
        seen.append((state.sweep, seconds, np.load(clean.path), state.ring))

    preview = Preview(clean, SOON, tell)
    fit = fitted(preview, given)
    preview.final.write(fit)
    ((sweep, seconds, first, ring),) = seen
    assert sweep == 1
    assert seconds >= 0
    assert np.array_equal(first, np.clip(np.rint(np.asarray(ring)), 0, 255).astype(np.uint8))
    last = np.load(clean.path)
    assert np.array_equal(last, np.clip(np.rint(np.asarray(fit.ring)), 0, 255).astype(np.uint8))
    assert not np.array_equal(first, last)
    alone = fitted(None, given).ring  # looking on changes no bit
    assert [core.tobytes() for core in fit.ring.cores] == [core.tobytes() for core in alone.cores]
    assert [path.name for path in tmp_path.iterdir()] == ["clean.npy"]  # no temporary file is left


def test_known_entries_stay_in_the_preview_if_they_are_trusted(tmp_path, damaged, known):
    given = open_input(damaged, ReadOptions(mask=known))
    clean = CleanFile(tmp_path / "clean.npy", given, Cleaning(trust_known=True))
    fitted(Preview(clean, SOON), given)
    assert np.array_equal(np.load(clean.path)[known], damaged[known])


def test_no_preview_before_a_tenth_of_the_time(tmp_path, damaged):
    given = open_input(damaged)
    clean = CleanFile(tmp_path / "clean.npy", given)
    preview = Preview(clean, "5h")
    fit = fitted(preview, given)
    assert not clean.path.exists()
    preview.final.write(fit)
    assert clean.path.exists()


def test_a_file_that_exists_is_kept_until_the_end_as_it_may_be_the_input(tmp_path, damaged):
    path = tmp_path / "data.npy"
    np.save(path, damaged)
    given = open_input(path)
    found = []
    preview = Preview(CleanFile(path, given, force=True), SOON)

    def watch(state):
        preview(state)
        found.append(np.array_equal(np.load(path), damaged))

    fit = fitted(watch, given)
    assert found == [True] * 4
    preview.final.write(fit)
    assert not np.array_equal(np.load(path), damaged)


def test_a_preview_does_not_allow_other_files_to_be_replaced(tmp_path, damaged):
    given = open_input(damaged)
    clean = CleanFile(tmp_path / "clean.npy", given)
    preview = Preview(clean, "5h")
    fit = fitted(preview, given)
    np.save(clean.path, np.zeros(3))  # by somebody else, during the fit
    with pytest.raises(ringlet.errors.OutputExistsError):
        preview.final.write(fit)
    assert np.load(clean.path).shape == (3,)


def test_restore_writes_the_result_when_its_time_is_over(tmp_path, damaged):
    options = {"rank": 3, "sweeps": 400, "tol": 0, "time": SOON, "detail": "never", "keep": "never"}
    fit = ringlet.restore(damaged, tmp_path / "clean.npy", **options)
    assert fit.status.name == "TIME_USED"
    assert np.array_equal(np.load(tmp_path / "clean.npy"), np.clip(np.rint(fit.ring[...]), 0, 255))
