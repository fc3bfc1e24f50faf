"""Access tokens of a real token endpoint: how often it is asked, and what it may answer."""

import asyncio

import pytest

from ingot_mail.access_tokens import clients
from ingot_mail.access_tokens.clients import AccessTokens, TokenEndpoint, TokenError

from ..token_endpoints import serve_tokens


@pytest.fixture
async def server():
    async with serve_tokens() as server:
        yield server


def tokens_of(url):
    return AccessTokens(TokenEndpoint(url, "client", "secret", ""), seconds=10)


async def test_many_mails_at_once_make_one_request(server):
    tokens = tokens_of(server.url)
    assert await asyncio.gather(*(tokens.get() for _ in range(8))) == ["token-1"] * 8
    assert len(server.forms) == 1


async def test_a_refused_token_makes_no_request_per_mail(server, monkeypatch):
    tokens = tokens_of(server.url)
    tokens.forget(await tokens.get())
    for _ in range(3):
        with pytest.raises(TokenError, match="later"):
            await tokens.get()
    assert len(server.forms) == 1
    monkeypatch.setattr(clients, "PAUSE_SECONDS", 0.0)
    server.token = "token-2"
    assert await tokens.get() == "token-2"
    # A connection that used the first one does not drop the second.
    tokens.forget("token-1")
    assert (await tokens.get(), len(server.forms)) == ("token-2", 2)


@pytest.mark.parametrize("seconds", ["3600", 3600, None, 30])
async def test_a_token_is_kept_whatever_the_form_of_its_life(server, seconds):
    server.answer = {"expires_in": seconds}
    tokens = tokens_of(server.url)
    assert [await tokens.get(), await tokens.get()] == ["token-1", "token-1"]
    assert len(server.forms) == 1


async def test_a_token_with_a_short_life_is_replaced_without_a_pause(server):
    server.answer = {"expires_in": 0}
    tokens = tokens_of(server.url)
    assert [await tokens.get(), await tokens.get()] == ["token-1", "token-1"]
    assert len(server.forms) == 2


async def test_an_error_that_quotes_the_endpoint_does_not_tell_its_query():
    with pytest.raises(TokenError) as raised:
        await tokens_of("nothing://forge.test/token?key=the-secret").get()
    assert "the-secret" not in str(raised.value)
