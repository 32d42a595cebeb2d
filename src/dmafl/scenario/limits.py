"""The allowed range of each number of a scenario, and the reason for both ends.

Limits are wide: no device, radio or memory is beyond them, and within them no number overflows or vanishes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """A number from `low` to `high` in `unit`; where `least` is not 0, it is 0 or at least `least`.

    `why` gives the reason for the lower end and for the upper end.
    """

    low: float = -math.inf
    high: float = math.inf
    why: str = ""
    least: float = 0.0
    unit: str = ""


MOST_TASKS = 100
MOST_TIMES_OF_TESTS = 10_000

# The scenario as a whole
SEED = Limits(0, 2**63 - 1, "whole numbers of 63 bits, as random generators take them")

# Devices
DEVICES = Limits(1, 100_000, "someone must train; more than one cell serves")
RADIUS = Limits(1.0, 100_000.0, "path loss counts from 1 m; beyond the horizon of any cell", unit="m")
DEVICE_POWER = Limits(1e-9, 100, "below any radio; above any device", unit="W")
STATION_POWER = Limits(1e-9, 1000, "below any radio; above a whole base station", unit="W")
BANDWIDTH = Limits(1, 1e12, "slower than any radio; beyond any band", unit="Hz")
CAPACITANCE = Limits(1e-32, 1e-16, "1e-4 of a phone's chip; 500 times the paper's largest", unit="J·s²")
CPU_FREQUENCY = Limits(1.0, 1e12, "slower than a relay computer; faster than any", unit="Hz")
BATTERY = Limits(1e-9, 1e12, "not enough for one job; a power station's day", unit="J")
FLOPS_PER_CYCLE = Limits(
    1e-3, 1e6, "slower than software arithmetic; beyond the largest accelerator", unit="FLOP/cycle"
)
SPEED = Limits(1e-3, 1000, "a snail; three times the speed of sound", unit="m/s")

# When devices are there
STRETCH = Limits(1e-3, 1e9, "shorter than any connection takes to make; 32 years", unit="s")
HOUR_OF_DAY = Limits(0, 24, "midnight; the next", unit="h")
SHIFT_OF_DAY = Limits(-24, 24, "a day earlier; a day later", unit="h")

# Channel
PATH_GAIN = Limits(-120, 0, "behind a metre of concrete; nothing is received that was not sent", unit="dB")
PATH_LOSS_EXPONENT = Limits(1, 8, "a waveguide has less than 2; dense buildings about 6")
NOISE = Limits(-230, 0, "thermal noise at a millikelvin; a jammer of a milliwatt per hertz", unit="dBm/Hz")
CHANNEL_GAIN = Limits(1e-30, 1, "a dead channel: -300 dB; nothing is received that was not sent")

# Models, and what one sample of them costs
PARAMETERS = Limits(1, 1_000_000_000, "a model has one; no device trains more")
BITS_PER_PARAMETER = Limits(1e-3, 1e6, "one parameter in 32,000 is sent; 250 times the paper's", unit="bit")
FLOPS_PER_SAMPLE = Limits(1, 1e15, "one operation; a million times a large network's", unit="FLOP")
CYCLES_PER_SAMPLE = Limits(
    1e-6, 1e18, "what the limits of FLOP per sample and of FLOP per cycle give", unit="cycle"
)

# Slots, staleness and time
SLOTS = Limits(1, 1_000_000, "someone must be heard; more rows than a run can keep")
STALENESS = Limits(0, 1_000_000, "every model fresh; as many as there are slots")
WINDOW = Limits(1e-6, 1e9, "shorter than any frame of a radio; 32 years", unit="s")
IDLE_TIME = Limits(0, 1e9, "never idle; as long as a window may be", least=1e-9, unit="s")

# Aggregation
MIXING = Limits(1e-9, 1, "lost in single precision; the whole model")
MIX_DECAY = Limits(0, 1e9, "a fall by 30 at the first slot; none in the most slots", least=1e-3, unit="slot")
STALENESS_A = Limits(0, 10, "no fall; a stale model counts 1/1,000 or less", least=1e-9)
STALENESS_B = Limits(0, 1e6, "a fall from the start; none, since none is staler", least=1e-9)
ARRIVALS = Limits(1, 100_000, "one is the least; as many as there may be devices")
SERVER_STEP = Limits(1e-9, 100, "lost in single precision; every network diverges")

UPDATE_NORM = Limits(1e-9, 1e30, "lost in single precision; farther than any model that is not diverging")

# Local training
LEARNING_RATE = Limits(1e-12, 100, "lost in single precision; every network diverges")
PROXIMAL = Limits(0, 1000, "lost in single precision; nothing is learned", least=1e-12)
STEPS = Limits(1, 100_000, "one is the least; days for one job")
BATCH = Limits(1, 100_000, "one is the least; more than memory holds of images")

# Data and their drift
SAMPLES = Limits(1, 1_000_000, "one is the least; no device keeps more")
LABELS = Limits(1, 10_000, "one is the least; more than any data set has")
CONCENTRATION = Limits(1e-3, 1e6, "one label per device; even to one sample in 1,000")
START_FRACTION = Limits(1e-6, 1, "one of the most samples there may be; all of them")
FRACTION = Limits(0, 1, "a share: none to all")
STREAM_RATE = Limits(0, 1000, "as good as still; over in a thousandth of the window", least=1e-6)
DRIFT = Limits(0, 1e6, "not seen in a lifetime; a loss of 1 in a microsecond", least=1e-12, unit="1/s")

# Weights of the objective, and constants of the bounds
WEIGHT_OF_TASK = Limits(0, 1e12, "1,000 times beyond the paper's 1e-9 to 1e9", least=1e-12)
WEIGHT_OF_ENERGY = Limits(0, 1e12, "12 orders of magnitude either way", least=1e-12)
PRICE_OF_TIME = Limits(
    0, 1e12, "less than any clock needs; a third of all power stations", least=1e-12, unit="W"
)
WEIGHT_OF_LOSS = Limits(0, 1e15, "less than any job's energy; quality at any price", least=1e-15, unit="J")
WEIGHT_OF_PRINTED_BOUND = Limits(
    0, 1e15, "a millionth of the default; quality at any price", least=1e-15, unit="J"
)
GRADIENT = Limits(1e-12, 1e12, "no gradient at all; that of a model that diverged")
CONVEXITY = Limits(0, 1e12, "convex; beyond the smoothness of any network", least=1e-12)

# Goals
ACCURACY = Limits(0, 1, "nothing is right; everything is")
LARGEST_LOSS = Limits(1e-9, 1e9, "nothing is ever wrong; a model that diverged")
ENERGY_LIMIT = Limits(1e-9, 1e12, "not enough for one job; a power station's day", unit="J")
DEADLINE = Limits(1e-6, 1e9, "shorter than any frame of a radio; 32 years", unit="s")
CONFIDENCE = Limits(0.01, 0.99, "one run of a hundred; all but one: probes tell no more")
PRICE_OF_LOSS = Limits(0, 1e30, "loss does not count; nothing else does", unit="J")
PRICE_OF_LIMIT = Limits(0, 1e30, "the limit does not bind; nothing else counts")

# Tests
SLOTS_BETWEEN_TESTS = Limits(1, 1_000_000, "a test of every model; only the last one", unit="slot")
TEST_SAMPLES = Limits(1, 100_000_000, "one is the least; more than any data set has")
TIMES_OF_TESTS = Limits(
    why=f"at most {MOST_TIMES_OF_TESTS:,} different times, 1e-9 to 1e9 s: all are tested at 0; "
    "as long as a window may be",
    unit="s",
)
