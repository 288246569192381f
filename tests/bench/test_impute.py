"""`ringlet bench impute`: outages are what their names say, rivals do what they should, records add up."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from ringlet.bench.impute.cases import ImputeCase, cases_of
from ringlet.bench.impute.rivals import METHODS, measure
from ringlet.bench.impute.samples import MeasuredTensor, builtin_tensors, tensors_in
from ringlet.bench.impute.table import markdown, rows_of
from ringlet.cli.group import group
from ringlet.errors import ArgumentError

SHAPE = (12, 10, 14)


def plane(shape=SHAPE):
    """Linear in every index, so that interpolation is exact inside; of rank 2."""
    i, j, k = np.ogrid[tuple(slice(length) for length in shape)]
    return (3.0 * i + 2.0 * j - k).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    (root / "tensors").mkdir()
    observed = np.ones(SHAPE, bool)
    observed[2:4, 5:7] = False
    np.savez(root / "tensors/plane.npz", tensor=np.where(observed, plane(), -999), observed=observed)
    np.save(root / "tensors/long.npy", plane((12, 40, 14)))
    return root


def impute(*arguments):
    return CliRunner().invoke(group, ["bench", "impute", *map(str, arguments)])


def case(outage, wrong=0, fibre_mode=-1):
    return ImputeCase(MeasuredTensor("plane", plane, fibre_mode), outage, wrong)


def test_random_outages_hide_three_in_ten_entries():
    outages = case("random").outages()
    assert outages.hidden.mean() == pytest.approx(0.3, abs=0.03)
    assert np.array_equal(np.isnan(outages.data), outages.hidden)
    np.testing.assert_allclose(outages.data[~outages.hidden], outages.truth[~outages.hidden], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("mode", [0, 1, 2, -1])
def test_fibres_are_hidden_whole(mode):
    hidden = case("fibre", fibre_mode=mode).outages().hidden
    assert 0.15 < hidden.mean() < 0.45
    assert np.array_equal(hidden.any(axis=mode), hidden.all(axis=mode))
    others = [other for other in range(3) if other != mode % 3]
    assert not any(hidden.all(axis=other).any() for other in others)


def test_blocks_are_boxes():
    hidden = case("block").outages().hidden
    assert 0.3 <= hidden.mean() < 0.45
    windows = np.lib.stride_tricks.sliding_window_view(hidden, (3, 2, 4))
    covered = np.zeros(SHAPE, bool)
    for start in np.argwhere(windows.all(axis=(3, 4, 5))):
        covered[tuple(slice(first, first + side) for first, side in zip(start, (3, 2, 4), strict=True))] = True
    assert np.array_equal(covered, hidden)


def test_five_percent_of_what_is_left_are_at_the_ends_of_the_range_and_the_gaps_stay():
    clean, wrong = case("random").outages(), case("random", wrong=5).outages()
    assert np.array_equal(clean.hidden, wrong.hidden)
    kept = ~clean.hidden
    changed = np.abs(wrong.data - clean.data)[kept] > 1e-3
    assert changed.mean() == pytest.approx(0.05, abs=0.005)
    ends = [plane().min(), plane().max()]
    assert np.abs(wrong.data[kept][changed][:, None] - ends).min(axis=1).max() < 1e-3


def test_the_score_is_the_error_of_hidden_entries_in_standard_deviations():
    outages = case("random").outages()
    estimate = outages.truth.astype(np.float64)
    estimate[outages.hidden] += 2.0
    estimate[~outages.hidden] = 1e9
    assert outages.score(estimate) == pytest.approx(2.0 / plane().std(), rel=1e-6)


def test_entries_without_a_truth_are_never_scored(folder):
    tensor = next(one for one in tensors_in(folder, 10**6, {}) if one.name == "plane")
    outages = ImputeCase(tensor, "block", 5).outages()
    assert np.isnan(outages.data[2:4, 5:7]).all()
    assert not outages.hidden[2:4, 5:7].any()
    assert np.isfinite(outages.score(np.zeros(SHAPE)))


def test_large_tensors_are_thinned_along_their_longest_mode(folder):
    shapes = {tensor.name: tensor.read().shape for tensor in tensors_in(folder, 2000, {})}
    assert shapes == {"plane": (12, 10, 14), "long": (12, 10, 14)}


def test_an_unknown_tensor_of_fibre_mode_is_named(folder):
    with pytest.raises(ArgumentError, match="--fibre-mode sea: --data has no such tensor; it has long, plane"):
        tensors_in(folder, 2000, {"sea": 0})


def test_interpolation_is_exact_on_a_plane_away_from_its_ends():
    tensor = plane()
    data = tensor.astype(np.float64)
    hidden = np.zeros(SHAPE, bool)
    hidden[1:-1, 1:-1, 1:-1] = np.random.default_rng(0).random((10, 8, 12)) < 0.3
    data[hidden] = 999.0
    for setting, estimate in METHODS["interpolation"](data, ~hidden):
        np.testing.assert_allclose(estimate[hidden], tensor[hidden], atol=1e-9, err_msg=setting)


def test_pca_recovers_a_table_of_low_rank():
    rng = np.random.default_rng(0)
    tensor = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((length, 2)) for length in (14, 12, 10)))
    hidden = rng.random(tensor.shape) < 0.2
    found = METHODS["PCA-EM"](np.where(hidden, 999.0, tensor), ~hidden)
    errors = [np.linalg.norm((estimate - tensor)[hidden]) for _, estimate in found]
    assert min(errors) < 0.05 * np.linalg.norm(tensor[hidden])


@pytest.mark.parametrize("method", list(METHODS))
def test_all_rivals_keep_the_modes_in_order_and_beat_the_mean(method):
    if method in ("IterativeImputer", "KNNImputer"):
        pytest.importorskip("sklearn")
    if method == "CP":
        pytest.importorskip("tensorly")
    record = measure(method, case("random").outages())
    assert record["nrmse"] < 0.6  # the mean of the data has 1, a transposed estimate more
    assert record["tried"] >= 1


def test_the_command_records_continues_and_measures_again(folder, tmp_path):
    out = tmp_path / "record.jsonl"
    chosen = ("--data", folder, "--cases", "plane-fibre-*", "--out", out)
    first = impute(*chosen, "--method", "interpolation", "--json")
    assert first.exit_code == 0, first.output
    rows = json.loads(first.stdout)["cases"]
    assert [(row["outage"], row["wrong"]) for row in rows] == [("fibre", 0), ("fibre", 5)]
    assert len(out.read_text().splitlines()) == 2
    second = impute(*chosen, "--method", "interpolation", "--method", "PCA-EM")
    assert second.exit_code == 0, second.output
    assert len(out.read_text().splitlines()) == 4  # the first two were not measured again
    assert "Iterative" in second.stdout
    assert "plane" in second.stdout
    assert impute(*chosen, "--method", "PCA-EM", "--again").exit_code == 0
    assert len(out.read_text().splitlines()) == 6


def test_ringlet_is_fitted_without_settings(folder):
    result = impute("--data", folder, "--cases", "plane-random-w0", "--method", "ringlet", "--json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)["cases"]
    assert row["nrmse"]["ringlet"] < 0.1
    assert row["won"] is None


def test_a_pattern_without_a_case_is_named():
    result = impute("--cases", "sea-*")
    assert result.exit_code == 2
    assert "--cases 'sea-*' matches none of the cases" in result.output


def record(method, nrmse, seconds=1.0):
    facts = {"case": "sea-fibre-w5", "tensor": "sea", "outage": "fibre", "wrong": 5}
    return facts | {"method": method, "nrmse": nrmse, "seconds": seconds}


def test_of_two_records_the_later_counts_and_the_least_error_is_bold():
    rows = rows_of([record("ringlet", 0.9), record("CP", 0.25), record("ringlet", 0.0514, 3.21)])
    assert len(rows) == 1
    assert rows[0].won is True
    assert rows[0].best_rival == ("CP", 0.25)
    assert markdown(rows).splitlines()[-1] == "| sea | fibre | 5 % | **.051** |  |  | .250 |  |  | 3.2 |"


def test_a_method_that_failed_has_no_score():
    (row,) = rows_of([record("ringlet", 0.2), record("CP", None)])
    assert row.won is None
    assert row.cells()[5] == ""


def test_builtin_tensors_make_twelve_cases_that_are_always_the_same():
    cases = cases_of(builtin_tensors())
    assert len({one.name for one in cases}) == 12
    first, second = (cases[3].outages().data.tobytes() for _ in range(2))
    assert first == second
