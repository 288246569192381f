"""Damage to files of data."""

import shutil

from ringlet.errors import RingletError
from ringlet.sources.files import load
from soak.guard import ViolationError, generator, on_guard
from soak.mutations import mutated
from soak.samples import prepared

_SOUND_EVERY = 50  # cases of files: one is of a file without damage


def data_file(kind):
    """A case of damage to a file of data: it is refused by name, or read."""

    def case(number, folder):
        rng = generator(kind, number)
        paths = prepared(kind, folder)
        is_sound = number % _SOUND_EVERY == 1  # the limits must not be what refuses files
        chosen = paths[(number // _SOUND_EVERY if is_sound else number) % len(paths)]
        damaged = chosen if is_sound else _damaged(chosen, folder, rng)
        try:
            with on_guard():
                source = load(damaged, max_size="100MB").source
                source.read(tuple(slice(0, length) for length in source.shape))
        except RingletError as error:
            if damaged.name not in str(error):
                raise ViolationError(f"the file is not named: {error}") from error
            if is_sound:
                raise ViolationError(f"a sound file was refused: {error}") from error
            return "refused"
        return "read"

    return case


def _damaged(path, folder, rng):
    """A copy with damage in one file; of a store also a lost or a strange one."""
    target = folder / f"x{path.suffix}"
    if path.is_file():
        target.write_bytes(mutated(path.read_bytes(), rng))
        return target
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(path, target)
    files = sorted(file for file in target.rglob("*") if file.is_file())
    # Half of the damage is to what describes the store.
    described = [file for file in files if file.name in ("zarr.json", ".zarray", ".zattrs")]
    among = described if described and rng.random() < 0.5 else files
    victim = among[rng.integers(len(among))]
    if rng.random() < 0.05:
        victim.unlink()
    else:
        victim.write_bytes(mutated(victim.read_bytes(), rng))
    return target
