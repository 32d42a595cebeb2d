"""One device of the `paper` preset worked out by hand, and the preset against Table II of the paper."""

import math

import numpy as np
import pytest

from dmafl.scenario.model import Channel, Scenario, constant, uniform
from dmafl.scenario.preset import preset
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.timeline import replay
from dmafl.world.world import World

HAND = 1e-9
"""Relative difference from the numbers worked out here; both sides are exact to rounding."""

DEVICE = 3
MNIST = 1  # after svhn


class ByHand:
    """The device's local period with MNIST: 20 steps of 16 samples at 10 MHz, spelled out."""

    gain = 6.4e-8  # 1e-3 / 25^3, the path gain at the edge of the disc
    noise_W_Hz = 10.0 ** (-174.0 / 10.0) * 1e-3
    payload_bit = 7_850 * 4_096  # 784 * 10 weights and 10 biases
    # Drawn with seed 0 for device 3: uniform on [2e-22, 2e-19] and on [500, 5000].
    xi = 8.785803446609977e-20
    c = 3538.1642005262543
    e, B, f = 20, 16, 1e7

    uplink_bit_s = 1e6 * math.log2(1.0 + gain * 0.25 / (noise_W_Hz * 1e6))
    downlink_bit_s = 1e5 * math.log2(1.0 + gain * 0.1 / (noise_W_Hz * 1e5))
    T_U, T_D, T_C = payload_bit / uplink_bit_s, payload_bit / downlink_bit_s, c * e * B / f
    E_U, E_D, E_C = 0.25 * T_U, 0.1 * T_D, xi * c * e * B * f**2


@pytest.fixture(scope="module")
def world() -> World:
    fixed = Channel(kind="fixed", uplink_gain=constant(6.4e-8), downlink_gain=constant(6.4e-8))
    return World.resolve(preset("paper").model_copy(update={"channel": fixed}))


def test_hand_numbers_are_of_the_size_they_should_be() -> None:
    # A slip in the arithmetic above would show: about 22 and 24 bit/s/Hz, 1.5 s up, 13 s down, 0.1 s of computing.
    assert ByHand.payload_bit == 32_153_600
    assert ByHand.uplink_bit_s == pytest.approx(21.94e6, rel=1e-3)
    assert ByHand.downlink_bit_s == pytest.approx(2.3937e6, rel=1e-3)
    assert pytest.approx(1.4656, rel=1e-3) == ByHand.T_U
    assert pytest.approx(13.432, rel=1e-3) == ByHand.T_D
    assert pytest.approx(0.11322, rel=1e-3) == ByHand.T_C
    assert pytest.approx(9.947, rel=1e-3) == ByHand.E_C


def test_rates_of_one_device(world: World) -> None:
    at = (np.asarray(DEVICE), np.asarray(MNIST), np.asarray(0), np.asarray(0.0))
    assert world.rate_bit_s("uplink", *at) == pytest.approx(ByHand.uplink_bit_s, rel=HAND)
    assert world.rate_bit_s("downlink", *at) == pytest.approx(ByHand.downlink_bit_s, rel=HAND)


def test_times_and_energies_of_one_device(world: World) -> None:
    job = {"task": MNIST, "device": DEVICE, "version": 0, "slot": 0, "start_s": 5.0}
    work = {"steps": ByHand.e, "batch": ByHand.B, "frequency_Hz": ByHand.f}
    timeline = replay(world, Schedule.from_jobs([job | work]))
    expected = {
        "idle_s": 5.0,
        "download_s": ByHand.T_D,
        "compute_s": ByHand.T_C,
        "upload_s": ByHand.T_U,
        "end_s": 5.0 + ByHand.T_D + ByHand.T_C + ByHand.T_U,
        "uplink_J": ByHand.E_U,
        "compute_J": ByHand.E_C,
        "downlink_J": ByHand.E_D,
    }
    for name, value in expected.items():
        assert getattr(timeline, name)[0] == pytest.approx(value, rel=HAND), name


def test_payload_of_the_three_models() -> None:
    expected = [466_122 * 4_096, 7_850 * 4_096, 7_850 * 4_096]
    assert World.resolve(preset("paper")).payload_bit.tolist() == expected


def _tasks_agree(scenario: Scenario, **values: object) -> None:
    for task in scenario.tasks.values():
        assert {name: getattr(task, name) for name in values} == values


def test_paper_carries_table_II() -> None:
    paper = preset("paper")
    assert paper.theory.gradient_bound == 2.0  # V_1
    assert paper.theory.regularised_gradient_bound == 5.0  # V_2
    assert paper.theory.weak_convexity == 1.0  # rho
    assert paper.fleet.capacitance_Js2 == uniform(2e-22, 2e-19)  # xi_i
    assert paper.fleet.uplink_power_W == constant(0.25)  # p_i^U = 250 mW
    assert paper.fleet.downlink_power_W == constant(0.1)  # p_i^D = 100 mW
    assert paper.fleet.uplink_bandwidth_Hz == constant(1e6)  # B_i^U = 1 MHz
    assert paper.fleet.downlink_bandwidth_Hz == constant(1e5)  # B_i^D = 100 kHz
    assert paper.objective.quality_weight_printed == 1e-9  # c_1
    assert paper.objective.device_energy_weight == 1.0  # c_2
    assert paper.objective.station_energy_weight == 1.0  # c_3
    _tasks_agree(
        paper,
        cycles_per_sample=uniform(500.0, 5000.0),  # a_ij
        bits_per_parameter=4096.0,  # sigma_j
        max_staleness=5,  # K_j
        proximal=1.0,  # rho
    )


def test_paper_carries_the_setup_of_section_VI() -> None:
    paper = preset("paper")
    assert paper.fleet.devices == 10
    assert paper.fleet.radius_m == 25.0
    assert paper.channel.kind == "rayleigh"
    assert paper.channel.path_loss_at_1m_dB == -30.0
    assert paper.channel.path_loss_exponent == 3.0
    models = {name: (task.dataset, task.model) for name, task in paper.tasks.items()}
    assert models == {
        "svhn": ("svhn", "cnn"),
        "mnist": ("mnist", "softmax"),
        "fashion_mnist": ("fashion_mnist", "softmax"),
    }


def test_paper_chooses_what_the_table_omits_as_specified() -> None:
    paper = preset("paper")
    assert paper.channel.noise_dBm_Hz == -174.0
    assert paper.fleet.frequency_min_Hz == constant(1e6)
    assert paper.fleet.frequency_max_Hz == constant(3e7)


def test_computation_of_paper_is_under_a_second_and_its_largest_model_takes_hundreds_on_the_radio() -> None:
    paper = preset("paper")
    world = World.resolve(paper)
    e, B = (max(getattr(task, name) for task in paper.tasks.values()) for name in ("steps_max", "batch_max"))
    assert 5000.0 * e * B / 3e7 < 1.0
    device, svhn, zero = np.arange(10), np.zeros(10, dtype=int), np.zeros(10)
    assert np.median(world.download_s(device, svhn, svhn, zero)) > 100.0


def test_phone_differs_in_what_is_sent_in_the_chip_and_in_the_cycles() -> None:
    paper, phone = preset("paper"), preset("phone")
    assert phone.fleet.capacitance_Js2 == uniform(1e-28, 4e-28)
    assert phone.fleet.frequency_min_Hz == constant(1e8)
    assert phone.fleet.frequency_max_Hz == constant(2e9)
    _tasks_agree(phone, bits_per_parameter=32.0, cycles_per_sample=None, max_staleness=5)
    assert phone.channel == paper.channel
    radio = ("uplink_power_W", "downlink_power_W", "uplink_bandwidth_Hz", "downlink_bandwidth_Hz")
    assert all(getattr(phone.fleet, name) == getattr(paper.fleet, name) for name in radio)
    assert phone.tasks.keys() == paper.tasks.keys()


def test_phone_takes_cycles_from_the_flops_of_each_model() -> None:
    world = World.resolve(preset("phone"))
    # 2 FLOP a multiply-add, 3 passes, 4 FLOP a cycle: 1.5 cycles a multiply-add.
    softmax = 28 * 28 * 10
    cnn = 28 * 28 * 32 * 3 * 25 + 10 * 10 * 64 * 32 * 25 + 5 * 5 * 64 * 256 + 256 * 10
    np.testing.assert_allclose(
        world.devices.cycles_per_sample,
        np.tile([1.5 * cnn, 1.5 * softmax, 1.5 * softmax], (10, 1)),
        rtol=HAND,
    )
