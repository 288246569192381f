"""Messages in the words of the command line."""

import click
import pytest

from ringlet.cli.wording import as_typed

OPTIONS = [click.Option([name]) for name in ("--rank", "--memory", "--force", "--checkpoint", "--tol")]


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("rank=(20, 20, 3) is", "--rank 20,20,3 is"),
        ("rank=(4,)", "--rank 4"),
        ("give less, or rank='auto'", "give less, or --rank auto"),
        ("rank=budget(5) is too small", "--rank 5B is too small"),
        ("memory=10 kB is too little", "--memory 10 kB is too little"),
        ("tol=-1e-05, which", "--tol -1e-05, which"),
        ("overwrite it with force=True", "overwrite it with --force"),
        ("checkpoint='my run.ckpt': its", "--checkpoint my run.ckpt: its"),
        # What is no option of the command, and paths, stay as they are.
        ("dtype='float64'", "dtype='float64'"),
        ("runs/rank=3.npy does not exist", "runs/rank=3.npy does not exist"),
        ("rank=3.npy does not exist", "rank=3.npy does not exist"),
        ("init.round(rank=5)", "init.round(rank=5)"),
    ],
)
def test_arguments_become_options(message, typed):
    assert as_typed(message, OPTIONS) == typed
