"""Texts in events are clipped by the bytes that they take on the wire."""

import msgspec
import pytest

from ingot_contracts.limits import clip, encoded_bytes


@pytest.mark.parametrize(
    "text", ["plain", "ä" * 500, "\x01" * 500, "😀" * 500, '"\\' * 500, "a😀\x02" * 300, ""], ids=repr
)
@pytest.mark.parametrize("most", [0, 1, 5, 6, 100, 999, 1000])
def test_a_clipped_text_is_the_longest_start_that_fits(text, most):
    clipped = clip(text, most)
    assert text.startswith(clipped)
    assert encoded_bytes(clipped) <= most
    assert clipped == text or encoded_bytes(text[: len(clipped) + 1]) > most


def test_a_text_that_fits_is_kept_whole():
    assert clip("a" * 1000, 1000) == "a" * 1000


def test_encoded_bytes_are_those_of_the_wire():
    assert encoded_bytes('a"\n\x01ä') == len(msgspec.json.encode('a"\n\x01ä')) - len('""')
