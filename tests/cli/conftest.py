"""What the tests of the command line share: a runner, and a small photo with known damage."""

import numpy as np
import pytest
from click.testing import CliRunner

from ringlet.cli.group import group


@pytest.fixture
def run():
    """Run a command in this process: run("info", path) -> result with exit_code, stdout, stderr."""

    def invoke(*arguments):
        return CliRunner().invoke(group, [str(argument) for argument in arguments])

    return invoke


@pytest.fixture
def photo():
    """A smooth picture, (60, 80, 3), that a ring of low rank can hold."""
    i, j = np.meshgrid(np.linspace(0, 3, 60), np.linspace(0, 4, 80), indexing="ij")
    channels = [np.sin(i + j), np.cos(i - 2 * j), np.sin(2 * i) * np.cos(j)]
    return np.stack([120 + 90 * channel for channel in channels], axis=2).round().astype(np.uint8)


@pytest.fixture
def ruin():
    """Salt and pepper on a share of the entries."""

    def ruined(clean, share=0.15, seed=0):
        rng = np.random.default_rng(seed)
        noise = np.where(rng.random(clean.shape) < 0.5, 0, 255).astype(clean.dtype)
        return np.where(rng.random(clean.shape) < share, noise, clean)

    return ruined
