"""`ringlet fit`, `info` and `plan` through real files."""

import json

import numpy as np
import pytest
from scipy.io import savemat

from ringlet import TensorRing
from ringlet.cli.ring_text import ring_text
from ringlet.ring.ranks import bond_limits
from ringlet.store.outputs import write_array

FEW = ("--smooth", "0", "--sweeps", "8")  # enough where the quality of the ring does not matter


@pytest.fixture
def ring_file(tmp_path, run, photo):
    write_array(tmp_path / "in.png", photo)
    result = run("fit", tmp_path / "in.png", "--rank", "6,6,3", "-o", tmp_path / "x.ring", *FEW)
    assert result.exit_code == 0, result.stderr
    return tmp_path / "x.ring"


def test_fit_saves_a_ring_close_to_the_picture(ring_file, photo):
    ring = TensorRing.load(ring_file)
    assert np.linalg.norm(np.asarray(ring) - photo) < 0.05 * np.linalg.norm(photo)


def test_fit_tells_what_it_did(tmp_path, run, photo):
    write_array(tmp_path / "in.png", photo)
    said = run("fit", tmp_path / "in.png", "--rank", "4", "-o", tmp_path / "x.ring", "--solver", "sawrtrd", *FEW).stdout
    for part in ("60 × 80 × 3, uint8, 0 % missing", "rank 4, 4, 4", "SAWRTRD", "outliers", "x.ring"):
        assert part in said


@pytest.mark.parametrize(("options", "solver"), [((), "AWRTRD"), (("--samples", "500"), "SAWRTRD")])
def test_auto_takes_the_solver_that_fits(tmp_path, run, photo, options, solver):
    write_array(tmp_path / "in.png", photo)
    result = run("fit", tmp_path / "in.png", "--rank", "4", "-o", tmp_path / "x.ring", "--json", *options, *FEW)
    assert json.loads(result.stdout)["solver"] == solver


def test_key_chooses_the_array_of_a_mat_file(tmp_path, run, photo):
    savemat(tmp_path / "in.mat", {"a": photo[..., 0].astype(float), "b": photo.astype(float)})
    assert run("fit", tmp_path / "in.mat", "--rank", "4", "-o", tmp_path / "x.ring").exit_code == 2
    result = run("fit", tmp_path / "in.mat", "--key", "b", "--rank", "4", "-o", tmp_path / "x.ring", *FEW)
    assert result.exit_code == 0, result.stderr
    assert TensorRing.load(tmp_path / "x.ring").shape == photo.shape


def test_info_of_a_ring(run, ring_file):
    said = run("info", ring_file).stdout
    assert "height 60 ── 6 ── width 80 ── 3 ── colour 3" in said
    content = json.loads(run("info", ring_file, "--json").stdout)
    ring = TensorRing.load(ring_file)
    assert content["shape"] == [60, 80, 3]
    assert content["rank"] == [6, 6, 3]
    assert content["bytes"] == ring.nbytes
    assert content["norm"] == pytest.approx(ring.norm())


def test_info_of_data(tmp_path, run):
    x = np.arange(24.0).reshape(4, 6)
    x[1, 2] = np.nan
    np.save(tmp_path / "in.npy", x)
    content = json.loads(run("info", tmp_path / "in.npy", "--missing", "0", "--json").stdout)
    assert (content["shape"], content["dtype"]) == ([4, 6], "float64")
    assert (content["minimum"], content["maximum"]) == (1, 23)
    assert content["missing_share"] == pytest.approx(2 / 24)
    assert "1 to 23" in run("info", tmp_path / "in.npy", "--missing", "0").stdout


@pytest.mark.parametrize("array", [np.float32(2), np.zeros(0), np.full((2, 2), np.nan), np.array([[True, False]])])
def test_info_of_arrays_that_no_ring_fits(tmp_path, run, array):
    np.save(tmp_path / "in.npy", array)
    assert run("info", tmp_path / "in.npy").exit_code == 0
    assert run("info", tmp_path / "in.npy", "--missing", "2").exit_code == 0


def test_plan_of_a_file_and_of_its_shape_agree(tmp_path, run, photo):
    write_array(tmp_path / "in.png", photo)
    of_file = run("plan", tmp_path / "in.png", "--rank", "20,20,3", "--json").stdout
    of_shape = run("plan", "--shape", "60,80,3", "--rank", "20,20,3", "--json").stdout
    assert json.loads(of_file) == json.loads(of_shape)


def test_plan_tells_costs_and_notes_and_writes_nothing(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ("plan", "--shape", "1920,1080,3,50", "--rank", "80,80,3,20")
    content = json.loads(run(*arguments, "--json").stdout)
    assert [core["mode"] for core in content["cores"]] == [0, 1, 2, 3]
    assert content["data_bytes"] == 1920 * 1080 * 3 * 50
    assert content["sweep"]["operations"] == sum(core["operations"] for core in content["cores"])
    assert "can carry only 9" in content["notes"][0]
    said = run(*arguments).stdout
    assert "SAWRTRD, 30,000 samples" in said
    assert "note" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rank", [(), ("--rank", "AUTO"), ("--rank", "30kB"), ("--rank", "25dB")])
def test_without_a_rank_the_data_choose_it(tmp_path, run, photo, rank):
    write_array(tmp_path / "in.png", photo)
    result = run("fit", tmp_path / "in.png", "-o", tmp_path / "x.ring", "--json", *rank)
    assert result.exit_code == 0
    content = json.loads(result.stdout)
    found = content["ring"]
    assert bond_limits((60, 80, 3), found["rank"]) == tuple(found["rank"])
    assert found["bytes"] < (30_000 if "30kB" in rank else 60 * 80 * 3)
    assert content["history"][0]["held_out"] > 0


def test_a_ring_too_long_for_the_line_is_drawn_downwards():
    wide = ring_text((10,) * 9, (2,) * 9, None, 200)
    tall = ring_text((10,) * 9, (2,) * 9, None, 60)
    assert wide.count("\n") == 1
    assert max(map(len, tall.splitlines())) <= 60
    assert tall.count("10") == wide.count("10") == 9


@pytest.mark.parametrize("shapes", [[(300, 1, 300), (300, 1, 300), (300, 1, 300)], [(1, 1, 9000), (9000, 1, 1)]])
def test_info_leaves_out_a_norm_that_costs_too_much(tmp_path, run, shapes):
    TensorRing([np.zeros(shape, np.float32) for shape in shapes]).save(tmp_path / "wide.ring")
    said = run("info", tmp_path / "wide.ring")
    assert said.exit_code == 0
    assert "not computed" in said.stdout
    assert json.loads(run("info", tmp_path / "wide.ring", "--json").stdout)["norm"] is None


def test_info_of_wide_bonds_that_can_be_afforded(tmp_path, run):
    TensorRing([np.ones((80, 1, 80)), np.ones((80, 1, 80))]).save(tmp_path / "wide.ring")
    assert json.loads(run("info", tmp_path / "wide.ring", "--json").stdout)["norm"] == pytest.approx(6400)


def test_summaries_end_with_the_estimated_error_and_the_share_judged_wrong(tmp_path, run, photo):
    write_array(tmp_path / "in.png", photo)
    arguments = ("fit", tmp_path / "in.png", "-o", tmp_path / "x.ring", "--force")
    *_, error, outliers = run(*arguments).stdout.splitlines()
    assert error.startswith("error")
    assert "at entries that were not used" in error
    assert error.endswith("dB)")
    assert outliers.endswith("are judged wrong")
    content = json.loads(run(*arguments, "--json").stdout)
    assert list(content)[-3:] == ["validation", "validation_db", "outlier_share"]
    assert 0 < content["validation"] < 30
    assert content["validation_db"] == pytest.approx(20 * np.log10(np.ptp(photo) / content["validation"]), abs=2)


def test_the_error_of_constant_data_has_no_decibels(tmp_path, run):
    np.save(tmp_path / "x.npy", np.full((6, 6, 6), 101.0))
    arguments = ("fit", tmp_path / "x.npy", "--rank", "1", "-o", tmp_path / "x.ring", "--force")
    assert "nan" not in run(*arguments).stdout
    assert json.loads(run(*arguments, "--json").stdout)["validation_db"] is None


def test_a_ring_larger_than_its_data_gets_a_warning(tmp_path, run, photo):
    write_array(tmp_path / "in.png", photo[:12, :10])
    arguments = ("fit", tmp_path / "in.png", "--rank", "9,10,3", "-o", tmp_path / "x.ring", "--force", *FEW)
    assert "LARGER than the data" in run(*arguments).stdout
    assert json.loads(run(*arguments, "--json").stdout)["larger_than_data"]
    assert "LARGER than float32 data" in run("info", tmp_path / "x.ring").stdout


def test_info_says_what_a_compact_file_costs(tmp_path, run):
    rng = np.random.default_rng(0)
    ring = TensorRing([rng.standard_normal((3, 40, 3)), rng.standard_normal((3, 50, 3))])
    cost = ring.save(tmp_path / "x.ring", precision="int8")
    assert f"as int8, {(tmp_path / 'x.ring').stat().st_size / 1000:.3g} kB" in run("info", tmp_path / "x.ring").stdout
    content = json.loads(run("info", tmp_path / "x.ring", "--json").stdout)
    assert (content["precision"], content["precision_error"]) == ("int8", pytest.approx(cost))


def test_plan_needs_no_rank(run):
    done = run("plan", "--shape", "960,12", "--dtype", "float64")
    assert done.exit_code == 0, done.stderr
    assert "an upper bound" in " ".join(done.stdout.split())
    assert json.loads(run("plan", "--shape", "960,12", "--dtype", "float64", "--json").stdout)["rank"] == [2, 1]
    limited = run("plan", "--shape", "200,150,40", "--rank", "100kB", "--json").stdout
    assert json.loads(limited)["ring_bytes"] <= 100_000
