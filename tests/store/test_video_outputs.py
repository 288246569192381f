"""Videos: the same frames give the same bytes."""

import numpy as np

from ringlet.store.video_outputs import write_video


def test_the_same_frames_give_the_same_bytes_every_time(tmp_path):
    rows, columns = np.mgrid[:24, :32]
    picture = np.stack([60 + 45 * np.sin(columns / 5), 50 + 50 * np.cos(rows / 6 + columns / 9), 55 + rows / 2], 2)
    frames = [np.clip(picture + 4 * number, 0, 255).astype(np.uint8) for number in range(6)]
    rng, seen = np.random.default_rng(0), set()
    for _ in range(100):  # encoders that read memory they did not write differ in about one of twelve
        _moved = [np.full(rng.integers(1, 5000), 7, np.uint8) for _ in range(100)]
        write_video(tmp_path / "x.mp4", frames, 25, force=True)
        seen.add((tmp_path / "x.mp4").read_bytes())
    assert len(seen) == 1
