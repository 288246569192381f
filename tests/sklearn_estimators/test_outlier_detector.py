"""Rows that do not fit the others."""

import numpy as np
import pytest

from ringlet.errors import ArgumentError

metrics = pytest.importorskip("sklearn.metrics")
RingOutlierDetector = pytest.importorskip("ringlet.sklearn").RingOutlierDetector


def table(seed=0):
    """Rows from two factors; a tenth of them breaks the correlation, within the range of every column."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 10)) + 0.1 * rng.standard_normal((200, 10))
    wrong = np.arange(200) < 20
    X[wrong] = rng.permuted(X[wrong], axis=1)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, wrong


def test_rows_that_break_the_correlations_have_low_scores():
    X, wrong = table()
    detector = RingOutlierDetector().fit(X)
    assert metrics.roc_auc_score(wrong, -detector.score_samples(X)) > 0.97
    assert (detector.predict(X)[wrong] == -1).mean() > 0.85


def test_new_rows_are_judged_by_themselves():
    X, wrong = table()
    detector = RingOutlierDetector().fit(X[50:])
    scores = detector.score_samples(X[:50])
    assert metrics.roc_auc_score(wrong[:50], -scores) > 0.95
    np.testing.assert_allclose(detector.score_samples(X[7:8]), scores[7:8])


def test_the_decision_is_the_score_less_the_offset():
    X, _ = table()
    detector = RingOutlierDetector(contamination="auto").fit(X)
    np.testing.assert_allclose(detector.decision_function(X), detector.score_samples(X) - detector.offset_)
    assert 0.05 < (detector.predict(X) == -1).mean() < 0.2


def test_the_contamination_is_the_share_of_outliers_in_the_training_data():
    X, _ = table()
    assert (RingOutlierDetector(contamination=0.2).fit_predict(X) == -1).mean() == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize("contamination", [0, 0.6, "none"])
def test_impossible_contaminations_are_named(contamination):
    with pytest.raises(ArgumentError, match="contamination"):
        RingOutlierDetector(contamination=contamination).fit(table()[0])
