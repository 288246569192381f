"""TIFF files, of one page or many, as arrays, through tifffile. Only decodes."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from numpy.typing import NDArray

from ringlet.errors import DataWarning, FormatError, MissingDependencyError, warn
from ringlet.sources.annotations import mode_names
from ringlet.sources.inflation import check_inflation
from ringlet.sources.limits import ReadRules, check_size, size_limit

__all__ = ["TIFF_AXES", "import_tifffile", "read_tiff"]

_PLAIN = 1  # the code of strips that are not compressed
_ORDERS: dict[str, Literal["little", "big"]] = {"<": "little", ">": "big"}

# Names of the modes by the letters that tifffile has for the axes of a stack.
TIFF_AXES = {"Y": "height", "X": "width", "S": "colour", "C": "channel", "T": "time", "Z": "depth", "I": "page"}


def import_tifffile() -> ModuleType:
    """Import tifffile, or raise an error that says how to install it."""
    try:
        import tifffile
    except ImportError as error:
        raise MissingDependencyError('TIFF files need tifffile: pip install "ringlet[tiff]"') from error
    module: ModuleType = tifffile
    return module


def read_tiff(path: Path, rules: ReadRules) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """The first series of a TIFF file, in its own dtype and order of axes, and names of its modes.

    Pages of one size are a stack, whose first mode is that of the pages. Files of microscopes may name others, which
    hold planes of the same stack.
    """
    alone = {} if rules.follow_links else {"_multifile": False, "is_mmstack": False, "is_ndtiff": False}
    with _damage_is_an_error(), import_tifffile().TiffFile(path, **alone) as file:
        _check_directories(file)
        if not file.series:
            raise FormatError("there is no picture in it")
        series = file.series[0]
        if len(file.series) > 1:
            told = ", ".join(" x ".join(map(str, other.shape)) for other in file.series)
            warn(f"{path} holds pictures of different sizes or types ({told}); only the first is read", DataWarning)
        if file.is_ome and series.kind != "ome":
            raise FormatError("its OME metadata name other files, which are not read; follow_links=True reads them")
        if any(page is None for page in series.pages):
            raise FormatError("planes of its stack are missing; they may be in other files that are gone")
        if series.dtype is None:
            raise FormatError("a picture of numbers that NumPy does not have")
        check_size(series.size * series.dtype.itemsize, rules.max_size, path)
        _check_segments(file, series, rules.max_size)
        array: NDArray[Any] = series.asarray()
        names = [TIFF_AXES.get(axis, f"axis {axis}") for axis in series.axes]
    return array.astype(array.dtype.newbyteorder("="), copy=False), mode_names(names)


def _check_directories(file: Any) -> None:
    """Refuse pages whose directories share bytes: there may be one for every byte, and each takes a while to read."""
    handle, form = file.filehandle, file.tiff
    offset, left = file.pages.first.offset, handle.size
    while offset:
        handle.seek(offset)
        tags = int.from_bytes(handle.read(form.tagnosize), _ORDERS[form.byteorder])
        length = form.tagnosize + tags * form.tagsize
        left -= length + form.offsetsize
        if left < 0:
            raise FormatError("damaged: the directories of its pages overlap")
        handle.seek(offset + length)
        offset = int.from_bytes(handle.read(form.offsetsize), _ORDERS[form.byteorder])


def _check_segments(file: Any, series: Any, max_size: float | str | None) -> None:
    """Refuse strips and tiles that unpack to more than is allowed; tifffile unpacks several of them at once."""
    most = size_limit(max_size) // max(1, import_tifffile().TIFF.MAXWORKERS)
    for page in series.pages:
        if page.keyframe.compression == _PLAIN:
            continue
        for offset, count in zip(page.dataoffsets, page.databytecounts, strict=False):
            file.filehandle.seek(offset)
            check_inflation(file.filehandle.read(count), most, "a strip or tile")


@contextmanager
def _damage_is_an_error() -> Iterator[None]:
    """Raise an error for damage that tifffile only logs while it gives what is left of a stack."""
    logger, records = logging.getLogger("tifffile"), _Records()
    logger.addHandler(records)
    propagates, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.propagate = propagates
        logger.removeHandler(records)
    if records.messages:
        raise FormatError(f"damaged: {records.messages[0]}")


class _Records(logging.Handler):
    """Messages of errors."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
