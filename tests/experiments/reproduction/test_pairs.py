"""Claims by pairs of schemes: counted by hand, and all there."""

from dmafl.base.statistics import Interval
from dmafl.experiments.reproduction.claims import judge
from dmafl.experiments.reproduction.pairs import pairs
from dmafl.experiments.reproduction.verdicts import ABOVE, Claim, Comparison
from dmafl.reports.tables.study_files import pairs_markdown
from support.made_up_outcomes import by_scheme, study_outcomes


def comparison(
    measure: str, task: str, first: str, second: str, mean: float, judged: bool = True, n: int = 5
):
    effect = Interval(mean, 0.1, n)
    return Comparison(measure, "varied", task, first, second, effect, ABOVE, judged=judged)


def test_by_hand() -> None:
    """The better scheme is the one with more accuracy, less energy or a smaller distance."""
    claim = Claim(
        "C0",
        "text",
        "0",
        "command",
        (
            comparison("final accuracy", "mnist", "dma-fl", "fedasync", 1.0),
            comparison("accuracy averaged over aggregations", "mnist", "dma-fl", "fedasync", -1.0),
            comparison("final accuracy", "svhn", "dma-fl", "fedasync", 0.0),
            comparison("final accuracy", "svhn", "dma-fl", "fedasync", 1.0, judged=False),
            comparison("final accuracy", "svhn", "dma-fl", "fedasync", 1.0, n=0),
            comparison("log energy to 80%", "svhn", "fedasync", "dma-fl", 1.0),
            comparison("distance to dma-fl in final accuracy", "svhn", "fedasync", "dma-fl-nr", 1.0),
            comparison("log energy to 65%", "svhn", "fedavg-full", "146.98 kJ", 1.0),
        ),
    )
    found = {(one.better, one.other, one.quantity): one for one in pairs([claim])}
    assert set(found) == {
        ("dma-fl", "fedasync", "accuracy"),
        ("dma-fl", "fedasync", "energy"),
        ("dma-fl-nr", "fedasync", "distance to dma-fl in accuracy"),
    }
    accuracy = found["dma-fl", "fedasync", "accuracy"]
    assert [accuracy.counts(task) for task in ("svhn", "mnist", "fashion_mnist", None)] == [
        "0/0/1",
        "1/1/0",
        "",
        "1/1/1",
    ]
    assert "| C0 | `dma-fl` against `fedasync` | accuracy | 0/0/1 | 1/1/0 |  | 1/1/1 |" in pairs_markdown(
        list(found.values())
    )


def test_nothing_is_lost() -> None:
    """All comparisons of the claims about schemes are counted once."""
    claims = judge(study_outcomes(by_scheme({"dma-fl": 0.8, "dma-fl-nr": 0.78}, {"dma-fl": 0.2}, steps=10.0)))
    found = pairs(claims)
    assert sum(len(claim.counted) for claim in claims if claim.id not in ("C5", "C6", "C7", "C8")) > 10
    for claim in claims:
        own = [one for one in found if one.claim == claim.id]
        if claim.id in ("C5", "C6", "C7", "C8"):
            assert own == []
        else:
            assert sum(len(states) for one in own for states in one.states.values()) == len(claim.counted)


def test_without_runs_it_says_so() -> None:
    assert pairs_markdown([]) == "Not run yet.\n"
