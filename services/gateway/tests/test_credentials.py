"""Where a credential is looked for, and what is none."""

import base64

import pytest

from ingot_gateway.credentials import Presented, presented, split_query


def basic(text: str | bytes, word: bytes = b"Basic") -> bytes:
    raw = text if isinstance(text, bytes) else text.encode()
    return word + b" " + base64.b64encode(raw)


@pytest.mark.parametrize(
    ("query", "authorization", "sudo", "expected"),
    [
        (b"token=one", b"", b"", Presented(token="one")),
        (b"access_token=two", b"", b"", Presented(token="two")),
        (b"access_token=two&token=one", b"", b"", Presented(token="one")),
        (b"token=one", b"token three", b"", Presented(token="one")),
        (b"%74oken=one", b"", b"", Presented(token="one")),
        (b"token=", b"token three", b"", Presented(token="three")),
        (b"", b"token three", b"", Presented(token="three")),
        (b"", b"Token  three", b"", Presented(token="three")),
        (b"", b"Bearer three", b"", Presented(token="three")),
        (b"", basic("ann:secret"), b"", Presented(name="ann", password="secret")),
        (b"", basic("ann:sec:ret"), b"", Presented(name="ann", password="sec:ret")),
        (b"", basic("ann:secret", b"basic"), b"", Presented(name="ann", password="secret")),
        (b"", basic("änn:sécret"), b"", Presented(name="änn", password="sécret")),
        (b"", basic("änn:x".encode("latin-1")), b"", Presented(name="änn", password="x")),
        (b"", basic("four:"), b"", Presented(name="four")),
        (b"", basic(":four"), b"", Presented(token="four")),
        (b"token=one", basic("ann:secret"), b"", Presented(token="one", name="ann", password="secret")),
        (b"token=one", b"", b"bob", Presented(token="one", sudo="bob")),
        (b"token=one&sudo=bob", b"", b"", Presented(token="one", sudo="bob")),
        (b"token=one&sudo=", b"", b" ", Presented(token="one")),
        (b"token=one&sudo=bob%0A", b"", b"", Presented(token="one", sudo="\ufffd")),
        (b"token=one", b"", "bob\u200b".encode(), Presented(token="one", sudo="\ufffd")),
        (b"", basic("ann:tab\tand\u00a0space"), b"", Presented(name="ann", password="tab\tand\u00a0space")),
        (b"", basic("ann:👩\u200d🚀\n"), b"", Presented(name="ann", password="👩\u200d🚀\n")),
    ],
)
def test_the_first_kind_that_is_present_decides(
    query: bytes, authorization: bytes, sudo: bytes, expected: Presented
) -> None:
    assert presented(split_query(query), authorization, sudo) == expected


@pytest.mark.parametrize(
    "authorization",
    [
        b"",
        b" ",
        b"token",
        b"Bearer ",
        b"Basic",
        b"Basic !!!!",
        b"Basic YW5u\xff",
        b"Basic YQ",
        basic("no colon"),
        basic(":"),
        basic(""),
        basic("ann\x00:secret"),
        basic("ann:sec\x00ret"),
        b"token a\x00b",
        b"Digest username=ann",
        b"Negotiate abc",
        b"Basic Zm91cjo=,Basic Zm91cjo=",
    ],
)
def test_what_cannot_be_read_is_anonymous(authorization: bytes) -> None:
    assert presented(split_query(b""), authorization, b"") is None


def test_sudo_alone_is_nobody() -> None:
    assert presented(split_query(b"sudo=bob"), b"", b"ann") is None


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        (b"", b""),
        (b"page=2&limit=%31", b"page=2&limit=%31"),
        (b"page=2&token=one&limit=3", b"page=2&limit=3"),
        (b"token=one", b""),
        (b"access_token=a&sudo=b&q=token", b"q=token"),
        (b"my_token=a", b"my_token=a"),
        (b"acc%65ss_token=a&q=1", b"q=1"),
        (b"q=a%26token=b", b"q=a%26token=b"),
        (b"&&a&=b&", b"&&a&=b&"),
    ],
)
def test_only_the_credential_is_taken_out_of_the_query(query: bytes, rest: bytes) -> None:
    assert split_query(query).rest == rest


def test_different_credentials_have_different_digests() -> None:
    presented_ = [
        Presented("a"),
        Presented("", "a"),
        Presented("", "", "a"),
        Presented("a", sudo="b"),
        Presented("ab"),
    ]

    assert len({one.digest for one in presented_}) == len(presented_)
