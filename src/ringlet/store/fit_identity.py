"""Identity of a fit, so that a checkpoint is never resumed by another fit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from hashlib import sha256
from math import isfinite, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.sampling import sample_sizes
from ringlet.solvers.base import Problem, Solver
from ringlet.sources import Block, Source

__all__ = ["describe_fit", "differences", "fingerprint"]

# Data up to this number of entries are compared completely; of larger ones, blocks of this size, this many of them.
_WHOLE, _BLOCK, _BLOCKS = 1 << 22, 1 << 12, 64
_ROOTS = (2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0)  # their square roots spread the blocks evenly


def describe_fit(solver: Solver, problem: Problem) -> dict[str, Any]:
    """Everything that determines the bits of a fit, in JSON types: the data, the method, the start."""
    source, found = problem.source, problem.survey
    parameters = {
        field.name: _plain(getattr(solver, field.name)) for field in fields(solver) if field.name not in solver.neutral
    }
    return {
        "shape": list(source.shape),
        "data's dtype": source.dtype.name,
        "chunks": None if source.chunks is None else [_chunk(lengths) for lengths in source.chunks],  # decide the draws
        "observed entries": found.observed,
        "range of the data": [_plain(found.minimum), _plain(found.maximum)],
        "fingerprint of the data": fingerprint(source),
        "rank": list(problem.rank) if problem.choice is None else str(problem.choice),
        "memory": None if problem.choice is None else solver.budget,  # bonds grow as far as it allows
        "seed": problem.seed,
        "init": None if problem.init is None else _hash_cores(problem.init.cores),
        "solver": type(solver).__name__,
        **({} if problem.device is None else {"device": str(problem.device)}),
        **parameters,
    }


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Differences of two fits, for messages.

    Examples
    --------
    >>> differences({"rank": [2, 2], "seed": 0}, {"rank": [3, 3], "seed": 0})
    ['rank is [2, 2] there and [3, 3] here']
    """
    return [
        f"{name} is {_short(there.get(name))} there and {_short(here.get(name))} here"
        for name in {**here, **there}
        if there.get(name) != here.get(name)
    ]


def fingerprint(source: Source) -> str:
    """A hash of the data: of all entries of small data, of evenly spread blocks of large data.

    Examples
    --------
    >>> from ringlet.sources import as_source
    >>> x = np.arange(6.0).reshape(2, 3)
    >>> same, other = fingerprint(as_source(x.copy())), fingerprint(as_source(-x))
    >>> fingerprint(as_source(x)) == same, fingerprint(as_source(x)) == other
    (True, False)
    """
    digest = sha256()
    for block in _blocks(source.shape):
        values, observed = source.read(block)
        if observed is not None and not observed.all():
            values = np.where(observed, values, values.dtype.type(0))  # missing entries have no value
            digest.update(np.packbits(observed).tobytes())
        digest.update(_bytes(values))
    return digest.hexdigest()[:16]


def _chunk(lengths: Sequence[int]) -> int | list[int]:
    """The length of chunks along a mode; all lengths, if more than the last one differ."""
    first, *others = lengths
    regular = all(length == first for length in others[:-1]) and lengths[-1] <= first
    return first if regular else list(lengths)


def _blocks(shape: Sequence[int]) -> Iterator[Block]:
    """Contiguous blocks, so that few chunks of a chunked source are read."""
    if prod(shape) <= _WHOLE:
        yield tuple(slice(0, length) for length in shape)
        return
    sizes = sample_sizes(tuple(shape), _BLOCK)
    steps = np.sqrt([_ROOTS[mode % len(_ROOTS)] for mode in range(len(shape))])
    for number in range(_BLOCKS):
        places = (number + 1) * steps % 1.0
        starts = (places * (np.array(shape) - sizes + 1)).astype(np.intp)
        yield tuple(slice(int(start), int(start) + size) for start, size in zip(starts, sizes, strict=True))


def _hash_cores(cores: Sequence[NDArray[Any]]) -> str:
    digest = sha256()
    for core in cores:
        digest.update(repr((np.shape(core), np.asarray(core).dtype.name)).encode())
        digest.update(_bytes(np.asarray(core)))
    return digest.hexdigest()[:16]


def _bytes(values: NDArray[Any]) -> bytes:
    """The same on all machines."""
    return values.astype(values.dtype.newbyteorder("<")).tobytes()


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) < 60 else f"{text[:60]} ..."


def _plain(value: Any) -> Any:
    """A hyper-parameter as JSON has it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and isfinite(value)):
        return value
    return str(value)  # a dtype, an infinite number
