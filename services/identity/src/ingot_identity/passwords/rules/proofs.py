"""Proofs that a caller has the password of an account."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.db.database import Database
from ingot_chassis.errors import Invalid
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.passkeys import store as passkeys
from ingot_identity.passwords.rules.hashing import Passwords
from ingot_identity.passwords.rules.throttle import SignInThrottle
from ingot_identity.sources.store import identities
from ingot_identity.sources.store.tables import LOCAL


class DirectorySignIn(NamedTuple):
    """The account of a person whose password a directory has verified, and the id of that directory."""

    account: AccountRow
    source_id: int


class OtherPasswords(Protocol):
    """Passwords that other systems verify. ``directories`` implements this interface."""

    async def sign_in(
        self, name: str, account: AccountRow | None, password: str, address: str
    ) -> DirectorySignIn | None: ...

    async def matches(self, account: AccountRow, password: str) -> bool: ...


@dataclass(frozen=True)
class PasswordChecks:
    """The objects that a check of a password needs."""

    passwords: Passwords
    throttle: SignInThrottle
    others: OtherPasswords

    async def matches(self, account: AccountRow, password: str) -> bool:
        """True if ``password`` is the account's local password, or its password at a linked directory.

        A directory that is unavailable accepts no password. Raises Unavailable.
        """
        is_own = await self.passwords.matches(password, account.password_hash)
        return is_own or await self.others.matches(account, password)


async def has_password(db: Database, account: AccountRow) -> bool:
    """True if the account has a local password, or is linked with an enabled directory."""
    if account.password_hash:
        return True
    async with db.read() as reader:
        return await identities.has_directory(reader, account.id)


async def has_only_passkeys(db: Database, account: AccountRow) -> bool:
    """True if the account is local, and has passkeys instead of a password."""
    if account.source_id != LOCAL or await has_password(db, account):
        return False
    async with db.read() as reader:
        return await passkeys.count_of(reader, account.id) > 0


async def require_password(
    db: Database, checks: PasswordChecks, account: AccountRow, password: str, *, field: str, address: str
) -> None:
    """Raise Invalid for ``field`` if the password is wrong, and TooManyRequests after too many failures."""
    async with checks.throttle.attempt(account.login, address) as attempt:
        attempt.succeeded = await checks.matches(account, password)
    if not attempt.succeeded:
        await audit_failure(db, account, address, "password")
        raise Invalid.field(field, "wrong", "is wrong")


async def audit_failure(db: Database, account: AccountRow | None, address: str, wrong: str) -> None:
    """Record a failed sign-in. ``wrong`` is the kind of credential that was wrong.

    A name without an account is not recorded, because people may type a password there.
    """
    async with db.transaction() as tx:
        subject = f"user {account.login}" if account else "user"
        await add_entry(tx, Actor(address=address), "sign_in.fail", subject, {"wrong": wrong})
