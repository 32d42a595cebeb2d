import importlib.util
import tomllib
from typing import Any

import pytest

from dmafl.scenario.fields import Section, rows
from dmafl.scenario.model import Drift, Scenario, Task
from dmafl.scenario.preset import preset
from dmafl.scenario.presets import NAMES
from support.doc_pages import DOCS, ROOT, codes, table_rows

KEYS = {"": Scenario, "tasks.NAME": Task, "tasks.NAME.drift": Drift}
SAME_AS = {"fashion_mnist": "mnist"}
"""Tasks that a page may describe by another one's rows."""
UNEXPLAINED = {"schema", "name", "preset", "dataset", "model"}
"""What names a preset or a task needs no reason."""


@pytest.fixture(scope="module")
def make_docs() -> Any:
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "tools" / "make_docs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tools")  # as for a script
        spec.loader.exec_module(module)
    return module


def test_the_parameter_page_is_what_the_generator_makes(make_docs):
    committed = (DOCS / "parameters.md").read_text(encoding="utf-8")
    assert committed == make_docs.parameters_page(), "Run python tools/make_docs.py --text"


def test_the_parameter_page_has_every_key_and_no_other():
    table = table_rows((DOCS / "parameters.md").read_text(encoding="utf-8"), "| Key | Symbol")
    listed = [codes(row[0])[0] for row in table]
    sections: dict[str, type[Section]] = KEYS | {
        name: type(value) for name, value in Scenario() if isinstance(value, Section)
    }
    declared = [
        f"{section}.{row.name}".strip("._")
        for section, model in sections.items()
        for row in rows(section, model)
    ]
    assert sorted(listed) == sorted(declared)


def test_every_picture_that_is_generated_is_there(make_docs):
    names = {path.name for path in (DOCS / "images").iterdir()}
    names -= {name for name in names if name.startswith(make_docs.OF_THE_STUDY)}
    assert names == {
        *make_docs.PICTURES,
        *make_docs.FROM_THE_DEMO,
        *make_docs.FROM_A_BROWSER,
        "steps.svg",
        "soak.png",  # by `make soak`
    }


def described(name: str) -> dict[str, Any]:
    """Key and value of every row of docs/presets.md about the preset `name`."""
    table = table_rows((DOCS / "presets.md").read_text(encoding="utf-8"), f"| Key | {name} |")
    return {codes(row[0])[0]: tomllib.loads(f"value = {codes(row[1])[0]}")["value"] for row in table}


@pytest.mark.parametrize("name", NAMES)
def test_values_on_the_preset_page_are_those_of_the_preset(name):
    flat = flatten(preset(name).plain())
    assert described(name)
    for key, value in described(name).items():
        head, star, tail = key.partition("*")
        keys = [one for one in flat if one.startswith(head) and one.endswith(tail)] if star else [key]
        assert keys, key
        assert [flat.get(one) for one in keys] == [value] * len(keys), key


@pytest.mark.parametrize("name", NAMES)
def test_every_choice_of_a_preset_is_explained(name):
    explained = {*described(name), *(described("phone") if name == "demo" else ())}
    flat = flatten(preset(name).plain())
    if name == "demo":
        usual = flatten(preset("phone").plain()) | _as_task(
            flatten(preset("phone").plain()), "svhn", "street_digits"
        )
    else:
        fresh = Scenario(tasks={task: Task() for task in preset(name).tasks})
        usual = flatten(fresh.plain())
    for key, value in flat.items():
        if value != usual[key] and key.rpartition(".")[2] not in UNEXPLAINED:
            first, _, rest = key.partition(".")
            task, _, field = rest.partition(".")
            also = (
                {f"tasks.*.{field}", f"tasks.{SAME_AS.get(task, task)}.{field}"}
                if first == "tasks"
                else set()
            )
            assert explained & {key, *also}, f"docs/presets.md does not say why {name} has {key} = {value}"


def flatten(plain: Any, prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys; a draw is one value."""
    out: dict[str, Any] = {}
    for key, value in plain.items():
        if isinstance(value, dict) and not set(value) & {"uniform", "log_uniform", "choice"}:
            out |= flatten(value, f"{prefix}{key}.")
        else:
            out[prefix + key] = value
    return out


def _as_task(flat: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {
        key.replace(f"tasks.{old}.", f"tasks.{new}."): value
        for key, value in flat.items()
        if key.startswith(f"tasks.{old}.")
    }
