"""Workers of a cluster of three processes, killed at random instants of a fit: the bits are those without it.

    python -m soak.worker_kills KILLS SEED

prints outcomes by word, and what was violated.
"""

import json
import logging
import os
import random
import sys
import threading
import time
from collections import Counter

import distributed

from cluster_fits import RANK, bits, eager, tensor
from ringlet import AWRTRD, decompose


def killed(kills, seed):
    """Fits go on until there were so many kills while one was running."""
    x, solver = tensor("float32"), AWRTRD(smooth=0.0, sweeps=4, tol=0)
    expected = bits(decompose(x, RANK, solver=solver))
    outcomes, violations = Counter(), []
    chance = random.Random(seed)  # noqa: S311 - no secret
    while outcomes.total() < kills:
        with (
            distributed.LocalCluster(
                n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=logging.CRITICAL
            ) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            start = time.perf_counter()
            decompose(x, RANK, solver=solver, executor=eager(client))
            usual = time.perf_counter() - start
            while outcomes.total() < kills and _complete(client):
                process = chance.choice(list(client.run(os.getpid).values()))
                after = chance.random() * usual
                timer = threading.Timer(after, _kill, [process])
                timer.start()
                try:
                    same = bits(decompose(x, RANK, solver=solver, executor=eager(client))) == expected
                except Exception as error:  # whatever it is, the fit has been lost with the worker
                    same = False
                    violations.append(f"seed {seed}, {after:.2f} s: {error!r}")
                if not timer.is_alive() or not same:  # otherwise the fit was faster
                    outcomes["same bits" if same else "violated"] += 1
                timer.cancel()
                timer.join()
    return outcomes, violations


def _complete(client):
    """Whether all workers are there again; Dask gives up one that was killed while it started."""
    try:
        client.wait_for_workers(3, timeout=20)
    except TimeoutError:
        return False
    return True


def _kill(process):
    try:
        os.kill(process, 9)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    sys.stdout.write(json.dumps(killed(int(sys.argv[1]), int(sys.argv[2]))))
