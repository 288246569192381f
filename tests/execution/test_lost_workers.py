"""Workers that die at the worst instants: sent again, or told for what it is."""

import logging

import pytest

from cluster_fits import RANK, bits, tensor
from ringlet import AWRTRD, DaskExecutor, decompose
from ringlet.errors import ArgumentError, ExecutionError

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.usefixtures("small_pieces")


@pytest.fixture
def lonely():
    """A cluster of one worker, of which the test may take it."""
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield cluster, client


def test_a_worker_that_dies_with_what_it_was_sent_costs_no_bit(lonely, monkeypatch):
    """Dask raises the KeyError of its own table of workers then."""
    _, client = lonely
    x, solver = tensor("float32"), AWRTRD(smooth=0.0, sweeps=3, tol=0)
    scatter, calls = client.scatter, []

    def dying(*args, **kwargs):
        calls.append(args)
        if len(calls) in (2, 5):
            raise KeyError("tcp://10.0.0.7:4321")
        return scatter(*args, **kwargs)

    monkeypatch.setattr(client, "scatter", dying)
    there = decompose(x, RANK, solver=solver, executor=DaskExecutor(client))
    assert len(calls) > 5
    assert bits(there) == bits(decompose(x, RANK, solver=solver))


def test_workers_that_die_again_and_again_are_named(lonely, monkeypatch):
    _, client = lonely

    def dying(*_args, **_kwargs):
        raise KeyError("tcp://10.0.0.7:4321")

    monkeypatch.setattr(client, "scatter", dying)
    with pytest.raises(ExecutionError, match=r"were lost 5 times.*10\.0\.0\.7"):
        decompose(tensor("float32"), RANK, solver=AWRTRD(smooth=0.0, sweeps=3), executor=DaskExecutor(client))


def test_when_all_workers_are_dead_it_is_not_the_scheduler_that_was_lost(lonely):
    cluster, client = lonely

    def kill(_state):
        cluster.scale(0)
        cluster.sync(cluster._correct_state)

    with pytest.raises(ExecutionError, match=r"has had no workers for 0\.5 s; start some"):
        decompose(
            tensor("float32"),
            RANK,
            solver=AWRTRD(smooth=0.0, sweeps=30, tol=0),
            executor=DaskExecutor(client, patience=0.5),
            callback=kill,
        )


def test_patience_is_a_number_above_zero(lonely):
    with pytest.raises(ArgumentError, match="patience=0 is not allowed"):
        DaskExecutor(lonely[1], patience=0)
