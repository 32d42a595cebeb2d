"""How a run came out: numbers stay short, and a loss that exploded is told."""

import pyarrow as pa

from dmafl.reports.terminal.run_table import enormous_losses, outcome_table


def metrics(loss: float, last: float) -> pa.Table:
    """Two tests of one task."""
    zeros = [0.0, 0.0]
    energies = dict.fromkeys(("uplink_J", "compute_J", "downlink_J", "energy_J"), zeros)
    rows = {"task": ["a", "a"], "scheme": ["fedasync"] * 2, "seed": [0, 0], "aggregation": [0, 8]}
    rows |= {"accuracy": [0.1, 0.1], "loss": [loss, last], "predicted_loss": [None, None], "time_s": zeros}
    rows["predicted_accuracy"] = [None, None]
    return pa.table(rows | energies)


def losses(found: pa.Table) -> list[str]:
    """What the column of losses shows."""
    return [row[0].text for row in outcome_table(found).only("loss").rows]


def test_an_enormous_loss_is_short_and_told() -> None:
    found = metrics(2.3, 1.6e26)
    assert losses(found) == ["1.6e+26"]
    (line,) = enormous_losses(found)
    assert "1.6e+26" in line and "Lower tasks.a.learning_rate." in line


def test_an_ordinary_loss_has_its_three_digits_and_no_line() -> None:
    found = metrics(2.3, 1.25)
    assert losses(found) == ["1.250"]
    assert enormous_losses(found) == []
    assert enormous_losses(metrics(1e9, 1.0)) == [], "only how it ended counts"
