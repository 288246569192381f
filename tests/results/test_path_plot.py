"""The plot of the rungs of an automatic fit."""

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from ringlet import decompose
from ringlet.errors import ArgumentError


def test_every_rung_is_drawn_with_its_rank_and_the_best_one_is_marked():
    x = np.sin(np.add.outer(np.arange(30) / 7, np.arange(26) / 5)) + np.random.default_rng(0).normal(0, 0.1, (30, 26))
    fit = decompose(x)
    axes = fit.plot_path(Figure().add_subplot())
    line, best = axes.lines
    assert line.get_xdata().tolist() == [rung.parameters for rung in fit.path]
    assert line.get_ydata().tolist() == [rung.validation for rung in fit.path]
    assert best.get_ydata().tolist() == [min(rung.validation for rung in fit.path)]
    assert [text.get_text() for text in axes.texts] == [", ".join(map(str, rung.rank)) for rung in fit.path]


def test_without_axes_there_is_a_new_figure():
    pyplot.switch_backend("agg")
    before = pyplot.get_fignums()
    axes = decompose(np.random.default_rng(0).normal(size=(20, 16))).plot_path()
    assert pyplot.get_fignums() == [*before, axes.figure.number]
    pyplot.close(axes.figure)


def test_a_given_rank_has_no_path():
    with pytest.raises(ArgumentError, match="has no path: its rank was given"):
        decompose(np.eye(8), 2).plot_path()


def test_the_share_explained_tells_structure_from_noise():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((30, 26, 8))
    waves = np.sin(np.add.outer(np.add.outer(np.arange(30) / 7, np.arange(26) / 5), np.arange(8)))
    assert decompose(noise).explained_share < 0.1
    assert decompose(waves + 0.1 * noise).explained_share == pytest.approx(1 - 0.01 / 0.51, abs=0.01)
    assert np.isnan(decompose(noise, 2, smooth=0.0).explained_share)
