"""Settings of the command: an error is one line on stderr."""

import pytest

from .ingot_command import ingot


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INGOT_PORT", "http"),
        ("INGOT_PORT", "70000"),
        ("INGOT_PAGE_SIZE", "1000"),
        ("INGOT_DRAIN_SECONDS", "-1"),
    ],
)
def test_a_setting_that_cannot_be_read_is_one_line(folder, name, value):
    error = ingot("up", "--data", str(folder), **{"INGOT_PORT": "0"} | {name: value}).error_line

    assert error.startswith(f"ingot: {name}={value!r}: ")
