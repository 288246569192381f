"""Missing entries of tables, filled in by a ring."""

import numpy as np
import pytest

from ringlet.errors import ArgumentError

pandas = pytest.importorskip("pandas")
base = pytest.importorskip("sklearn.base")
linear_model = pytest.importorskip("sklearn.linear_model")
model_selection = pytest.importorskip("sklearn.model_selection")
pipelines = pytest.importorskip("sklearn.pipeline")
RingImputer = pytest.importorskip("ringlet.sklearn").RingImputer


def table(rows=80, columns=12, missing=0.2, seed=0):
    """Columns of very different units, from three factors."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((rows, 3)) @ rng.standard_normal((3, columns)) * np.logspace(-3, 3, columns) + 50
    damaged = truth + 0.02 * truth.std(axis=0) * rng.standard_normal(truth.shape)
    damaged[rng.random(truth.shape) < missing] = np.nan
    return truth, damaged


def weeks(rows=40, seed=0):
    """Hours of days: the columns are 7 x 12."""
    rng = np.random.default_rng(seed)
    day, hour = 1 + 0.3 * np.sin(np.arange(7)), np.exp(-((np.arange(12) - 6) ** 2) / 8)
    truth = np.einsum("i,j,k->ijk", rng.uniform(50, 150, rows), day, hour).reshape(rows, -1)
    damaged = truth + rng.normal(0, 1, truth.shape)
    damaged[rng.random(truth.shape) < 0.4] = np.nan
    return truth, damaged


def error(filled, truth, damaged):
    """Relative to filling in the medians of the columns."""
    hidden = np.isnan(damaged)
    naive = np.broadcast_to(np.nanmedian(damaged, axis=0), truth.shape)
    spread = truth.std(axis=0)
    wrong = np.sqrt(np.mean((((filled - truth) / spread)[hidden]) ** 2))
    return wrong / np.sqrt(np.mean((((naive - truth) / spread)[hidden]) ** 2))


def test_missing_entries_are_filled_in_and_known_ones_stay():
    truth, damaged = table()
    filled = RingImputer().fit_transform(damaged)
    known = ~np.isnan(damaged)
    np.testing.assert_array_equal(filled[known], damaged[known])
    assert error(filled, truth, damaged) < 0.25


def test_new_rows_are_filled_in_with_the_columns_that_were_learned():
    truth, damaged = table(rows=160)
    imputer = RingImputer().fit(damaged[:100])
    filled = imputer.transform(damaged[100:])
    assert error(filled, truth[100:], damaged[100:]) < 0.3
    np.testing.assert_allclose(imputer.transform(damaged[120:121]), filled[20:21])


def test_folded_columns_are_filled_in():
    truth, damaged = weeks()
    folded = RingImputer(modes=(7, 12)).fit_transform(damaged)
    hidden = np.isnan(damaged)
    assert np.sqrt(np.mean((folded - truth)[hidden] ** 2)) < 0.02 * truth.std()


def test_gross_errors_hardly_change_what_is_filled_in():
    truth, damaged = table()
    rng = np.random.default_rng(1)
    wrong = rng.random(truth.shape) < 0.03
    gross = np.broadcast_to(50 + 40 * truth.std(axis=0), truth.shape)
    damaged = np.where(wrong & ~np.isnan(damaged), gross, damaged)
    assert error(RingImputer().fit_transform(damaged), truth, damaged) < 0.5


def test_rows_without_any_known_entry_get_the_usual_values():
    _, damaged = table()
    filled = RingImputer().fit(damaged).transform(np.full((1, 12), np.nan))
    assert np.isfinite(filled).all()
    assert (np.abs(filled - np.nanmedian(damaged, axis=0)) < np.nanstd(damaged, axis=0)).all()


def test_frames_keep_their_names():
    _, damaged = table(columns=3, missing=0.1)
    frame = pandas.DataFrame(damaged, columns=["a", "b", "c"])
    imputer = RingImputer(rank=1).set_output(transform="pandas").fit(frame)
    assert list(imputer.transform(frame).columns) == ["a", "b", "c"]
    assert list(imputer.get_feature_names_out()) == ["a", "b", "c"]


def test_it_works_in_pipelines_clones_and_searches():
    truth, damaged = table()
    target = truth @ (1 / truth.std(axis=0))
    pipeline = pipelines.make_pipeline(RingImputer(rank=3), linear_model.Ridge())
    search = model_selection.GridSearchCV(base.clone(pipeline), {"ringimputer__rank": [1, 3]}, cv=2)
    assert search.fit(damaged, target).best_params_ == {"ringimputer__rank": 3}


@pytest.mark.parametrize("modes", [(3, 5), (), 12, (3.0, 4), (0, 12)])
def test_modes_that_do_not_fold_the_columns_are_named(modes):
    with pytest.raises((ArgumentError, TypeError), match="modes"):
        RingImputer(modes=modes).fit(table()[1])
