"""The colours of the style sheet in each theme, and their smallest contrast."""

import re

from ingot_web.pages.rules.templates import STATIC

_BLOCK = re.compile(r"^(:root[^{ ]*) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_COLOUR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")


def _themes():
    sheet = dict(_BLOCK.findall((STATIC / "style.css").read_text()))
    themes = {}
    for theme, block in (("", sheet[":root"]), ("contrast ", sheet[":root[data-theme=contrast]"])):
        colours = _COLOUR.findall(block)
        themes[f"{theme}light"] = {name: light for name, light, _ in colours}
        themes[f"{theme}dark"] = {name: dark for name, _, dark in colours}
    return themes


THEMES = _themes()
"""The colours of each theme by name, such as ``#2a55c4``."""
TEXT_CONTRAST = {theme: 7 if theme.startswith("contrast") else 4.5 for theme in THEMES}
"""The smallest contrast of a text in each theme (WCAG 1.4.3 and 1.4.6)."""
