"""Who a credential belongs to: password or token in, principal out."""

from typing import Any, NamedTuple

from ingot_chassis.database import Database
from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.principal import Principal
from ingot_contracts.identity import Authenticate
from ingot_identity.core import organizations, tokens
from ingot_identity.core.passwords import Passwords
from ingot_identity.core.sign_ins import SignIns
from ingot_identity.store import accounts
from ingot_identity.store import tokens as token_store

ADMINISTERING = "write:admin"
"""The scope without which a token does not make an administrator of its owner."""


class Holder(NamedTuple):
    """Whose credential it is, and how far it reaches: as in Principal."""

    account: Any
    via: str
    scopes: list[str] | None = None
    confined_to: list[int] | None = None


async def identify(
    db: Database, passwords: Passwords, sign_ins: SignIns, credential: Authenticate
) -> Principal | None:
    """The principal, or None when the credential is nobody's.

    Raises Denied for accounts that may not sign in, and for ``sudo`` by anybody but an administrator or with a
    token that is restricted to repositories, TooManyRequests after too many wrong passwords.
    """
    holder = await _by_token(db, credential.token) if credential.token else None
    if holder is None and credential.name:
        holder = await _by_name(db, passwords, sign_ins, credential)
    if holder is None:
        return None
    _require_active(holder.account)
    if not credential.sudo:
        return await _principal(db, holder)
    acting = await _acting_as(db, holder, credential.sudo)
    return await _principal(db, acting, sudo_by=holder.account.login)


async def _by_name(
    db: Database, passwords: Passwords, sign_ins: SignIns, credential: Authenticate
) -> Holder | None:
    # git clients send a token where a password is asked for, or as the name with any password.
    for candidate in (credential.password, credential.name):
        if tokens.looks_like_secret(candidate) and (found := await _by_token(db, candidate)):
            return found
    async with sign_ins.attempt(credential.name, credential.address) as attempt:
        row = await _by_password(db, passwords, credential)
        attempt.succeeded = row is not None
    return None if row is None else Holder(row, via="basic")


async def _by_password(db: Database, passwords: Passwords, credential: Authenticate) -> Any:
    async with db.read() as reader:
        row = await accounts.get_by_login(reader, credential.name)
        if row is None and "@" in credential.name:
            row = await accounts.get_by_email(reader, credential.name)
    if row is not None and row.kind != "user":
        row = None
    right = await passwords.matches(credential.password, row.password_hash if row else None)
    return row if right else None


async def _by_token(db: Database, secret: str) -> Holder | None:
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
    return Holder(
        row,
        via="token",
        scopes=None if "all" in scopes else scopes,
        confined_to=[int(id_) for id_ in row.confined_to.split(",")] if row.confined_to else None,
    )


async def _acting_as(db: Database, holder: Holder, login: str) -> Holder:
    able = holder.scopes is None or "sudo" in holder.scopes
    if not holder.account.admin or not able or holder.confined_to is not None:
        raise Denied("only site administrators may act as somebody else")
    async with db.read() as reader:
        row = await accounts.get_by_login(reader, login)
    if row is None or row.kind != "user":
        raise NotFound(f"there is no user {login!r} to act as")
    _require_active(row)
    return holder._replace(account=row)


def _require_active(row: Any) -> None:
    if row.login_prohibited or not row.active:
        raise Denied("this account may not sign in")


async def _principal(db: Database, holder: Holder, *, sudo_by: str = "") -> Principal:
    row, scopes = holder.account, holder.scopes
    async with db.read() as reader:
        held = await organizations.held_by(reader, row.id)
    return Principal(
        id=row.id,
        name=row.login,
        # Here for all services: with any other token an administrator sees and does what an ordinary user does.
        admin=row.admin and (scopes is None or ADMINISTERING in scopes),
        via=holder.via,
        scopes=scopes,
        organizations=held,
        sudo_by=sudo_by,
        confined_to=holder.confined_to,
    )
