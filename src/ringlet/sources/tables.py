"""pandas tables as sources: rows x columns, or the levels of the rows' keys as modes.

pandas is not imported before a table is given.
"""

import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.checks import check_sequence
from ringlet.errors import ArgumentError, ArgumentTypeError, DataWarning, MissingDependencyError, warn
from ringlet.sources.annotations import mode_names
from ringlet.sources.dtypes import as_dtype
from ringlet.sources.labels import PlainIndex, Quantity, is_whole
from ringlet.sources.memory import ArraySource

__all__ = ["check_index", "from_dataframe", "import_pandas", "is_table", "likely_keys", "table_source"]

_MANY = 1 << 24  # entries; a tensor of the keys may be this large however few of them the table has
_LEAST_FILLED = 1e-3  # share of a larger tensor's entries that the table must have
_LEAST_GRID = 0.2  # share of all combinations of its keys that a long table has as rows
_FEWEST_ROWS = 8  # of a table whose columns may be taken for keys
_MOST_LISTED = 5  # columns in a message
_COLUMN_MODE = "variable"  # name of the mode of the columns, as in xarray


def import_pandas() -> ModuleType:
    """Import pandas, or raise an error that says how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise MissingDependencyError('tables need pandas: pip install "ringlet[table]"') from error
    module: ModuleType = pandas
    return module


def is_table(given: Any) -> bool:
    """Whether something is a pandas.DataFrame."""
    pandas: Any = sys.modules.get("pandas")
    return pandas is not None and isinstance(given, pandas.DataFrame)


def _is_series(given: Any) -> bool:
    pandas: Any = sys.modules.get("pandas")
    return pandas is not None and isinstance(given, pandas.Series)


@dataclass(frozen=True, eq=False)
class TableLabels:
    """A DataFrame without its entries.

    Attributes
    ----------
    rows, columns : pandas.Index
    dtypes : tuple
        Of the columns.
    attributes : dict
        ``DataFrame.attrs``.
    keys : tuple of int arrays
        Place of every row along the modes of the rows' keys; empty for a table of rows x columns.
    modes : int
        Number of modes of the tensor.
    series : bool
        Whether a Series was given, which comes back as one.
    """

    rows: Any
    columns: Any
    dtypes: tuple[Any, ...]
    attributes: dict[Any, Any]
    keys: tuple[NDArray[np.intp], ...]
    modes: int
    series: bool = False

    def label(self, values: NDArray[Any], index: PlainIndex | None, quantity: Quantity) -> Any:
        """The values as a table with the rows that were given, in their order.

        Parts stay arrays where keys are modes, and where an integer leaves no table.
        """
        if is_whole(index):
            frame = self._frame(values, quantity)
            return frame.iloc[:, 0] if self.series else frame
        if index is None or self.keys or any(isinstance(item, int | np.integer) for item in index):
            return values
        kept = np.arange(len(self.columns))[index[1]]
        part = replace(
            self,
            rows=self.rows[index[0]],
            columns=self.columns[index[1]],
            dtypes=tuple(self.dtypes[place] for place in kept),
        )
        return part._frame(values, quantity)

    def _frame(self, values: NDArray[Any], quantity: Quantity) -> Any:
        pandas = import_pandas()
        table = values[self.keys].reshape(len(self.rows), len(self.columns))
        if quantity != "entries":
            return pandas.DataFrame(table, self.rows, self.columns)
        if len(set(self.dtypes)) <= 1:
            dtype = self.dtypes[0] if self.dtypes else values.dtype
            frame = pandas.DataFrame(as_dtype(table, _numpy_dtype(dtype)), self.rows, self.columns).astype(dtype)
        else:
            columns = [
                pandas.Series(as_dtype(table[:, place], _numpy_dtype(dtype)), self.rows).astype(dtype)
                for place, dtype in enumerate(self.dtypes)
            ]
            frame = pandas.concat(columns, axis=1).set_axis(self.columns, axis=1)
        frame.attrs.update(self.attributes)
        return frame


def table_source(given: Any, name: str = "data") -> ArraySource | None:
    """A source for a DataFrame or a Series; None for anything else. Errors refer to it as `name`.

    Rows x columns are the modes. With a MultiIndex its levels are the modes, and the columns one more, if there are
    several: entries whose keys are not in the table are missing, as NA and NaN are.

    Examples
    --------
    >>> import pandas
    >>> table = pandas.DataFrame({"day": [1, 1, 2], "hour": [0, 6, 6], "reading": [3.0, 4.0, 5.0]})
    >>> source = table_source(table.set_index(["day", "hour"]))
    >>> source.names, source.read((slice(0, 2), slice(0, 2)))[1].tolist()
    (('day', 'hour'), [[True, True], [False, True]])
    """
    if _is_series(given):
        if given.index.nlevels == 1:
            raise ArgumentError(
                f"{name} is a Series with one key per row, which has 1 mode; a tensor ring needs at least 2: fold it, "
                "e.g. ringlet.fold(series.to_numpy(), [(-1, 7, 24)]), or give a DataFrame, or a Series whose rows have "
                "several keys (a MultiIndex)"
            )
        source = table_source(given.to_frame(), name)
        assert source is not None  # noqa: S101 - it is a table
        if not isinstance(source.labels, TableLabels):
            return source
        return replace(source, labels=replace(source.labels, columns=[given.name], series=True))
    if not is_table(given):
        return None
    if 0 in given.shape:
        raise ArgumentError(f"{name} is a DataFrame of shape {given.shape}, which holds no entries")
    if given.columns.has_duplicates:
        twice = given.columns[given.columns.duplicated()][0]
        raise ArgumentError(f"{name} has two columns {twice!r}; give every column a name of its own")
    _check_numeric(given, "iufb" if name == "mask" else "iuf", name)
    values, known = _entries(given)
    if given.index.nlevels == 1:
        found = likely_keys(given) if name == "data" else []
        if found:
            warn(
                f"data looks like a long table: {', '.join(map(repr, found))} together name every row, but are fitted "
                f"as numbers; if they are keys, give data.set_index({found})",
                DataWarning,
            )
        keys: tuple[NDArray[np.intp], ...] = ()
        names = mode_names([given.index.name, given.columns.name])
    else:
        keys, lengths, names = _keys(given.index, name)
        one = given.shape[1] == 1
        shape = lengths if one else (*lengths, given.shape[1])
        values = _placed(values[:, 0] if one else values, keys, shape)
        known = _placed(known[:, 0] if one else known, keys, shape)
        names = names if names is None or one else (*names, str(given.columns.name or _COLUMN_MODE))
    labels = TableLabels(given.index, given.columns, tuple(given.dtypes), dict(given.attrs), keys, values.ndim)
    if name == "mask":
        return ArraySource(values & known if values.dtype == bool else values, names=names)
    return ArraySource(values, None if known.all() else known, names=names, labels=labels)


def likely_keys(table: Any) -> list[Any]:
    """Columns that seem to hold the position of the entries of a long table; none of a table of rows x columns.

    These are the first columns without fractions that together, but none of them alone, tell all rows apart, where most
    of their combinations occur.

    Examples
    --------
    >>> import pandas
    >>> days, hours = [day for day in range(5) for _ in range(4)], [0, 6, 12, 18] * 5
    >>> likely_keys(pandas.DataFrame({"day": days, "hour": hours, "reading": range(20)}))
    ['day', 'hour']
    >>> likely_keys(pandas.DataFrame({"inside": days, "outside": days}))
    []
    """
    rows, keys, combinations = len(table), [], 1
    if rows < _FEWEST_ROWS:
        return []
    for name, dtype in table.dtypes.items():
        if dtype.kind in "fc":
            continue
        count = table[name].nunique()
        if count == rows:
            return []
        combinations *= count
        if combinations * _LEAST_GRID > rows:
            return []
        keys += [name] if count > 1 else []
        if len(keys) > 1 and combinations >= rows and not table.duplicated(keys).any():
            left = [other for other, kind in table.dtypes.items() if other not in keys and kind.kind in "iuf"]
            return keys if left else []
    return []


def check_index(data: Any, mask: Any) -> None:
    """Raise an error for a mask that is a table with other rows or columns than the data; they are not aligned."""
    data, mask = (given.to_frame() if _is_series(given) else given for given in (data, mask))
    if is_table(data) and is_table(mask):
        several = data.columns.size > 1 or data.index.nlevels == 1
        if not data.index.equals(mask.index) or (several and not data.columns.equals(mask.columns)):
            raise ArgumentError(
                "mask has other rows or columns than data; align them first, e.g. mask.reindex_like(data)"
            )


def from_dataframe(df: Any, modes: Sequence[Any], value: Any) -> Any:
    """Turn a long table, with one row for every entry, into an xarray.DataArray.

    Parameters
    ----------
    df : pandas.DataFrame
    modes : sequence of at least two names
        Columns, or levels of the index: their values are the coordinates of an entry. Each becomes a mode, sorted.
    value : name
        The column of the entries: integers or floats. NA and NaN mean missing.

    Returns
    -------
    xarray.DataArray
        With the sorted values of `modes` as coordinates. Integers become floats where entries are missing: those
        whose keys are not in the table are NaN.

    Raises
    ------
    ArgumentError
        A name is not in the table, or two rows have the same keys.
    ArgumentTypeError
        `df` is no DataFrame, or `value` is no column of numbers.

    Examples
    --------
    >>> import pandas, ringlet
    >>> table = pandas.DataFrame({"sensor": list("aabb"), "hour": [0, 6, 0, 6], "reading": [1.5, 2.5, 3.5, 4.5]})
    >>> ringlet.from_dataframe(table, modes=["sensor", "hour"], value="reading").sel(sensor="b").values
    array([3.5, 4.5])
    """
    if not is_table(df):
        raise ArgumentTypeError(f"df is of type {type(df).__name__}; give a pandas.DataFrame")
    try:
        import xarray
    except ImportError as error:
        raise MissingDependencyError('from_dataframe needs xarray: pip install "ringlet[xarray]"') from error
    wanted = [modes] if isinstance(modes, str) else list(check_sequence("modes", modes, "names of columns"))
    unusable = [name for name in (*wanted, value) if not isinstance(name, Hashable)]
    if unusable:
        raise ArgumentTypeError(f"{unusable[0]!r} cannot be the name of a column; give modes and value as names")
    if len(wanted) < 2 or len(set(wanted)) < len(wanted):
        raise ArgumentError(f"modes={modes!r} is not allowed; give at least two different names")
    if value in wanted:
        raise ArgumentError(f"value={value!r} is one of modes={modes!r}; give another column")
    named = [*df.index.names, *df.columns]
    twice = [name for name in (*wanted, value) if named.count(name) > 1]
    if twice:
        raise ArgumentError(f"df has two columns, or levels of its index, {twice[0]!r}; rename one of them")
    levels = [name for name in (*wanted, value) if name in df.index.names]
    flat = df.reset_index(level=levels) if levels else df
    absent = [name for name in (*wanted, value) if name not in flat.columns]
    if absent:
        raise ArgumentError(f"df has no column {absent[0]!r}; it has: {', '.join(map(str, flat.columns))}")
    try:
        long = flat.set_index(wanted)[[value]]
    except TypeError as error:  # lists, for instance
        raise ArgumentTypeError(f"modes={modes!r} hold values that cannot be keys: {error}") from error
    source = table_source(long, "df")
    assert source is not None  # noqa: S101 - it is a table
    values = source.array
    if source.mask is not None:
        floats = values.astype(np.result_type(values.dtype, np.float16))
        values = np.where(source.mask, floats, floats.dtype.type(np.nan))
    keys = long.index.remove_unused_levels().levels
    return xarray.DataArray(values, dict(zip(wanted, keys, strict=True)), wanted, name=value, attrs=dict(df.attrs))


def _check_numeric(frame: Any, kinds: str, name: str) -> None:
    others = [f"{column!r} ({dtype})" for column, dtype in frame.dtypes.items() if dtype.kind not in kinds]
    if others:
        allowed = "booleans, or zeros and ones" if "b" in kinds else "integers and floats"
        told = ", ".join(others[:_MOST_LISTED]) + (
            f" and {len(others) - _MOST_LISTED} more" if others[_MOST_LISTED:] else ""
        )
        raise ArgumentTypeError(
            f"{name} has columns that are no numbers: {told}; allowed are {allowed}: leave the others "
            f"out, or make them keys of the rows, e.g. {name}.set_index([...])"
        )


def _numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """That of the entries of a column; nullable columns and those of Arrow have their own dtypes."""
    plain: np.dtype[Any] = np.dtype(getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype)))
    return plain


def _entries(frame: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Entries of rows x columns in their common dtype, and which of them are known."""
    kinds = [_numpy_dtype(dtype) for dtype in frame.dtypes]
    values = np.empty(frame.shape, np.result_type(*kinds))
    for place, kind in enumerate(kinds):
        column = frame.iloc[:, place]
        # Missing entries get a number that integers have, too; they are never read.
        values[:, place] = column.to_numpy() if column.dtype == kind else column.to_numpy(kind, na_value=kind.type(0))
    return values, ~frame.isna().to_numpy()


def _keys(rows: Any, name: str) -> tuple[tuple[NDArray[np.intp], ...], tuple[int, ...], tuple[str, ...] | None]:
    """Where every row stands along the modes of its keys, the lengths of these modes, and their names."""
    used = rows.remove_unused_levels()
    keys = tuple(np.asarray(codes, np.intp) for codes in used.codes)
    if any((codes < 0).any() for codes in keys):
        raise ArgumentError(f"{name} has rows without a key (NaN in its index); drop them, or give them one")
    if rows.has_duplicates:
        twice = ", ".join(map(str, rows[rows.duplicated()][0]))
        which = f"level={list(range(rows.nlevels))}" if None in rows.names else repr(list(rows.names))
        raise ArgumentError(
            f"{name} has two rows of the key ({twice}); combine them, e.g. {name}.groupby({which}).mean()"
        )
    lengths = tuple(map(len, used.levels))
    if prod(lengths) > max(_MANY, len(rows) / _LEAST_FILLED):
        raise ArgumentError(
            f"{name} has {len(rows)} rows, but its keys span a tensor of {' x '.join(map(str, lengths))}, of which "
            "almost all is missing; give coarser keys"
        )
    return keys, lengths, mode_names(rows.names)


def _placed(values: NDArray[Any], keys: tuple[NDArray[np.intp], ...], shape: tuple[int, ...]) -> NDArray[Any]:
    """Rows at their places in a tensor; zero, or False, elsewhere."""
    tensor = np.zeros(shape, values.dtype)
    tensor[keys] = values
    return tensor
