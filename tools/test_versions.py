"""Runs the suite with every Python from 3.11 on that is found; ``make test-versions``.

Each version has an environment of its own, .venv-3.12 and so on. At the end a line for each version says how it went.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def interpreters() -> dict[str, Path]:
    """One interpreter of each version: on the path, or of pyenv."""
    found = {}
    for version in VERSIONS:
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
        paths = [shutil.which(f"python{version}"), *pyenv.glob(f"{version}.*/bin/python{version}")]
        works = next((Path(path) for path in paths if path and _version(path) == version), None)
        if works is not None:
            found[version] = works
    return found


def _version(path: str | Path) -> str:
    """The version of an interpreter; empty if it cannot make environments."""
    code = "import ensurepip, sys, venv; print('.'.join(map(str, sys.version_info[:2])))"
    return subprocess.run([path, "-c", code], capture_output=True, text=True, check=False).stdout.strip()


def run_suite(version: str, interpreter: Path) -> str:
    """The last line that pytest says."""
    folder = Path(f".venv-{version}")
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([interpreter, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", "pip"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-e", ".[all]", "--group", "test"], check=True)
        (folder / "ready").touch()
    command = [python, "-m", "pytest", "-n", "2", "--dist", "worksteal", "-q", "src", "tests", "README.md", "docs"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    print(done.stdout)
    return f"Python {version}: {'passed' if done.returncode == 0 else 'FAILED'}; {done.stdout.splitlines()[-1]}"


def main() -> None:
    """Try them one after the other."""
    found = interpreters()
    told = [run_suite(version, path) for version, path in found.items()]
    told += [f"Python {version}: not found" for version in VERSIONS if version not in found]
    print("\n".join(told))
    sys.exit(any("FAILED" in line for line in told))


if __name__ == "__main__":
    main()
