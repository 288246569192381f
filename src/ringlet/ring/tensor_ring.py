"""TensorRing: a tensor held as a ring of cores. Pure mathematics; `save` and `load` call the store."""

import os
from typing import Any

from ringlet.errors import MissingDependencyError
from ringlet.ring.ring_algebra import RingAlgebra
from ringlet.ring.ring_entries import RingEntries

__all__ = ["TensorRing"]


class TensorRing(RingEntries, RingAlgebra):
    """A tensor held as a ring of cores; immutable.

    Entry ``(i_0, .., i_{N-1})`` is the trace of the product of the cores' lateral slices,
    ``tr(Z_0[:, i_0, :] @ Z_1[:, i_1, :] @ ...)``. Indexing and ``np.asarray`` evaluate entries; the algebra
    (`norm`, `inner`, sums, products, `round`) works on the cores and never forms the dense tensor.

    Parameters
    ----------
    cores : sequence of arrays
        Core k has shape ``(rank[k], shape[k], rank[k + 1])``, and the last bond closes on ``rank[0]``. Real
        and finite. Integers become float64 and float16 becomes float32. Arrays that could still be changed are
        copied. Arrays of PyTorch, CuPy and JAX, all on one device, stay there.
    names : sequence of str, optional
        Names of the modes.
    units : str, optional
        Unit of the entries.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> ring = TensorRing([rng.standard_normal((3, 40, 2)), rng.standard_normal((2, 50, 3))])
    >>> ring
    TensorRing(shape=(40, 50), rank=(3, 2), float64, 4.32 kB, 3.7x smaller)
    >>> ring[:10, 7].shape
    (10,)
    >>> np.asarray(ring).shape
    (40, 50)
    """

    __slots__ = ()

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        precision: str | None = None,
        error: float | None = None,
    ) -> float:
        """Write the ring to a ``.ring`` file.

        Parameters
        ----------
        path : path
            Name of the file; it ends in ``.ring``.
        force : bool
            Overwrite an existing file.
        precision : {"float16", "int8"}, optional
            Store the cores in 2 bytes or 1 byte per number; by default in their own dtype. `load` reads all of these.
        error : float, optional
            Root mean square error of the ring itself, in the data's units. A precision that costs more than a quarter
            of it is refused with a PrecisionError. ``fit.save(path, precision=...)`` knows it.

        Returns
        -------
        float
            Relative error (Frobenius norm) that the precision costs; 0 by default. The file has it, too.

        Examples
        --------
        >>> import tempfile, numpy as np
        >>> ring = TensorRing([np.ones((2, 30, 2)), np.ones((2, 40, 2))])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ring.save(f"{folder}/x.ring")
        0.0
        """
        from ringlet.store.ringfile import save_ring

        return save_ring(self.to("numpy"), path, force=force, precision=precision, error=error)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "TensorRing":
        """Read a ring from a ``.ring`` file.

        Examples
        --------
        >>> import tempfile, numpy as np
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cost = TensorRing([np.ones((2, 30, 2)), np.ones((2, 40, 2))]).save(f"{folder}/x.ring")
        ...     TensorRing.load(f"{folder}/x.ring")
        TensorRing(shape=(30, 40), rank=(2, 2), float64, 2.24 kB, 4.3x smaller)
        """
        from ringlet.store.ringfile import load_ring

        return load_ring(path)

    def to_tensorly(self) -> Any:
        """Return the ring as TensorLy's ``TRTensor``, with cores that may be changed.

        Examples
        --------
        >>> import numpy as np
        >>> TensorRing([np.ones((1, 2, 3)), np.ones((3, 4, 1))]).to_tensorly().rank
        (1, 3, 1)
        """
        try:
            from tensorly.tr_tensor import TRTensor
        except ImportError as error:
            raise MissingDependencyError("to_tensorly needs TensorLy: pip install tensorly") from error
        return TRTensor([core.copy() for core in self._host])

    @classmethod
    def from_tensorly(cls, tr: Any) -> "TensorRing":
        """Make a ring from TensorLy's ``TRTensor`` (NumPy backend).

        Examples
        --------
        >>> import numpy as np
        >>> ring = TensorRing([np.ones((1, 2, 3)), np.ones((3, 4, 1))])
        >>> TensorRing.from_tensorly(ring.to_tensorly()).rank
        (1, 3)
        """
        return cls(tr)
