"""The reference of the Python interface has every public name, each where it is."""

import importlib
import re

import dmafl
from support.doc_pages import DOCS, codes, table_rows

TEXT = (DOCS / "api.md").read_text(encoding="utf-8")
DOCUMENTED = dict(
    reversed(path.rpartition(".")[::2]) for path in re.findall(r"^::: (\S+)", TEXT, re.MULTILINE)
)
"""Name -> module."""


def test_every_public_name_is_documented():
    assert set(dmafl.__all__) - {"__version__"} <= set(DOCUMENTED)


def test_every_path_leads_to_the_public_object():
    for name, module in DOCUMENTED.items():
        found = getattr(importlib.import_module(module), name)
        assert found.__doc__, name
        if name in dmafl.__all__:
            assert getattr(dmafl, name) is found, name


def test_the_table_names_them_all():
    named = {code for row in table_rows(TEXT, "| To") for code in codes(row[1])}
    assert named | {"BadInput"} == set(dmafl.__all__) - {"__version__"}
