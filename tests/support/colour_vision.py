"""Colours as people see them: simulated kinds of colour vision, differences and contrasts."""

from __future__ import annotations

from typing import Any

import numpy as np

VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""What each does to linear RGB: Machado, Oliveira and Fernandes (2009), severity 1."""
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
"""Of linear sRGB."""
WHITE = np.array([0.95047, 1.0, 1.08883])


def difference(a: str, b: str, vision: str) -> float:
    """CIEDE2000 of two colours, as someone with this kind of vision sees them."""
    labs = [_lab(np.clip(VISIONS[vision] @ _linear(colour), 0.0, 1.0)) for colour in (a, b)]
    return difference_of_lab(*labs)


def contrast(a: str, b: str) -> float:
    """Ratio of luminances as WCAG computes it, from 1 to 21."""
    dark, light = sorted(float(TO_XYZ[1] @ _linear(colour)) for colour in (a, b))
    return (light + 0.05) / (dark + 0.05)


def difference_of_lab(a: Any, b: Any) -> float:
    """CIEDE2000 of two colours in CIELAB; names of the letters as in Sharma, Wu and Dalal (2005)."""
    (L1, a1, b1), (L2, a2, b2) = a, b
    c7 = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    g = 0.5 * (1 - np.sqrt(c7 / (c7 + 25.0**7)))
    c1, c2 = np.hypot((1 + g) * a1, b1), np.hypot((1 + g) * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(y, (1 + g) * x)) % 360 for x, y in ((a1, b1), (a2, b2)))
    dh = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    hue = h1 + h2 if c1 * c2 == 0 else (h1 + dh / 2) % 360
    lightness, chroma = (L1 + L2) / 2, (c1 + c2) / 2

    def wave(times: float, shift: float) -> float:
        return float(np.cos(np.radians(times * hue + shift)))

    t = 1 - 0.17 * wave(1, -30) + 0.24 * wave(2, 0) + 0.32 * wave(3, 6) - 0.20 * wave(4, -63)
    s_l = 1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2)
    s_c, s_h = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    turn = 60 * np.exp(-(((hue - 275) / 25) ** 2))
    r_t = -2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7)) * np.sin(np.radians(turn))
    d_l, d_c = (L2 - L1) / s_l, (c2 - c1) / s_c
    d_h = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(dh / 2)) / s_h
    return float(np.sqrt(d_l**2 + d_c**2 + d_h**2 + r_t * d_c * d_h))


def _linear(colour: str) -> Any:
    share = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def _lab(linear: Any) -> Any:
    x = TO_XYZ @ linear / WHITE
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])
