"""Bad inputs: an error of ours that names the argument, and nothing is written."""

import re
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

from reliability.bad_inputs import ODD_DATA, PYTHON, TYPED, X
from ringlet import decompose
from ringlet.cli.group import group
from ringlet.errors import RingletError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_table_is_large():
    assert len(PYTHON) + len(TYPED) >= 1000
    names = [name for name, *_ in [*PYTHON, *TYPED]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("argument", "value"), [row[1:] for row in PYTHON], ids=[row[0] for row in PYTHON])
def test_python_names_the_argument(folder, argument, value):
    before = X.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)
        with pytest.raises(RingletError) as caught:
            argument.call(value)
    assert re.search(argument.said or argument.name, str(caught.value))
    assert len(str(caught.value)) < 1000
    assert files_in(folder) == []
    assert np.array_equal(X, before)


@pytest.mark.filterwarnings("ignore::ringlet.errors.DataWarning")
@pytest.mark.parametrize("given", ODD_DATA.values(), ids=list(ODD_DATA))
def test_odd_arrays_are_fitted_and_come_back_as_they_were(given):
    before = np.array(given, copy=True)
    fit = decompose(given, sweeps=5)
    for whole in (fit.restored(), np.asarray(fit.ring), fit.uncertainty()):
        assert whole.shape == before.shape
        assert np.isfinite(whole.astype(np.float64)).all()
    assert fit.restored().dtype == before.dtype
    assert not fit.outliers(slice(0, 0)).size
    np.testing.assert_array_equal(np.asarray(given), before)


@pytest.mark.parametrize(("argument", "text"), [row[1:] for row in TYPED], ids=[row[0] for row in TYPED])
def test_the_command_line_names_the_option(folder, argument, text):
    np.save(folder / "in.npy", X)
    command = ["restore", "in.npy", "-o", "out.npy", f"{argument.option}={text}"]
    done = CliRunner().invoke(group, command)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert argument.option in done.stderr.strip().splitlines()[-1]
    assert files_in(folder) == ["in.npy"]
