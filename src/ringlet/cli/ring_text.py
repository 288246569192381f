"""A ring drawn in text: modes along a line, the bonds between them, and the bond that closes it."""

from collections.abc import Sequence

__all__ = ["ring_text"]


def ring_text(shape: Sequence[int], rank: Sequence[int], names: Sequence[str] | None, width: int) -> str:
    """Draw a ring in at most `width` columns, one below the other if the modes do not fit side by side.

    Examples
    --------
    >>> print(ring_text((300, 451, 3), (9, 20, 3), ("height", "width", "colour"), 80))
    ╭─ height 300 ── 20 ── width 451 ── 3 ── colour 3 ─╮
    ╰─────────────────────── 9 ────────────────────────╯
    >>> print(ring_text((30, 45), (2, 4), None, 10))
    ╭─ 30
    │ 4
    ├─ 45
    ╰ 2 back to the first
    """
    modes = [str(length) for length in shape]
    if names is not None:
        modes = [f"{name} {length}" for name, length in zip(names, modes, strict=True)]
    line = f"─ {modes[0]} "
    for bond, mode in zip(rank[1:], modes[1:], strict=True):
        line += f"── {bond} ── {mode} "
    line += "─"
    if len(line) + 2 <= width:
        return f"╭{line}╮\n╰{f' {rank[0]} ':─^{len(line)}}╯"
    rows = [f"╭─ {modes[0]}"]
    for bond, mode in zip(rank[1:], modes[1:], strict=True):
        rows += [f"│ {bond}", f"├─ {mode}"]
    return "\n".join([*rows, f"╰ {rank[0]} back to the first"])
