"""The part of a file that is on one page."""

import pytest

from ingot_web.code.rules.first_lines import MOST_LINES, first_lines


@pytest.mark.parametrize(
    ("rest", "omitted"), [("", 0), ("b", 1), ("b\n", 1), ("\n", 1), ("b\n\n", 2), ("b\nc", 2)]
)
def test_the_first_lines_and_the_rest_are_the_whole_file(rest, omitted):
    text = "a\n" * MOST_LINES
    assert first_lines(text + rest) == (text, omitted)


@pytest.mark.parametrize("text", ["", "a", "a\n", "\n" * (MOST_LINES - 1) + "b"])
def test_a_file_that_fits_is_whole(text):
    assert first_lines(text) == (text, 0)
