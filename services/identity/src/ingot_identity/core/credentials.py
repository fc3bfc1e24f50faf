"""Finds the principal of a credential: a password, with a code if need be, a token, a session, or an SSH key."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.db.database import Database
from ingot_chassis.errors import Denied, Invalid, NotFound, Unauthenticated
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity import Authenticate, RenewPrincipal
from ingot_identity.core import members, tokens
from ingot_identity.core.oauth2_secrets import looks_like_access_token
from ingot_identity.core.passwords import Passwords, stamp_of
from ingot_identity.core.sign_in_throttle import SignInThrottle
from ingot_identity.core.two_factors import TwoFactors
from ingot_identity.core.use_times import is_outdated
from ingot_identity.store import accounts, browser_sessions, oauth2_grants, ssh_keys, two_factors
from ingot_identity.store import tokens as token_store
from ingot_identity.store.tables import AccountKind, AccountRow

_ID = re.compile("[0-9]{1,18}")
PASSWORD_CREDENTIAL = "password:"  # noqa: S105 - before the stamp of one
ADMIN_SCOPE = "write:admin"
"""A token without this scope does not have the rights of an administrator, even if its owner is one."""


class Holder(NamedTuple):
    """The account of a credential, and what the credential may do; the fields are those of Principal."""

    account: AccountRow
    via: str
    scopes: list[str] | None = None
    restricted_to: list[int] | None = None
    token_id: int = 0
    session_id: int = 0
    credential: str = ""


class CodeRequired(Unauthenticated):
    """Name and password are right; the code of the second factor is missing, wrong or used."""

    def __init__(self, account: AccountRow, *, sent: bool) -> None:
        super().__init__("The code is wrong, or it was used before." if sent else "A code is needed as well.")
        self.account = account


@dataclass(frozen=True)
class SignIns:
    """What a sign-in by password needs."""

    passwords: Passwords
    throttle: SignInThrottle
    two_factors: TwoFactors


async def identify(db: Database, sign_ins: SignIns, credential: Authenticate) -> Principal | None:
    """The principal, or None when no account has that credential.

    Raises Denied for an account that may not sign in, and for ``sudo`` unless the account is an administrator's and
    the credential has full rights; CodeRequired; TooManyRequests after too many wrong passwords or codes.
    """
    holder = await _by_token(db, credential.token) if credential.token else None
    if holder is None and credential.session:
        holder = await _by_session(db, credential.session)
    if holder is None and credential.name:
        holder = await _by_name(db, sign_ins, credential)
    if holder is None:
        return None
    _require_active(holder.account)
    if holder.via == "basic" and is_outdated(holder.account.last_login_at):
        async with db.transaction() as tx:
            await accounts.mark_signed_in(tx, holder.account.id)
    if not credential.sudo:
        return await _principal(db, holder)
    acting = await _acting_as(db, holder, credential.sudo)
    return await _principal(db, acting, sudo_by=holder.account.login)


async def renew(db: Database, old: RenewPrincipal) -> Principal | None:
    """The principal of the same account and credential, as it is now; None when the credential is not valid any more.

    Without a credential it is None, too: with a session, and for somebody who acts as somebody else. Raises Denied for an
    account that may not sign in.
    """
    kind, _, name = old.credential.partition(":")
    token_id = int(name) if _ID.fullmatch(name) else 0
    holder: Holder | None = None
    async with db.read() as reader:
        match kind:
            case "token":
                token = await token_store.get_holder(reader, token_id=token_id)
                holder = _holder_of_token(token) if token else None
            case "oauth2":
                grant = await oauth2_grants.get_holder(reader, token_id=token_id)
                holder = _holder_of_grant(grant) if grant else None
            case "password":
                row = await accounts.get(reader, old.id)
                holder = _holder_of_password(row) if row else None
    if holder is None or (holder.account.id, holder.credential) != (old.id, old.credential):
        return None
    _require_active(holder.account)
    return await _principal(db, holder)


async def principal_of_ssh_key(db: Database, fingerprint: str) -> tuple[Principal, str] | None:
    """The user whose key this is, and the title of the key; None when nobody has it.

    The key proves itself to the SSH server. Raises Denied for an account that may not sign in.
    """
    async with db.read() as reader:
        row = await ssh_keys.get_holder(reader, fingerprint)
    if row is None:
        return None
    _require_active(row)
    return await _principal(db, Holder(row, via="ssh")), row.title


async def require_code(
    db: Database, sign_ins: SignIns, account: AccountRow, code: str, *, address: str
) -> None:
    """Raises CodeRequired unless it is a code of the account, TooManyRequests after too many wrong ones."""
    async with sign_ins.throttle.attempt(account.login, address) as attempt:
        attempt.succeeded = await _use_code(db, sign_ins, account, code)
    if not attempt.succeeded:
        await _audit_failure(db, account, address, "code")
        raise CodeRequired(account, sent=True)


async def require_password(
    db: Database, sign_ins: SignIns, account: AccountRow, password: str, *, field: str, address: str
) -> None:
    """Raises Invalid, which names ``field``, for a wrong password, TooManyRequests after too many of them."""
    async with sign_ins.throttle.attempt(account.login, address) as attempt:
        attempt.succeeded = await sign_ins.passwords.matches(password, account.password_hash)
    if not attempt.succeeded:
        await _audit_failure(db, account, address, "password")
        raise Invalid.field(field, "wrong", "is wrong")


async def require_password_and_code(
    db: Database, sign_ins: SignIns, account: AccountRow, password: str, code: str, *, address: str
) -> None:
    """Raises Invalid, which names ``password`` or ``code``, for a wrong one, TooManyRequests after too many of them.

    It is one attempt: a right password alone must not clear the count of failures, because codes are guessed with it.
    """
    async with sign_ins.throttle.attempt(account.login, address) as attempt:
        knows_password = await sign_ins.passwords.matches(password, account.password_hash)
        attempt.succeeded = knows_password and await _use_code(db, sign_ins, account, code)
    if attempt.succeeded:
        return
    await _audit_failure(db, account, address, "code" if knows_password else "password")
    if not knows_password:
        raise Invalid.field("password", "wrong", "is wrong")
    raise Invalid.field("code", "wrong", "is missing, wrong, or was used before")


async def _use_code(db: Database, sign_ins: SignIns, account: AccountRow, code: str) -> bool:
    async with db.transaction() as tx:
        return await sign_ins.two_factors.use(tx, account.id, code)


async def _by_name(db: Database, sign_ins: SignIns, credential: Authenticate) -> Holder | None:
    # git clients send a token where a password is asked for, or as the name with any password.
    for candidate in (credential.password, credential.name):
        if holder := await _by_token(db, candidate):
            return holder
    async with sign_ins.throttle.attempt(credential.name, credential.address) as attempt:
        row = await _user_named(db, credential.name)
        knows_password = await sign_ins.passwords.matches(
            credential.password, row.password_hash if row else None
        )
        attempt.succeeded = knows_password
        if row is not None and knows_password and await _has_second_factor(db, row.id):
            if not credential.code:
                # It must not clear the count of failures: who knows the password may be guessing codes.
                raise CodeRequired(row, sent=False)
            attempt.succeeded = await _use_code(db, sign_ins, row, credential.code)
    if row is not None and attempt.succeeded:
        return _holder_of_password(row)
    await _audit_failure(db, row, credential.address, "code" if knows_password else "password")
    if row is not None and knows_password:
        raise CodeRequired(row, sent=True)
    return None


async def _audit_failure(db: Database, account: AccountRow | None, address: str, wrong: str) -> None:
    """Without the name that was typed where no account has it: people type passwords there, too."""
    async with db.transaction() as tx:
        subject = f"user {account.login}" if account else "user"
        await add_entry(tx, Actor(address=address), "sign_in.fail", subject, {"wrong": wrong})


async def _has_second_factor(db: Database, account_id: int) -> bool:
    async with db.read() as reader:
        row = await two_factors.get(reader, account_id)
    return row is not None and row.confirmed_at is not None


async def _user_named(db: Database, name: str) -> AccountRow | None:
    """By the login or the primary address."""
    async with db.read() as reader:
        row = await accounts.get_by_login(reader, name)
        if row is None and "@" in name:
            row = await accounts.get_by_email(reader, name)
    return row if row is not None and row.kind == AccountKind.USER else None


async def _by_session(db: Database, secret: str) -> Holder | None:
    async with db.read() as reader:
        row = await browser_sessions.get(reader, tokens.digest(secret))
    if row is None:
        return None
    if is_outdated(row.used_at):
        async with db.transaction() as tx:
            await browser_sessions.mark_used(tx, row.session_id)
    return Holder(row, via="session", session_id=row.session_id)


async def _by_token(db: Database, secret: str) -> Holder | None:
    if looks_like_access_token(secret):
        return await _by_oauth2_token(db, secret)
    if not tokens.looks_like_secret(secret):
        return None
    async with db.read() as reader:
        row = await token_store.get_holder(reader, sha256=tokens.digest(secret))
    if row is None:
        return None
    if is_outdated(row.last_used_at):
        async with db.transaction() as tx:
            await token_store.mark_used(tx, row.token_id)
    return _holder_of_token(row)


def _holder_of_token(row: token_store.TokenHolderRow) -> Holder:
    scopes = row.scopes.split(",")
    return Holder(
        row,
        via="token",
        token_id=row.token_id,
        scopes=None if "all" in scopes else scopes,
        restricted_to=[int(id_) for id_ in row.restricted_to.split(",")] if row.restricted_to else None,
        credential=f"token:{row.token_id}",
    )


async def _by_oauth2_token(db: Database, secret: str) -> Holder | None:
    async with db.read() as reader:
        row = await oauth2_grants.get_holder(reader, sha256=tokens.digest(secret))
    return _holder_of_grant(row) if row else None


def _holder_of_grant(row: oauth2_grants.OAuth2HolderRow) -> Holder:
    return Holder(row, via="token", scopes=row.scopes.split(), credential=f"oauth2:{row.token_id}")


def _holder_of_password(row: AccountRow) -> Holder:
    return Holder(row, via="basic", credential=f"{PASSWORD_CREDENTIAL}{stamp_of(row.password_hash)}")


async def _acting_as(db: Database, holder: Holder, login: str) -> Holder:
    has_scope = holder.scopes is None or "sudo" in holder.scopes
    if not holder.account.admin or not has_scope or holder.restricted_to is not None:
        raise Denied("only site administrators may act as somebody else")
    async with db.read() as reader:
        row = await accounts.get_by_login(reader, login)
    if row is None or row.kind != AccountKind.USER:
        raise NotFound(f"there is no user {login!r} to act as")
    _require_active(row)
    return holder._replace(account=row)


def _require_active(row: AccountRow) -> None:
    if row.login_prohibited or not row.active:
        raise Denied("this account may not sign in")


async def _principal(db: Database, holder: Holder, *, sudo_by: str = "") -> Principal:
    row, scopes = holder.account, holder.scopes
    async with db.read() as reader:
        organizations = await members.memberships_of(reader, row.id)
    return Principal(
        id=row.id,
        name=row.login,
        # Decided here for all services: with another token an administrator has the rights of an ordinary user.
        admin=row.admin and (scopes is None or ADMIN_SCOPE in scopes),
        via=holder.via,
        scopes=scopes,
        organizations=organizations,
        sudo_by=sudo_by,
        restricted_to=holder.restricted_to,
        token_id=0 if sudo_by else holder.token_id,
        session_id=0 if sudo_by else holder.session_id,
        credential="" if sudo_by else holder.credential,
    )
