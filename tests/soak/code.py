"""What a family of the soak is about: the code of the package that its promise depends on, and a digest of it.

Comments, docstrings and layout do not count. Code that a family cannot reach does not count either, so that its cases
stay valid when other rooms change.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_TESTS = Path(__file__).parents[1]
_ROOTS = (_TESTS.parent / "src", _TESTS)
_PACKAGE = _ROOTS[0] / "ringlet"


@cache
def digest(modules, own):
    """Of modules of the package with all that they import, and of files of the tests.

    Parameters
    ----------
    modules : tuple of str
        A room stands for all its modules; "ringlet" for all of the package. Empty: what the files of the tests import.
    own : tuple of str
        Paths of files or folders in ``tests/``: the cases themselves.
    """
    total = hashlib.sha256()
    for path in reached(modules, own):
        total.update(f"{path.relative_to(_TESTS.parent).as_posix()}\n{meaning(path)}\n".encode())
    return total.hexdigest()[:16]


def reached(modules, own):
    """The files of a digest, in order."""
    cases = {path for name in own for path in _files(_TESTS / name)}
    if modules:
        return sorted(cases | _with_imports(path for module in modules for path in _files(_found(module))))
    return sorted(_with_imports(cases))


@cache
def meaning(path):
    """The code of a file without its comments and docstrings."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            body[0] = ast.Pass()
    return ast.unparse(tree)


def _is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _with_imports(paths):
    """Files and all that they import, at any place; type hints included."""
    found, open_ends = set(), list(paths)
    while open_ends:
        path = open_ends.pop()
        if path not in found:
            found.add(path)
            open_ends += _imports(path)
    return found


def _files(path):
    """A file; all files of a folder or a package."""
    folder = path.parent if path.name == "__init__.py" else path
    return folder.rglob("*.py") if folder.is_dir() else [path]


def _found(module):
    path = _file(module)
    if path is None:
        raise ValueError(f"{module} is not a module of the package")
    return path


@cache
def _file(module):
    """The file of a module, of the package or of what tests share; None for those of others."""
    places = [root / Path(*module.split(".")) for root in _ROOTS]
    paths = (path for place in places for path in (place / "__init__.py", place.with_suffix(".py")))
    return next((path for path in paths if path.exists()), None)


@cache
def _imports(path):
    """Files that a file imports; also those that programs in its texts do."""
    if path == _PACKAGE / "__init__.py":
        return []  # see `_home`
    tree = ast.parse(path.read_text())
    trees = [tree, *(program for node in ast.walk(tree) for program in _program(node))]
    modules = {module for one in trees for node in ast.walk(one) for module in _modules(node)}
    return [file for file in map(_file, sorted(modules)) if file is not None]


def _program(node) -> Iterator[ast.AST]:
    """The program in a text, as tests give to other processes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import " in node.value:
        try:
            yield ast.parse(node.value)
        except SyntaxError:
            return


def _modules(node) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        names = [_home(node.module, alias.name) for alias in node.names]
        yield from (name if _file(name) else node.module for name in names)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ringlet":
        yield _home("ringlet", node.attr)


def _home(module, name):
    """The module of a name: the package itself imports its public names only when they are used."""
    return _homes().get(name, f"ringlet.{name}") if module == "ringlet" else f"{module}.{name}"


@cache
def _homes():
    for node in ast.parse((_PACKAGE / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "_HOMES":
            return ast.literal_eval(node.value)
    raise ValueError("ringlet/__init__.py does not tell where public names live")
