"""A small film, as a video and as a folder of frames."""

import numpy as np

from ringlet.store.outputs import write_array


def film():
    """20 frames of 30 x 40 pixels that move."""
    i, j, t = np.meshgrid(np.arange(30), np.arange(40), np.arange(20), indexing="ij")
    channels = [128 + 100 * np.sin((i + t) / 9), 128 + 100 * np.cos((j - t) / 9), 6 * i]
    return np.stack(channels, axis=2).astype(np.uint8)


def write_clip(folder):
    write_array(folder / "clip.mp4", film(), frame_rate=24)
    return folder / "clip.mp4"


def write_frames(folder):
    """With a file among them that is no frame."""
    frames = folder / "frames"
    frames.mkdir()
    for t, picture in enumerate(np.moveaxis(film(), -1, 0)):
        write_array(frames / f"{t:03d}.png", picture)
    (frames / "notes.txt").write_text("not a frame")
    return frames
