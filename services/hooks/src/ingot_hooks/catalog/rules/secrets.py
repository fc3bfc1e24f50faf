"""Secrets of a hook: for signatures, and for the Authorization header. The API shows only the header."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from ingot_chassis.errors import Invalid
from ingot_chassis.security.sealing import Seal, Unreadable
from ingot_hooks.catalog.store.queries import HookRow

MAX_AUTHORIZATION = 1000
"""Maximum number of characters of the header."""


OpenSecret = Callable[[bytes | None], str]
"""``Seal.open``, or a cache of it. Raises Unreadable."""


def valid_secrets(open_secret: OpenSecret, hook: HookRow, at: datetime) -> list[str]:
    """Return the secrets that sign at that time, the latest first. Raises Unreadable."""
    secrets = [open_secret(hook.sealed_secret)]
    if hook.former_until is not None and at < hook.former_until:
        secrets.append(open_secret(hook.sealed_former_secret))
    return [secret for secret in secrets if secret]


def secret_columns(seal: Seal, hook: HookRow, secret: str, former_until: datetime) -> dict[str, Any]:
    """Return the columns that a new secret changes; none if it equals the current secret.

    The former secret stays valid until ``former_until``. It becomes invalid at once if the new secret is
    empty, or if the former secret cannot be decrypted.
    """
    try:
        if secret and secret == seal.open(hook.sealed_secret):
            return {}
    except Unreadable:
        return {"sealed_secret": seal.close(secret), "sealed_former_secret": None, "former_until": None}
    former = hook.sealed_secret if secret else None
    return {
        "sealed_secret": seal.close(secret),
        "sealed_former_secret": former,
        "former_until": former_until if former else None,
    }


def valid_authorization(header: str) -> str:
    """Return the header without surrounding spaces. Raises Invalid."""
    value = header.strip()
    if len(value) > MAX_AUTHORIZATION:
        raise Invalid.field(
            "authorization_header", "too_long", f"is longer than {MAX_AUTHORIZATION} characters"
        )
    if not value.isascii() or not value.isprintable():
        raise Invalid.field("authorization_header", "invalid", "holds a character that no header can")
    return value
