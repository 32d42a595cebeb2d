"""Tables as LaTeX, for a paper."""

from __future__ import annotations

import re

from dmafl.reports.tables.table import Cell, Table

SIGNS = {
    "\\": r"\textbackslash{}",
    "±": r"$\pm$",
    "…": r"\dots{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
"""How signs are written that LaTeX obeys."""
_OBEYED = re.compile("|".join(map(re.escape, SIGNS)))
_SIGNED = re.compile(r"(?<![\w.])([-+])(?=[0-9])")


def latex_table(table: Table) -> str:
    """A `tabular`, with the title as a comment above it; needs the package booktabs."""
    shown = table.shown
    lines = [
        f"% {shown.title}",
        rf"\begin{{tabular}}{{{''.join(column.align[0] for column in shown.columns)}}}",
    ]
    lines += [r"\toprule", _row([_escaped(column.title) for column in shown.columns]), r"\midrule"]
    for row, begins_section in shown.by_section():
        lines += [r"\midrule"] if begins_section else []
        lines.append(_row([_cell(each) for each in row]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _row(texts: list[str]) -> str:
    return " & ".join(texts) + r" \\"


def _cell(cell: Cell) -> str:
    text = _escaped(cell.text)
    return text if isinstance(cell.value, str) else _SIGNED.sub(r"$\1$", text)


def _escaped(text: str) -> str:
    return _OBEYED.sub(lambda match: SIGNS[match[0]], text)
