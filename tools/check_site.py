"""Look at the built site: dead links by reading it, the rest in Chromium. Needs `tests` on the path, for `browser`.

In the browser every page must load its pictures, write nothing to the console, ask nothing of other servers, and be
readable on a phone (390 pixels wide) and on a screen (1280), dark and light: nothing sticks out to the side.
"""

import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from browser import CHROMIUM, browser

_SIZES = {
    f"{size}-{scheme}": (width, height, scheme)
    for size, width, height in (("phone", 390, 844), ("screen", 1280, 900))
    for scheme in ("dark", "light")
}
_MISSING_PICTURES = "[...document.images].filter(i => !(i.complete && i.naturalWidth)).map(i => i.src)"
_LOADED = (
    "(async () => { [...document.images].forEach(i => { i.loading = 'eager' }); await Promise.all([...document.images]"
)
_LOADED += ".map(i => i.decode().catch(() => 0))); return true })()"
_TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Text against what is behind it, of the paragraphs of the page: the ratio of luminances that WCAG defines.
_FAINT = """(() => {
  const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b }
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor
    if (!/rgba\\(.*, 0\\)/.test(c)) return c } return 'rgb(255, 255, 255)' }
  const texts = [...document.querySelectorAll('article p, article li, article td')].filter(e => e.textContent.trim())
  return texts.map(e => {
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x)
    return (a + 0.05) / (b + 0.05) }).filter(ratio => ratio < 4.5).length
})()"""


def _pages(site: Path) -> list[Path]:
    """All pages; the templates that the theme leaves in its folder are none."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.relative_to(site).parts)


class _Page(HTMLParser):
    """Names in a page, and where its links and pictures lead."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.targets: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag says."""
        said = dict(attrs)
        self.names |= {value for key in ("id", "name") if (value := said.get(key))}
        if tag in ("a", "img", "script", "link"):
            self.targets |= {value for key in ("href", "src") if (value := said.get(key))}


def dead_links(site: Path) -> list[str]:
    """Links of the pages to files and names that are not there; links to other servers are not followed."""
    pages = {path: _Page(path) for path in _pages(site)}
    dead = []
    for path, page in pages.items():
        for target in sorted(page.targets):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            file = file / "index.html" if file.is_dir() else file
            name = unquote(parts.fragment)
            if not file.exists() or (name and file in pages and name not in pages[file].names):
                dead.append(f"{path.relative_to(site)}: {target} is not there")
    return dead


def seen_in_browser(site: Path, screenshots: Path | None) -> list[str]:
    """What is wrong with the pages in a browser."""
    found = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, browser(profile) as tab:
        for size, (width, height, scheme) in _SIZES.items():
            tab.resize(width, height)
            tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            for path in _pages(site):
                name = path.relative_to(site).as_posix()
                tab.problems.clear()
                tab.open(path.as_uri())
                tab.run(_LOADED)
                complaints = {
                    "pictures that do not load": tab.run(_MISSING_PICTURES),
                    "pixels wider than the window": tab.run(_TOO_WIDE),
                    "paragraphs too faint": tab.run(_FAINT),
                    "console or network": list(tab.problems),
                }
                found += [f"{name} ({size}): {what}: {value}" for what, value in complaints.items() if value]
                if screenshots is not None:
                    tab.screenshot(screenshots / f"{name.removesuffix('.html').replace('/', '-')}-{size}.png")
    return found


def main() -> None:
    """Check the site in the folder that is given; a second argument is a folder for pictures of all pages."""
    site = Path(sys.argv[1]).resolve()
    screenshots = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if screenshots is not None:
        screenshots.mkdir(parents=True, exist_ok=True)
    problems = dead_links(site)
    if CHROMIUM is None:
        problems.append("there is no Chromium on this machine, so nothing was looked at")
    else:
        problems += seen_in_browser(site, screenshots)
    for problem in problems:
        print(problem)
    pages = len(_pages(site))
    sys.exit(f"{len(problems)} problems in {pages} pages") if problems else print(f"{pages} pages are in order")


if __name__ == "__main__":
    main()
