"""The code map of ARCHITECTURE.md names every module of the chassis, and no others."""

import re

from .sources import ROOT, sources

CHASSIS = "libs/chassis/src/ingot_chassis/"


def test_the_map_names_every_module_of_the_chassis():
    page = (ROOT / "ARCHITECTURE.md").read_text()
    table = page[page.index("| module of `ingot_chassis` |") :].split("\n\n", 1)[0]
    on_the_map = set(re.findall(r"`([\w/]+\.py)`", table.replace("| what |", "")))
    modules = {
        source.place.removeprefix(CHASSIS)
        for source in sources()
        if source.place.startswith(CHASSIS) and not source.place.endswith("__init__.py")
    }
    assert on_the_map == modules
