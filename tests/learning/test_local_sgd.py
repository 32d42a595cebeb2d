import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from dmafl.base.errors import BadInput
from dmafl.base.randomness import generator
from dmafl.learning.divergence import Diverged
from dmafl.learning.evaluation import evaluate, fixed_subset
from dmafl.learning.inputs import Inputs, pixels, standardised
from dmafl.learning.local_sgd import train
from dmafl.learning.models import build
from dmafl.learning.parameters import FlatModel
from support.patience import carried_out

ROUNDINGS = 2e-5
"""Relative; sums of up to 100 float32 products, taken in another order, over up to 12 steps."""

SETTINGS = {"steps": 3, "batch": 4, "learning_rate": 0.1, "proximal": 0.5}


def softmax(z):
    return np.exp(z) / np.exp(z).sum()


@pytest.mark.parametrize("fast", [True, False])
def test_two_steps_by_hand(fast):
    x, label = np.array([0.5, -2.0]), 1
    eta, rho = 0.1, 0.4
    w0, b0 = np.array([[0.1, 0.2], [0.3, -0.4]]), np.array([0.05, -0.05])
    w, b = w0.copy(), b0.copy()
    for _ in range(2):
        residual = softmax(w @ x + b) - np.eye(2)[label]
        w, b = (
            w - eta * (np.outer(residual, x) + rho * (w - w0)),
            b - eta * (residual + rho * (b - b0)),
        )
    # The first step without any library: scores 0.3-0.35=-0.3 and 0.9, so p_0 = 1/(1+e^1.2) = 0.231475.
    first = 0.231475 * np.array([0.5, -2.0])
    assert np.allclose(w0[0] - eta * first, [0.088426, 0.246295], atol=1e-6)

    data = Inputs(x[None].astype(np.float32), np.array([label]))
    received = np.concatenate([w0.reshape(-1), b0]).astype(np.float32)
    model = FlatModel(nn.Linear(2, 2), fast=fast)
    after_one = train(
        model, received, data, steps=1, batch=1, learning_rate=eta, proximal=rho, generator=generator(0, "t")
    )
    after_two = train(
        model, received, data, steps=2, batch=1, learning_rate=eta, proximal=rho, generator=generator(0, "t")
    )
    np.testing.assert_allclose(after_one.parameters[:2], [0.088426, 0.246295], atol=1e-6)
    np.testing.assert_allclose(after_two.parameters, np.concatenate([w.reshape(-1), b]), rtol=1e-6)


@settings(max_examples=40)
@given(
    samples=st.integers(1, 90),
    features=st.integers(1, 100),
    classes=st.integers(2, 12),
    steps=st.integers(1, 12),
    batch=st.integers(1, 150),
    learning_rate=st.floats(1e-4, 0.5),
    proximal=st.sampled_from([0.0, 0.1, 1.0]),
    kind=st.sampled_from(["pixels", "float", "standardised", "by feature"]),
    sampling=st.sampled_from(["fresh", "epoch"]),
    seed=st.integers(0, 1000),
)
def test_the_fast_path_is_the_general_one(
    samples, features, classes, steps, batch, learning_rate, proximal, kind, sampling, seed
):
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, classes, samples)
    stored = draw.integers(0, 256, (samples + 5, features), dtype=np.uint8)
    data = {
        "pixels": lambda x, y: pixels(x, y),
        "float": lambda x, y: Inputs(x / 255.0, y),
        "standardised": lambda x, y: standardised(x, y, 0.3, 0.5),
        "by feature": lambda x, y: standardised(x, y, draw.random(features), 0.2 + draw.random(features)),
    }[kind](stored, np.concatenate([labels, labels[:1].repeat(5)]))
    part = data.select(draw.permutation(samples + 5)[:samples])
    received = draw.normal(size=classes * (features + 1)).astype(np.float32)
    results = [
        train(
            FlatModel(nn.Linear(features, classes), fast=fast),
            received,
            part,
            steps=steps,
            batch=batch,
            learning_rate=learning_rate,
            proximal=proximal,
            generator=generator(seed, "same"),
            sampling=sampling,
        )
        for fast in (True, False)
    ]
    scale = np.abs(received).max()
    np.testing.assert_allclose(
        results[0].parameters, results[1].parameters, rtol=ROUNDINGS, atol=ROUNDINGS * scale
    )
    assert results[0].batch == results[1].batch == min(batch, samples)


def test_paths_agree_over_several_pieces_of_batches(digits):
    received = np.zeros(7850, np.float32)
    results = [
        train(
            FlatModel(build("softmax", 0), fast=fast),
            received,
            digits,
            steps=1200,
            batch=30,
            learning_rate=0.01,
            proximal=1.0,
            generator=generator(0, "long"),
        ).parameters
        for fast in (True, False)
    ]
    np.testing.assert_allclose(*results, atol=1e-4)


def test_a_plain_torch_loop_gives_the_same_cnn(colours):
    eta, rho = 0.05, 0.3
    model = FlatModel(build("cnn", 0))
    start = model.values()
    ours = train(
        model,
        start,
        colours,
        steps=3,
        batch=40,
        learning_rate=eta,
        proximal=rho,
        generator=generator(0, "cnn"),
    )
    plain = build("cnn", 0)
    received = [weights.detach().clone() for weights in plain.parameters()]
    x = torch.from_numpy(colours.images).permute(0, 3, 1, 2).contiguous() / 255
    y = torch.from_numpy(colours.labels).long()
    for _ in range(3):
        loss = nn.functional.cross_entropy(plain(x), y)
        loss = loss + rho / 2 * sum(
            ((w - w0) ** 2).sum() for w, w0 in zip(plain.parameters(), received, strict=True)
        )
        for weights, gradient in zip(
            plain.parameters(), torch.autograd.grad(loss, list(plain.parameters())), strict=True
        ):
            weights.data -= eta * gradient
    expected = nn.utils.parameters_to_vector(plain.parameters()).detach().numpy()
    np.testing.assert_allclose(ours.parameters, expected, atol=1e-6)


def test_a_batch_larger_than_the_data_is_cut_and_reported(digits):
    model = FlatModel(build("softmax", 0))
    few = digits.select(range(3))
    cut = train(model, model.values(), few, **SETTINGS, generator=generator(0, "cut"))
    assert (cut.batch, cut.asked_batch, cut.batch_was_cut) == (3, 4, True)
    whole = train(model, model.values(), digits, **SETTINGS, generator=generator(0, "cut"))
    assert not whole.batch_was_cut


def test_received_parameters_are_left_alone(digits, colours):
    for name, data in (("softmax", digits), ("cnn", colours)):
        model = FlatModel(build(name, 0))
        received = model.values()
        before = received.copy()
        train(model, received, data, **SETTINGS, generator=generator(0, "t"))
        np.testing.assert_array_equal(received, before)


def test_weights_of_pixels_that_are_never_set_do_not_move(make_images):
    data = make_images(30, (28, 28))
    images = data.images.copy()
    images[:, 0] = 0
    received = np.random.default_rng(0).normal(size=7850).astype(np.float32)
    trained = train(
        FlatModel(build("softmax", 0)),
        received,
        pixels(images, data.labels),
        **SETTINGS,
        generator=generator(0, "dead"),
    ).parameters
    unused = np.zeros((10, 28, 28), bool)
    unused[:, 0] = True
    np.testing.assert_array_equal(trained[:7840][unused.reshape(-1)], received[:7840][unused.reshape(-1)])
    assert (trained[:7840] != received[:7840])[~unused.reshape(-1)].mean() > 0.9


def test_same_keys_same_bits_whatever_came_before(digits, colours):
    for name, data in (("softmax", digits), ("cnn", colours)):
        model, other = FlatModel(build(name, 0)), FlatModel(build(name, 1))
        start = model.values()
        first = train(model, start, data, **SETTINGS, generator=generator(3, "key")).parameters
        train(model, first, data, **SETTINGS, generator=generator(4, "other"))
        evaluate(model, first, data)
        torch.manual_seed(99)
        for again in (model, other):
            second = train(again, start, data, **SETTINGS, generator=generator(3, "key")).parameters
            assert first.tobytes() == second.tobytes()


def test_dropout_is_keyed_too(digits):
    def factory():
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 8), nn.Dropout(0.5), nn.Linear(8, 10))

    model = FlatModel(build(factory, 0))
    start = model.values()
    results = []
    for key in (0, 0, 1):
        state = torch.random.get_rng_state()
        trained = train(model, start, digits, **SETTINGS, generator=generator(key, "d"))
        results.append(trained.parameters.tobytes())
        assert torch.equal(state, torch.random.get_rng_state())
        torch.rand(1)
    assert results[0] == results[1] != results[2]


SCRIPT = """
import hashlib, numpy as np
from dmafl.learning.inputs import pixels
from dmafl.learning.local_sgd import train
from dmafl.learning.models import build
from dmafl.learning.parameters import FlatModel
from dmafl.learning.threads import compute_with_one_thread
from dmafl.base.randomness import generator
compute_with_one_thread()
for name, shape in (("softmax", (28, 28)), ("cnn", (32, 32, 3))):
    draw = np.random.default_rng(0)
    data = pixels(draw.integers(0, 256, (200, *shape), dtype=np.uint8), draw.integers(0, 10, 200))
    model = FlatModel(build(name, 0))
    trained = train(model, model.values(), data, steps=2, batch=130, learning_rate=0.1, proximal=1.0,
                    generator=generator(0, "process"))
    print(hashlib.sha256(trained.parameters.tobytes()).hexdigest())
"""


def test_same_keys_same_bits_in_every_process():
    outputs = {
        carried_out(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | {"PYTHONHASHSEED": threads, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(outputs) == 1


def test_divergence_is_an_error_with_a_remedy(digits, colours):
    for name, data in (("softmax", digits), ("cnn", colours)):
        model = FlatModel(build(name, 0))
        with pytest.raises(Diverged, match="Lower the learning rate") as caught:
            train(
                model,
                model.values(),
                data,
                steps=30,
                batch=8,
                learning_rate=1e37,
                proximal=0.0,
                generator=generator(0, "wild"),
            )
        assert caught.value.problem.rule == "must stay finite"


def test_divergence_names_its_cause(digits):
    model = FlatModel(build("softmax", 0))
    broken = model.values()
    broken[3] = np.nan
    with pytest.raises(Diverged, match="received model"):
        train(model, broken, digits, **SETTINGS, generator=generator(0, "t"))
    images = np.ones((5, 784), np.float32)
    images[2, 1] = np.inf
    with pytest.raises(Diverged, match="local data"):
        train(model, model.values(), Inputs(images, np.arange(5)), **SETTINGS, generator=generator(0, "t"))


@pytest.mark.parametrize(
    ("setting", "value"),
    [("steps", 0), ("batch", 0), ("learning_rate", 0.0), ("learning_rate", float("nan")), ("proximal", -1.0)],
)
def test_bad_settings_are_refused(digits, setting, value):
    model = FlatModel(build("softmax", 0))
    with pytest.raises(BadInput, match=f"`{setting}` must be"):
        train(model, model.values(), digits, **(SETTINGS | {setting: value}), generator=generator(0, "t"))


def test_codes_train_an_embedding():
    draw = np.random.default_rng(0)
    data = Inputs(draw.integers(0, 50, (40, 6)), draw.integers(0, 3, 40), layout="plain")
    model = FlatModel(build(lambda: nn.Sequential(nn.EmbeddingBag(50, 8), nn.Linear(8, 3)), 0))
    before = evaluate(model, model.values(), data).loss
    trained = train(
        model,
        model.values(),
        data,
        steps=60,
        batch=20,
        learning_rate=1.0,
        proximal=0.0,
        generator=generator(0, "codes"),
    )
    assert evaluate(model, trained.parameters, data).loss < before - 0.1


COMPLETE = os.environ.get("DMAFL_DATA_DIR")


@pytest.mark.skipif(COMPLETE is None, reason="needs the real data: set DMAFL_DATA_DIR")
def test_mnist_is_learnt():
    with np.load(Path(COMPLETE) / "mnist.npz") as arrays:
        data = pixels(arrays["x_train"], arrays["y_train"])
        test = pixels(arrays["x_test"], arrays["y_test"])
    model = FlatModel(build("softmax", 0))
    trained = train(
        model,
        model.values(),
        data,
        steps=1500,
        batch=32,
        learning_rate=0.1,
        proximal=0.0,
        generator=generator(0, "mnist"),
    )
    assert evaluate(model, trained.parameters, fixed_subset(test, 4_000, 0)).accuracy > 0.89
