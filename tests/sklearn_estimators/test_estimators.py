"""The estimators obey scikit-learn's own rules."""

import subprocess
import sys

import pytest

from ringlet import AWRTRD

checks = pytest.importorskip("sklearn.utils.estimator_checks")
estimators = pytest.importorskip("ringlet.sklearn")

QUICK = AWRTRD(sweeps=10)


@checks.parametrize_with_checks(
    [estimators.RingImputer(rank=2, solver=QUICK), estimators.RingOutlierDetector(rank=2, solver=QUICK)]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_without_scikit_learn_the_error_names_the_extra():
    code = "import sys; sys.modules['sklearn'] = None\nimport ringlet.sklearn"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert 'pip install "ringlet[sklearn]"' in run.stderr
