"""A real mailbox that takes access tokens of OAuth2 in place of a password."""

import pytest

from ingot_chassis.jobs.jobs import Jobs
from ingot_mail.access_tokens import clients as access_tokens
from ingot_mail.mailboxes.clients import MailboxError
from ingot_mail.mailboxes.jobs import MailboxPoller

from ..replies.test_receiving import address_of, comments, mail
from ..token_endpoints import serve_tokens
from .dovecot import USER, running_dovecot


@pytest.fixture
async def tokens():
    async with serve_tokens(USER) as tokens:
        yield tokens


def poller_of(world, dovecot, tokens, **changes):
    endpoint = {
        "imap_password": "",
        "imap_oauth_url": tokens.url,
        "imap_oauth_client": "client",
        "imap_oauth_secret": "the secret of the client",
    }
    settings = dovecot.settings_of(world.settings, **endpoint | changes)
    return MailboxPoller(Jobs(world.db), settings, world.receive)


@pytest.mark.parametrize("mechanism", ["oauthbearer", "xoauth2"])
async def test_a_token_takes_the_place_of_the_password(world, tokens, mechanism):
    async with running_dovecot(mechanisms=mechanism, introspection=tokens.introspection) as dovecot:
        poller = poller_of(world, dovecot, tokens, imap_oauth_refresh="refresh", imap_oauth_scope="mail")
        await dovecot.deliver(mail(address_of(world)))
        await poller.poll()
        await poller.poll()
    assert comments(world) == [(100, 2, "I agree.")]
    # The token is kept for the second poll.
    (form,) = tokens.forms
    assert (form["grant_type"], form["refresh_token"], form["scope"]) == ("refresh_token", "refresh", "mail")


@pytest.mark.parametrize("mechanism", ["oauthbearer", "xoauth2"])
async def test_a_refused_token_is_named_and_replaced(world, tokens, mechanism, monkeypatch):
    async with running_dovecot(mechanisms=mechanism, introspection=tokens.introspection) as dovecot:
        poller = poller_of(world, dovecot, tokens)
        await dovecot.deliver(mail(address_of(world)))
        tokens.active = False
        with pytest.raises(MailboxError, match="the access token is refused") as raised:
            await poller.poll()
        assert tokens.token not in repr(raised.value) + repr(raised.value.__cause__)
        tokens.active = True
        with pytest.raises(MailboxError, match="the next attempt is later"):
            await poller.poll()
        monkeypatch.setattr(access_tokens, "PAUSE_SECONDS", 0.0)
        await poller.poll()
    assert comments(world) == [(100, 2, "I agree.")]
    assert [form["grant_type"] for form in tokens.forms] == ["client_credentials"] * 2


async def test_a_token_of_another_account_opens_no_mailbox(world, tokens):
    tokens.user = "somebody"
    async with running_dovecot(introspection=tokens.introspection) as dovecot:
        await dovecot.deliver(mail(address_of(world)))
        with pytest.raises(MailboxError):
            await poller_of(world, dovecot, tokens).poll()
        assert (comments(world), await dovecot.count(which="UNSEEN")) == ([], 1)


async def test_a_server_without_tokens_and_an_endpoint_without_answers_are_named(world, tokens):
    async with running_dovecot(mechanisms="") as dovecot:
        with pytest.raises(MailboxError, match="empty INGOT_MAIL_IMAP_OAUTH_URL"):
            await poller_of(world, dovecot, tokens).poll()
        with pytest.raises(MailboxError, match="check INGOT_MAIL_IMAP_OAUTH_URL") as raised:
            await poller_of(world, dovecot, tokens, imap_oauth_url=f"{tokens.origin}/nothing").poll()
    assert "the secret" not in repr(raised.value) + repr(raised.value.__cause__)
