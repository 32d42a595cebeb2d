"""The glossary: in order, each word once, each with a link; and the page of schemes has them all."""

import re

from dmafl.schemes.registry import NAMES
from support.doc_pages import DOCS, codes, table_rows

ROWS = table_rows((DOCS / "glossary.md").read_text(encoding="utf-8"), "| Word")
SCHEMES = (DOCS / "schemes.md").read_text(encoding="utf-8")


def test_words_are_in_order_and_each_is_there_once() -> None:
    words = [re.sub(r"[^a-z ]", "", row[0].partition(",")[0].lower()) for row in ROWS]
    assert len(words) > 50
    assert words == sorted(set(words))


def test_every_word_is_explained_shortly_and_leads_to_a_page() -> None:
    for word, meaning, link in ROWS:
        assert len(re.findall(r"\.(?: |$)", meaning)) in (1, 2, 3), word
        (page,) = re.findall(r"\]\(([\w-]+\.md)", link)
        assert (DOCS / page).is_file(), word


def test_every_scheme_is_in_the_table_and_has_a_paragraph() -> None:
    tabled = [codes(row[0])[0] for row in table_rows(SCHEMES, "| Scheme")]
    assert sorted(tabled) == sorted(NAMES)
    for name in tabled:
        assert f"**`{name}`**" in SCHEMES, name
