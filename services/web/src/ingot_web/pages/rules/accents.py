"""The accent colour of a site, checked when web starts."""

import re

from ingot_chassis.settings import SettingsError

LEAST_CONTRAST = 4.5
"""Contrast of text (WCAG 1.4.3)."""
GROUNDS = ("ground", "raised", "sunken")
"""Colours behind text in the accent colour."""
ON_ACCENT = "on-accent"
"""The colour of text on the accent colour."""
TINT = 0.12
"""Share of the accent colour in the ground of chosen entries; the rest is ``raised``."""


def accent_rule(sheet: str, accent: str) -> str:
    """Return the CSS rule of an accent colour; empty without a colour.

    ``accent`` has two colours, for light and dark. The theme for high contrast keeps its own colours. Raises
    SettingsError for a colour with a contrast below ``LEAST_CONTRAST``.
    """
    if not accent:
        return ""
    light, dark = accent.lower().split()
    pairs = {
        name: values
        for name, *values in re.findall(
            r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", sheet.partition("}")[0]
        )
    }
    for at, colour in enumerate((light, dark)):
        tint = _mixed(colour, pairs["raised"][at])
        for ground in (*(pairs[name][at] for name in (*GROUNDS, ON_ACCENT)), tint):
            if (ratio := contrast(colour, ground)) < LEAST_CONTRAST:
                theme = "dark" if at else "light"
                reason = f"{colour} has a contrast of {ratio:.1f} with {ground}; {LEAST_CONTRAST} is needed"
                raise SettingsError([f"INGOT_WEB_ACCENT={accent!r}: in {theme}, {reason}"])
    tints = ", ".join(_mixed(colour, pairs["raised"][at]) for at, colour in enumerate((light, dark)))
    return (
        f":root:not([data-theme=contrast]) {{ --accent: light-dark({light}, {dark}); "
        f"--accent-ground: light-dark({tints}); }}\n"
    )


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours such as ``#2a55c4`` (WCAG 2)."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def _luminance(colour: str) -> float:
    red, green, blue = (
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (channel / 255 for channel in _channels(colour))
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _mixed(colour: str, ground: str) -> str:
    mixed = (
        round(TINT * one + (1 - TINT) * other)
        for one, other in zip(_channels(colour), _channels(ground), strict=True)
    )
    return "#" + "".join(f"{channel:02x}" for channel in mixed)
