"""A sample of the site, built and looked at in a real browser; `make docs-check` looks at all of it."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from browser import CHROMIUM
from check_site import dead_links, seen_in_browser

DOCS = Path(__file__).parents[1] / "docs"
EXTENSIONS = (
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "command_reference",
    "native_math",
    "outside_links",
    "paper_and_code",
    "ring_pictures",
    "tidy",
)
# What takes long to build, or lists what was measured and decided. Links to it are dead in the sample.
ELSEWHERE = ("jobs", "decisions", "evidence", "results", "project", "reference/generated", "reference/python")

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
needs_sphinx = pytest.mark.skipif(find_spec("sphinx") is None, reason="Sphinx is not installed")


def built(folder):
    """Start, How it works, commands, file formats and the pages beside them, as the site has them."""
    excluded = ("_build", "_templates", *(f"{name}*" for name in ELSEWHERE))
    options = [f"-Dextensions={','.join(EXTENSIONS)}", f"-Dexclude_patterns={','.join(excluded)}"]
    command = [sys.executable, "-m", "sphinx", "-q", *options, "-d", folder / "doctrees", DOCS, folder / "site"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@needs_chromium
@needs_sphinx
def test_pages_of_the_site_are_in_order_on_phones_and_screens_dark_and_light(tmp_path):
    site = built(tmp_path)
    names = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert {"index.html", "start/data.html", "how/method.html", "reference/commands.html"} <= names
    assert [line for line in dead_links(site) if not any(name in line for name in ELSEWHERE)] == []
    assert seen_in_browser(site, None) == []
    assert "–" not in (site / "reference" / "commands.html").read_text(encoding="utf-8")  # but "--option"


DEFECTS = {
    "pictures that do not load": '<img src="lost.png">',
    "pixels wider than the window": '<div style="width: 3000px">wide</div>',
    "paragraphs too faint": '<article><p style="color: #ccc; background-color: #fff">faint</p></article>',
    "console or network": "<script>console.error('broken')</script>",
}


@needs_chromium
def test_defects_of_pages_are_found(tmp_path):
    begin = '<!DOCTYPE html><meta name="viewport" content="width=device-width"><body>'
    (tmp_path / "good.html").write_text(f"{begin}<article><p>A page.</p></article>", encoding="utf-8")
    for number, content in enumerate(DEFECTS.values()):
        (tmp_path / f"bad-{number}.html").write_text(begin + content, encoding="utf-8")
    found = seen_in_browser(tmp_path, None)
    for number, defect in enumerate(DEFECTS):
        assert any(line.startswith(f"bad-{number}.html (phone-dark): {defect}: ") for line in found)
    assert not [line for line in found if line.startswith("good")]


def test_dead_links_are_found(tmp_path):
    (tmp_path / "good.html").write_text('<p id="here"><a href="good.html#here">x</a>', encoding="utf-8")
    assert dead_links(tmp_path) == []
    links = ("lost.html", "good.html#lost", "https://example.org/lost")
    (tmp_path / "bad.html").write_text("".join(f'<a href="{link}">x</a>' for link in links), encoding="utf-8")
    assert dead_links(tmp_path) == ["bad.html: good.html#lost is not there", "bad.html: lost.html is not there"]
