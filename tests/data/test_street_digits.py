from __future__ import annotations

import sys

import numpy as np
import pytest

from dmafl.data import Dataset, find, street_digits
from dmafl.data.street_digits import EMBEDDED_SHA256, render


@pytest.fixture(scope="module")
def pictures() -> Dataset:
    return find("street_digits")


def test_pixels_are_the_same_everywhere(pictures):
    assert pictures.sha256 == EMBEDDED_SHA256


def test_keeps_split_and_labels_and_says_what_it_is(pictures):
    mnist = find("mnist")
    assert pictures.shape == (32, 32, 3)
    np.testing.assert_array_equal(pictures.y_train, mnist.y_train)
    np.testing.assert_array_equal(pictures.y_test, mnist.y_test)
    assert pictures.stand_in
    assert pictures.name == "street_digits"
    assert pictures.source == "rendered from mnist (embedded)"


def test_a_picture_does_not_depend_on_how_many_are_drawn_at_a_time(monkeypatch):
    digits = find("mnist").x_train[:50]
    whole = render(digits, "test")
    monkeypatch.setattr(sys.modules["dmafl.data.street_digits"], "_BLOCK", 7)
    np.testing.assert_array_equal(render(digits, "test"), whole)


def test_pictures_vary_in_colour_and_polarity(pictures):
    means = pictures.x_train[:2000].mean(axis=(1, 2))
    assert means.std() > 30
    # The pixel in the middle of a 1 is lighter than the corners about as often as darker.
    ones = pictures.x_train[pictures.y_train == 1].astype(float).mean(axis=3)
    lighter = ones[:, 15:17, 15:17].mean(axis=(1, 2)) > ones[:, :2].mean(axis=(1, 2))
    assert 0.3 < lighter.mean() < 0.7


def test_train_and_test_are_drawn_apart():
    mnist = find("mnist").first(50, 50)
    same = Dataset(
        name="mnist",
        x_train=mnist.x_train,
        y_train=mnist.y_train,
        x_test=mnist.x_train,
        y_test=mnist.y_train,
        source="memory",
        sha256="",
    )
    drawn = street_digits(same)
    assert not np.array_equal(drawn.x_train, drawn.x_test)


def test_no_straight_line_through_the_pixels_tells_the_digits(pictures):
    """Ridge regression, the best linear guess, stays far below the network it is for (0.83 to 0.88 when trained)."""
    train = pictures.x_train[:4000, ::2, ::2].reshape(4000, -1) / 255 - 0.5
    test = pictures.x_test[:, ::2, ::2].reshape(len(pictures.x_test), -1) / 255 - 0.5
    target = np.eye(10)[pictures.y_train[:4000]]
    weights = np.linalg.solve(train.T @ train + 100 * np.eye(train.shape[1]), train.T @ target)
    accuracy = np.mean((test @ weights).argmax(axis=1) == pictures.y_test)
    assert accuracy < 0.3
