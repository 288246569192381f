"""The cases of the soak that run in a child process: each takes its number and a folder, and tells what became of it.

A case gives a word for what happened, or raises `ViolationError`.
"""

import warnings

from soak.checkpoint_cases import checkpoint
from soak.file_cases import data_file
from soak.leak_cases import leak
from soak.ring_cases import ring_file
from soak.samples import KINDS
from soak.tensor_cases import tensor

CASES = {"ring": ring_file, "checkpoint": checkpoint, "tensor": tensor, "leaks": leak} | {
    kind: data_file(kind) for kind in KINDS
}


def run_case(family, number, folder):
    """What became of a case; warnings are no failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[family](number, folder)
