"""Tokens of forms against other sites."""

import pytest

from ingot_web.forms.rules.tokens import LIFETIME, FormTokens

TOKENS, NOW = FormTokens("a key"), 1_800_000_000


def test_a_token_is_accepted_from_its_caller_for_as_long_as_a_session():
    token = TOKENS.token("1 11", NOW)

    assert TOKENS.accepts(token, "1 11", NOW)
    assert TOKENS.accepts(token, "1 11", NOW + LIFETIME)
    assert not TOKENS.accepts(token, "1 11", NOW + LIFETIME + 1)


def test_a_token_of_another_caller_or_another_installation_is_refused():
    token = TOKENS.token("1 11", NOW)

    assert not TOKENS.accepts(token, "2 12", NOW)
    assert not TOKENS.accepts(token, "1 12", NOW)
    assert not FormTokens("another key").accepts(token, "1 11", NOW)


def test_all_processes_with_one_key_accept_it():
    assert FormTokens("a key").accepts(TOKENS.token("1 11", NOW), "1 11", NOW)


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "x.y",
        f"{NOW}",
        f"{NOW}.",
        f"{NOW}.é",
        f"{NOW}.0.é",
        f"{NOW}.0",
        "٣.abc",
        f"{'9' * 40}.abc",
        f"-1.{'0' * 64}",
        f"{NOW + 3600}.0",
    ],
)
def test_what_is_no_token_is_refused(token):
    assert not TOKENS.accepts(token, "1 11", NOW)


def test_the_time_in_a_token_cannot_be_moved():
    issued, nonce, signature = TOKENS.token("1 11", NOW).split(".")

    assert not TOKENS.accepts(f"{int(issued) + LIFETIME}.{nonce}.{signature}", "1 11", NOW + LIFETIME)
    assert not TOKENS.accepts(f"{issued}.{nonce}0.{signature}", "1 11", NOW)


def test_no_two_pages_have_the_same_token():
    assert TOKENS.token("1 11", NOW) != TOKENS.token("1 11", NOW)
