"""The directive `ring-picture`: the drawing that a notebook shows of a ring."""

import numpy as np
from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.application import Sphinx

import ringlet


class RingPicture(Directive):
    """A ring of a given shape and rank: ``.. ring-picture:: 30 7 24`` with ``:rank:`` and ``:names:``."""

    required_arguments, optional_arguments = 1, 20
    option_spec = {"rank": directives.unchanged_required, "names": directives.unchanged}  # noqa: RUF012 - docutils' own

    def run(self) -> list[nodes.Node]:
        """The drawing as HTML."""
        shape = [int(size) for size in self.arguments]
        rank = [int(bond) for bond in self.options["rank"].split()]
        names = self.options["names"].split() if "names" in self.options else None
        cores = [
            np.zeros((bond, size, after), np.float32)
            for bond, size, after in zip(rank, shape, rank[1:] + rank[:1], strict=True)
        ]
        drawing = ringlet.TensorRing(cores, names=names)._repr_html_()
        return [nodes.raw("", f'<div class="ring-picture">{drawing}</div>', format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("ring-picture", RingPicture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
