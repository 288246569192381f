"""The table of bad inputs: every argument with every kind of value that it must refuse, in Python and as typed.

`ARGUMENTS` says of each argument how it is given, and which kinds of values it takes; all others are refused.
"""

from dataclasses import dataclass, field

import array_api_strict
import numpy as np
import pandas

import ringlet
from ringlet import AWRTRD, SAWRTRD, DaskExecutor, TensorRing, baselines, complete, decompose, plan, restore
from ringlet.sklearn import RingImputer, RingOutlierDetector
from ringlet.sources.files import load

VALUES = {
    "zero": 0,
    "negative": -1,
    "fraction": 1.5,
    "infinity": float("inf"),
    "minus infinity": float("-inf"),
    "not a number": float("nan"),
    "beyond floats": 10**400,
    "below floats": -(10**400),
    "text": "x",
    "empty text": "",
    "bytes": b"3",
    "truth": True,
    "list": [1, 2],
    "mapping": {"a": 1},
    "complex": 1j,
    "object": object(),
    "function": len,
    "type": int,
    "array": np.arange(3),
    "array without dimensions": np.array(2),
    "ragged list": [[1, 2], [3]],
    "long number": np.longdouble("1e4000") if np.finfo(np.longdouble).max > 1e308 else float("inf"),
    "half a character": "\ud800",
    "text with a null": "a\0b",
    "long text": "x" * 100_000,
    "long list": [1] * 100_000,
}
TEXTS = {
    "zero": "0",
    "negative": "-1",
    "fraction": "1.5",
    "infinity": "inf",
    "minus infinity": "-inf",
    "not a number": "nan",
    "beyond floats": "1" + "0" * 400,
    "below floats": "-1" + "0" * 400,
    "text": "x",
    "empty text": "",
    "list": "1,,2",
}

X = np.random.default_rng(0).random((5, 4, 3))
RING = TensorRing([np.ones((2, 4, 2)), np.ones((2, 3, 2))])
FIT = decompose(X, 2, solver=AWRTRD(smooth=0.0, sweeps=2))
PATH_FIT = decompose(X, sweeps=2)

COUNT = frozenset()
FROM_ZERO = frozenset({"zero"})
NUMBER = frozenset({"zero", "fraction"})
POSITIVE = frozenset({"fraction"})
WIDTH = frozenset({"fraction", "infinity", "long number"})
WHOLE = frozenset({"array without dimensions"})
BONDS = WHOLE | {"list"}
INDEX = WHOLE | {"zero", "negative", "list", "array", "long list"}
WORD = frozenset()
PATH = frozenset({"text"})
TEXT = frozenset({"text", "empty text", "half a character", "text with a null", "long text"})
FLAG = frozenset({"truth"})
NUMBERS = WIDTH | {"zero", "negative", "minus infinity", "not a number"}
FACTOR = frozenset({"negative", "bytes"})  # the bytes are a sequence of one number
FROM_END = frozenset({"zero", "negative"})
MANY = np.random.default_rng(0).random((3, 4, 3))
STACK = ringlet.decompose_many(MANY, 2)
THERE = array_api_strict.asarray(MANY[0], device=array_api_strict.Device("device1"))
TABLE = pandas.DataFrame({"a": [0, 1], "b": [1.0, 2.0]})


@dataclass(frozen=True)
class Argument:
    """One argument.

    Attributes
    ----------
    name : str
        As messages call it.
    call : callable
        Gives a value for the argument.
    takes : set of str
        Kinds of values that are allowed.
    options : tuple of str
        Words of a command to which ``OPTION=TEXT`` is added; empty where the command line has no such option.
    texts : set of str, optional
        Kinds of texts that the option takes, where they are not those of the argument.
    said : str
        What messages call the argument, if not by its name.
    """

    name: str
    call: object
    takes: frozenset = frozenset()
    option: str = ""
    texts: frozenset | None = None
    said: str = ""
    where: str = field(default="decompose")

    def rows(self):
        """Kinds and values that must be refused."""
        return [(kind, value) for kind, value in VALUES.items() if kind not in self.takes]

    def text_rows(self):
        """The same, as typed."""
        allowed = self.takes if self.texts is None else self.texts
        return [(kind, text) for kind, text in TEXTS.items() if kind not in allowed] if self.option else []


def _of_decompose(name, takes, option="", texts=None, said=""):
    return Argument(name, lambda value: decompose(X, **{"rank": 2, name: value}), takes, option, texts, said)


def _of_restore(name, takes, said=""):
    return Argument(
        name, lambda value: restore(X, rank=2, sweeps=2, **{name: value}), takes, said=said, where="restore"
    )


def _of_solver(kind, name, takes, **fixed):
    return Argument(name, lambda value: kind(**{name: value, **fixed}), takes, where=kind.__name__)


def _of_estimator(kind, name, takes):
    return Argument(name, lambda value: kind(**{name: value}).fit(X[0]), takes, where=kind.__name__)


ARGUMENTS = (
    Argument(
        "data", lambda value: decompose(value, 2), said="data|path|does not exist|file can have this name|too long"
    ),
    _of_decompose("rank", WHOLE, "--rank"),
    Argument(
        "mask",
        lambda value: decompose(X, 2, mask=value),
        said="mask|path|does not exist|file can have this name|too long",
    ),
    _of_decompose("seed", FROM_ZERO, "--seed"),
    _of_decompose("init", frozenset()),
    _of_decompose("callback", frozenset({"function", "type"})),
    _of_decompose("checkpoint", PATH, said="checkpoint|cannot write"),
    _of_decompose("every", COUNT, "--every"),
    _of_decompose("executor", frozenset()),
    _of_decompose("memory", frozenset(), "--memory"),
    _of_decompose("threads", COUNT, "--threads"),
    _of_decompose("sweeps", COUNT, "--sweeps"),
    _of_decompose("tol", NUMBER, "--tol"),
    _of_decompose("loss", WORD, "--loss"),
    _of_decompose("sigma", WIDTH, "--sigma"),
    _of_decompose("ridge", NUMBER, "--ridge"),
    _of_decompose("smooth", NUMBER, "--smooth"),
    _of_decompose("time", POSITIVE, "--time"),
    _of_decompose("solver", frozenset(), "--solver"),
    _of_solver(SAWRTRD, "samples", COUNT),
    _of_solver(SAWRTRD, "sampling", WORD),
    _of_solver(AWRTRD, "sigma_factor", POSITIVE),
    _of_solver(AWRTRD, "sigma_min", POSITIVE),
    _of_solver(AWRTRD, "scaling", WORD),
    _of_solver(AWRTRD, "solve", WORD),
    _of_solver(AWRTRD, "dtype", frozenset()),
    _of_solver(baselines.TRSVD, "accuracy", NUMBER),
    _of_solver(baselines.RandomizedTRSVD, "oversampling", FROM_ZERO),
    _of_solver(baselines.RandomizedTRSVD, "power", FROM_ZERO),
    _of_solver(baselines.L1TNN, "outlier_weight", WIDTH),
    _of_solver(baselines.L1TNN, "penalty", POSITIVE),
    _of_solver(baselines.LpTRC, "p", frozenset()),
    _of_solver(baselines.SampledTRALS, "samples", COUNT),
    _of_solver(baselines.TRALS, "sweeps", COUNT),
    Argument("solver", lambda value: complete(X, solver=value), where="complete"),
    Argument("seed", lambda value: complete(X, rank=2, seed=value), FROM_ZERO, where="complete"),
    Argument("sweeps", lambda value: restore(X, sweeps=value), COUNT, where="restore"),
    Argument("time", lambda value: restore(X, time=value), POSITIVE, where="restore"),
    Argument("shape", lambda value: plan(value, 2), frozenset({"list", "bytes"}), where="plan"),
    Argument("rank", lambda value: plan((5, 4, 3), value), WHOLE, where="plan"),
    Argument("chunks", lambda value: plan((5, 4, 3), 2, chunks=value), where="plan"),
    Argument("solver", lambda value: plan((5, 4, 3), 2, solver=value), where="plan"),
    Argument("tol", lambda value: RING.round(tol=value), NUMBER, where="TensorRing.round"),
    Argument("rank", lambda value: RING.round(rank=value), WHOLE | {"list"}, where="TensorRing.round"),
    Argument(
        "path",
        lambda value: TensorRing.load(value),
        where="TensorRing.load",
        said="path|does not exist|file can have this name|too long",
    ),
    Argument("path", lambda value: RING.save(value), PATH, where="TensorRing.save", said="path|cannot write"),
    Argument("precision", lambda value: RING.save("x.ring", precision=value), where="TensorRing.save"),
    Argument("fdr", lambda value: FIT.outliers(fdr=value), where="Fit.outliers"),
    Argument("seed", lambda value: FIT.extend(X, seed=value), FROM_ZERO, where="Fit.extend"),
    Argument("refresh", lambda value: FIT.extend(X, refresh=value), FROM_ZERO, where="Fit.extend"),
    Argument("forget", lambda value: FIT.extend(X, forget=value), FROM_ZERO, where="Fit.extend"),
    Argument("mode", lambda value: FIT.extend(X, mode=value), frozenset({"zero", "negative"}), where="Fit.extend"),
    Argument(
        "index",
        lambda value: FIT.weights(value),
        WHOLE | {"zero", "negative", "list", "array", "long list"},
        where="weights",
    ),
    Argument(
        "path", lambda value: load(value), where="load", said="path|does not exist|file can have this name|too long"
    ),
    Argument(
        "max_size",
        lambda value: load("nowhere.npy", max_size=value),
        option="--max-size",
        texts=frozenset({"fraction"}),
        where="load",
    ),
    Argument("absent", lambda value: load("nowhere.npy", absent=value), option="--absent", where="load"),
    _of_decompose("progress", FLAG),
    _of_restore("detail", FLAG),
    _of_restore("keep", FLAG),
    _of_restore("trust_known", FLAG),
    _of_restore("missing", NUMBERS),
    _of_restore("force", FLAG),
    _of_restore("output", frozenset(), "output|cannot write"),
    Argument("dtype", lambda value: plan((5, 4, 3), 2, dtype=value), frozenset({"type"}), where="plan"),
    Argument("factors", lambda value: ringlet.fold(X, value), where="fold"),
    Argument(
        "factors[0]", lambda value: ringlet.fold(X, [value, None, None]), FACTOR, where="fold", said=r"factors\[0\]"
    ),
    Argument("paired", lambda value: ringlet.fold(X, [None] * 3, paired=value), FLAG, where="fold"),
    Argument("shape", lambda value: ringlet.unfold(X, [None] * 3, value), where="unfold", said="shape|factors has"),
    Argument("size", lambda value: ringlet.windows(value), WHOLE, where="windows"),
    Argument("mode", lambda value: decompose(X, ringlet.background(value)), FROM_END, where="background"),
    Argument("trusted", lambda value: ringlet.target(psnr=30, trusted=value), FLAG, where="target"),
    Argument("cores", lambda value: TensorRing(value), where="TensorRing", said="core"),
    Argument("cores", lambda value: TensorRing.from_tensorly(value), where="from_tensorly", said="core"),
    Argument("names", lambda value: TensorRing(RING.cores, names=value), where="TensorRing"),
    Argument("units", lambda value: TensorRing(RING.cores, units=value), TEXT, where="TensorRing"),
    Argument("axes", lambda value: RING.transpose(value), where="transpose", said="axes|mode"),
    Argument("force", lambda value: RING.save("x.ring", force=value), FLAG, where="TensorRing.save"),
    Argument(
        "modes", lambda value: ringlet.from_dataframe(TABLE, value, "b"), where="from_dataframe", said="modes|column"
    ),
    Argument(
        "value",
        lambda value: ringlet.from_dataframe(TABLE, ["a", "b"], value),
        where="from_dataframe",
        said="value|name|column",
    ),
    Argument(
        "rank",
        lambda value: ringlet.decompose_many(MANY, value),
        WHOLE | {"list"},
        where="decompose_many",
        said="rank|bond",
    ),
    Argument("seed", lambda value: ringlet.decompose_many(MANY, 2, seed=value), FROM_ZERO, where="decompose_many"),
    Argument("solver", lambda value: ringlet.decompose_many(MANY, 2, solver=value), where="decompose_many"),
    Argument(
        "data",
        lambda value: ringlet.decompose_many(value, 2),
        where="decompose_many",
        said="data|does not exist|file can have this name|too long|path",
    ),
    Argument(
        "mask",
        lambda value: ringlet.decompose_many(MANY, 2, mask=value),
        where="decompose_many",
        said="mask|does not exist|file can have this name|too long|path",
    ),
    Argument(
        "index",
        lambda value: STACK[value],
        WHOLE | FROM_END | FLAG,
        where="ManyRings",
    ),
    Argument("device", lambda value: decompose(X, 2, device=value), where="decompose", said="device"),
    Argument("refine", lambda value: FIT.restored(refine=value), frozenset({"function", "type"}), where="Fit.restored"),
    Argument("detail", lambda value: FIT.restored(detail=value), FLAG, where="Fit.restored"),
    Argument("keep", lambda value: FIT.restored(keep=value), FLAG, where="Fit.restored"),
    Argument("axes", lambda value: PATH_FIT.plot_path(value), where="Fit.plot_path"),
    Argument("new_slices", FIT.extend, where="Fit.extend", said="new_slices|path|does not exist|file can|too long"),
    Argument(
        "mask",
        lambda value: FIT.extend(X, mask=value),
        where="Fit.extend",
        said="mask|path|not exist|file can|too long",
    ),
    Argument("device", lambda value: plan((5, 4, 3), 2, device=value), where="plan", said="device"),
    Argument("device", RING.to, where="TensorRing.to", said="device"),
    _of_estimator(RingImputer, "modes", frozenset()),
    _of_estimator(RingImputer, "rank", BONDS),
    _of_estimator(RingImputer, "solver", frozenset()),
    _of_estimator(RingOutlierDetector, "contamination", frozenset()),
    _of_solver(baselines.TRSVD, "start_mode", FROM_ZERO),
    _of_solver(baselines.LpTRC, "epsilon", POSITIVE),
    Argument("amount", lambda value: ringlet.budget(value), where="budget"),
    Argument("psnr", lambda value: ringlet.target(psnr=value), POSITIVE, where="target"),
    Argument("client", lambda value: DaskExecutor(value), where="DaskExecutor"),
)

BAD_DATA = {
    "complex entries": X + 1j,
    "objects": X.astype(object),
    "booleans": X > 0.5,
    "texts": X.astype(str),
    "dates": X.astype("i8").astype("M8[D]"),
    "durations": X.astype("i8").astype("m8[D]"),
    "records": np.zeros((5, 4), [("a", float)]),
    "long doubles": X.astype(np.longdouble),
    "no modes": np.array(1.0),
    "one mode": np.arange(9.0),
    "an empty mode": X[:0],
    "an infinite entry": np.where(X[0, 0, 0] == X, np.inf, X),
    "a masked tensor without a known entry": np.ma.array(X, mask=True),
    "nothing but NaN": X * np.nan,
    "numbers that float64 cannot work with": X * 1e-320,
    "a table without rows": TABLE[:0],
    "a series": TABLE["b"],
    "a list of arrays on a device": [THERE, THERE],
    "a list of masked arrays": [np.ma.array(X[0], mask=X[0] > 0.5), X[0]],
    "an array on a device of one mode": THERE[0, :],
    "an array on a device with an infinite entry": THERE * np.inf,
    "booleans on a device": THERE > 0.5,
}
BAD_MASKS = {
    "whole numbers": np.ones(X.shape, int),
    "floats": np.ones(X.shape),
    "grey levels": np.full(X.shape, 255, np.uint8),
    "objects": np.ones(X.shape, object),
    "texts": np.full(X.shape, "True"),
    "a masked array": np.ma.array(np.ones(X.shape, bool), mask=X > 0.5),
    "another shape": np.ones(X.shape[:2], bool),
    "modes in another order": np.ones(X.shape[::-1], bool),
    "nothing known": np.zeros(X.shape, bool),
}
BAD_INDICES = {
    "too many": (0, 0, 0, 0),
    "out of range": 5,
    "two ellipses": (..., ...),
    "a mask of another length": np.ones(4, bool),
    "a mask of another shape": np.ones((4, 5), bool),
    "floats": np.array([0.0, 1.0]),
    "a new axis": (None, 0),
    "a step of zero": slice(None, None, 0),
    "a slice to a fraction": slice(0, 2.5),
    "a slice of texts": (0, slice("a", "b")),
    "a slice by a fraction": (..., slice(None, None, 1.5)),
}
_VERBS = {"decompose": lambda x, **more: decompose(x, 2, **more), "complete": complete, "restore": restore}
_VIEWS = ("weights", "residuals", "zscores", "outliers", "uncertainty", "restored")
ARRAYS = [
    *(
        (f"{verb}(data) {kind}", Argument("data", call, where=verb), value)
        for verb, call in _VERBS.items()
        for kind, value in BAD_DATA.items()
    ),
    *(
        (f"{verb}(mask) {kind}", Argument("mask", lambda mask, call=call: call(X, mask=mask), where=verb), value)
        for verb, call in _VERBS.items()
        for kind, value in BAD_MASKS.items()
    ),
    *(
        (f"Fit.{view}(index) {kind}", Argument("index", getattr(FIT, view), where=view, said="ind(ex|ices)"), value)
        for view in _VIEWS
        for kind, value in BAD_INDICES.items()
    ),
    *(
        (
            f"TensorRing[index] {kind}",
            Argument("index", FIT.ring.__getitem__, said="ind(ex|ices)|newaxis|step of a slice"),
            value,
        )
        for kind, value in BAD_INDICES.items()
    ),
]
ODD_DATA = {
    "big endian": X.astype(">f8"),
    "half precision": X.astype(np.float16),
    "read-only": np.broadcast_to(X[:, :, :1], X.shape),
    "steps that go back": X[::-1, :, ::-2],
    "columns first": np.asfortranarray(X),
    "no axis but one is longer than 1": X[:, :1, :1],
    "one entry": X[:1, :1, :1],
    "constant": np.full(X.shape, 7.0),
    "zeros": np.zeros(X.shape, np.int8),
    "one known entry": np.where(X[0, 0, 0] == X, X, np.nan),
    "masked": np.ma.array(X, mask=X > 0.9),
    "unsigned and large": (X * 2**63).astype(np.uint64),
    "small": X * 1e-300,
    "large": X * 1e300,
    "an infinite entry that is masked": np.ma.array(np.where(X > 0.9, np.inf, X), mask=X > 0.9),
    "lists": X.tolist(),
}

PYTHON = [
    *(
        (f"{argument.where}({argument.name}) {kind}", argument, value)
        for argument in ARGUMENTS
        for kind, value in argument.rows()
    ),
    *ARRAYS,
]
TYPED = [(f"{one.option} {kind}", one, text) for one in ARGUMENTS for kind, text in one.text_rows()]
