"""Damage to the bytes of a file, decided by a random generator and nothing else."""

import numpy as np

_NUMBERS = (0, 1, 2, 7, 127, 128, 255, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
_HEAD = 512  # bytes at the beginning, where most kinds of files have their headers


def mutated(content, rng):
    """The bytes with one to four kinds of damage; half of it is where headers are."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if not data:
            return b"\0"
        at = int(rng.integers(min(len(data), _HEAD) if rng.random() < 0.5 else len(data)))
        _KINDS[rng.integers(len(_KINDS))](data, at, rng)
    return bytes(data)


def _flip(data, at, rng):
    data[at] ^= 1 << rng.integers(8)


def _set(data, at, rng):
    data[at] = rng.integers(256)


def _number(data, at, rng):
    size = int(rng.choice([1, 2, 4, 8]))
    value = int(rng.choice(np.array(_NUMBERS, object))) % (1 << 8 * size)
    data[at : at + size] = value.to_bytes(size, "little" if rng.random() < 0.5 else "big")


def _cut(data, at, rng):
    del data[at:]


def _remove(data, at, rng):
    del data[at : at + int(rng.integers(1, 32))]


def _insert(data, at, rng):
    data[at:at] = rng.bytes(int(rng.integers(1, 32)))


def _repeat(data, at, rng):
    data[at:at] = data[at : at + int(rng.integers(1, 64))]


def _blank(data, at, rng):
    length = min(int(rng.integers(1, 64)), len(data) - at)
    data[at : at + length] = bytes(length)


def _scramble(data, at, rng):
    length = min(int(rng.integers(1, 32)), len(data) - at)
    data[at : at + length] = rng.bytes(length)


_KINDS = (_flip, _flip, _set, _set, _number, _number, _cut, _remove, _insert, _repeat, _blank, _scramble)
