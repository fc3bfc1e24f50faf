"""The second factor of an account: codes of an app (TOTP, RFC 6238), and recovery codes.

A code works once. The secret of the app is encrypted, and recovery codes are hashed. Access tokens need no
code.
"""

import base64
import hmac
import secrets
import time
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.security.sealing import Seal, Unreadable
from ingot_contracts.identity.events import CredentialsRevoked
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.settings import Settings
from ingot_identity.tokens import rules as tokens
from ingot_identity.two_factors import store

STEP_SECONDS = 30
DIGITS = 6
SECRET_BYTES = 20
TOLERANCE = 1
"""Number of time steps by which a clock may differ from ours."""
RECOVERY_CODES = 10
TICKET_SECONDS = 300


class Enrolment(NamedTuple):
    """The secret for a user's app: as text to type, or as a URI for a QR code."""

    secret: str
    uri: str


class TwoFactors:
    """Begins, confirms, checks and removes second factors."""

    def __init__(self, settings: Settings) -> None:
        """Load the sealing key. Raises SettingsError."""
        self._seal = Seal(settings.sealing_key, "INGOT_IDENTITY_SEALING_KEY")
        self._issuer = urlsplit(settings.public_url).hostname or "Ingot"

    async def begin(self, tx: Tx, account: AccountRow) -> Enrolment:
        """Create a secret, which takes effect when it is confirmed.

        Raises Invalid if another secret is in effect.
        """
        raw = secrets.token_bytes(SECRET_BYTES)
        secret = base64.b32encode(raw).decode()
        sealed = self._seal.close(secret)
        if sealed is None or not await store.save(tx, account.id, sealed):
            raise Invalid.field("two_factor", "on", "is on already; remove it first")
        return Enrolment(secret, _totp(secret).get_provisioning_uri(account.login, f"Ingot {self._issuer}"))

    async def confirm(self, tx: Tx, account_id: int, code: str) -> list[str]:
        """Turn the second factor on. Return new recovery codes.

        Raises Invalid for a wrong code of the app, or if no enrolment has begun.
        """
        await lock_for_update(tx, account_id)
        row = await store.get(tx, account_id)
        if row is None or row.confirmed_at is not None:
            raise Invalid.field("code", "no_enrolment", "nothing was begun that it could confirm")
        if not await self._use_app_code(tx, account_id, row.sealed, code):
            raise Invalid.field("code", "wrong", "is not the present code of the app")
        await store.confirm(tx, account_id)
        # A password that is cached as sufficient needs a code now.
        tx.emit(CredentialsRevoked(user_id=account_id), key=account_id)
        return await new_recovery_codes(tx, account_id)

    async def use(self, tx: Tx, account_id: int, code: str) -> bool:
        """Use a code of the app or a recovery code. Return False if it is wrong or was already used."""
        row = await store.get(tx, account_id)
        if row is not None and row.confirmed_at is not None:
            if await self._use_app_code(tx, account_id, row.sealed, code):
                return True
        elif not await store.is_enabled(tx, account_id):
            return False
        return await store.use_recovery_code(tx, account_id, tokens.digest(_plain(code)))

    def ticket(self, account: AccountRow) -> str:
        """Return a ticket for the code form, which proves that the current password was just given."""
        sealed = self._seal.close(f"{account.id} {_digest_of_password(account)}")
        return sealed.decode() if sealed else ""

    async def account_of(self, db: Executor, ticket: str) -> AccountRow | None:
        """Return the account of a ticket; None if it has expired or the password has changed."""
        try:
            account_id, digest = self._seal.open(ticket.encode(), seconds=TICKET_SECONDS).split()
        except Unreadable:
            return None
        account = await accounts.get(db, int(account_id))
        return account if account is not None and _digest_of_password(account) == digest else None

    async def _use_app_code(self, tx: Tx, account_id: int, sealed: bytes, code: str) -> bool:
        app, present = _totp(self._seal.open(sealed)), int(time.time()) // STEP_SECONDS
        sent = _plain(code).encode()
        steps = [
            step
            for step in range(present - TOLERANCE, present + TOLERANCE + 1)
            if hmac.compare_digest(app.generate(step * STEP_SECONDS), sent)
        ]
        return bool(steps) and await store.mark_used(tx, account_id, steps[0])


async def new_recovery_codes(tx: Tx, account_id: int) -> list[str]:
    """Replace the recovery codes, and return the new codes. Raises NotFound without a second factor."""
    await lock_for_update(tx, account_id)
    if not await store.is_enabled(tx, account_id):
        raise NotFound
    codes = generate_recovery_codes()
    await store.replace_recovery_codes(tx, account_id, digests_of(codes))
    return codes


def generate_recovery_codes() -> list[str]:
    """Return random recovery codes for display. They are valid once their digests are stored."""
    plain = [base64.b32encode(secrets.token_bytes(10)).decode().lower() for _ in range(RECOVERY_CODES)]
    return ["-".join((code[:4], code[4:8], code[8:12], code[12:])) for code in plain]


def digests_of(codes: Sequence[str]) -> list[bytes]:
    return [tokens.digest(_plain(code)) for code in codes]


def _digest_of_password(account: AccountRow) -> str:
    return tokens.digest(account.password_hash or "").hex()


def _totp(secret: str) -> TOTP:
    # SHA-1 is what every app knows; HMAC needs no hash without collisions.
    return TOTP(base64.b32decode(secret), DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303


def _plain(code: str) -> str:
    """Return a code for comparison: in lower case, without spaces and hyphens."""
    return code.replace(" ", "").replace("-", "").lower()
