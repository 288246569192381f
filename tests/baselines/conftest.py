"""What the tests of the baselines share."""

import pytest

from ringlet.execution import Threads


@pytest.fixture
def pieces_of_work(monkeypatch):
    """How many pieces each job had that was handed to threads, in order."""
    counts = []
    run = Threads.run

    def counting(self, function, items):
        items = list(items)
        counts.append(len(items))
        return run(self, function, items)

    monkeypatch.setattr(Threads, "run", counting)
    return counts
