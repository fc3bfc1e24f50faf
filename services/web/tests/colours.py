"""The colours of the style sheet in each theme, and the contrast of two of them."""

import re

from ingot_web.pages.rules.templates import STATIC

_BLOCK = re.compile(r"^(:root[^{ ]*) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_COLOUR = re.compile(r"--([\w-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)")


def _themes():
    sheet = dict(_BLOCK.findall((STATIC / "style.css").read_text()))
    themes = {}
    for theme, block in (("", sheet[":root"]), ("contrast ", sheet[":root[data-theme=contrast]"])):
        colours = _COLOUR.findall(block)
        themes[f"{theme}light"] = {name: light for name, light, _ in colours}
        themes[f"{theme}dark"] = {name: dark for name, _, dark in colours}
    return themes


THEMES = _themes()
"""The colours of each theme by name, as six digits."""
TEXT_CONTRAST = {theme: 7 if theme.startswith("contrast") else 4.5 for theme in THEMES}
"""The smallest contrast of a text in each theme (WCAG 1.4.3 and 1.4.6)."""


def contrast(one, other):
    """Return the contrast of two colours, as WCAG defines it."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
