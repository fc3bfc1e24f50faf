"""The credential of a request, wherever it is. The first kind that is present decides.

``?token=``, ``?access_token=``, ``Authorization: token|Bearer``, Basic. An unknown token falls through to Basic
when both are sent, so both are handed on. What cannot be read is no credential: the request is anonymous.
"""

import base64
import binascii
import hashlib
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from ingot_contracts.identity import Authenticate

NOBODYS_NAME = "\N{REPLACEMENT CHARACTER}"


class Presented(NamedTuple):
    """Who somebody says to be, in full."""

    token: str = ""
    name: str = ""
    password: str = ""
    sudo: str = ""

    @property
    def digest(self) -> bytes:
        """Stands for the credential where it is kept, so that no memory holds secrets."""
        return hashlib.sha256("\0".join(self).encode()).digest()

    def ask(self, address: str) -> Authenticate:
        """The question to identity."""
        return Authenticate(
            token=self.token, name=self.name, password=self.password, sudo=self.sudo, address=address
        )


class Query(NamedTuple):
    """A query string without its credential."""

    rest: bytes
    token: str = ""
    sudo: str = ""


def split_query(query: bytes) -> Query:
    """Take ``token``, ``access_token`` and ``sudo`` out of ``query``; the rest stays as it was sent."""
    if b"token" not in query and b"sudo" not in query and b"%" not in query:
        return Query(query)
    kept, found = [], {b"token": "", b"access_token": "", b"sudo": ""}
    for part in query.split(b"&"):
        name, _, value = part.partition(b"=")
        name = unquote_to_bytes(name)
        if name not in found:
            kept.append(part)
        elif not found[name]:
            read = _somebody if name == b"sudo" else _readable
            found[name] = read(unquote_to_bytes(value.replace(b"+", b" ")))
    return Query(b"&".join(kept), found[b"token"] or found[b"access_token"], found[b"sudo"])


def presented(query: Query, authorization: bytes, sudo: bytes) -> Presented | None:
    """The credential, or None: anonymous."""
    token, name, password = query.token, "", ""
    scheme, _, value = authorization.strip().partition(b" ")
    kind, value = scheme.lower(), value.strip()
    if kind == b"basic":
        name, password = _basic(value)
    elif kind in (b"token", b"bearer") and not token:
        token = _readable(value)
    if password and not name:
        token, password = token or password, ""
    if not token and not name:
        return None
    return Presented(token, name, password, query.sudo or _somebody(sudo.strip()))


def _basic(value: bytes) -> tuple[str, str]:
    try:
        name, colon, password = base64.b64decode(value, validate=True).partition(b":")
    except binascii.Error:
        return "", ""
    spoilt = (name and not _readable(name)) or b"\0" in password
    return ("", "") if spoilt or not colon else (_readable(name), _decoded(password))


def _somebody(value: bytes) -> str:
    """Whom ``value`` asks to act as. What cannot be read is still somebody, lest the caller act as themselves."""
    return _readable(value) or (NOBODYS_NAME if value else "")


def _readable(value: bytes) -> str:
    """``value`` as text; empty when no account and no token can be called that."""
    text = _decoded(value)
    return text if text.isprintable() else ""


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
