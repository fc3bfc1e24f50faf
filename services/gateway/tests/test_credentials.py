"""The places in which a credential is looked for, and the values that are ignored."""

import base64

import pytest

from ingot_gateway.credentials import Credential, credential_of, split_cookies, split_query


def basic(text: str | bytes, word: bytes = b"Basic") -> bytes:
    raw = text if isinstance(text, bytes) else text.encode()
    return word + b" " + base64.b64encode(raw)


@pytest.mark.parametrize(
    ("query", "authorization", "sudo", "expected"),
    [
        (b"token=one", b"", b"", Credential(token="one")),
        (b"access_token=two", b"", b"", Credential(token="two")),
        (b"access_token=two&token=one", b"", b"", Credential(token="one")),
        (b"token=one", b"token three", b"", Credential(token="one")),
        (b"%74oken=one", b"", b"", Credential(token="one")),
        (b"token=", b"token three", b"", Credential(token="three")),
        (b"", b"token three", b"", Credential(token="three")),
        (b"", b"Token  three", b"", Credential(token="three")),
        (b"", b"Bearer three", b"", Credential(token="three")),
        (b"", basic("ann:secret"), b"", Credential(name="ann", password="secret")),
        (b"", basic("ann:sec:ret"), b"", Credential(name="ann", password="sec:ret")),
        (b"", basic("ann:secret", b"basic"), b"", Credential(name="ann", password="secret")),
        (b"", basic("änn:sécret"), b"", Credential(name="änn", password="sécret")),
        (b"", basic("änn:x".encode("latin-1")), b"", Credential(name="änn", password="x")),
        (b"", basic("four:"), b"", Credential(name="four")),
        (b"", basic(":four"), b"", Credential(token="four")),
        (b"token=one", basic("ann:secret"), b"", Credential(token="one", name="ann", password="secret")),
        (b"token=one", b"", b"bob", Credential(token="one", sudo="bob")),
        (b"token=one&sudo=bob", b"", b"", Credential(token="one", sudo="bob")),
        (b"token=one&sudo=", b"", b" ", Credential(token="one")),
        (b"token=one&sudo=bob%0A", b"", b"", Credential(token="one", sudo="\ufffd")),
        (b"token=one", b"", "bob\u200b".encode(), Credential(token="one", sudo="\ufffd")),
        (b"", basic("ann:tab\tand\u00a0space"), b"", Credential(name="ann", password="tab\tand\u00a0space")),
        (b"", basic("ann:👩\u200d🚀\n"), b"", Credential(name="ann", password="👩\u200d🚀\n")),
    ],
)
def test_the_first_kind_that_is_present_decides(query, authorization, sudo, expected):
    assert credential_of(split_query(query), authorization, sudo) == expected


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
def test_what_cannot_be_read_is_anonymous(authorization):
    assert credential_of(split_query(b""), authorization, b"") is None


def test_sudo_alone_is_no_credential():
    assert credential_of(split_query(b"sudo=bob"), b"", b"ann") is None


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
def test_only_the_credential_is_taken_out_of_the_query(query, rest):
    assert split_query(query).rest == rest


def test_different_credentials_have_different_digests():
    credentials = [
        Credential("a"),
        Credential("", "a"),
        Credential("", "", "a"),
        Credential("a", sudo="b"),
        Credential("ab"),
        Credential("", "a", "b"),
        Credential("", "a", "b", code="123456"),
        Credential("", "a", "b", code="654321"),
        Credential(session="a"),
    ]

    assert len({one.digest("192.0.2.1") for one in credentials}) == len(credentials)


def test_a_credential_with_a_code_is_another_one_from_another_address():
    with_code, without = Credential("", "a", "b", code="123456"), Credential("", "a", "b")

    assert with_code.digest("192.0.2.1") != with_code.digest("192.0.2.2")
    assert without.digest("192.0.2.1") == without.digest("192.0.2.2")


@pytest.mark.parametrize(
    ("authorization", "code"),
    [(basic(b"ann:secret"), "123456"), (b"token abc", ""), (b"Bearer abc", "")],
)
def test_a_code_goes_with_a_password_alone(authorization, code):
    assert credential_of(split_query(b""), authorization, b"", b" 123456 ").code == code


SECRET = b"5e" * 32


@pytest.mark.parametrize(
    ("cookies", "session", "rest"),
    [
        (b"", False, b""),
        (b"a=b", False, b"a=b"),
        (b"ingot-session=" + SECRET, True, b""),
        (b"a=b; ingot-session=" + SECRET + b";c=d", True, b"a=b; c=d"),
        (b"ingot-session=short; a=b", False, b"a=b"),
        (b"ingot-session=" + SECRET + b"; ingot-session=' OR 1", True, b""),
        (b"xingot-session=" + SECRET, False, b"xingot-session=" + SECRET),
        (b"ingot-session", False, b""),
    ],
)
def test_only_the_session_is_taken_out_of_the_cookies(cookies, session, rest):
    expected = Credential(session=SECRET.decode()) if session else None
    assert split_cookies(cookies, b"ingot-session") == (rest, expected)
