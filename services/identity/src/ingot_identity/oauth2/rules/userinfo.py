"""Claims of OpenID Connect about a user (OpenID Connect Core, section 5.1)."""

from typing import Any

from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store.tables import AccountRow


def claims(presenter: Presenter, row: AccountRow, scopes: list[str] | None) -> dict[str, Any]:
    """Return the claims that ``scopes`` allow; None means all.

    The subject is the id, which never changes. No address is reported as verified.
    """
    shown: dict[str, Any] = {"sub": str(row.id)}
    if scopes is None or "profile" in scopes:
        shown |= {
            "name": row.full_name or row.login,
            "preferred_username": row.login,
            "picture": presenter.avatar(row),
            "updated_at": int(row.updated_at.timestamp()),
        }
    if scopes is None or "email" in scopes:
        shown |= {"email": row.email, "email_verified": False}
    return shown
