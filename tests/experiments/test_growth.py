"""Slopes and what is said about them."""

import numpy as np
import pytest
from scipy.stats import linregress, t

from ringlet.experiments.complexity import PAPER, Series, fit_slope, growth, measure, series


def test_slopes_and_intervals_agree_with_scipy():
    rng = np.random.default_rng(0)
    sizes = np.array([10, 20, 30, 50, 80])
    values = 3e-4 * sizes**1.7 * np.exp(rng.normal(0, 0.1, 5))
    found, expected = fit_slope(sizes, values), linregress(np.log(sizes), np.log(values))
    reach = t.ppf(0.975, 3) * expected.stderr
    assert found.value == pytest.approx(expected.slope)
    assert (found.low, found.high) == pytest.approx((expected.slope - reach, expected.slope + reach))


@pytest.mark.parametrize("one", series(), ids=lambda one: f"{one.method}-{one.axis}")
def test_the_papers_formulas_have_the_exponents_written_beside_them(one):
    paper, words = PAPER[one.method], PAPER[one.method].exponents[one.axis]
    if words == "exp":
        small, large = (paper.operations(one.points[0] | {"N": order}) for order in (20, 21))
        length = one.points[0]["K" if one.method == "rTRALS" else "I"]
        assert large / small == pytest.approx(length, rel=0.1)
        return
    far = {"I": 1e4, "r": 1e6, "N": 1e6, "J": 1e9}[one.axis]
    slope = fit_slope([far, 2 * far], [paper.operations(one.points[0] | {one.axis: far * k}) for k in (1, 2)])
    assert slope.value == pytest.approx(float(words.split()[-1]), abs=0.05)


def test_notes_tell_where_python_shows_and_where_growth_differs():
    def record(method, axis, seconds):
        identity = Series(method, axis).identity
        return identity | {
            "status": "ok",
            "seconds": seconds,
            "memory": [10**6 * s for s in identity["settings"]["sizes"]],
        }

    sizes = Series("SAWRTRD", "J").identity["settings"]["sizes"]
    linear, square = [1e-4 * size for size in sizes], [1e-6 * size**2 for size in sizes]
    rows = growth([record("SAWRTRD", "J", square), record("TRALS-S", "J", linear)])
    assert [row.method for row in rows] == ["TRALS-S", "SAWRTRD"]
    assert [row.note for row in rows] == ["", "grows more than the paper's formula"]
    assert rows[0].memory.value == pytest.approx(1)
    (short,) = growth([record("SAWRTRD", "J", [second / 1e3 for second in linear])])
    assert "Python's own work shows" in short.note
    (flat,) = growth([record("SAWRTRD", "J", [1.0] * len(sizes))])
    assert flat.note == "grows less than the paper's formula"
    (order,) = growth([record("TRALS", "N", [1.0, 10.0, 100.0, 1000.0])])
    assert "the last mode takes 10.0 times as long, in the paper 16.8" in order.note


def test_measuring_gives_a_time_and_a_memory_for_every_size():
    found = measure({"method": "FGMC", "axis": "N"})
    assert found["status"] == "ok"
    assert len(found["seconds"]) == len(found["memory"]) == len(Series("FGMC", "N").points)
    assert all(second > 0 for second in found["seconds"])
    assert found["memory"][-1] > found["memory"][0]
