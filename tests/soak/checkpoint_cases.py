"""Damage to checkpoints."""

import shutil

from checkpointed_fits import SLOTS, begun, bits, fit
from ringlet.errors import FormatError
from soak.guard import ViolationError, generator
from soak.mutations import mutated

_expected = []  # the bits of a fit that nothing has interrupted


def checkpoint(number, folder):
    """A checkpoint with one damaged slot goes on to the same bits; with two it is refused."""
    rng = generator("checkpoint", number)
    source, place = folder / "checkpoint", folder / "damaged"
    if not _expected:
        shutil.rmtree(source, ignore_errors=True)  # of a child that has ended
        begun(source)
        _expected.append(bits(fit()))
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(source, place)
    slots = list(SLOTS) if rng.random() < 0.25 else [SLOTS[rng.integers(2)]]
    for slot in slots:
        (place / slot).write_bytes(mutated((source / slot).read_bytes(), rng))
    try:
        done = fit(place)
    except FormatError as error:
        if len(slots) == 1:
            raise ViolationError(f"one slot was whole: {error}") from error
        return "refused"
    if bits(done) != _expected[0]:
        raise ViolationError("other bits than without interruption")
    return "same bits"
