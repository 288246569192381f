"""Transcripts on pages: the commands print what the page says."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from skimage import data

DOCS = Path(__file__).parents[2] / "docs"
SLOW = ("demo", "bench", "paper")  # the demo has tests of its own
TWO = ("--threads", "2")  # each thread takes memory


def transcript(page):
    """Commands of a page, in its order, and what it says that each prints."""
    blocks = re.findall(r"^```console\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return [(shlex.split(first), rest) for first, _, rest in (part.partition("\n") for part in parts)]


def settled(text):
    """Words without what differs between machines: seconds, sweeps, and the last digits of the norm."""
    text = re.sub(r"\d+ sweeps, \d+\.\d s\b", "SWEEPS, TIME", text)
    return re.sub(r"norm +(\d{4})\S*", r"norm \1", text).split()


@pytest.fixture
def damaged(tmp_path, monkeypatch):
    """The folder of the transcripts, with the photo that `ringlet demo` damages."""
    photo, rng = data.chelsea(), np.random.default_rng(0)
    observed = rng.random(photo.shape) >= 0.5
    ruined = rng.random(photo.shape) < 0.2
    noise = np.where(rng.random(photo.shape) < 0.5, np.uint8(0), np.uint8(255))
    Image.fromarray(np.where(observed, np.where(ruined, noise, photo), np.uint8(0))).save(tmp_path / "damaged.png")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.usefixtures("damaged")
def test_commands_print_what_their_page_says(run):
    commands = [(words, said) for words, said in transcript("command-line.md") if words[1] not in SLOW]
    assert len(commands) == 11
    code = None
    for (program, *arguments), said in commands:
        if program == "cmp":
            first, second = (Path(name).read_bytes() for name in arguments)
            assert first == second
        elif program == "echo":
            assert said == f"{code}\n"
        else:
            result = run(*arguments, *(TWO if arguments[0] == "plan" else []))
            code = result.exit_code
            assert settled(result.stderr if code else result.stdout) == settled(said), arguments  # no progress


def test_the_smallest_budget_is_that_of_the_page(run):
    [(words, said)] = [(words, said) for words, said in transcript("scale.md") if said]
    assert settled(run(*words[1:], *TWO).stderr) == settled(said)
