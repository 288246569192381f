"""Formulas as MathML, which browsers draw themselves: no script and nothing from another server."""

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer, and make it the one in use."""
    app.add_html_math_renderer("native", (_inline, None), (_block, None))
    app.connect("config-inited", lambda _, config: setattr(config, "html_math_renderer", "native"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
