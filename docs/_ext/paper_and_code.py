"""The directive `paper-and-code`: lines of an algorithm, and beside each the line of the source that computes it.

A line of its content is ``what the paper says || file || a part of the line of code``, the file within `src/ringlet`.
The line is looked up when the site is built. It is an error if no line or several have that part: it cannot be stale.
"""

from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx

_SOURCE = Path(__file__).parents[2] / "src" / "ringlet"


class PaperAndCode(Directive):
    """Two columns; below each other on a phone."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """One row for every line."""
        box = nodes.container(classes=["paper-and-code"])
        for number, line in enumerate(self.content):
            if line.strip():
                said, name, part = (word.strip() for word in line.split("||"))
                place, code = code_line(name, part)
                row = nodes.container(classes=["paper-row"])
                left, right = nodes.container(classes=["paper"]), nodes.container(classes=["code"])
                self.state.nested_parse(StringList([said]), self.content_offset + number, left)
                right += nodes.paragraph("", "", nodes.literal("", f"{name}:{place}"), classes=["place"])
                right += nodes.literal_block(code, code, language="python")
                row += [left, right]
                box += row
        return [box]


def code_line(name: str, part: str) -> tuple[int, str]:
    """Number and text of the only line of a file that has this part."""
    lines = (_SOURCE / name).read_text(encoding="utf-8").splitlines()
    found = [(number, line.strip()) for number, line in enumerate(lines, start=1) if part in line]
    if len(found) != 1:
        raise ValueError(f"{part!r} stands in {len(found)} lines of {name}; docs name it as one line")
    return found[0]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("paper-and-code", PaperAndCode)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
