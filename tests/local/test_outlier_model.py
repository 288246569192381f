"""Atoms and densities of wrong values."""

import numpy as np
import pytest

from ringlet.local.outlier_model import outliers_of_values


def test_atoms_of_whole_numbers_are_found_at_the_ends():
    rng = np.random.default_rng(0)
    values = np.clip(rng.normal(120, 40, 40_000).round(), 1, 254)
    values[:4000], values[4000:8000] = 0, 255
    model = outliers_of_values(values)
    assert np.unique(values)[model.atoms].tolist() == [0, 255]
    assert model.share == pytest.approx(0.23, abs=0.01)  # the atoms, and 0.03 of any value


def test_a_fill_value_in_floats_is_an_atom():
    values = np.random.default_rng(1).standard_normal(20_000)
    values[:1000] = 0.25
    model = outliers_of_values(values)
    assert np.count_nonzero(model.atoms) == 1
    assert model.atoms[model.cell(np.array([0.25]))].all()
    assert not model.atoms[model.cell(np.array([0.26]))].any()


@pytest.mark.parametrize("values", [np.arange(50.0), np.random.default_rng(2).standard_normal(5000)])
def test_values_between_two_edges_belong_to_one_cell(values):
    model = outliers_of_values(values)
    middles = (model.edges[1:] + model.edges[:-1]) / 2
    assert model.cell(middles).tolist() == list(range(model.masses.size))
    assert model.cell(np.array([-1e9, 1e9])).tolist() == [0, model.masses.size - 1]


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_values_that_floats_hardly_tell_apart_have_finite_masses(dtype):
    model = outliers_of_values((1_600_000_000_000_000_000 + np.arange(3000)).astype(dtype))
    assert np.isfinite(model.masses).all()
    assert model.share > 0


def test_atoms_shrink_to_what_is_judged_wrong():
    values = np.concatenate([np.zeros(2000), np.random.default_rng(3).integers(0, 256, 8000)])
    model = outliers_of_values(values)
    wrong = np.zeros(model.masses.size)
    wrong[0] = 0.1
    for _ in range(20):
        model = model.learned_again(wrong)
    assert model.masses[0] == pytest.approx(0.1, abs=0.001)


def test_counts_do_not_depend_on_the_type_of_whole_numbers():
    values = np.concatenate([np.random.default_rng(0).integers(20, 200, 9000), np.full(500, 255)])
    counted, sorted_ = (outliers_of_values(values.astype(dtype)) for dtype in (np.uint8, np.int32))
    np.testing.assert_array_equal(counted.edges, sorted_.edges)
    np.testing.assert_array_equal(counted.counts, sorted_.counts)
    np.testing.assert_array_equal(counted.atoms, sorted_.atoms)


def test_frequent_values_of_a_grid_are_no_atoms():
    rng = np.random.default_rng(0)
    values = rng.binomial(60, 0.4, 20_000) / 255  # whole numbers in other units
    values[:2000] = rng.random(2000)
    assert not outliers_of_values(values).atoms.any()
    values[2000:4000] = -1
    model = outliers_of_values(values)
    assert np.flatnonzero(model.atoms).tolist() == [0]
    assert model.masses[0] == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("end", [0, 255])
def test_impulses_are_seen_where_frequencies_rise_from_the_end_of_the_range(end):
    rng = np.random.default_rng(0)
    dark = np.minimum(rng.poisson(8, 20_000), 255)  # many values near black, hardly any that is black
    values = abs(end - dark)
    assert not outliers_of_values(values).atoms.any()
    values[rng.random(values.size) < 0.1] = end
    model = outliers_of_values(values)
    assert np.flatnonzero(model.atoms).tolist() == [0 if end == 0 else model.atoms.size - 1]
    assert model.masses[model.atoms][0] == pytest.approx(0.1, abs=0.01)


def test_the_most_frequent_values_of_a_narrow_histogram_are_no_atoms():
    values = np.concatenate(
        [np.full(size, value) for value, size in enumerate((40, 100, 250, 330, 480, 450, 190, 100))]
    )
    assert not outliers_of_values(np.concatenate([values, np.arange(8, 200).repeat(9)])).atoms.any()
