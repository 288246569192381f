"""Runs what is left of families: some batches at a time, each of these with a child process for its cases."""

import queue
import sys
import threading
import time

from soak.pool import Child


def run_families(families, journal, share, processes):
    """Run and record all batches that are not recorded. Ctrl-C ends it; batches under way are run again next time."""
    # Families of one batch first: some take minutes.
    todo = sorted((len(journal.left(family, share)) != 1, place) for place, family in enumerate(families))
    batches = queue.SimpleQueue()
    for _, place in todo:
        for first, count in journal.left(families[place], share):
            batches.put((families[place], first, count))
    stop, failures = threading.Event(), []

    def work():
        try:
            with Child(stop=stop) as child:
                while not stop.is_set():
                    _run(*batches.get_nowait(), child, journal, stop)
        except queue.Empty:
            return
        except BaseException as error:
            stop.set()
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(processes)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:
        stop.set()
        raise
    if failures:
        raise failures[0]


def _run(family, first, count, child, journal, stop):
    start = time.perf_counter()
    outcomes, violations = family.run_batch(first, count, child)
    if stop.is_set():  # programs under way may have been interrupted, too
        return
    seconds = time.perf_counter() - start
    journal.record(family, first, count, (outcomes, violations), seconds)
    told = "".join(f"    {violation}\n" for violation in violations[:3])
    sys.stdout.write(
        f"{family.name} {first} to {first + count - 1}: {seconds:.0f} s, {len(violations)} violated\n{told}"
    )
    sys.stdout.flush()
