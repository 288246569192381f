"""Tables in csv, tsv and parquet files, through pandas: columns of numbers are data, all others are labels."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from ringlet.errors import ArgumentError, DataWarning, FormatError, MissingDependencyError, warn
from ringlet.sources.labels import Labels, PlainIndex, Quantity, is_whole
from ringlet.sources.limits import check_size
from ringlet.sources.memory import ArraySource
from ringlet.sources.tables import import_pandas, likely_keys, table_source

__all__ = ["import_table_library", "read_table", "table_file_source"]

_NUMBER_BYTES = 8  # of an entry of a table in memory
_MOST_COLUMNS = 1 << 16
_TEXTS = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")  # types of Arrow
_PIECE = 1 << 20  # bytes of a file that are looked at together
_LONGEST_HEAD = 1 << 16  # bytes of the first line that are looked at
_MOSTLY = 0.5  # share of the fields of a column that are numbers: the others may be words for missing ones


@dataclass(frozen=True, eq=False)
class TableFileLabels:
    """A table of a file without the entries that are fitted.

    Attributes
    ----------
    fitted : Labels
        Those of the table of the fitted columns.
    others : pandas.DataFrame
        The other columns: keys, and what is no number.
    columns : tuple
        Names of all columns, in their order.
    """

    fitted: Labels
    others: Any
    columns: tuple[Any, ...]

    @property
    def modes(self) -> int:
        """Number of modes of the tensor."""
        return self.fitted.modes

    def label(self, values: NDArray[Any], index: PlainIndex | None, quantity: Quantity) -> Any:
        """All values as a table with the columns of the file; parts stay arrays."""
        if not is_whole(index):
            return values
        filled = self.fitted.label(values, index, quantity).set_axis(self.others.index, axis=0)
        return import_pandas().concat([self.others, filled], axis=1)[list(self.columns)]


def _warn_if_long(path: Path, table: Any) -> None:
    keys = likely_keys(table)
    if keys:
        warn(
            f"{path} looks like a long table: {', '.join(map(repr, keys))} together name every row; if they are keys, "
            f"give key='{','.join(map(str, keys))}'",
            DataWarning,
        )


def _words_among_numbers(others: Any) -> Iterator[tuple[Any, str]]:
    """Columns of texts of which most are numbers, and the first text that is none."""
    pandas = import_pandas()
    for name, column in others.items():
        if not pandas.api.types.is_string_dtype(column.dtype):
            continue
        texts = column.dropna()
        numbers = pandas.to_numeric(texts, errors="coerce").notna()
        if _MOSTLY < numbers.mean() < 1:
            yield name, str(texts[~numbers].iloc[0])


def import_table_library(kind: str) -> Any:
    """Import pandas, with what it needs for a kind of file, or raise an error that says how to install it."""
    pandas = import_pandas()
    if kind == "parquet":
        try:
            import pyarrow  # noqa: F401 - the engine that pandas uses
        except ImportError as error:
            raise MissingDependencyError('parquet files need pyarrow: pip install "ringlet[table]"') from error
    return pandas


def read_table(path: Path, kind: str, max_size: float | str | None = None) -> Any:
    """The table of a file; whole numbers stay whole where some are missing. It may take `max_size` bytes."""
    pandas = import_table_library(kind)
    check_size(path.stat().st_size, max_size, path)
    if kind == "parquet":
        _check_parquet(path, max_size)
    with path.open("rb") as file:  # an open file, not a path: a path could be read as an address
        if kind == "parquet":
            return pandas.read_parquet(file, engine="pyarrow")
        separator = "\t" if path.suffix.lower() == ".tsv" else ","
        head = file.readline(_LONGEST_HEAD)
        _check_fields(path, file, separator.encode(), max_size)
        file.seek(0)
        if separator.encode() not in head and b";" in head:
            raise FormatError(
                "its columns are separated by ';'; commas are read, tabs in .tsv files, and decimal points. Save it "
                "so, or give a table: ringlet.restore(pandas.read_csv(path, sep=';', decimal=','))"
            )
        return pandas.read_csv(file, sep=separator, dtype_backend="numpy_nullable", index_col=False)


def _check_parquet(path: Path, max_size: float | str | None) -> None:
    """Refuse a parquet file that says that it takes more memory than is allowed, or whose texts do.

    A text that is stored once can stand in every row. Texts of extension types are refused: they cannot be
    measured.
    """
    import pyarrow.compute
    import pyarrow.parquet

    with path.open("rb") as file:
        opened = pyarrow.parquet.ParquetFile(file)
        described = opened.metadata
        _check_columns(described.num_columns)
        check_size(_NUMBER_BYTES * described.num_rows * described.num_columns, max_size, path)
        groups = [described.row_group(number) for number in range(described.num_row_groups)]
        parts = [group.column(number) for group in groups for number in range(described.num_columns)]
        check_size(sum([part.total_uncompressed_size for part in parts]), max_size, path)
        fields = [(one.name, one.type, getattr(one.type, "storage_type", one.type)) for one in opened.schema_arrow]
        texts, size = [], 0
        for name, kind, stored in fields:
            if pyarrow.types.is_nested(stored):
                raise FormatError(f"its column {name!r} holds several values in a row; a table of single ones is read")
            if str(stored) in _TEXTS and stored is not kind:
                raise FormatError(f"its column {name!r} is of the type {kind}; save it as plain texts")
            if str(stored) in _TEXTS:
                texts.append(name)
            elif pyarrow.types.is_fixed_size_binary(stored):
                size += stored.byte_width * described.num_rows
        packed = pyarrow.parquet.ParquetFile(file, read_dictionary=texts).read(texts) if texts else None
        for column in () if packed is None else packed.columns:
            for chunk in column.chunks:
                lengths = pyarrow.compute.binary_length(chunk.dictionary)
                size += pyarrow.compute.sum(lengths.take(chunk.indices).cast("int64")).as_py() or 0
        check_size(size, max_size, path)


def _check_fields(path: Path, file: BinaryIO, separator: bytes, max_size: float | str | None) -> None:
    """Refuse a csv file of more fields than are allowed."""
    file.seek(0)
    first, fields = True, 0
    while piece := file.read(_PIECE):
        end = b"\n" if b"\n" in piece else b"\r"  # of lines: old files have the latter alone
        line, found, _ = piece.partition(end)
        if first:
            _check_columns(fields + line.count(separator) + 1)
        fields += piece.count(separator) + piece.count(end)
        first = first and not found
    check_size(_NUMBER_BYTES * fields, max_size, path)


def _check_columns(count: int) -> None:
    """Refuse a table that would take minutes: work is done for every column."""
    if count > _MOST_COLUMNS:
        raise FormatError(f"it has {count} columns or more; at most {_MOST_COLUMNS} are read: save it transposed")


def table_file_source(
    path: Path, kind: str, key: str | None = None, max_size: float | str | None = None
) -> ArraySource:
    """The tensor of a table.

    Parameters
    ----------
    path : Path
    kind : {"csv", "parquet"}
    key : str, optional
        Names of columns that say where an entry is, joined by commas: one names the rows, several are the modes.
        Without it the modes are rows x columns, or the levels of the index that a parquet file has.
    max_size : number or str, optional
        Bytes that the table may take.
    """
    table = read_table(path, kind, max_size)
    if key is not None and table.index.names != [None]:
        table = table.reset_index()
    keys = [] if key is None else key.split(",")
    if len(keys) <= 1:
        _warn_if_long(path, table)
    absent = [name for name in keys if name not in table.columns]
    if absent:
        raise ArgumentError(f"{path} has no column {absent[0]!r}; it has: {', '.join(map(str, table.columns))}")
    fitted = [name for name, dtype in table.dtypes.items() if name not in keys and dtype.kind in "iuf"]
    worded = list(_words_among_numbers(table.drop(columns=[*keys, *fitted])))
    if worded:
        name, word = worded[0]
        more = f" and {len(worded) - 1} more" if len(worded) > 1 else ""
        warn(
            f"{path}: column {name!r}{more} is not fitted, because of words such as {word!r} among its numbers; leave "
            "the fields of missing entries empty",
            DataWarning,
        )
    if not fitted:
        told = ", ".join(f"{name} ({dtype})" for name, dtype in table.dtypes.items())
        raise FormatError(f"there is no column of numbers to be fitted in it; it has: {told}")
    others = table.drop(columns=fitted)
    source = table_source(table.set_index(keys)[fitted] if keys else table[fitted], str(path))
    assert source is not None and source.labels is not None  # noqa: S101, PT018 - it is a table
    return replace(source, labels=TableFileLabels(source.labels, others, tuple(table.columns)))
