"""Do two source trees give the same bits? Fits about 140 small cases with both and compares the results' hashes.

    python benchmarks/same_bits.py OLD_TREE NEW_TREE
    python benchmarks/same_bits.py OLD_TREE NEW_TREE --only "SAWRTRD*memory"
    python benchmarks/same_bits.py --list

A tree is a checkout: the folder that holds `src/ringlet`. Bits depend on the machine, so both trees run on this one,
with this Python, each in a process of its own, side by side. Compared are the cores (the tensor of methods without a
ring), the weights and the restored data, with their shapes and dtypes. Some cases must agree within a tree, too: one
thread and two, a fit that was resumed and one that was never interrupted. The exit code is 0 if all is the same, 1 if
something differs: then a table tells what, and by how much of the tensor's largest entry the tensors differ.
"""

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterable
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from same_bits_cases import TWINS, all_cases

Hashes: TypeAlias = dict[str, dict[str, str]]  # by case and part


def hash_of(arrays: Iterable[NDArray[Any]]) -> str:
    """Of values, shapes and dtypes; memory layout does not count."""
    found = sha256()
    for array in arrays:
        found.update(f"{array.shape} {array.dtype.str}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def parts(result: Any, block: Any) -> dict[str, list[NDArray[Any]]]:
    """What is compared of a result."""
    found = {"tensor": [result.tensor]} if result.ring is None else {"cores": list(result.ring.cores)}
    if block is not None:
        found |= {"weights": [result.weights(block)], "restored": [result.restored(block)]}
    return found


def run_cases(tree: Path, names: list[str], folder: Path) -> None:
    """In a child process: fit with the tree on the path, save dense results, print hashes as JSON."""
    import ringlet

    if not Path(ringlet.__file__).resolve().is_relative_to(tree.resolve()):
        raise SystemExit(f"ringlet was imported from {ringlet.__file__}, not from {tree}")
    warnings.simplefilter("ignore")  # cases with empty slices and few entries are meant to be so
    cases = all_cases()
    hashes: Hashes = {}
    for number, name in enumerate(names):
        own = folder / str(number)
        own.mkdir()
        try:
            result = cases[name].run(own)
            hashes[name] = {part: hash_of(arrays) for part, arrays in parts(result, cases[name].block).items()}
            np.save(folder / f"{number}.npy", result.tensor if result.ring is None else np.asarray(result.ring))
        except Exception as error:  # of whatever kind: the other cases still count
            hashes[name] = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(hashes))


def start_child(tree: Path, names: list[str], folder: Path) -> "subprocess.Popen[str]":
    """Start the same script again, with the sources of a tree."""
    folder.mkdir()
    environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    environment["PYTHONPATH"] = str(tree.resolve() / "src")
    command = [sys.executable, __file__, "--child", json.dumps([str(tree), names, str(folder)])]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)  # noqa: S603


def relative_difference(old: Path, new: Path) -> str:
    """Of two saved tensors, relative to the largest entry of the old one."""
    if not (old.exists() and new.exists()):
        return "-"
    a, b = np.load(old), np.load(new)
    if a.shape != b.shape:
        return f"shapes {a.shape} and {b.shape}"
    return f"{np.abs(a.astype(np.float64) - b).max() / np.abs(a).max():.2g}"


def compare(trees: list[Path], names: list[str]) -> list[tuple[str, str, str]]:
    """Rows of case, what differs, and by how much."""
    with TemporaryDirectory() as scratch:
        folders = [Path(scratch) / side for side in ("old", "new")]
        children = [start_child(tree, names, folder) for tree, folder in zip(trees, folders, strict=True)]
        printed = [child.communicate()[0] for child in children]
        if any(child.returncode for child in children):
            raise SystemExit(2)  # the child has said why
        old, new = (json.loads(text) for text in printed)
        sides: tuple[tuple[str, Hashes], ...] = (("old", old), ("new", new))
        rows = []
        for number, name in enumerate(names):
            errors = [(side, found[name]["error"]) for side, found in sides if "error" in found[name]]
            if errors:
                rows += [(name, f"{side} tree: {error}", "-") for side, error in errors]
            elif old[name] != new[name]:
                differing = [part for part in old[name] | new[name] if old[name].get(part) != new[name].get(part)]
                saved = [folder / f"{number}.npy" for folder in folders]
                rows.append((name, ", ".join(differing), relative_difference(*saved)))
        for (side, found), folder in zip(sides, folders, strict=True):
            for first, second in TWINS:
                if first in found and second in found and found[first] != found[second]:
                    saved = [folder / f"{names.index(name)}.npy" for name in (first, second)]
                    rows.append((f"{first} = {second}", f"not in the {side} tree", relative_difference(*saved)))
        return rows


def main() -> int:
    """Compare, and print what differs."""
    parser = argparse.ArgumentParser(description="Do two source trees give the same bits?")
    parser.add_argument("trees", nargs="*", type=Path, metavar="TREE", help="OLD_TREE NEW_TREE")
    parser.add_argument(
        "--only", metavar="PATTERN", default="", help="cases whose name holds this; *, ? and [] as in a shell"
    )
    parser.add_argument("--list", action="store_true", help="print the names of the cases and do nothing")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        tree, names, folder = json.loads(given.child)
        run_cases(Path(tree), names, Path(folder))
        return 0
    names = [name for name in all_cases() if fnmatchcase(name, f"*{given.only}*")]
    if not names:
        parser.error(f"--only {given.only!r} matches no case; --list prints them")
    if given.list:
        print("\n".join(names))
        return 0
    if len(given.trees) != 2:
        parser.error(f"{len(given.trees)} tree(s) given; give two: OLD_TREE NEW_TREE")
    for tree in given.trees:
        if not (tree / "src" / "ringlet").is_dir():
            parser.error(f"{tree} is not a source tree: it has no src/ringlet")
    rows = compare(given.trees, names)
    if not rows:
        print(f"all {len(names)} cases have the same bits")
        return 0
    table = [("case", "differs", "relative difference"), *rows]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    for row in table:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    print(f"{len({row[0] for row in rows})} of {len(names)} cases differ")
    return 1


if __name__ == "__main__":
    sys.exit(main())
