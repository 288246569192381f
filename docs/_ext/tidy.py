"""Small things of the pages: no empty last line in a block of code, no private names in the signature of a class."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class TidyCode(SphinxTransform):
    """Examples end with an empty line, which doctest needs and readers do not."""

    default_priority = 900

    def apply(self, **_: object) -> None:
        """Strip the end of every block."""
        for node in self.document.findall(nodes.literal_block):
            if node.rawsource == node.astext():  # else it is marked up
                text = node.astext().rstrip()
                node.rawsource = text
                node[:] = [nodes.Text(text)]


def _signature(
    _app: Sphinx, what: str, _name: str, _object: object, _options: object, signature: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """Users do not make a `Fit` themselves; what its constructor takes is nobody's business."""
    private = what == "class" and signature is not None and ("_source" in signature or signature == "(value)")
    return ("", returns) if private else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both."""
    app.add_transform(TidyCode)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
