"""Media types of files, by how they begin."""

import pytest

from ingot_repos.files.api.media_types import content_type


@pytest.mark.parametrize(
    ("start", "is_drawing"),
    [
        ("<svg>", True),
        ("\ufeff\n<svg width='1'>", True),
        ("<?xml version='1.0'?>\n<!-- a\n-- b --><!-- c -->\n<svg\n>", True),
        ("<?xml version='1.0'?><!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'x'><svg>", True),
        ("<!DOCTYPE svg [<!ENTITY a 'b'>]><svg>", False),
        ("<!DOCTYPE html><svg>", False),
        ("<html><svg>", False),
        ("<svgx>", False),
        ("an <svg>", False),
        ("<!-- <svg>", False),
        ("<!---->" * 1100 + "<html>", False),
        ("<!--" * 2000, False),
        (" " * 8000, False),
        ("<!-- --> " * 800 + "<svg>", True),
    ],
)
def test_a_drawing_is_told_by_its_first_element(start, is_drawing):
    assert (content_type(start.encode()) == "image/svg+xml") is is_drawing
