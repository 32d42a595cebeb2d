"""HTML by hand: what is not already `Html` is escaped, so that a name from a file stays a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import isinf

from dmafl.reports.numbers import number

MAX_ROWS = 500
"""A table in the page ends here and says so; the files have the rest."""
VOID = {"input", "meta", "br", "hr"}

Cell = str | int | float | None


class Html(str):
    """Text that is HTML."""


def element(tag: str, *children: object, **attributes: object) -> Html:
    """An element; `class_` and `for_` lose their last underscore, other underscores become hyphens.

    None and False leave an attribute or child out, True gives an attribute without a value.
    """
    named = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    inside = "".join(
        f" {key}" if value is True else f' {key}="{escape(str(value))}"'
        for key, value in named.items()
        if value is not None and value is not False
    )
    if tag in VOID:
        return Html(f"<{tag}{inside}>")
    return Html(f"<{tag}{inside}>{together(*children)}</{tag}>")


def together(*children: object) -> Html:
    """Children one after the other, in lists or not."""
    parts: list[str] = []
    for child in children:
        if child is None or child is False:
            continue
        if isinstance(child, Html):
            parts.append(child)
        elif isinstance(child, Iterable) and not isinstance(child, str):
            parts.append(together(*child))
        else:
            parts.append(escape(str(child)))
    return Html("".join(parts))


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Html:
    """A table that scrolls sideways on its own; numbers are set right, nothing is a dash."""
    all_rows = list(rows)
    hidden = len(all_rows) - MAX_ROWS
    note = f" The first {MAX_ROWS} of {len(all_rows):,} rows; the rest is in the files." if hidden > 0 else ""
    return element(
        "div",
        element(
            "table",
            element("caption", caption, note),
            element("thead", element("tr", (element("th", name, scope="col") for name in head))),
            element("tbody", (element("tr", (_cell(cell) for cell in row)) for row in all_rows[:MAX_ROWS])),
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def folded(summary: str, *children: object) -> Html:
    """What is only seen when asked for."""
    return element("details", element("summary", summary), children)


def figure(plots: object, caption: str, *tables: object, legend: str = "") -> Html:
    """Plots with a caption and the tables they are drawn from; above them, if it has a name, the place of a legend."""
    return element(
        "figure",
        legend_place(legend) if legend else None,
        plots,
        element("figcaption", caption),
        folded("Table", tables) if tables else None,
    )


def legend_place(name: str) -> Html:
    """Where a script says what colours mean."""
    return element("div", id=f"legend-{name}", class_="legend")


def plot(name: str, label: str, **attributes: object) -> Html:
    """The place of a plot, which a script fills; `label` says what it shows to those who do not see it."""
    return element("div", id=f"plot-{name}", class_="plot", role="img", aria_label=label, **attributes)


def choice(name: str, legend: str, options: Sequence[tuple[str, str]]) -> Html:
    """One of several (value, text); the first is chosen."""
    return element(
        "fieldset",
        element("legend", legend),
        (
            element(
                "label",
                element("input", type="radio", name=name, value=value, data_state=name, checked=place == 0),
                element("span", text),
            )
            for place, (value, text) in enumerate(options)
        ),
        class_="choice",
    )


def switch(name: str, text: str) -> Html:
    """On or off; off at first."""
    return element(
        "label",
        element("input", type="checkbox", data_state=name),
        element("span", text),
        class_="switch",
    )


def toggles(kind: str, legend: str, names: Sequence[str], offered: Sequence[bool] | None = None) -> Html:
    """A box for each name, or for those that are offered, which shows or hides it everywhere; schemes have a colour."""
    return element(
        "fieldset",
        element("legend", legend),
        (
            element(
                "label",
                element("input", type="checkbox", checked=True, data_shown=kind, value=place),
                element(
                    "span",
                    element("i", class_="swatch", data_series=place if kind == "schemes" else None),
                    name,
                ),
            )
            for place, name in enumerate(names)
            if offered is None or offered[place]
        ),
        class_="chips",
    )


def menu(name: str, text: str, options: Sequence[tuple[str, str]], chosen: str | None = None) -> Html:
    """A drop-down menu of (value, text)."""
    return element(
        "label",
        element("span", text),
        element(
            "select",
            (element("option", shown, value=value, selected=value == chosen) for value, shown in options),
            data_state=name,
        ),
        class_="menu",
    )


def _cell(cell: Cell) -> Html:
    if cell is None or (isinstance(cell, float) and cell != cell):
        return element("td", "–", class_="number")
    if isinstance(cell, str):
        return element("td", cell)
    if isinstance(cell, float) and isinf(cell):
        return element("td", "∞" if cell > 0 else "−∞", class_="number")
    return element("td", number(float(cell)), class_="number")
