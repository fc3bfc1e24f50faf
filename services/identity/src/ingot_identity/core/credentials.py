"""Who a credential belongs to: password or token in, principal out."""

from typing import Any

from ingot_chassis.database import Database
from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.principal import Principal
from ingot_contracts.identity import Authenticate
from ingot_identity.core import organizations, tokens
from ingot_identity.core.passwords import Passwords
from ingot_identity.core.sign_ins import SignIns
from ingot_identity.store import accounts
from ingot_identity.store import tokens as token_store


async def identify(
    db: Database, passwords: Passwords, sign_ins: SignIns, credential: Authenticate
) -> Principal | None:
    """The principal, or None when the credential is nobody's.

    Raises Denied for accounts that may not sign in, and for ``sudo`` by anybody but an administrator or with a
    token that is restricted to repositories, TooManyRequests after too many wrong passwords.
    """
    principal = await _by_token(db, credential.token) if credential.token else None
    if principal is None and credential.name:
        principal = await _by_name(db, passwords, sign_ins, credential)
    if principal is None or not credential.sudo:
        return principal
    return await _acting_as(db, principal, credential.sudo)


async def _by_name(
    db: Database, passwords: Passwords, sign_ins: SignIns, credential: Authenticate
) -> Principal | None:
    # git clients send a token where a password is asked for, or as the name with any password.
    for candidate in (credential.password, credential.name):
        if tokens.looks_like_secret(candidate) and (found := await _by_token(db, candidate)):
            return found
    async with sign_ins.attempt(credential.name, credential.address) as attempt:
        row = await _by_password(db, passwords, credential)
        attempt.succeeded = row is not None
    if row is None:
        return None
    return await _principal(db, row, via="basic", scopes=None)


async def _by_password(db: Database, passwords: Passwords, credential: Authenticate) -> Any:
    async with db.read() as reader:
        row = await accounts.get_by_login(reader, credential.name)
        if row is None and "@" in credential.name:
            row = await accounts.get_by_email(reader, credential.name)
    if row is not None and row.kind != "user":
        row = None
    right = await passwords.matches(credential.password, row.password_hash if row else None)
    return row if right else None


async def _by_token(db: Database, secret: str) -> Principal | None:
    if not tokens.looks_like_secret(secret):
        return None
    async with db.read() as reader:
        row = await token_store.get_with_account(reader, tokens.digest(secret))
    if row is None:
        return None
    if tokens.use_is_worth_noting(row.last_used_at):
        async with db.transaction() as tx:
            await token_store.mark_used(tx, row.token_id)
    scopes = row.scopes.split(",")
    confined_to = [int(id_) for id_ in row.confined_to.split(",")] if row.confined_to else None
    return await _principal(
        db, row, via="token", scopes=None if "all" in scopes else scopes, confined_to=confined_to
    )


async def _acting_as(db: Database, principal: Principal, login: str) -> Principal:
    if not principal.admin or not principal.may("sudo") or principal.confined_to is not None:
        raise Denied("only site administrators may act as somebody else")
    async with db.read() as reader:
        row = await accounts.get_by_login(reader, login)
    if row is None or row.kind != "user":
        raise NotFound(f"there is no user {login!r} to act as")
    return await _principal(db, row, via=principal.via, scopes=principal.scopes, sudo_by=principal.name)


async def _principal(
    db: Database,
    row: Any,
    *,
    via: str,
    scopes: list[str] | None,
    sudo_by: str = "",
    confined_to: list[int] | None = None,
) -> Principal:
    if row.login_prohibited or not row.active:
        raise Denied("this account may not sign in")
    async with db.read() as reader:
        held = await organizations.held_by(reader, row.id)
    return Principal(
        id=row.id,
        name=row.login,
        admin=row.admin,
        via=via,
        scopes=scopes,
        organizations=held,
        sudo_by=sudo_by,
        confined_to=confined_to,
    )
