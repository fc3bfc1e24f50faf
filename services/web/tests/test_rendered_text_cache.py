"""Texts that were rendered lately."""

from functools import partial

import pytest
from markupsafe import Markup

from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_contracts.issues import RenderedTexts
from ingot_web.clients.forge import Forge
from ingot_web.core.rendered_text_cache import RenderedTextCache

from .forge import FakeForge


@pytest.mark.parametrize(("plain", "calls"), [([], 1), ([0], 2)])
async def test_a_text_for_which_there_was_no_time_is_asked_for_again(plain, calls):
    fake = FakeForge()
    fake.internal["POST /internal/markdown"] = RenderedTexts(html=["<p>x</p>"], plain=plain)
    own = ServiceIdentity("web", SigningKey.generate())
    peers = Peers.in_process({"issues": partial(fake, service="issues")}, own)
    forge = Forge(peers, "", RenderedTextCache(), lambda: None)
    for _ in range(2):
        assert await forge.render(["x"], context="ann/demo") == ["<p>x</p>"]
    assert len(fake.calls) == calls


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
