"""Examples in the pages are tested; what builds the site is not imported by the tests, for it needs Sphinx."""

import pytest

collect_ignore_glob = ["*.py", "_ext/*", "_build/*", "jobs/*", "reference/generated/*"]


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path, monkeypatch):
    """Examples write files."""
    monkeypatch.chdir(tmp_path)
