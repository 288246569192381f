"""How many columns of the unfolding a core update uses, and how they are drawn."""

from dataclasses import dataclass

from ringlet.errors import ArgumentError
from ringlet.sources import ArraySource, Source

__all__ = ["SamplingRule"]


@dataclass(frozen=True)
class SamplingRule:
    """The sampling of a solver.

    Attributes
    ----------
    samples : int or None
        Columns of the unfolding, the paper's J; None: all.
    method : {"subtensor", "uniform-subtensor", "uniform-rows", "leverage-rows"}
    """

    samples: int | None = None
    method: str = "subtensor"

    @property
    def by_rows(self) -> bool:
        """Columns are drawn one by one, not as a subtensor."""
        return self.method.endswith("rows")

    @property
    def by_leverage(self) -> bool:
        """Rows are drawn by leverage scores."""
        return self.method == "leverage-rows"

    @property
    def uniform(self) -> bool:
        """Subtensors are drawn without regard to chunks."""
        return self.method == "uniform-subtensor"

    def check(self, source: Source, *, on_cluster: bool) -> None:
        """Refuse single rows of data that are not in memory here."""
        if self.by_rows and not isinstance(source, ArraySource):
            raise ArgumentError(f"sampling={self.method!r} needs data in memory; use sampling='subtensor'")
        if self.by_rows and on_cluster:
            raise ArgumentError(f"sampling={self.method!r} cannot use an executor; use sampling='subtensor'")
