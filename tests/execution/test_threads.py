"""Threads: order, errors, and the limit on BLAS."""

import json
import os
import subprocess
import sys

import pytest
import scipy.linalg.lapack  # noqa: F401 - its BLAS is there before and after
from threadpoolctl import threadpool_info

from ringlet.execution import Threads


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(count):
    with Threads(count) as threads:
        assert list(threads.run(lambda i: i * i, range(50))) == [i * i for i in range(50)]


def test_errors_of_pieces_reach_the_caller():
    with Threads(2) as threads, pytest.raises(ZeroDivisionError):
        list(threads.run(lambda i: 1 // (i - 3), range(50)))


def test_blas_limit_is_lifted_when_the_last_of_overlapping_fits_ends():
    before = blas_threads()
    first, second = Threads(1), Threads(2)
    first.__enter__()
    second.__enter__()
    assert set(blas_threads()) == {1}
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_blas_libraries_that_a_fit_loads_are_held_to_one_thread_too():
    script = """
import json
import numpy as np
from threadpoolctl import threadpool_info
from ringlet import SAWRTRD, decompose
seen = []
x = np.random.default_rng(0).random((12, 10, 8))
decompose(x, 2, solver=SAWRTRD(smooth=0.0, samples=20, sweeps=2), callback=lambda state: seen.extend(threadpool_info()))
print(json.dumps([pool["num_threads"] for pool in seen if pool["user_api"] == "blas"]))
"""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, env=environment)
    assert set(json.loads(finished.stdout)) == {1}
