"""Measure all methods on all cases; what is in the records already is not measured again."""

from collections.abc import Callable, Sequence

from ringlet.bench.impute.cases import ImputeCase, Outages
from ringlet.bench.impute.rivals import METHODS, RINGLET, check_libraries, measure
from ringlet.errors import RingletError
from ringlet.experiments.journal import Record
from ringlet.experiments.runner import run_facts

__all__ = ["ALL_METHODS", "run_cases"]

ALL_METHODS = (RINGLET, *METHODS)


def run_cases(
    cases: Sequence[ImputeCase],
    methods: Sequence[str],
    records: list[Record],
    append: Callable[[Record], None],
    *,
    again: bool = False,
    report: Callable[[Record], None],
) -> None:
    """Measure the methods on the cases.

    Parameters
    ----------
    cases : sequence of ImputeCase
    methods : sequence of str
        Of `ALL_METHODS`.
    records, append
        As `records_in` gives them.
    again : bool
        Measure also what the records hold; of two records of the same method and case the later one counts.
    report : callable
        Called with every new record.
    """
    check_libraries(methods)
    done = set() if again else {(record["case"], record["method"]) for record in records}
    facts = run_facts()
    for case in cases:
        outages: Outages | None = None
        for method in methods:
            if (case.name, method) in done:
                continue
            outages = outages or case.outages()
            record: Record = {"case": case.name, "tensor": case.tensor.name, "outage": case.outage}
            record |= {"wrong": case.wrong, "method": method, "shape": list(outages.data.shape)}
            try:
                record |= measure(method, outages)
            except RingletError as error:
                record |= {"nrmse": None, "seconds": None, "setting": f"failed: {error}"}
            append(record | facts)
            report(record)
