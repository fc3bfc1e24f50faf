"""Proofs that a caller has the second factor of an account."""

from dataclasses import dataclass
from typing import NamedTuple

import structlog

from ingot_chassis.db.database import Database
from ingot_chassis.errors import Invalid, Unauthenticated
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.passkeys.rules.ceremonies import InvalidPasskey, Passkeys, Purpose
from ingot_identity.passkeys.store import PasskeyRow
from ingot_identity.passwords.rules.proofs import PasswordChecks, audit_failure, require_password
from ingot_identity.two_factors import store as two_factors
from ingot_identity.two_factors.rules.codes import TwoFactors

log = structlog.get_logger()


class CodeRequired(Unauthenticated):
    """Name and password are right; the code of the second factor is missing, wrong or used."""

    def __init__(self, account: AccountRow, *, sent: bool) -> None:
        super().__init__("The code is wrong, or it was used before." if sent else "A code is needed as well.")
        self.account = account


class SecondFactorMissing(Unauthenticated):
    """Name and password are right, but the site requires a second factor and the account has none."""

    def __init__(self, account: AccountRow) -> None:
        super().__init__("This site requires a second factor. Sign in with a browser to set it up.")
        self.account = account


@dataclass(frozen=True)
class SignIns(PasswordChecks):
    """The objects that a sign-in by password or passkey needs."""

    two_factors: TwoFactors
    passkeys: Passkeys
    required: str = "none"
    """The accounts that need a second factor, in the spelling of the settings."""


class SignedChallenge(NamedTuple):
    """A response of an authenticator, its sealed ceremony, and the digest of the browser."""

    state: str
    answer: str
    browser: str


class Proof(NamedTuple):
    """The password, code or passkey of a person. Missing texts are empty."""

    password: str = ""
    code: str = ""
    challenge: SignedChallenge | None = None


async def require_code(
    db: Database, sign_ins: SignIns, account: AccountRow, code: str, *, address: str
) -> None:
    """Raise CodeRequired for a wrong code, and TooManyRequests after too many failures."""
    async with sign_ins.throttle.attempt(account.login, address) as attempt:
        attempt.succeeded = await use_code(db, sign_ins, account, code)
    if not attempt.succeeded:
        await audit_failure(db, account, address, "code")
        raise CodeRequired(account, sent=True)


async def require_password_and_code(
    db: Database, sign_ins: SignIns, account: AccountRow, password: str, code: str, *, address: str
) -> None:
    """Raise Invalid for a wrong ``password`` or ``code``, and TooManyRequests after too many failures.

    Both are one attempt: a correct password alone must not clear the count of failures, which limits guesses
    of codes.
    """
    async with sign_ins.throttle.attempt(account.login, address) as attempt:
        knows_password = await sign_ins.matches(account, password)
        attempt.succeeded = knows_password and await use_code(db, sign_ins, account, code)
    if attempt.succeeded:
        return
    await audit_failure(db, account, address, "code" if knows_password else "password")
    if not knows_password:
        raise Invalid.field("password", "wrong", "is wrong")
    raise Invalid.field("code", "wrong", "is missing, wrong, or was used before")


async def require_passkey(
    db: Database,
    sign_ins: SignIns,
    account: AccountRow,
    challenge: SignedChallenge,
    purpose: Purpose,
    *,
    password: str | None = None,
    verified: bool = False,
    address: str,
) -> None:
    """Require a passkey of the account, and its ``password`` if it is not None.

    ``verified`` requires that the owner of the passkey gave a PIN or a fingerprint. Password and passkey are
    one attempt: a correct password alone must not clear the count of failures. Raises Invalid,
    InvalidPasskey, and TooManyRequests after too many failures.
    """
    refusal: InvalidPasskey | None = None
    async with sign_ins.throttle.attempt(account.login, address) as attempt:
        knows_password = password is None or await sign_ins.matches(account, password)
        if knows_password:
            refusal = await _refusal(db, sign_ins, account, challenge, purpose, verified=verified)
        attempt.succeeded = knows_password and refusal is None
    if attempt.succeeded:
        return
    await audit_failure(db, account, address, "passkey" if knows_password else "password")
    raise refusal or Invalid.field("password", "wrong", "is wrong")


async def _refusal(
    db: Database,
    sign_ins: SignIns,
    account: AccountRow,
    challenge: SignedChallenge,
    purpose: Purpose,
    *,
    verified: bool,
) -> InvalidPasskey | None:
    """Return the error for a wrong passkey, or None. An exception would not count as a failed attempt."""
    try:
        await sign_ins.passkeys.finish_use(
            db,
            challenge.state,
            challenge.answer,
            purpose,
            browser=challenge.browser,
            account_id=account.id,
            verified=verified,
        )
    except InvalidPasskey as error:
        log.info("passkey refused", reason=error.reason)
        return error
    return None


async def use_any_passkey(
    db: Database, sign_ins: SignIns, challenge: SignedChallenge, *, address: str
) -> PasskeyRow:
    """Return the passkey that signed a sign-in challenge. Its owner has given a PIN or a fingerprint.

    Raises InvalidPasskey, TooManyRequests.
    """
    refusal: InvalidPasskey | None = None
    # There is no name to guess for, so failures count for the address alone.
    async with sign_ins.throttle.attempt(f"a passkey of {address}", address) as attempt:
        try:
            used = await sign_ins.passkeys.finish_use(
                db, challenge.state, challenge.answer, "sign_in", browser=challenge.browser, verified=True
            )
        except InvalidPasskey as error:
            log.info("passkey refused", reason=error.reason)
            refusal = error
        attempt.succeeded = refusal is None
    if refusal is not None:
        await audit_failure(db, None, address, "passkey")
        raise refusal
    return used


async def require_proof(
    db: Database, sign_ins: SignIns, account: AccountRow, proof: Proof, *, address: str
) -> None:
    """Require from a signed-in person the proof that a sign-in requires.

    The proof is the password, with a code or a passkey if there is a second factor. A passkey alone is enough
    if its owner gave a PIN or a fingerprint. Raises Invalid, InvalidPasskey, TooManyRequests, Unavailable.
    """
    if proof.challenge is not None:
        await require_passkey(
            db,
            sign_ins,
            account,
            proof.challenge,
            "proof",
            password=proof.password or None,
            verified=not proof.password,
            address=address,
        )
    elif await is_enabled(db, account.id):
        await require_password_and_code(db, sign_ins, account, proof.password, proof.code, address=address)
    else:
        await require_password(db, sign_ins, account, proof.password, field="password", address=address)


async def use_code(db: Database, sign_ins: SignIns, account: AccountRow, code: str) -> bool:
    async with db.transaction() as tx:
        return await sign_ins.two_factors.use(tx, account.id, code)


async def lacks_required(db: Database, sign_ins: SignIns, account: AccountRow) -> bool:
    """True if the site requires a second factor for the account, and it has none."""
    is_required = sign_ins.required == "everybody" or (
        sign_ins.required == "administrators" and account.admin
    )
    return is_required and not await is_enabled(db, account.id)


async def is_enabled(db: Database, account_id: int) -> bool:
    async with db.read() as reader:
        return await two_factors.is_enabled(reader, account_id)
