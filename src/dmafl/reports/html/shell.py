"""The shell of a page: one file that needs no other, with theme, tables, plots, and data it does not trust."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

from dmafl.base.version import __version__
from dmafl.reports.figures.palette import COLOURS, DARK, TINTS
from dmafl.reports.html.html import Html, element, together

POLL_S = 2.0
"""How often a live page asks for news [s]."""
_JSON_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class Section(NamedTuple):
    """A part of a page with an entry in its contents."""

    name: str
    """Its address within the page."""
    title: str
    body: Html
    lead: str = ""
    """One sentence under the title."""
    below: Html = Html("")
    """What stands between this part and the next."""


@dataclass(frozen=True)
class Content:
    """What a page shows: HTML for everyone, and data for its scripts."""

    title: str
    lead: Html
    sections: Sequence[Section]
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def main(self) -> Html:
        """The page without its frame."""
        return together(
            element("header", element("h1", self.title), self.lead, class_="top"),
            (
                (
                    element(
                        "section",
                        element("h2", section.title, id=f"{section.name}-title"),
                        element("p", section.lead, class_="lead") if section.lead else None,
                        section.body,
                        id=section.name,
                        aria_labelledby=f"{section.name}-title",
                    ),
                    section.below,
                )
                for section in self.sections
            ),
        )

    @property
    def contents(self) -> Html:
        """Links to the sections."""
        return together(
            element("li", element("a", section.title, href=f"#{section.name}")) for section in self.sections
        )

    def plain(self) -> dict[str, Any]:
        """As values for JSON: what a live page replaces."""
        return {"title": self.title, "main": self.main, "contents": self.contents, "data": self._data}

    @property
    def _data(self) -> dict[str, Any]:
        return {"palette": COLOURS, "dark": DARK, "tints": TINTS, **self.data}

    def page(self, scripts: Iterable[str] = (), styles: Iterable[str] = (), live: bool = False) -> str:
        """The whole page. `scripts` and `styles` name files of `assets` that it needs beside the shell's.

        A policy in the page forbids every request (a live page may ask its own server) and every script but these.
        """
        codes = [_plotly(), asset("shell.js"), *(asset(name) for name in scripts), "page.start();"]
        allowed = " ".join(f"'sha256-{_sha256(code)}'" for code in codes)
        asked = "'self'" if live else "'none'"
        policy = (
            f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
            f"font-src data:; connect-src {asked}; base-uri 'none'; form-action 'none'"
        )
        made = Template(asset("shell.html")).substitute(
            policy=element("meta", http_equiv="Content-Security-Policy", content=policy),
            title=element("title", self.title),
            styles="\n".join(asset(name) for name in ("shell.css", *styles)),
            contents=self.contents,
            main=self.main,
            data=script_json(self._data),
            live=f'data-live="{POLL_S:g}"' if live else "",
            version=__version__,
            scripts="\n".join(f"<script>{code}</script>" for code in codes),
        )
        return as_utf8(made).decode()


def as_utf8(text: str) -> bytes:
    """`text` as a page has it; bytes of a file's name that are no text are spelled out, as JSON does too."""
    return text.encode(errors="backslashreplace")


def script_json(value: Any) -> str:
    """`value` as JSON that may stand in a script element: no text in it can end the element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    for sign, escaped in _JSON_ESCAPES.items():
        text = text.replace(sign, escaped)
    return text


def asset(name: str) -> str:
    """The text of a file that comes with the package."""
    return (files("dmafl.reports.html") / "assets" / name).read_text(encoding="utf-8")


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    code: str = get_plotlyjs()
    return code


def _sha256(code: str) -> str:
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
