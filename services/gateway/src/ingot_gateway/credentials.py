"""The credential of a request. The first kind that is present is used.

Kinds: ``?token=``, ``?access_token=``, ``Authorization: token|Bearer``, Basic. If both a token and Basic are
sent, identity gets both. identity tries Basic if it does not know the token. A credential that cannot be
parsed is ignored: the request is anonymous.

Routes of pages for browsers (``Route.pages``) accept only the session cookie. Other routes do not accept the
cookie, because other sites can make a browser send cookies. The exception is reading at routes that pages
link to (``Route.linked``).
"""

import base64
import binascii
import hashlib
import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from ingot_contracts.identity.credentials import Authenticate

IMPOSSIBLE_NAME = "\N{REPLACEMENT CHARACTER}"
"""A name that no account has."""
_SESSION = re.compile(rb"[0-9a-f]{64}")


class Credential(NamedTuple):
    """A token, a name with a password, or the session of a browser.

    ``sudo`` is the account to act as. ``code`` is the code of the second factor that came with a password.
    A session with a ``proxy_user`` is valid only for the account of that user.
    """

    token: str = ""
    name: str = ""
    password: str = ""
    sudo: str = ""
    code: str = ""
    session: str = ""
    proxy_user: str = ""

    def digest(self, address: str) -> bytes:
        """Return a hash of the credential as a key for caches, which store no secrets.

        The hash contains the code, so the same password without the code has another key. A code works once.
        So with a code the hash also contains ``address``, and only this client gets the cached response.
        """
        parts = (*self, address) if self.code else self
        return hashlib.sha256("\0".join(parts).encode()).digest()

    @property
    def token_digest(self) -> str:
        """Return a digest of the token for rate limits; empty without a token."""
        return hashlib.sha256(self.token.encode()).hexdigest()[:32] if self.token else ""

    def authenticate_body(self, address: str) -> Authenticate:
        """Return the body of the request to identity. ``address`` is the client's address."""
        return Authenticate(
            token=self.token,
            name=self.name,
            password=self.password,
            sudo=self.sudo,
            address=address,
            code=self.code,
            session=self.session,
            proxy_user=self.proxy_user,
        )


class Query(NamedTuple):
    """A query string without its credential, and the parts of the credential."""

    rest: bytes
    token: str = ""
    sudo: str = ""


def split_query(query: bytes) -> Query:
    """Remove ``token``, ``access_token`` and ``sudo`` from ``query``. The rest is not changed."""
    if b"token" not in query and b"sudo" not in query and b"%" not in query:
        return Query(query)
    rest, values = [], {b"token": "", b"access_token": "", b"sudo": ""}
    for part in query.split(b"&"):
        name, _, value = part.partition(b"=")
        name = unquote_to_bytes(name)
        if name not in values:
            rest.append(part)
        elif not values[name]:
            read = _sudo_name if name == b"sudo" else _printable
            values[name] = read(unquote_to_bytes(value.replace(b"+", b" ")))
    return Query(b"&".join(rest), values[b"token"] or values[b"access_token"], values[b"sudo"])


class Cookies(NamedTuple):
    """Cookies without the session cookie, and the session; None if there is no session."""

    rest: bytes
    session: Credential | None = None


NO_COOKIES = Cookies(b"")


def split_cookies(cookies: bytes, name: bytes) -> Cookies:
    """Remove the session cookie ``name`` from ``cookies``. The other cookies are not changed.

    Services ignore spaces around a name. So cookies whose names differ only by spaces are removed, too.
    """
    rest, session, own = [], b"", name.decode("latin-1")
    for part in cookies.split(b";"):
        key, _, value = part.strip().partition(b"=")
        if key.decode("latin-1").strip() != own:
            rest.append(part.strip())
        elif key == name and _SESSION.fullmatch(value):
            session = value
    return Cookies(b"; ".join(filter(None, rest)), Credential(session=session.decode()) if session else None)


def credential_of(query: Query, authorization: bytes, sudo: bytes, code: bytes = b"") -> Credential | None:
    """Return the credential in these parts of a request; None for an anonymous request.

    A password without a name is used as a token.
    """
    token, name, password = query.token, "", ""
    scheme, _, value = authorization.strip().partition(b" ")
    scheme, value = scheme.lower(), value.strip()
    if scheme == b"basic":
        name, password = _basic(value)
    elif scheme in (b"token", b"bearer") and not token:
        token = _printable(value)
    if password and not name:
        token, password = token or password, ""
    if not token and not name:
        return None
    # Tokens need no second factor; without a code in them all their requests share what is remembered.
    return Credential(
        token,
        name,
        password,
        query.sudo or _sudo_name(sudo.strip()),
        _printable(code.strip()) if name else "",
    )


def _basic(value: bytes) -> tuple[str, str]:
    """Return name and password from a Basic value. Both are empty if it cannot be parsed."""
    try:
        name, colon, password = base64.b64decode(value, validate=True).partition(b":")
    except binascii.Error:
        return "", ""
    invalid = (name and not _printable(name)) or b"\0" in password
    return ("", "") if invalid or not colon else (_printable(name), _decoded(password))


def _sudo_name(value: bytes) -> str:
    """Return the account to act as; empty if ``value`` is empty.

    A name that cannot be decoded must not become empty: otherwise the request would run as the caller.
    """
    return _printable(value) or (IMPOSSIBLE_NAME if value else "")


def _printable(value: bytes) -> str:
    """Return ``value`` as text; empty if it has characters that no name and no token can have."""
    text = _decoded(value)
    return text if text.isprintable() else ""


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
