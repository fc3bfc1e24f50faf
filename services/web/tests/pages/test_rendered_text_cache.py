"""Texts that were rendered lately."""

from functools import partial

import msgspec
import pytest
from markupsafe import Markup

from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_contracts.rendering import EXCERPT_CHARACTERS, FULL_PAGE, RenderedTexts, RenderTexts
from ingot_web.clients.forge import PAGE_HTML, SENT_CHARACTERS, Forge
from ingot_web.pages.rules.rendered_text_cache import ENTRY_BYTES, RenderedTextCache

from ..forge import FakeForge


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
    texts = RenderedTextCache(room=20 * (ENTRY_BYTES + 400))
    for number in range(22):
        texts.put(number, Markup("x" * 400))
        texts.get(0)

    assert texts.get(0) is not None
    assert [number for number in range(22) if texts.get(number) is None] == [1, 2]


def test_a_long_text_is_not_kept():
    texts = RenderedTextCache(room=10_000)
    texts.put("long", Markup("é" * 300))
    texts.put("short", Markup("é" * 100))

    assert texts.get("long") is None
    assert texts.get("short") == Markup("é" * 100)


class SlowRenderer:
    """An issues of which a test knows its requests: each call takes half of the budget that is left."""

    def __init__(self):
        self.calls = []

    async def __call__(self, scope, receive, send):
        request = msgspec.json.decode((await receive())["body"], type=RenderTexts)
        self.calls.append(request)
        answer = RenderedTexts(
            html=[f"<p>{text}</p>" for text in request.texts],
            share=request.share / 2,
            colours=request.colours / 4,
        )
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": msgspec.json.encode(answer)})


def forge_with(renderer):
    peers = Peers.in_process({"issues": renderer}, ServiceIdentity("web", SigningKey.generate()))
    return Forge(peers, "", RenderedTextCache(), lambda: None)


async def test_all_texts_of_a_request_have_one_budget_the_short_ones_first():
    renderer = SlowRenderer()
    forge = forge_with(renderer)
    await forge.render(["a long one", "b", "", "b"], context="ann/demo")
    await forge.render(["c"], context="ann/demo")
    assert [call.texts for call in renderer.calls] == [["b", "a long one"], ["c"]]
    assert [(call.share, call.colours) for call in renderer.calls] == [(1, 1), (0.5, 0.25)]


async def test_a_page_has_so_much_html_and_the_beginning_of_the_other_texts():
    renderer = SlowRenderer()
    forge, short = forge_with(renderer), "a short one"
    texts = [f"{number}{'x' * 150_000}" for number in range(20)]
    for _ in range(10):
        html = await forge.render([*texts, short], context="ann/demo")
        assert sum(map(len, html)) < PAGE_HTML + 20 * 2 * EXCERPT_CHARACTERS
        assert html[-1] == f"<p>{short}</p>"
    whole = [text for text in html if FULL_PAGE not in text]
    assert PAGE_HTML / 2 < sum(map(len, whole)) <= PAGE_HTML


async def test_no_request_is_larger_than_issues_takes():
    renderer = SlowRenderer()
    (html,) = await forge_with(renderer).render(["\1" * 5_000_000], context="ann/demo")
    await forge_with(renderer).render([f"{n}{'x' * 100_000}" for n in range(50)], context="ann/demo")
    assert html
    assert [sum(map(len, call.texts)) <= SENT_CHARACTERS for call in renderer.calls] == [True, True]
