"""Paths that the Makefile names exist. A target that runs once a month would fail only then."""

import re

from .sources import ROOT

_PATH = re.compile(r"(?<![\w./$()-])(?:apps|benchmarks|deploy|docs|libs|services|tests|tools)/[\w./*%-]+")


def test_every_path_of_the_makefile_exists():
    paths = {path.rstrip(".,;") for path in _PATH.findall((ROOT / "Makefile").read_text())}
    assert len(paths) > 20
    missing = [
        path
        for path in sorted(paths)
        if "%" not in path and "__" not in path and not list(ROOT.glob(path.rstrip("/")))
    ]
    assert not missing, missing
