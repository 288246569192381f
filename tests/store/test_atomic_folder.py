"""Folders that are replaced as a whole: the old one survives whatever goes wrong."""

from pathlib import Path

import pytest

from ringlet.errors import OutputError
from ringlet.store.atomic import atomic_folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_is_replaced_and_nothing_is_left_over(tmp_path):
    for content in ("old", "new"):
        with atomic_folder(tmp_path / "x") as temporary:
            (temporary / "deep").mkdir()
            (temporary / "deep" / "file").write_text(content)
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x" / "deep" / "file").read_text() == "new"


def test_the_old_folder_comes_back_if_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "file").write_text("old")
    rename, seen = Path.rename, []

    def failing(self, target):
        seen.append(self.name)
        if len(seen) == 2:
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OutputError, match="Input/output error"), atomic_folder(tmp_path / "x") as temporary:
        (temporary / "file").write_text("new")
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x" / "file").read_text() == "old"
