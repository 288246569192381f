"""What tests of the engine share."""

import pytest

from ringlet.solvers.engine import fit_plan
from ringlet.solvers.sawrtrd import algorithm


@pytest.fixture
def searched_in_part(monkeypatch):
    """Updates of 8000 entries are large already."""

    def one_of(entries, slices):
        found = min(entries // 2000, slices // 4)
        return found if found >= 4 else 1

    for module in (algorithm, fit_plan):
        monkeypatch.setattr(module, "searched_one_of", one_of)
    monkeypatch.setattr(fit_plan, "SEARCHED_WHOLE", 7999)
    fit_plan.plan_fit.cache_clear()
    yield
    fit_plan.plan_fit.cache_clear()
