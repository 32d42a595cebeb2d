from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmafl.base.errors import BadInput
from dmafl.data.partition import SCHEMES, largest_remainder, partition

BALANCED = np.repeat(np.arange(10), 100)


def histogram(labels, row):
    return np.bincount(np.asarray(labels)[row], minlength=10)


def label_counts(result, labels=BALANCED):
    return [int(np.count_nonzero(histogram(labels, row))) for row in result.indices]


@st.composite
def cases(draw):
    classes = draw(st.lists(st.integers(0, 9), min_size=1, max_size=10, unique=True))
    sizes = [draw(st.integers(1, 30)) for _ in classes]
    labels = draw(st.permutations(np.repeat(classes, sizes).tolist()))
    return (
        np.array(labels, dtype=np.uint8),
        draw(st.integers(1, 12)),
        draw(st.integers(1, 40)),
        draw(st.sampled_from(SCHEMES)),
        {
            "seed": draw(st.integers(0, 2**40)),
            "labels_per_device": draw(st.integers(1, len(classes))),
            "concentration": draw(st.floats(0.01, 100)),
            "task": draw(st.integers(0, 3)),
        },
    )


@settings(max_examples=250, deadline=None)
@given(cases())
def test_promises_hold_for_every_scheme(case):
    labels, devices, samples, scheme, options = case
    try:
        result = partition(labels, devices, samples, scheme, **options)
    except BadInput as error:
        assert "Give fewer samples" in str(error)
        fewest = {"iid": 10, "k_labels": options["labels_per_device"]}.get(scheme, 1)
        sizes = np.sort(np.unique(labels, return_counts=True)[1])
        assert samples > sizes[:fewest].sum()
        return
    indices = result.indices
    assert indices.shape == (devices, samples)
    assert indices.min() >= 0
    assert indices.max() < len(labels)
    assert all(len(np.unique(row)) == samples for row in indices)
    held_labels = [len(np.unique(labels[row])) for row in indices]
    if scheme == "k_labels":
        assert max(held_labels) <= options["labels_per_device"]
    assert result.shared == indices.size - len(np.unique(indices))
    assert result.shared == partition(labels, devices, samples, scheme, **options, only_counts=True).shared
    # Sharing only when a class (for iid: everything) runs out.
    pools = (
        [np.arange(len(labels))]
        if scheme == "iid"
        else [np.flatnonzero(labels == c) for c in np.unique(labels)]
    )
    for pool in pools:
        dealt = indices[np.isin(indices, pool)]
        assert len(np.unique(dealt)) == min(len(dealt), len(pool))
    again = partition(labels, devices, samples, scheme, **options)
    np.testing.assert_array_equal(indices, again.indices)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_seed_and_task_change_the_deal(scheme):
    first = partition(BALANCED, 5, 50, scheme, seed=0).indices
    assert not np.array_equal(first, partition(BALANCED, 5, 50, scheme, seed=1).indices)
    assert not np.array_equal(first, partition(BALANCED, 5, 50, scheme, seed=0, task=1).indices)


def test_k_labels_are_in_equal_parts_and_every_label_has_as_many_holders():
    result = partition(BALANCED, 10, 41, "k_labels", seed=3, labels_per_device=2)
    counts = np.array([histogram(BALANCED, row) for row in result.indices])
    for row in counts:
        present = np.flatnonzero(row)
        assert row[present].tolist() == [21, 20]
    assert (counts > 0).sum(axis=0).tolist() == [2] * 10
    assert result.shared == 0


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        (1, [1]),
        (3, [1, 2, 2]),
        (6, [1, 2, 2, 3, 3, 3]),
        (10, [1, 2, 2, 3, 3, 3, 4, 4, 4, 4]),
        (12, [1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5]),
        (57, [g for g in range(1, 11) for _ in range(g)] + [10, 10]),
    ],
)
def test_varied_groups_by_hand(devices, expected):
    assert label_counts(partition(BALANCED, devices, 60, "varied", seed=0)) == expected


def test_varied_counts_by_hand():
    result = partition(BALANCED, 4, 100, "varied", seed=5)
    parts = [
        sorted(histogram(BALANCED, row)[histogram(BALANCED, row) > 0].tolist()) for row in result.indices
    ]
    assert parts == [[100], [50, 50], [50, 50], [33, 33, 34]]


def test_dirichlet_is_uneven_when_the_concentration_is_small():
    uneven = partition(BALANCED, 40, 50, "dirichlet", seed=0, concentration=0.05)
    even = partition(BALANCED, 40, 50, "dirichlet", seed=0, concentration=1000)
    assert np.mean(label_counts(uneven)) < 3
    assert np.mean(label_counts(even)) == 10


def test_dirichlet_shares_have_the_right_variance():
    """Var of a share of Dir(a, ..., a) over 10 classes: 0.1 * 0.9 / (10 a + 1)."""
    labels = np.repeat(np.arange(10), 1000)
    rows = partition(labels, 1000, 500, "dirichlet", seed=1, concentration=0.5).indices
    shares = np.array([histogram(labels, row) for row in rows]) / 500
    # 10,000 shares: the estimate's standard error is below 3 %; four of them.
    assert shares.var() == pytest.approx(0.09 / 6, rel=0.12)


def test_iid_is_a_plain_deal():
    result = partition(BALANCED, 10, 100, "iid", seed=0)
    assert sorted(result.indices.ravel().tolist()) == list(range(1000))
    assert result.shared == 0
    assert len({tuple(histogram(BALANCED, row)) for row in result.indices}) > 5


def test_shared_counts_assignments_beyond_the_first():
    labels = np.zeros(10, dtype=np.uint8)
    result = partition(labels, 3, 8, "k_labels", seed=0, labels_per_device=1)
    assert result.shared == 24 - 10
    # A second pass over the class is shuffled anew: no device is a copy of another.
    assert len({tuple(sorted(row)) for row in partition(labels, 4, 5, "iid", seed=0).indices.tolist()}) > 2


def test_what_a_small_class_cannot_give_goes_to_the_other_labels():
    labels = np.array([0] * 5 + [1] * 100)
    result = partition(labels, 2, 40, "k_labels", seed=0, labels_per_device=2)
    assert [histogram(labels, row)[:2].tolist() for row in result.indices] == [[5, 35], [5, 35]]
    assert result.shared == 5


def test_too_many_samples_for_the_labels_is_an_error():
    with pytest.raises(BadInput, match="at most 100") as caught:
        partition(BALANCED, 3, 101, "varied", seed=0)
    assert "Give fewer samples" in str(caught.value)
    with pytest.raises(BadInput, match="at most 1,000"):
        partition(BALANCED, 3, 1001, "iid", seed=0)


def test_prefixes_have_the_devices_class_mix():
    labels = np.repeat(np.arange(10), 1000)
    rows = partition(labels, 20, 400, "k_labels", seed=0).indices
    for row in rows:
        half = histogram(labels, row[:200])
        # 100 of each expected; hypergeometric standard deviation 7.1, five of them.
        assert np.all(np.abs(half[half > 0] - 100) < 36)


def test_classes_need_not_be_consecutive():
    labels = np.repeat([3, 7], 20)
    assert label_counts(partition(labels, 4, 10, "k_labels", seed=0, labels_per_device=1), labels) == [1] * 4


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"devices": 0}, "devices"),
        ({"samples": 0}, "samples"),
        ({"samples": 10**8}, "at most 66,666,666 where there are 3 devices"),
        ({"seed": -1}, "seed"),
        ({"scheme": "dirichlett"}, "Did you mean dirichlet"),
        ({"scheme": "xyz"}, "k_labels"),
        ({"labels_per_device": 0}, "labels_per_device"),
        ({"labels_per_device": 11}, "between 1 and 10"),
        ({"scheme": "dirichlet", "concentration": 0.0}, "concentration"),
        ({"scheme": "dirichlet", "concentration": float("nan")}, "concentration"),
        ({"scheme": "dirichlet", "concentration": float("inf")}, "concentration"),
        ({"labels": []}, "labels"),
        ({"labels": [[1, 2]]}, "labels"),
        ({"labels": [0.5]}, "labels"),
        ({"labels": [-1]}, "labels"),
    ],
)
def test_bad_arguments(changes, said):
    arguments = {"labels": BALANCED, "devices": 3, "samples": 10, "scheme": "k_labels", "seed": 0}
    with pytest.raises(BadInput, match=said):
        partition(**{**arguments, **changes})


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=12), st.integers(0, 10_000))
def test_largest_remainder_sums_and_stays_within_one(shares, total):
    shares = np.array(shares)
    counts = largest_remainder(shares, total)
    assert counts.sum() == total
    assert np.all(np.abs(counts - shares / shares.sum() * total) < 1 + 1e-6)


def test_largest_remainder_by_hand():
    assert largest_remainder(np.array([0.5, 0.3, 0.2]), 7).tolist() == [4, 2, 1]
    assert largest_remainder(np.full(3, 1 / 3), 100).tolist() == [34, 33, 33]
    assert largest_remainder(np.array([0.1, 0.2, 0.7]) / 3, 10).tolist() == [1, 2, 7]
