"""The objects of sign-ins by a reverse proxy that live as long as the process."""

from dataclasses import dataclass

from ingot_chassis.db.driver import Executor
from ingot_identity.reverse_proxies import store
from ingot_identity.reverse_proxies.rules import FirstSignIn


@dataclass(frozen=True)
class ReverseProxyComponents:
    first_sign_in: FirstSignIn
    is_on: bool
    """True if the gateway asks for sessions of users of the proxy."""

    async def is_way_in(self, db: Executor, account_id: int) -> bool:
        """Return True if the account can sign in by its link with a user of the proxy."""
        return self.is_on and await store.is_linked(db, account_id)
