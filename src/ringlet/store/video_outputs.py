"""Writing videos, with the sound and the rotation of another one."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, DataWarning, warn
from ringlet.sources.media import import_av, opened_video
from ringlet.store.atomic import atomic_output, check_outputs

__all__ = ["VIDEO_OUTPUTS", "write_video"]

VIDEO_OUTPUTS = (".mp4", ".mov", ".mkv", ".avi")  # The containers that hold H.264; webm does not.
# libx264's macroblock tree (core 165, AVX-512) gives other bytes for the same frames once in a while.
_ENCODING = {"crf": "16", "x264-params": "mbtree=0"}


def write_video(
    path: str | os.PathLike[str],
    frames: Iterable[NDArray[np.uint8]],
    frame_rate: Fraction | float,
    *,
    like: Path | None = None,
    force: bool = False,
) -> None:
    """Encode frames, one after the other, as H.264 of high quality.

    Parameters
    ----------
    path : path
        A suffix of .mp4, .mov, .mkv or .avi.
    frames : iterable of uint8 arrays ``(height, width, 3)``
        RGB, all of one size; taken one at a time, so they need not fit in memory together.
    frame_rate : number
        Frames a second.
    like : Path, optional
        A video whose sound and rotation are carried over. The sound is not encoded again.
    force : bool
        Replace an existing file.

    Examples
    --------
    >>> import tempfile
    >>> black = np.zeros((16, 16, 3), np.uint8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_video(Path(folder, "x.mp4"), [black] * 3, 25)
    """
    if Path(path).suffix.lower() not in VIDEO_OUTPUTS:
        raise ArgumentError(f"cannot write {os.fspath(path)}: the suffix must be one of {' '.join(VIDEO_OUTPUTS)}")
    if not 0.001 <= frame_rate <= 100_000:
        raise ArgumentError(f"frame_rate must be from 0.001 to 100000 frames a second; got {frame_rate}")
    check_outputs([path], force=force)
    # Keeps rates such as 30000/1001; the last digits of a float would overflow the file's time base.
    rate = Fraction(frame_rate).limit_denominator(10_000)
    with atomic_output(path) as temporary:
        _encode(temporary, iter(frames), rate, like)


def _encode(path: Path, frames: Iterator[NDArray[np.uint8]], rate: Fraction, like: Path | None) -> None:
    av = import_av()
    first = next(frames, None)
    if first is None:
        raise ArgumentError("a video needs at least one frame")
    height, width, _ = _checked_frame(first, first.shape)
    with ExitStack() as opened:
        container = opened.enter_context(av.open(str(path), "w"))
        stream = container.add_stream("libx264", rate=rate, options=_ENCODING)
        stream.height, stream.width = height, width
        # Players expect colour at half resolution, which only even sizes have.
        stream.pix_fmt = "yuv444p" if height % 2 or width % 2 else "yuv420p"
        sound = None
        if like is not None:
            _rotate(stream, like)
            sound = _Sound(opened.enter_context(opened_video(like)), container, like)
        for number, pixels in enumerate(chain([first], frames)):
            _checked_frame(pixels, first.shape)
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
            container.mux(stream.encode(frame))
            if sound is not None:
                sound.copy(until=number / rate)
        container.mux(stream.encode(None))
        if sound is not None:
            sound.copy()


class _Sound:
    """The sound of a video, copied packet by packet into another one."""

    def __init__(self, source: Any, target: Any, like: Path) -> None:
        self._target = target
        self._streams = {}
        for stream in source.streams.audio:
            if _can_hold(target.format.name, like, stream.index):
                self._streams[stream.index] = target.add_stream_from_template(stream)
            else:
                warn(
                    f"a file of the kind {target.format.name} cannot hold the sound of the input "
                    f"({stream.codec_context.name}), which is left out; an .mkv file can",
                    DataWarning,
                )
        wanted = list(self._streams)
        packets = source.demux([source.streams[index] for index in wanted]) if wanted else iter(())
        self._packets = (packet for packet in packets if packet.dts is not None)
        self._next = next(self._packets, None)

    def copy(self, until: Fraction | None = None) -> None:
        """Copy what is heard up to a time in seconds; by default all that is left."""
        while self._next is not None and (until is None or self._next.dts * self._next.time_base <= until):
            self._next.stream = self._streams[self._next.stream_index]
            self._target.mux(self._next)
            self._next = next(self._packets, None)


def _can_hold(kind: str, like: Path, index: int) -> bool:
    """Whether a kind of container takes a stream of a video: only a container of one packet tells."""
    av = import_av()
    with opened_video(like) as source:
        stream = source.streams[index]
        packet = next(source.demux(stream))
        try:
            with av.open(BytesIO(), "w", format=kind) as trial:
                packet.stream = trial.add_stream_from_template(stream)
                trial.mux(packet)
        except (av.error.FFmpegError, ValueError):
            return False
    return True


def _rotate(stream: Any, like: Path) -> None:
    """Let players turn the video as they turn another one."""
    with opened_video(like) as container:
        angle = next(container.decode(video=0)).rotation
    if angle == 0:
        return
    if hasattr(stream, "set_display_rotation") and stream.container.format.name != "avi":
        stream.set_display_rotation(angle)
    else:
        warn(
            f"players turn the input by {angle} degrees, but not the output: avi files hold no rotation, and old "
            "versions of PyAV write none",
            DataWarning,
        )


def _checked_frame(frame: NDArray[np.uint8], shape: tuple[int, ...]) -> tuple[int, ...]:
    if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3 or frame.shape != shape:
        raise ArgumentError(
            f"frames are uint8 (height, width, 3) and of one size; got {frame.dtype} of shape {frame.shape}"
        )
    return frame.shape
