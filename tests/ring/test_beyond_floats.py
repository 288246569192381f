"""Numbers that are too large for floats, and other values that used to end in an exception of Python's own."""

import numpy as np
import pytest

import ringlet
from ringlet import AWRTRD, SAWRTRD, TensorRing, decompose, fold, plan
from ringlet.errors import ArgumentError, ArgumentTypeError, BudgetError, ExecutionError, IndexingError
from ringlet.execution import DaskExecutor
from ringlet.sources.files import load

HUGE = 10**400
X = np.random.default_rng(0).random((5, 4, 3))


@pytest.fixture
def ring():
    return TensorRing([np.ones((2, 4, 2)), np.ones((2, 3, 2))])


@pytest.mark.parametrize("field", ["memory", "sigma", "sigma_factor", "sigma_min", "ridge", "smooth", "samples", "tol"])
@pytest.mark.parametrize("sign", [1, -1])
def test_fields_of_solvers_name_a_number_beyond_floats(field, sign):
    with pytest.raises(ArgumentError, match=field):
        SAWRTRD(**{field: sign * HUGE})


def test_other_arguments_name_a_number_beyond_floats(ring, tmp_path):
    for call, name in [
        (lambda: decompose(X, HUGE), "rank"),
        (lambda: decompose(X, (2, HUGE, 2)), "rank"),
        (lambda: ringlet.budget(HUGE), "amount"),
        (lambda: ringlet.target(psnr=HUGE), "psnr"),
        (lambda: ring.round(tol=HUGE), "tol"),
        (lambda: ring.round(rank=HUGE), "rank"),
        (lambda: ring * HUGE, "factor"),
        (lambda: HUGE * ring, "factor"),
        (lambda: ring / HUGE, "divisor"),
        (lambda: load(tmp_path / "x.npy", max_size=HUGE), "max_size"),
    ]:
        with pytest.raises(ArgumentError, match=name):
            call()
    with pytest.raises(IndexingError):
        ring[HUGE]


@pytest.mark.parametrize("amount", [10**400, "9" * 400])
def test_times_of_very_many_digits_are_not_shown(amount):
    with pytest.raises(ArgumentError, match=r"time=\(a long number\) is not a time"):
        decompose(X, 1, time=amount)


def test_amounts_of_memory_that_no_machine_has_are_refused():
    for amount in ("9" * 400, "9" * 5000, "9" * 320 + "GB", 10**30, 10**5000, 1e300, "99999999999999TB"):
        with pytest.raises(ArgumentError, match="is not an amount of memory") as caught:
            AWRTRD(smooth=0.0, sweeps=30, memory=amount)
        assert len(str(caught.value)) < 200


def test_a_slice_with_step_zero_is_an_indexing_error(ring):
    with pytest.raises(IndexingError, match="step of a slice cannot be 0"):
        ring[::0]


def test_an_array_in_place_of_a_word_is_refused():
    with pytest.raises(ArgumentError, match="loss="):
        AWRTRD(smooth=0.0, sweeps=30, loss=np.ones(3))


def test_data_of_too_many_modes_are_refused_and_of_62_fitted():
    most = X[:, :, :1].reshape(5, 4, *(1,) * 60)
    assert decompose(most, 1, solver=AWRTRD(smooth=0.0, sweeps=1)).ring.shape == most.shape
    with pytest.raises(ArgumentError, match="data has 63 modes; at most 62 are allowed"):
        decompose(most[..., None], 1)


def test_a_ring_of_more_modes_than_arrays_have_can_be_used_but_not_made_dense():
    long = TensorRing([np.ones((1, 2, 1))] * 80)
    assert long.norm() == pytest.approx(2.0**40)
    with pytest.raises(ArgumentError, match="80 modes, arrays have at most 64"):
        np.asarray(long)


@pytest.mark.parametrize("address", ["tls://", "tls://127.0.0.1:1", "tcp://", "", "nonsense://x"])
def test_addresses_without_a_scheduler_are_told(address):
    with (
        pytest.raises((ArgumentError, ArgumentTypeError, ExecutionError), match="scheduler"),
        DaskExecutor.connect(address),
    ):
        pass


def test_digits_beyond_what_python_reads_are_no_dtype(ring):
    for call in (lambda dtype: AWRTRD(dtype=dtype), lambda dtype: plan((5, 4), 2, dtype=dtype), ring.astype):
        with pytest.raises(ArgumentTypeError):
            call("9" * 5000)


def test_numbers_beyond_floats_are_not_added(ring):
    for add in (ring.__add__, ring.__radd__, ring.__sub__, ring.__rsub__):
        with pytest.raises(ArgumentError, match="the summand is a number of about 400 digits"):
            add(10**400)


def test_tensors_that_do_not_fit_into_memory_are_a_budget_error():
    long = TensorRing([np.ones((1, 10**6, 1))] * 6)
    for call in (np.asarray, lambda ring: ring[...], lambda ring: ring[:, 0], lambda ring: ring.to_xarray()):
        with pytest.raises(BudgetError, match=r"a tensor of shape \(1000000, .* does not fit into memory; index a"):
            call(long)
    with pytest.raises(BudgetError, match=r"folded tensor of shape \(1000000000000000, 1, 3\) does not fit"):
        fold(np.zeros((2, 3)), [(10**15, 1), None])
    with pytest.raises(ArgumentError, match=r"factors\[0\]=.* arrays have at most"):
        fold(np.zeros((2, 3)), [10**20, None])


def test_fits_refuse_indices_of_step_zero_and_ragged_lists(ring):
    fit = decompose(np.random.default_rng(0).random((4, 3)), 2, solver=AWRTRD(smooth=0.0, sweeps=1))
    for view in (fit.weights, fit.residuals, fit.zscores, fit.outliers, fit.uncertainty, fit.restored):
        with pytest.raises(IndexingError, match="the step of a slice cannot be 0"):
            view(slice(None, None, 0))
        with pytest.raises(IndexingError, match="index="):
            view([[0, 1], [0]])
