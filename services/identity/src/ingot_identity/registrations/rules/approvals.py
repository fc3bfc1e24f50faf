"""Registrations that an administrator approves or rejects."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound, TooManyRequests
from ingot_identity.accounts.rules import names
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.messages.rules import Messages
from ingot_identity.passkeys import store as passkeys
from ingot_identity.passkeys.rules.ceremonies import NewPasskey
from ingot_identity.registrations import store
from ingot_identity.registrations.rules.accounts import Credentials, NewAccount, Registered, register
from ingot_identity.registrations.store import RegistrationRow
from ingot_identity.two_factors import store as two_factors
from ingot_identity.two_factors.rules.codes import digests_of, generate_recovery_codes

MOST_WAITING = 1_000
LONGEST_NOTE = 1_000
DIGEST_BYTES = 32


async def add(tx: Tx, new: NewAccount, note: str) -> list[str]:
    """Queue a registration. Return the recovery codes of an account with a passkey.

    The requested name is compared with existing accounts, the address is not. An address in use is rejected
    at the approval. Raises Conflict, Invalid, TooManyRequests.
    """
    names.check_login(new.login)
    names.check_email(new.address)
    if len(note) > LONGEST_NOTE:
        raise Invalid.field("note", "length", f"has more than {LONGEST_NOTE} characters")
    if await store.count(tx) >= MOST_WAITING:
        raise TooManyRequests("too many registrations wait; try again later", headers={"Retry-After": "3600"})
    password_hash, passkey = new.credentials
    if passkey is not None:
        is_registered = await passkeys.get_by_credential(tx, passkey.credential_id) is not None
        if is_registered or await store.has_credential(tx, passkey.credential_id):
            raise Conflict("this passkey is registered already")
    codes = generate_recovery_codes() if passkey is not None else []
    is_taken = await accounts.get_by_login(tx, new.login) is not None
    if is_taken or not await store.add(
        tx,
        login=new.login,
        address=new.address,
        confirmed=new.confirmed,
        password_hash=password_hash,
        recovery_codes=b"".join(digests_of(codes)) or None,
        note=note,
        **(passkey._asdict() if passkey is not None else {}),
    ):
        raise Invalid.field("username", "taken", f"{new.login!r} is taken")
    return codes


async def approve(tx: Tx, presenter: Presenter, messages: Messages, registration_id: int) -> Registered:
    """Create the account of a registration, and send a mail if its address is confirmed.

    Raises Conflict, NotFound, Invalid.
    """
    row = await _take(tx, registration_id)
    new = NewAccount(row.login, row.address, _credentials_of(row), row.confirmed)
    registered = await register(tx, presenter, new)
    account = registered.account
    if row.recovery_codes:
        # Those that the person has, in place of the new ones.
        codes = row.recovery_codes
        digests = [codes[start : start + DIGEST_BYTES] for start in range(0, len(codes), DIGEST_BYTES)]
        await two_factors.replace_recovery_codes(tx, account.id, digests)
    await messages.notify(tx, "registration_approved", account.id, page="/login", login=account.login)
    return registered


async def refuse(tx: Tx, messages: Messages, registration_id: int) -> RegistrationRow:
    """Delete a registration, and send a mail to its address if it is confirmed. Raises NotFound."""
    row = await _take(tx, registration_id)
    if row.confirmed:
        await messages.request(tx, "registration_refused", address=row.address)
    return row


def _credentials_of(row: RegistrationRow) -> Credentials:
    if row.credential_id is None or row.public_key is None or row.user_handle is None:
        return Credentials(row.password_hash)
    return Credentials(
        passkey=NewPasskey(row.credential_id, row.public_key, row.user_handle, row.sign_count or 0)
    )


async def _take(tx: Tx, registration_id: int) -> RegistrationRow:
    row = await store.take(tx, registration_id)
    if row is None:
        raise NotFound
    return row
