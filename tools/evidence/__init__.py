"""The tables of the evidence pages, written from the records in `benchmarks` and `docs/results`.

    PYTHONPATH=tools python -m evidence                       # write all tables from the records
    PYTHONPATH=tools python -m evidence imputation --data DIR # measure for a page, then write all tables

A page has marks, `<!-- NAME: begin -->` and `<!-- NAME: end -->`; what stands between them is replaced. The tests
compare pages and records.
"""
