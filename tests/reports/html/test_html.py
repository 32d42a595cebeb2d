from dmafl.reports.html.html import MAX_ROWS, Html, element, menu, table, together


def test_text_is_escaped_and_html_is_not():
    assert element("p", "a < b & c", element("b", '"')) == "<p>a &lt; b &amp; c<b>&quot;</b></p>"
    assert together(["x", None, False, Html("<i>")], 0) == "x<i>0"


def test_attributes_are_escaped_renamed_and_left_out():
    made = element("a", class_='x" onclick="y', data_state="s", hidden=True, checked=False, title=None)
    assert made == '<a class="x&quot; onclick=&quot;y" data-state="s" hidden></a>'


def test_void_elements_have_no_end():
    assert element("input", type="radio") == '<input type="radio">'


def test_tables_say_what_they_leave_out():
    made = table("Rows", ["number", "text"], [[k, "t"] for k in range(MAX_ROWS + 5)])
    assert made.count("<tr>") == MAX_ROWS + 1
    assert f"The first {MAX_ROWS} of {MAX_ROWS + 5} rows" in made
    assert "first" not in table("Rows", ["number"], [[1]])


def test_cells_are_numbers_texts_or_dashes():
    made = table("Cells", ["a"], [[1234.5678], [float("nan")], [None], ["<b>"]])
    assert "1,235" in made
    assert made.count("–") == 2
    assert "&lt;b&gt;" in made


def test_a_menu_marks_what_is_chosen():
    assert '<option value="1" selected>b</option>' in menu("m", "M", [("0", "a"), ("1", "b")], "1")
