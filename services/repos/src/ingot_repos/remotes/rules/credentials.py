"""Sealed credentials of remotes."""

import msgspec

from ingot_chassis.security.sealing import Seal, Unreadable


def seal_credentials(seal: Seal, username: str, password: str) -> bytes | None:
    """Return user name and password in sealed form; None if both are empty.

    An empty user name is replaced by ``TOKEN_USERNAME``.
    """
    if not username and not password:
        return None
    return seal.close(msgspec.json.encode([username or TOKEN_USERNAME, password]).decode())


def open_credentials(seal: Seal, sealed: bytes | None) -> tuple[str, str] | None:
    """Return the user name and password that were sealed; None without any. Raises Unreadable."""
    return msgspec.json.decode(seal.open(sealed), type=tuple[str, str]) if sealed is not None else None


def change_credentials(
    seal: Seal, sealed: bytes | None, username: str | None, password: str | None
) -> bytes | None:
    """Return sealed credentials with a new user name or password. None keeps the current value.

    Current credentials that cannot be read count as empty.
    """
    try:
        before = open_credentials(seal, sealed) or ("", "")
    except Unreadable:
        before = ("", "")
    return seal_credentials(
        seal, before[0] if username is None else username, before[1] if password is None else password
    )


TOKEN_USERNAME = "oauth2"  # noqa: S105 - no secret
"""The user name that is sent with a token. Large forges accept it, and most others accept any name."""
