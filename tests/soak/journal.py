"""What has been run: a line of JSON for every batch, with a digest of the code that it is about."""

import json
from collections import Counter
from threading import Lock


class Journal:
    """The batches in a file."""

    def __init__(self, path):
        self._path = path
        self._lock = Lock()

    def recorded(self, family):
        """Batches of a family that its code has behind it."""
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        known = {"family": family.name, "code": family.code()}
        return [batch for batch in map(json.loads, lines) if known.items() <= batch.items()]

    def left(self, family, share=1.0):
        """The first number and the count of every batch that is still to be run."""
        done = {number for batch in self.recorded(family) for number in _numbers(batch)}
        total, batches = family.count(share), []
        for start in range(0, total, family.batch):
            missing = [number for number in range(start, min(start + family.batch, total)) if number not in done]
            if missing:  # batches with fewer cases than this one begin where it does
                batches.append((missing[0], len(missing)))
        return batches

    def record(self, family, first, count, result, seconds):
        """Add a batch."""
        outcomes, violations = result
        batch = {"code": family.code(), "family": family.name, "first": first, "count": count}
        batch |= {"outcomes": dict(outcomes), "violations": violations, "seconds": seconds}
        with self._lock, self._path.open("a") as file:
            file.write(json.dumps(batch) + "\n")

    def summary(self, families):
        """Cases, outcomes and violations of those families that have been run."""
        rows = []
        for family in families:
            own = self.recorded(family)
            if not own:
                continue
            outcomes = sum((Counter(batch["outcomes"]) for batch in own), Counter())
            violated = outcomes.pop("violated", 0)
            cases = violated + outcomes.total()
            rows.append(
                {
                    "promise": family.promise,
                    "code": family.code(),
                    "what": family.what,
                    "cases": cases,
                    "total": max(family.total, cases),  # of tests the run tells how many there are
                    "outcomes": dict(outcomes.most_common()),
                    "violated": violated,
                    "seconds": round(sum(batch["seconds"] for batch in own)),
                }
            )
        return rows


def _numbers(batch):
    return range(batch["first"], batch["first"] + batch["count"])
