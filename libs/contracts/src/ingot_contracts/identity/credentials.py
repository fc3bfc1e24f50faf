"""Credentials that identity checks for its peers, and keys of signatures."""

from typing import Annotated

import msgspec

from ingot_contracts.identity.accounts import Account
from ingot_contracts.limits import Name

MOST_SIGNATURE_KEYS = 100
"""Maximum number of keys of each kind per request."""
MOST_PROXY_CHARACTERS = 255
"""Characters of a text that a reverse proxy says about a user."""


class FindSignatureKeys(msgspec.Struct, frozen=True, kw_only=True):
    """A request for keys that may have made signatures.

    ``key_ids`` are ids of OpenPGP keys and subkeys, 16 digits in capital letters. ``fingerprints`` are
    fingerprints of SSH keys (``SHA256:…``).
    """

    key_ids: Annotated[list[Name], msgspec.Meta(max_length=MOST_SIGNATURE_KEYS)] = []
    fingerprints: Annotated[list[Name], msgspec.Meta(max_length=MOST_SIGNATURE_KEYS)] = []


class SignatureKey(msgspec.Struct, frozen=True, kw_only=True):
    """A user's signing key. ``id`` is the key id or fingerprint from the request.

    ``certificate`` is the OpenPGP key that contains the key or subkey ``id``; empty for an SSH key.

    ``addresses`` are e-mail addresses of the owner, in lower case. The key verifies commits with these
    addresses.
    """

    id: str
    owner: Account
    addresses: list[str]
    certificate: bytes = b""


class Authenticate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """POST /internal/authenticate: a credential. ``token``, or ``name`` with ``password``, or ``session``.

    ``password`` may be a token too, as git clients send it. ``code`` is the code of the second factor.
    ``session`` is the secret in the cookie of a browser. ``sudo`` is the user that an administrator acts as.
    ``address`` is the address of the client, for throttling guesses. ``proxy_user`` is the user whom a
    reverse proxy names. A session of another account is then invalid.
    """

    token: str = ""
    name: str = ""
    password: str = ""
    sudo: str = ""
    address: str = ""
    code: str = ""
    session: str = ""
    proxy_user: str = ""


class ProxySignIn(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/proxy-sign-ins: a user whom a reverse proxy has identified.

    ``email`` and ``name`` may be empty. ``address`` and ``user_agent`` describe the browser.
    """

    user: Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_PROXY_CHARACTERS)]
    email: Annotated[str, msgspec.Meta(max_length=MOST_PROXY_CHARACTERS)] = ""
    name: Annotated[str, msgspec.Meta(max_length=MOST_PROXY_CHARACTERS)] = ""
    address: str = ""
    user_agent: str = ""


class ProxySession(msgspec.Struct, frozen=True, kw_only=True):
    """The secret for the cookie of a new session, and its lifetime.

    The secret is empty if the user has no account here.
    """

    secret: str
    seconds: int


class RenewPrincipal(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/principals: renew a principal by its ``id`` and ``credential``."""

    id: int
    credential: Name


class Authenticated(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The signed principal and its user. ``user_id`` 0: the credential is invalid.

    ``needs_code``: name and password are correct, but the code of the second factor is missing or wrong.
    ``needs_second_factor``: name and password, or the session, are correct, but the site requires a second
    factor and the account has none. With such a session the user can only set one up. ``appearance`` is the
    ``Appearance`` of pages that the account prefers.
    """

    principal_token: str = msgspec.field(name="statement")
    user_id: int
    needs_code: bool = False
    needs_second_factor: bool = False
    appearance: str = ""


def session_cookie(public_url: str) -> str:
    """Return the name of the session cookie. Over https the prefix ``__Host-`` binds it to the host."""
    return "__Host-ingot-session" if public_url.startswith("https:") else "ingot-session"
