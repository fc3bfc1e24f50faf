"""Proofs that a caller has the second factor of an account."""

from dataclasses import dataclass

from ingot_chassis.db.database import Database
from ingot_chassis.errors import Invalid, Unauthenticated
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.passwords.rules.proofs import PasswordChecks, audit_failure
from ingot_identity.two_factors import store as two_factors
from ingot_identity.two_factors.rules.codes import TwoFactors


class CodeRequired(Unauthenticated):
    """Name and password are right; the code of the second factor is missing, wrong or used."""

    def __init__(self, account: AccountRow, *, sent: bool) -> None:
        super().__init__("The code is wrong, or it was used before." if sent else "A code is needed as well.")
        self.account = account


@dataclass(frozen=True)
class SignIns(PasswordChecks):
    """The objects that a sign-in by password needs."""

    two_factors: TwoFactors


async def require_code(
    db: Database, sign_ins: SignIns, account: AccountRow, code: str, *, address: str
) -> None:
    """Raises CodeRequired unless it is a code of the account, TooManyRequests after too many wrong ones."""
    async with sign_ins.throttle.attempt(account.login, address) as attempt:
        attempt.succeeded = await use_code(db, sign_ins, account, code)
    if not attempt.succeeded:
        await audit_failure(db, account, address, "code")
        raise CodeRequired(account, sent=True)


async def require_password_and_code(
    db: Database, sign_ins: SignIns, account: AccountRow, password: str, code: str, *, address: str
) -> None:
    """Raises Invalid for a wrong ``password`` or ``code``, TooManyRequests after too many of them.

    It is one attempt: a right password alone must not clear the count of failures. Codes are guessed with it.
    """
    async with sign_ins.throttle.attempt(account.login, address) as attempt:
        knows_password = await sign_ins.passwords.matches(password, account.password_hash)
        attempt.succeeded = knows_password and await use_code(db, sign_ins, account, code)
    if attempt.succeeded:
        return
    await audit_failure(db, account, address, "code" if knows_password else "password")
    if not knows_password:
        raise Invalid.field("password", "wrong", "is wrong")
    raise Invalid.field("code", "wrong", "is missing, wrong, or was used before")


async def use_code(db: Database, sign_ins: SignIns, account: AccountRow, code: str) -> bool:
    async with db.transaction() as tx:
        return await sign_ins.two_factors.use(tx, account.id, code)


async def is_enabled(db: Database, account_id: int) -> bool:
    async with db.read() as reader:
        row = await two_factors.get(reader, account_id)
    return row is not None and row.confirmed_at is not None
