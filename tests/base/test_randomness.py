"""Keyed randomness: the published test vectors, and that keys alone decide."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dmafl.base.randomness import generator, philox4x32, purpose_word, uniform, uniform_one

ONES = 0xFFFFFFFF
PUBLISHED = [
    # counter, key, output of philox4x32-10 in the test vectors of the Random123 distribution
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), PUBLISHED)
def test_philox_gives_the_published_words(counter, key, expected) -> None:
    assert tuple(int(word) for word in philox4x32(counter, key)) == expected


def test_a_draw_depends_on_its_key_alone() -> None:
    index, device = np.arange(70_000), np.arange(70_000) % 7
    whole = uniform(5, "channel.uplink", index, device, 2)
    assert uniform(5, "channel.uplink", 123, 123 % 7, 2) == whole[123]
    assert (
        uniform(5, "channel.uplink", index[66_000:], device[66_000:], 2).tolist() == whole[66_000:].tolist()
    )
    assert uniform(6, "channel.uplink", 123, 123 % 7, 2) != whole[123]
    assert uniform(5, "channel.downlink", 123, 123 % 7, 2) != whole[123]
    assert uniform(5 + (1 << 32), "channel.uplink", 123, 123 % 7, 2) != whole[123]


def test_one_key_at_a_time_gives_the_same_numbers() -> None:
    whole = uniform(2**40 + 9, "channel.uplink", np.arange(300), np.arange(300) % 11, 3)
    alone = [uniform_one(2**40 + 9, purpose_word("channel.uplink"), k, k % 11, 3) for k in range(300)]
    assert alone == whole.tolist()


def test_draws_are_uniform_and_independent_of_neighbouring_keys() -> None:
    u = uniform(0, "test", np.arange(200_000))
    assert u.min() > 0 and u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 4 / np.sqrt(len(u))


def test_generators_are_private() -> None:
    first = generator(1, "batch", 2, 3).random(4)
    generator(1, "batch", 2, 4).random(100)
    assert generator(1, "batch", 2, 3).random(4).tolist() == first.tolist()
    assert generator(1, "other", 2, 3).random(4).tolist() != first.tolist()
