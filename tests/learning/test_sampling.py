from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from dmafl.base.errors import BadInput
from dmafl.base.randomness import generator
from dmafl.learning.sampling import batches, simple_random_samples

SURE = 1e-3
"""Least p-value; the seeds are fixed, so the tests cannot flicker."""


@given(
    st.integers(1, 400).flatmap(lambda d: st.tuples(st.just(d), st.integers(1, d))),
    st.integers(1, 30),
    st.integers(0, 99),
)
def test_every_batch_has_exactly_b_distinct_positions(sizes, steps, seed):
    samples, batch = sizes
    drawn = np.concatenate(list(batches(generator(seed, "test"), samples, batch, steps)))
    assert drawn.shape == (steps, batch)
    assert drawn.min() >= 0
    assert drawn.max() < samples
    assert all(len(set(row)) == batch for row in drawn.tolist())


@pytest.mark.parametrize(("samples", "batch"), [(9, 2), (12, 3), (6, 2), (5, 4), (7, 1)])
def test_every_subset_is_equally_likely(samples, batch):
    drawn = np.sort(simple_random_samples(generator(1, "subsets"), samples, batch, 40_000), axis=1)
    subsets = {subset: at for at, subset in enumerate(combinations(range(samples), batch))}
    counts = np.bincount([subsets[tuple(row)] for row in drawn.tolist()], minlength=len(subsets))
    assert chisquare(counts).pvalue > SURE


@pytest.mark.parametrize(("samples", "batch"), [(600, 32), (600, 128), (100, 32)])
def test_every_sample_is_equally_likely(samples, batch):
    drawn = simple_random_samples(generator(2, "positions"), samples, batch, 4_000)
    counts = np.bincount(drawn.reshape(-1), minlength=samples)
    # Counts without replacement spread less than independent ones, by this factor.
    spread = (samples - batch) / (samples - 1)
    statistic = ((counts - counts.mean()) ** 2 / counts.mean()).sum() / spread
    assert abs(statistic - (samples - 1)) < 4 * np.sqrt(2 * samples)


def test_steps_are_independent():
    drawn = simple_random_samples(generator(3, "pairs"), 8, 1, 40_000)[:, 0]
    pairs = np.bincount(drawn[:-1] * 8 + drawn[1:], minlength=64)
    assert chisquare(pairs).pvalue > SURE


def test_long_runs_come_in_pieces():
    pieces = list(batches(generator(0, "long"), 1_000, 128, 700))
    assert len(pieces) > 1
    assert sum(len(piece) for piece in pieces) == 700


def test_an_epoch_visits_every_sample_once():
    drawn = np.concatenate(list(batches(generator(0, "epoch"), 10, 3, 7, "epoch")))
    assert drawn.shape == (7, 3)
    for one_pass in (drawn[:3], drawn[3:6]):
        assert len(set(one_pass.reshape(-1).tolist())) == 9
    assert not np.array_equal(drawn[:3], drawn[3:6])


def test_unknown_sampling_is_refused():
    with pytest.raises(BadInput, match="must be one of fresh, epoch"):
        batches(generator(0, "x"), 10, 3, 7, "bootstrap")
