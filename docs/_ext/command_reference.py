"""The directive `command-reference`: a page of all commands and options, from the click commands themselves."""

import re
from importlib import import_module
from typing import Any

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx


class CommandReference(Directive):
    """One section for every command of a group: ``.. command-reference:: module:group``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Sections, and in them the description of the command."""
        module, name = self.arguments[0].split(":")
        group = getattr(import_module(module), name)
        made: list[nodes.Node] = []
        for path, command in _commands(group, click.Context(group, info_name=group.name)):
            section = nodes.section(ids=[nodes.make_id(" ".join(path))])
            section += nodes.title("", " ".join(path))
            self._describe(section, path, command)
            made.append(section)
        return made

    def _describe(self, section: nodes.section, path: list[str], command: click.Command) -> None:
        context = click.Context(command, info_name=" ".join(path), help_option_names=["-h", "--help"])
        usage = f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}"
        section += nodes.literal_block(usage, usage, language="none")
        for paragraph in _paragraphs(command.help or ""):
            section += _paragraph(paragraph)
        rows = [_row(parameter, context) for parameter in command.get_params(context)]
        section += _table([row for row in rows if row is not None])


def _commands(command: click.Command, context: click.Context, path: tuple[str, ...] = ()) -> list[Any]:
    """Every command that can be run, with its words."""
    words = [*path, context.info_name or ""]
    if not isinstance(command, click.Group):
        own = getattr(command, "own_commands", dict)()  # of `ringlet bench`
        return [(words, command), *(([*words, name], other) for name, other in own.items())]
    found: list[Any] = [(words, command)] if command.invoke_without_command else []
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        if child is not None:
            found += _commands(child, click.Context(child, info_name=name, parent=context), tuple(words))
    return found


def _paragraphs(text: str) -> list[str]:
    lines = "\n".join(line.strip() for line in text.strip().splitlines()).replace("\b", "")
    return [" ".join(part.split()) for part in lines.split("\n\n") if part.strip()]


def _row(parameter: click.Parameter, context: click.Context) -> tuple[str, str] | None:
    if isinstance(parameter, click.Argument):
        return parameter.make_metavar(context), "argument"
    record = parameter.get_help_record(context)
    return None if record is None else (record[0], record[1])


def _table(rows: list[tuple[str, str]]) -> nodes.Node:
    table, group = nodes.table(classes=["options"]), nodes.tgroup(cols=2)
    table += group
    for width in (35, 65):
        group += nodes.colspec(colwidth=width)
    head, body = nodes.thead(), nodes.tbody()
    group += head
    group += body
    head += _cells(nodes.paragraph("", "option"), nodes.paragraph("", "meaning"))
    for option, meaning in rows:
        body += _cells(nodes.paragraph("", "", nodes.literal(option, option)), _paragraph(meaning))
    return table


def _paragraph(text: str) -> nodes.paragraph:
    """Options in the text are literals: elsewhere Sphinx makes a dash of two hyphens."""
    made = nodes.paragraph()
    for part in re.split(r"(--[a-z][a-z-]*)", text):
        made += nodes.literal(part, part) if part.startswith("--") else nodes.Text(part)
    return made


def _cells(*contents: nodes.Node) -> nodes.row:
    row = nodes.row()
    for content in contents:
        row += nodes.entry("", content)
    return row


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-reference", CommandReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
