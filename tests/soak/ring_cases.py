"""Damage to .ring files."""

from ringlet.errors import FormatError
from ringlet.store.ringfile import load_ring
from soak.guard import ViolationError, generator, on_guard
from soak.mutations import mutated
from soak.samples import prepared


def ring_file(number, folder):
    """A damaged .ring file is refused, or is the ring that it was."""
    rng = generator("ring", number)
    paths = prepared("ring", folder)
    path = paths[number % len(paths)]
    damaged = folder / "x.ring"
    damaged.write_bytes(mutated(path.read_bytes(), rng))
    try:
        with on_guard():
            ring = load_ring(damaged)
    except FormatError as error:
        if str(damaged) not in str(error):
            raise ViolationError(f"the file is not named: {error}") from error
        return "refused"
    first = load_ring(path)
    if any(one.tobytes() != other.tobytes() for one, other in zip(ring.cores, first.cores, strict=True)):
        raise ViolationError("damage was not noticed")
    return "unharmed"
