"""How fits and estimates show themselves."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from ringlet import AWRTRD, baselines, complete, decompose
from ringlet.results.summary import size_fact

RNG = np.random.default_rng(0)
X = np.fromfunction(lambda i, j, k: np.sin(i / 9) * np.cos(j / 7) + k, (30, 25, 4)) + RNG.normal(0, 0.05, (30, 25, 4))
X[3, 4, 2] = 9.0


@pytest.fixture(scope="module")
def waves_fit():
    """An automatic fit of the waves."""
    return decompose(X)


def test_the_text_of_a_fit_is_short_and_says_what_matters(waves_fit):
    """The history has dozens of records; none of them belongs into a text."""
    text = repr(waves_fit)
    assert "\n" not in text
    assert len(text) < 300
    for part in (
        "30 × 25 × 4",
        waves_fit.status.name,
        f"validation error {waves_fit.validation:.3g}",
        "judged wrong 0.033 %",
    ):
        assert part in text
    assert f"sweeps {len(waves_fit.history)}" in text
    assert text.endswith("judged wrong 0.033 %)")


def test_the_validation_error_is_close_to_the_true_one(waves_fit):
    truth = np.fromfunction(lambda i, j, k: np.sin(i / 9) * np.cos(j / 7) + k, X.shape)
    true_error = np.sqrt(np.mean((np.asarray(waves_fit.ring) - truth) ** 2) + 0.05**2)
    assert waves_fit.validation == pytest.approx(true_error, rel=0.2)
    assert waves_fit.validation_db == pytest.approx(20 * np.log10(4.9 / waves_fit.validation), abs=1.0)


def test_without_held_out_entries_there_is_no_validation_error(waves_fit):
    fit = replace(waves_fit, history=tuple(replace(record, held_out=np.nan) for record in waves_fit.history))
    assert np.isnan(fit.validation)
    assert np.isnan(fit.validation_db)
    assert "validation" not in repr(fit)
    assert "change of the model" in fit._repr_html_()


def test_the_card_holds_the_facts_and_the_path_of_the_error(waves_fit):
    card = ElementTree.fromstring(waves_fit._repr_html_())  # noqa: S314 - our own text
    words = " ".join(card.itertext())
    assert "CONVERGED" in words
    assert f"{waves_fit.validation:.3g} in sweep" in words
    line = card.find(".//{http://www.w3.org/2000/svg}polyline")
    assert len(line.get("points").split()) > 5
    assert "script" not in waves_fit._repr_html_()


def test_names_from_files_cannot_break_the_card(waves_fit):
    fit = replace(waves_fit, ring=type(waves_fit.ring)(waves_fit.ring.cores, units="<script>"))
    assert "<script>" not in fit._repr_html_()


def test_a_ring_larger_than_its_data_is_named(waves_fit):
    x = np.arange(4, dtype=np.uint8) + np.zeros((6, 5, 1), np.uint8)
    text = repr(decompose(x, 4, solver=AWRTRD(sweeps=3)))
    assert "LARGER than the data" in text
    assert "120 B of data" in text
    assert "LARGER" not in repr(waves_fit)
    assert "LARGER" not in size_fact(10, 10)[1]


def test_an_extended_fit_shows_itself_by_the_slices_it_holds():
    text = repr(decompose(X[:20], rank=3, solver=AWRTRD(sweeps=5)).extend(X[20:], mode=0))
    assert "30 × 25 × 4" in text
    assert "judged wrong" in text


def test_the_summary_of_a_stored_fit_reads_nothing(waves_fit):
    class Untouchable:
        shape, dtype, names, units, chunks = X.shape, X.dtype, None, None, ((30,), (25,), (4,))

        def read(self, block, order=None):
            raise AssertionError("a summary must not read a store")

    text = repr(replace(waves_fit, _source=Untouchable()))
    assert "judged wrong" not in text
    assert "CONVERGED" in text


def test_estimates_without_a_ring_show_themselves():
    estimate = complete(X[:8, :7], solver=baselines.L1TNN())
    assert repr(estimate).startswith("Estimate(shape 8 × 7 × 4, rank none, status ")
    assert estimate._repr_html_().startswith("<div")
