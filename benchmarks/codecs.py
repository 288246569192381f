"""When another codec is the better choice: a ring against JPEG, H.264 and zfp at the same quality.

    python benchmarks/codecs.py > benchmarks/codecs.jsonl

A photo of scikit-image against Pillow's JPEG, a moving scene of 24 frames against H.264 (PyAV), and generated fields in
float32 against zfp (zfpy), which is left out without it. A ring of every given rank is fitted; the other codec gets the
least size that has at least the ring's PSNR. Rings are also counted as saved with int8. One line
of JSON a case; nothing here fails.
"""

import io
import json
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from skimage import data

import ringlet
from ringlet.experiments.runner import run_facts
from ringlet.report.metrics import psnr


def _ring_sizes(ring: ringlet.TensorRing) -> tuple[int, int]:
    """Bytes of the stored ring: as it is, and with int8."""
    with TemporaryDirectory() as folder:
        plain, small = Path(folder, "plain.ring"), Path(folder, "small.ring")
        ring.save(plain)
        ring.save(small, precision="int8")
        return plain.stat().st_size, small.stat().st_size


def _jpeg(photo: np.ndarray, wanted: float) -> tuple[int, float]:
    from PIL import Image

    for quality in range(5, 100, 3):
        buffer = io.BytesIO()
        Image.fromarray(photo).save(buffer, "jpeg", quality=quality)
        found = psnr(np.asarray(Image.open(buffer)), photo, 255)
        if found >= wanted:
            break
    return len(buffer.getvalue()), found


def _h264(video: np.ndarray, wanted: float) -> tuple[int, float]:
    import av

    for factor in range(45, -1, -3):
        buffer = io.BytesIO()
        with av.open(buffer, "w", format="mp4") as container:
            stream = container.add_stream("libx264", rate=Fraction(25), options={"crf": str(factor)})
            stream.height, stream.width, stream.pix_fmt = *video.shape[:2], "yuv444p"
            for index in range(video.shape[-1]):
                picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(video[..., index]), format="rgb24")
                container.mux(stream.encode(picture))
            container.mux(stream.encode(None))
        buffer.seek(0)
        with av.open(buffer) as container:
            decoded = np.stack([one.to_ndarray(format="rgb24") for one in container.decode(video=0)], axis=-1)
        found = psnr(decoded, video, 255)
        if found >= wanted:
            break
    return len(buffer.getvalue()), found


def _zfp(field: np.ndarray, wanted: float) -> tuple[int, float] | None:
    try:
        import zfpy
    except ImportError:
        return None
    span = float(np.ptp(field))
    for bits in np.arange(2.0, 40.0, 0.5):
        packed = zfpy.compress_numpy(field, tolerance=span * 2.0**-bits)
        found = psnr(zfpy.decompress_numpy(packed), field, span)
        if found >= wanted:
            break
    return len(packed), found


def _moving_scene() -> np.ndarray:
    """A window that moves over a photo, 24 frames: nothing stays where it is."""
    photo = data.astronaut()
    return np.stack([photo[2 * n : 2 * n + 240, 3 * n : 3 * n + 320] for n in range(24)], axis=-1)


def _still_scene() -> np.ndarray:
    """A still photo with a small bright square that passes, 24 frames."""
    video = np.repeat(data.coffee()[:240, :320, :, np.newaxis], 24, axis=3)
    for n in range(24):
        video[100:120, 10 * n : 10 * n + 20, :, n] = 250
    return video


def _field(kind: str) -> np.ndarray:
    i, j, k, month = np.ogrid[:48, :48, :48, :12]
    if kind == "separable":
        field = np.sin(i / 9) * np.cos(j / 7) + np.cos(k / 11) * (1 + 0.2 * np.sin(month)) + 0.02 * i * month / 12
    else:  # fronts that run obliquely, in no low rank
        field = np.tanh((i + 0.7 * j - k + 3 * month - 20) / 3.0)
    noise = 1e-4 * np.random.default_rng(0).standard_normal(field.shape)
    return np.asarray(field + noise, np.float32)


def main() -> None:
    """Print sizes at the same PSNR."""
    photo = data.astronaut()
    jobs = [
        ("photo `astronaut`, 512 x 512 x 3", photo, 255.0, _jpeg, "JPEG", (3, 40, 3)),
        ("the same", photo, 255.0, _jpeg, "JPEG", (8, 60, 4)),
        ("moving window of a photo, 240 x 320 x 3 x 24", _moving_scene(), 255.0, _h264, "H.264", (6, 24, 6, 8)),
        ("still scene with a moving square, 240 x 320 x 3 x 24", _still_scene(), 255.0, _h264, "H.264", (1, 60, 3, 1)),
        ("smooth separable field, 48 x 48 x 48 x 12, float32", _field("separable"), None, _zfp, "zfp", (4, 4, 4, 4)),
        ("oblique fronts, 48 x 48 x 48 x 12, float32", _field("fronts"), None, _zfp, "zfp", (12, 12, 12, 6)),
    ]
    for name, tensor, peak, codec, codec_name, rank in jobs:
        fit = ringlet.decompose(tensor, rank)
        model = np.asarray(fit.ring)
        quality = psnr(model, tensor, float(np.ptp(tensor)) if peak is None else peak)
        plain, small = _ring_sizes(fit.ring)
        found = codec(tensor, quality)
        size, reached = (None, None) if found is None else found
        record = {"data": name, "bytes": tensor.nbytes, "rank": rank, "psnr": quality, "ring": plain, "int8": small}
        record |= {"codec": codec_name, "codec_bytes": size, "codec_psnr": reached}
        print(json.dumps(record | run_facts()), flush=True)


if __name__ == "__main__":
    main()
