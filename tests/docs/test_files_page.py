import json
import re

import dmafl
from dmafl.plans.files import DECISIONS, DERIVED, HEADER
from dmafl.world.devices import GAINS, PER_DEVICE, PER_TASK
from docs.docpages import DOCS, codes, table_rows

TEXT = (DOCS / "files.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text below a heading, up to the next one."""
    return re.split(r"^#+ ", TEXT.partition(f"# {title}")[2], maxsplit=1, flags=re.MULTILINE)[0]


def columns(title: str) -> list[str]:
    return [code for row in table_rows(section(title), "| Column") for code in codes(row[0])]


def test_plan_fields_are_those_of_the_file():
    fields = [codes(row[0])[0] for row in table_rows(section("plan.json"), "| Field")]
    assert fields == [*HEADER, "jobs", *DECISIONS, *DERIVED]


def test_the_embedded_scenario_is_as_described(tmp_path):
    fields = [codes(row[0])[0] for row in table_rows(section("The embedded"), "| Field")]
    world = dmafl.World.resolve(dmafl.preset("demo"))
    dmafl.write_plan(dmafl.Plan(world, dmafl.round_robin(world)), tmp_path / "plan.json")
    written = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert fields == list(written["scenario"])
    own = {name.removesuffix(".TASK") for name in columns("Device table")}
    assert own == set(written["scenario"]["devices"])


def test_device_columns_are_those_of_the_code():
    known = ["id", "distance_m", "bearing_rad", *PER_DEVICE, *GAINS, *(f"{name}.TASK" for name in PER_TASK)]
    assert sorted(columns("Device table")) == sorted(known)


def test_tables_with_the_columns_of_the_page_are_read(tmp_path):
    tasks = list(dmafl.preset("demo").tasks)
    device = [name for name in columns("Device table") if not name.endswith(".TASK")]
    values = {"id": "a", "uplink_gain": "1e-7", "downlink_gain": "1e-7", "capacitance_Js2": "1e-28"}
    row = [values.get(name, "10") for name in device]
    (tmp_path / "devices.csv").write_text(",".join(device) + "\n" + ",".join(row) + "\n")
    trace = columns("Channel trace")
    rows = [
        ",".join(
            {"direction": way, "device": "a", "task": task, "index": "0", "gain": "1e-7"}[c] for c in trace
        )
        for way in ("uplink", "downlink")
        for task in tasks
    ]
    (tmp_path / "gains.csv").write_text(",".join(trace) + "\n" + "\n".join(rows) + "\n")
    moves = columns("Mobility trace")
    (tmp_path / "moves.csv").write_text(",".join(moves) + "\na,0,5\n")
    (tmp_path / "scenario.toml").write_text(
        'preset = "demo"\n[fleet]\ndevices = 1\ntable = "devices.csv"\n'
        '[channel]\nkind = "trace"\nfile = "gains.csv"\n[mobility]\nkind = "trace"\nfile = "moves.csv"\n'
    )
    world = dmafl.World.resolve(dmafl.load(tmp_path / "scenario.toml"))
    assert world.devices.id == ("a",)
    assert world.plain()["gains"] is not None
    assert world.plain()["paths"] is not None
