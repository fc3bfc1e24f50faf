"""Texts that were rendered lately."""

from markupsafe import Markup

from ingot_web.core.rendered_text_cache import RenderedTextCache


def test_what_was_used_least_recently_goes_first():
    texts = RenderedTextCache(room=100)
    for number in range(12):
        texts.put(number, Markup("x" * 9))
        texts.get(0)

    assert texts.get(0) is not None
    assert [number for number in range(12) if texts.get(number) is None] == [1]


def test_a_long_text_is_not_kept():
    texts = RenderedTextCache(room=100)
    texts.put("long", Markup("x" * 11))

    assert texts.get("long") is None
