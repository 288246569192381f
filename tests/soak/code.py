"""What a family of the soak is about: the code of the package that its promise depends on, and a digest of it.

Comments, docstrings and layout do not count. Code that a family cannot reach does not count either, so that its cases
stay valid when other rooms change.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

_TESTS = Path(__file__).parents[1]
_SOURCE = _TESTS.parent / "src"


def digest(modules, own):
    """Of modules of the package with all that they import, and of files of the tests.

    Parameters
    ----------
    modules : sequence of str
        A room stands for all its modules. Empty: all of the package.
    own : sequence of str
        Paths of files or folders in ``tests/``: the cases themselves.
    """
    paths = _reached(modules) if modules else set(_SOURCE.rglob("*.py"))
    for name in own:
        path = _TESTS / name
        paths |= set(path.rglob("*.py")) if path.is_dir() else {path}
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(f"{path.relative_to(_TESTS.parent).as_posix()}\n{_meaning(path)}\n".encode())
    return total.hexdigest()[:16]


@cache
def _meaning(path):
    """The code of a file without its comments and docstrings."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            body[0] = ast.Pass()
    return ast.unparse(tree)


def _is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _reached(modules):
    """Files of modules and of all that they import, at any place."""
    found, open_ends = set(), [path for module in modules for path in _files(module)]
    while open_ends:
        path = open_ends.pop()
        if path not in found:
            found.add(path)
            open_ends += [_file(module) for module in _imports(path)]
    return found


def _files(module):
    path = _file(module)
    if path is None:
        raise ValueError(f"{module} is not a module of the package")
    return path.parent.rglob("*.py") if path.name == "__init__.py" else [path]


def _file(module):
    place = _SOURCE / Path(*module.split("."))
    return next((path for path in (place / "__init__.py", place.with_suffix(".py")) if path.exists()), None)


@cache
def _imports(path):
    """Modules of the package that a file imports; type hints included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("ringlet.")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ringlet."):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if _file(name) else node.module for name in names}
    return found
