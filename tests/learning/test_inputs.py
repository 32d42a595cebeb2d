import numpy as np
import pytest

from dmafl.base.errors import BadInput
from dmafl.learning.inputs import Inputs, channel_statistics, pixels, standardised

TOLERANCE = 1e-6
"""A few roundings of float32 at values near 1."""


def test_pixels_are_between_0_and_1():
    images = np.array([[[0, 51], [102, 255]]], dtype=np.uint8)
    values, labels = pixels(images, np.array([3], np.uint8)).batch(np.array([0]))
    np.testing.assert_allclose(values, [[[0, 0.2], [0.4, 1]]], rtol=TOLERANCE)
    assert (values.dtype, labels.dtype, labels.tolist()) == (np.float32, np.int64, [3])


def test_standardised_by_channel():
    images = np.random.default_rng(0).integers(0, 256, (50, 4, 5, 3), dtype=np.uint8)
    mean, std = channel_statistics(images)
    real = images / 255.0
    np.testing.assert_allclose(mean, real.mean(axis=(0, 1, 2)))
    np.testing.assert_allclose(std, real.std(axis=(0, 1, 2)))
    values, _ = standardised(images, np.zeros(50, int), mean, std).batch(np.arange(50))
    np.testing.assert_allclose(values, (real - mean) / std, rtol=1e-5, atol=1e-5)
    assert values.shape == images.shape


def test_sets_share_one_array_of_images(digits):
    part = digits.select([5, 7, 50])
    again = part.select([2, 0])
    assert np.shares_memory(part.images, digits.images)
    assert (len(digits), len(part), len(again)) == (60, 3, 2)
    np.testing.assert_array_equal(again.batch(np.array([0, 1]))[0], digits.batch(np.array([50, 5]))[0])
    compacted = again.compact()
    assert compacted.images.shape == (2, 28, 28)
    np.testing.assert_array_equal(compacted.batch(np.array([1]))[0], digits.batch(np.array([5]))[0])


def test_strided_images_are_copied_once():
    images = np.arange(48, dtype=np.uint8).reshape(12, 2, 2)[::2]
    data = Inputs(images, np.zeros(6, int))
    part = data.select([1, 3])
    assert np.shares_memory(part.images, data.images)
    assert part.batch(np.array([1]))[0].tolist() == [[[24, 25], [26, 27]]]


def test_batches_are_copies_of_read_only_data():
    images = np.ones((2, 3), dtype=np.float32)
    images.flags.writeable = False
    data = Inputs(images, np.zeros(2, int), scale=2.0, shift=1.0)
    assert data.batch(np.array([0]))[0].tolist() == [[3, 3, 3]]
    assert images.max() == 1


def test_integer_codes_stay_integers():
    data = Inputs(np.array([[70_000, 2]]), np.array([0]), layout="plain")
    values, _ = data.batch(np.array([0]))
    assert (values.tolist(), values.dtype) == ([[70_000, 2]], np.int64)


IMAGES, LABELS = np.zeros((3, 2, 2), np.uint8), np.array([0, 1, 2])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"images": np.zeros(3)}, r"`images` must be numbers of shape \(N, ...\)"),
        ({"images": IMAGES.astype(np.int64)}, "`images` must be uint8 or float"),
        ({"images": IMAGES.astype(bool)}, "`images` must be numbers"),
        ({"labels": LABELS[:2]}, r"`labels` must be integers of shape \(3,\)"),
        ({"labels": LABELS / 2}, "`labels` must be integers"),
        ({"labels": -LABELS}, "`labels` must be >= 0; got -2"),
        ({"scale": 0.0}, "`scale` must not be 0"),
        ({"scale": [1.0, 2.0, 3.0]}, "`scale` must be a number or 2 numbers"),
        ({"shift": float("nan")}, "`shift` must be finite"),
        ({"rows": [0, 3]}, r"`rows` must be within 0..2"),
        ({"rows": [-1]}, r"`rows` must be within 0..2"),
        ({"rows": [0.5]}, "`rows` must be a list of positions"),
    ],
)
def test_bad_data_is_refused(given, message):
    with pytest.raises(BadInput, match=message):
        Inputs(**({"images": IMAGES, "labels": LABELS} | given))


def test_a_spread_of_zero_is_refused():
    with pytest.raises(BadInput, match="`std` must be > 0"):
        standardised(IMAGES, LABELS, 0.0, 0.0)
