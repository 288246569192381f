"""Links of pages to files of the repository: to their page on the site where there is one, else plain text.

Pages are read in the repository, too, where `../SECURITY.md` is a file beside `docs`.
"""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

# Files of the repository that the site shows.
_PAGES = {
    "CHANGELOG.md": "project/changelog",
    "CONTRIBUTING.md": "project/contributing",
    "RELEASING.md": "project/releasing",
    "SECURITY.md": "project/security",
}


class OutsideLinks(SphinxTransform):
    """Resolve links that lead out of `docs`."""

    default_priority = 5  # before references are collected

    def apply(self, **_: object) -> None:
        """Replace the reference nodes of such links."""
        docs = Path(self.app.srcdir)
        for node in list(self.document.findall(addnodes.pending_xref)):
            name = _outside(node.get("reftarget", ""), docs / self.env.docname, docs)
            page = _PAGES.get(name or "") or (name or "").removeprefix("docs/").removesuffix(".md")
            if page in self.env.found_docs:
                node.replace_self(_to_page(page, node.astext(), self.env.docname))
            elif name is not None:
                node.replace_self(nodes.literal(node.astext(), node.astext()))


def _outside(target: str, page: Path, docs: Path) -> str | None:
    """Name in the repository of a file that a link leads to, if it is written for the repository, not for the site."""
    path = target.partition("#")[0]
    if not path:
        return None
    for place in (page.parent, docs.parent):  # files that a page includes are written from the top of the repository
        for name in (path, f"{path}.md"):
            file = (place / name).resolve()
            if file.is_file() and file.is_relative_to(docs.parent):
                within = file.is_relative_to(docs) and place == page.parent
                return None if within else file.relative_to(docs.parent).as_posix()
    return None


def _to_page(page: str, text: str, docname: str) -> addnodes.pending_xref:
    made = addnodes.pending_xref(
        "", refdoc=docname, refdomain="std", reftype="doc", reftarget=f"/{page}", refexplicit=True, refwarn=True
    )
    made += nodes.inline(text, text, classes=["xref", "std", "std-doc"])
    return made


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(OutsideLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
