"""Penalties on the cores: their strengths, and where the ridge comes from if none is given."""

from dataclasses import dataclass

__all__ = ["Penalties"]

# The rule of the automatic ridge. Measured, see docs/decisions.
_RIDGE_FACTOR = 2.0  # strength at one unknown an entry, squared
_RIDGE_LEAST, _RIDGE_MOST = 0.02, 0.3  # bounds of the strength
_RIDGE_ONSET = 4.0  # the ridge is in full force where a quarter of the entries is missing or distrusted
_LEAST_TRUSTED = 1e-3  # share of the entries


@dataclass(frozen=True)
class Penalties:
    """Strengths of penalties on the cores, and a factor of the kernel width.

    Strengths are relative to the mean diagonal of the Gram matrix; where data lie far from zero, to the part of it that
    is owed to what varies (`ringlet.solvers.sawrtrd.start.Scale.penalty_unit`).

    Attributes
    ----------
    ridge : float or None
        None: by the rule of `ridge_for`.
    smooth : tuple of float
        One a mode.
    width : float
        Factor of what the rule of the solver gives.
    """

    ridge: float | None
    smooth: tuple[float, ...]
    width: float = 1.0

    def ridge_for(self, unknowns: float, trusted: float) -> float:
        """The strength of the ridge: as given, or by a rule from how well the data determine the cores.

        It grows with the unknowns of a slice for each of its trusted entries, and is zero where all entries are
        observed and trusted. The worst determined core counts for all: penalties that differ between cores would only
        move weight from one to the other.

        Parameters
        ----------
        unknowns : float
            Of a slice, over its entries.
        trusted : float
            Share of the entries that are observed and trusted.
        """
        if self.ridge is not None:
            return self.ridge
        trusted = max(trusted, _LEAST_TRUSTED)
        doubt = min(1.0, _RIDGE_ONSET * (1.0 - trusted))
        return doubt * min(max(_RIDGE_FACTOR * (unknowns / trusted) ** 2, _RIDGE_LEAST), _RIDGE_MOST)
