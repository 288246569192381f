"""The plot of wrong values."""

import numpy as np
from PIL import Image

from ringlet.report.wrong_values import plot_wrong_values
from ringlet.results.wrong_values import Atom, WrongValues


def test_the_plot_shows_all_and_wrong_values(tmp_path):
    counts, wrong = np.full(10, 0.1), np.zeros(10)
    wrong[9] = 0.05
    model = WrongValues(0.05, (Atom(9.5, 0.05),), 1.0, (np.ones(3),), np.arange(11.0), counts, wrong)
    plot_wrong_values(model, tmp_path / "wrong.png", units="K")
    with Image.open(tmp_path / "wrong.png") as picture:
        pixels = np.asarray(picture.convert("RGB")).reshape(-1, 3).astype(int)
    red = (pixels[:, 0] > pixels[:, 2] + 40).mean()
    blue = (pixels[:, 2] > pixels[:, 0] + 40).mean()
    assert 0.01 < red < blue
    assert repr(model) == (
        "WrongValues(share 5 %, frequent values 9.5 (5 %), scale of residuals 1, times 1 to 1 along the modes)"
    )
