"""How rows of accounts become what others see of them."""

import hashlib
from typing import Any

from ingot_contracts.identity import Account, User


class Viewing:
    """Knows the public root and the domain of addresses that hide the real ones."""

    def __init__(self, public_url: str, noreply_domain: str) -> None:
        self._root, self._noreply = public_url, noreply_domain

    def account(self, row: Any) -> Account:
        """What sister services copy."""
        return Account(
            id=row.id,
            kind=row.kind,
            login=row.login,
            full_name=row.full_name,
            email=self.email(row),
            avatar_url=self.avatar(row),
            active=row.active and not row.login_prohibited,
            visibility=row.visibility,
            admin=row.admin,
        )

    def user(self, row: Any, *, show_email: bool = True) -> User:
        """As the API shows it; without the address to callers who may not see it."""
        return User(
            id=row.id,
            login=row.login,
            full_name=row.full_name,
            email=self.email(row) if show_email else "",
            avatar_url=self.avatar(row),
        )

    def email(self, row: Any) -> str:
        return f"{row.lower_login}@{self._noreply}" if row.email_private else str(row.email)

    def avatar(self, row: Any) -> str:
        """Drawn from the address that is shown: whoever guesses the real one must not find it confirmed."""
        digest = hashlib.sha256((self.email(row) or row.lower_login).encode()).hexdigest()[:32]
        return f"{self._root}avatars/{digest}"
