"""Proofs that a caller has the password of an account."""

from dataclasses import dataclass

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.db.database import Database
from ingot_chassis.errors import Invalid
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.passwords.rules.hashing import Passwords
from ingot_identity.passwords.rules.throttle import SignInThrottle


@dataclass(frozen=True)
class PasswordChecks:
    """The objects that a check of a password needs."""

    passwords: Passwords
    throttle: SignInThrottle


async def require_password(
    db: Database, checks: PasswordChecks, account: AccountRow, password: str, *, field: str, address: str
) -> None:
    """Raise Invalid, which names ``field``, for a wrong password; TooManyRequests after too many."""
    async with checks.throttle.attempt(account.login, address) as attempt:
        attempt.succeeded = await checks.passwords.matches(password, account.password_hash)
    if not attempt.succeeded:
        await audit_failure(db, account, address, "password")
        raise Invalid.field(field, "wrong", "is wrong")


async def audit_failure(db: Database, account: AccountRow | None, address: str, wrong: str) -> None:
    """Record a failed sign-in. A name without an account is omitted: people type passwords there, too."""
    async with db.transaction() as tx:
        subject = f"user {account.login}" if account else "user"
        await add_entry(tx, Actor(address=address), "sign_in.fail", subject, {"wrong": wrong})
