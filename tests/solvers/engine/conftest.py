"""What tests of the engine share."""

import pytest

from ringlet.solvers.engine import core_plan, fit_plan


@pytest.fixture
def searched_in_part(monkeypatch):
    """Updates of 8000 entries are large already."""
    monkeypatch.setattr(core_plan, "_SEARCHED_ENTRIES", 2000)
    monkeypatch.setattr(core_plan, "_SEARCHED_SLICES", 4)
    monkeypatch.setattr(fit_plan, "SEARCHED_WHOLE", 7999)
    fit_plan.plan_fit.cache_clear()
    yield
    fit_plan.plan_fit.cache_clear()
