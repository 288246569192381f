"""Which entries are held out, and that a fit never sees them."""

import numpy as np
import pytest

from ringlet import AWRTRD, decompose
from ringlet.solvers.tuning.holdout import HiddenSource, HoldoutMask, hide
from ringlet.solvers.tuning.validator import Validator, Verdict
from ringlet.sources import as_source
from tuning_fits import spoiled, waves

WHOLE = (slice(None),) * 3


QUICK = AWRTRD(smooth="auto", sweeps=16, threads=1)


def test_a_mask_draws_its_share_everywhere_and_the_same_whatever_is_read():
    mask = HoldoutMask.of((60, 50, 40), 0.05, seed=3)
    whole = mask.drawn((slice(None),) * 3, (0, 1, 2))
    assert 0.045 < whole.mean() < 0.055
    for axis in range(3):
        shares = whole.mean(axis=tuple(other for other in range(3) if other != axis))
        assert shares.min() > 0
        assert shares.max() < 0.12
    part = (np.array([3, 17]), slice(5, 9), slice(None))
    np.testing.assert_array_equal(mask.drawn(part, (2, 0, 1)), whole[np.ix_([3, 17], range(5, 9))].transpose(2, 0, 1))
    source = as_source(np.zeros((60, 50, 40)))
    for hidden in (hide(source, mask), HiddenSource(source, mask)):
        np.testing.assert_array_equal(hidden.read(part)[1], ~whole[np.ix_([3, 17], range(5, 9))])


@pytest.mark.parametrize("rank", ["auto", 3])
def test_held_out_entries_never_influence_the_fit(rank, monkeypatch):
    monkeypatch.setattr(
        Validator, "compare", lambda *_: Verdict(0.2, 3.0, 0.1)
    )  # what they are to influence: the choices
    x, observed = spoiled(waves(), 0.8, 0.1)
    _, mask = Validator.of(as_source(x, observed), int(observed.sum()), 0)
    held = mask.drawn((slice(None),) * 3, (0, 1, 2)) & observed
    rings = [
        decompose(data, rank, solver=QUICK, mask=observed, callback=lambda state: state.sweep == 6).ring
        for data in (x, np.where(held, x[::-1] * 1e5, x))
    ]
    np.testing.assert_array_equal(np.asarray(rings[0]), np.asarray(rings[1]))
    assert held.sum() > 100


@pytest.mark.filterwarnings("ignore::ringlet.errors.DataWarning")
@pytest.mark.parametrize("known", [1, 2, 9])
def test_of_hardly_any_data_nothing_is_held_out(known):
    x = np.full((3, 3), np.nan)
    x.flat[:known] = 1.0
    for seed in range(20):
        assert np.isfinite(np.asarray(decompose(x, seed=seed, solver=AWRTRD(sweeps=2, smooth="auto")).ring)).all()


def test_a_mask_draws_together_what_is_missing_together():
    mask = HoldoutMask.of((60, 50, 3), 0.1, seed=0, together=(2,))
    together = mask.drawn_together(WHOLE, (0, 1, 2))
    assert (together == together[..., :1]).all()
    assert 0.03 < together.mean() < 0.07
    assert 0.08 < mask.drawn(WHOLE, (0, 1, 2)).mean() < 0.12
    part = (np.array([4, 9]), slice(3, 8), slice(1, 2))
    np.testing.assert_array_equal(mask.drawn_together(part, (2, 1, 0)), together[np.ix_([4, 9], range(3, 8), [1])].T)
