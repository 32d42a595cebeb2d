from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dmafl.base.errors import BadInput
from dmafl.data import available, find
from dmafl.data.catalogue import KNOWN, SVHN
from dmafl.data.folders import cache_folder, folders


def test_order_is_named_folder_environment_cache_embedded(saved, own_folders, tmp_path, monkeypatch):
    assert find("mnist").source == "embedded"
    cached = saved(own_folders, "mnist", seed=1)
    np.testing.assert_array_equal(find("mnist").x_train, cached["x_train"])
    environment = saved(tmp_path / "environment", "mnist", seed=2)
    monkeypatch.setenv("DMAFL_DATA_DIR", str(tmp_path / "environment"))
    np.testing.assert_array_equal(find("mnist").x_train, environment["x_train"])
    named = saved(tmp_path / "named", "mnist", seed=3)
    dataset = find("mnist", tmp_path / "named")
    np.testing.assert_array_equal(dataset.x_train, named["x_train"])
    assert dataset.source == str(tmp_path / "named" / "mnist.npz")
    assert dataset.sha256 == hashlib.sha256((tmp_path / "named" / "mnist.npz").read_bytes()).hexdigest()
    assert find("fashion_mnist", tmp_path / "named").source == "embedded"


def test_own_file_by_name(saved, tmp_path):
    saved(tmp_path, "my-letters.1", shape=(9, 9))
    assert find("my-letters.1", tmp_path).shape == (9, 9)


def test_svhn_is_cut_unless_all_of_it_is_asked_for(saved, tmp_path, monkeypatch):
    assert SVHN.limit == (20_000, 10_000)
    monkeypatch.setitem(KNOWN, "svhn", replace(SVHN, limit=(17, 9)))
    saved(tmp_path, "svhn", train=20, test=10, shape=(32, 32, 3))
    dataset = find("svhn", tmp_path)
    assert (len(dataset.x_train), len(dataset.x_test)) == (17, 9)
    whole = find("svhn", tmp_path, full=True)
    assert (len(whole.x_train), len(whole.x_test)) == (20, 10)
    np.testing.assert_array_equal(dataset.x_train, whole.x_train[:17])
    assert dataset.sha256 == whole.sha256


def test_svhn_that_is_nowhere_has_two_remedies(tmp_path):
    with pytest.raises(BadInput, match="dmafl data fetch svhn") as caught:
        find("svhn", tmp_path)
    assert 'dataset = "street_digits"' in str(caught.value)


@pytest.mark.parametrize(
    ("name", "guess"), [("mnits", "mnist"), ("fashion-mnist", "fashion_mnist"), ("shvn", "svhn")]
)
def test_unknown_name_has_a_suggestion(name, guess):
    with pytest.raises(BadInput, match=f"Did you mean {guess}"):
        find(name)


def test_own_names_are_suggested_too(saved, tmp_path):
    saved(tmp_path, "letters")
    with pytest.raises(BadInput, match="Did you mean letters"):
        find("leters", tmp_path)


@pytest.mark.parametrize("name", ["../mnist", "", ".", "a/b", "a b", "..", "mnist\n"])
def test_a_name_is_not_a_path(name):
    with pytest.raises(BadInput, match="plain name"):
        find(name)


def test_a_named_folder_must_exist(tmp_path, monkeypatch):
    for data_dir in (tmp_path / "none", str(tmp_path / "none")):
        with pytest.raises(BadInput, match="data_dir"):
            find("mnist", data_dir)
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="a file"):
        available(tmp_path / "file")
    monkeypatch.setenv("DMAFL_DATA_DIR", str(tmp_path / "none"))
    with pytest.raises(BadInput, match="DMAFL_DATA_DIR"):
        find("mnist")


def test_a_broken_file_is_an_error_not_passed_over(tmp_path):
    (tmp_path / "mnist.npz").write_bytes(b"PK")
    with pytest.raises(BadInput, match=r"mnist\.npz"):
        find("mnist", tmp_path)


def test_a_known_name_has_its_known_shape(saved, tmp_path):
    saved(tmp_path, "mnist", shape=(32, 32, 3))
    with pytest.raises(BadInput, match="another file name"):
        find("mnist", tmp_path)


def test_stand_in_is_the_same_whatever_mnist_is_there(saved, tmp_path):
    saved(tmp_path, "mnist", train=20, test=10)
    assert find("street_digits", tmp_path).sha256 == find("street_digits").sha256
    whole = find("street_digits", tmp_path, full=True)
    assert (len(whole.x_train), whole.shape, whole.stand_in) == (20, (32, 32, 3), True)
    assert str(tmp_path) in whole.source


def test_available_lists_every_place_and_what_is_used(saved, own_folders, tmp_path):
    saved(tmp_path / "named", "mnist", train=30, test=10)
    saved(tmp_path / "named", "letters", train=30, test=10, shape=(9, 9, 1))
    saved(own_folders, "mnist", train=40)
    (own_folders / "broken.npz").write_bytes(b"no")
    (own_folders / ".hidden.npz").write_bytes(b"no")
    listings = available(tmp_path / "named")
    assert [(listing.name, Path(listing.source).parent.name, listing.used) for listing in listings] == [
        ("letters", "named", True),
        ("mnist", "named", True),
        ("broken", "data", True),
        ("mnist", "data", False),
        ("mnist", "", False),
        ("fashion_mnist", "", True),
        ("street_digits", "", True),
    ]
    letters, mnist, broken = listings[:3]
    assert (letters.train, letters.test, letters.shape) == (30, 10, (9, 9, 1))
    assert "CC BY-SA" in mnist.licence
    assert mnist.sha256 == find("mnist", tmp_path / "named").sha256
    assert broken.problem is not None
    assert broken.sha256 is None
    assert [listing.stand_in for listing in listings] == [False] * 6 + [True]


def test_listing_agrees_with_loading():
    listings = available()
    assert {"mnist", "fashion_mnist", "street_digits"} <= {listing.name for listing in listings}
    for listing in listings:
        dataset = find(listing.name)
        assert (listing.train, listing.test) == (len(dataset.x_train), len(dataset.x_test))
        assert (listing.shape, listing.sha256, listing.stand_in) == (
            dataset.shape,
            dataset.sha256,
            dataset.stand_in,
        )


def test_large_files_are_listed_without_checksum(saved, tmp_path, monkeypatch):
    saved(tmp_path, "letters")
    monkeypatch.setattr("dmafl.data.lookup.MAX_HASHED_BYTES", 10)
    assert available(tmp_path)[0].sha256 is None


def test_cache_folder_follows_the_platform(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache" / "data"
    monkeypatch.delenv("DMAFL_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "dmafl" / "data"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / "home" / ".cache" / "dmafl" / "data"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == tmp_path / "home" / ".cache" / "dmafl" / "data"


def test_without_a_home_there_is_no_cache(monkeypatch):
    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("DMAFL_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert folders() == []
    with pytest.raises(BadInput, match="DMAFL_CACHE_DIR"):
        cache_folder()
