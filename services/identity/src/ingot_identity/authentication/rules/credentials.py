"""Finds the principal of a credential: password (with code), token, session, or SSH key."""

import re
from typing import NamedTuple

from ingot_chassis.db.database import Database
from ingot_chassis.errors import Denied, NotFound, Unavailable
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity.credentials import Authenticate, RenewPrincipal
from ingot_identity.accounts.rules.presenter import is_granted_only
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountKind, AccountRow
from ingot_identity.authentication.rules.use_times import is_outdated
from ingot_identity.emails import store as emails
from ingot_identity.keys.store import ssh as ssh_keys
from ingot_identity.members import rules as members
from ingot_identity.oauth2.rules.secrets import has_access_token_format
from ingot_identity.oauth2.store import grants as oauth2_grants
from ingot_identity.passwords.rules.proofs import audit_failure
from ingot_identity.reverse_proxies.rules import is_account_of
from ingot_identity.sessions import store as browser_sessions
from ingot_identity.sessions.rules import stamp_of
from ingot_identity.sources.store import identities, sources
from ingot_identity.sources.store.tables import LOCAL
from ingot_identity.tokens import rules as tokens
from ingot_identity.tokens import store as token_store
from ingot_identity.two_factors.rules.proofs import (
    CodeRequired,
    SecondFactorMissing,
    SignIns,
    is_enabled,
    lacks_required,
    use_code,
)

_ID = re.compile("[0-9]{1,18}")
PASSWORD_CREDENTIAL = "password:"  # noqa: S105 - before the stamp of one
DIRECTORY_CREDENTIAL = "directory:"
"""Prefix of the id of the source that has the password, and of the stamp of the local password."""
WITH_CODE = "+code"
"""Suffix of the credential of an account with a second factor."""
REPLY_SCOPES = ["write:issue"]
ADMIN_SCOPE = "write:admin"
READ_ONLY_SCOPES = ["read:repository", ADMIN_SCOPE]
"""Of a read-only SSH key. Sessions over SSH only fetch and push, so an administrator keeps that right."""
"""A token without this scope does not have the rights of an administrator, even if its owner is one."""


class Holder(NamedTuple):
    """The account of a credential, and what the credential may do.

    The fields after ``account`` are passed to Principal.
    """

    account: AccountRow
    via: str
    scopes: list[str] | None = None
    restricted_to: list[int] | None = None
    public_only: bool = False
    token_id: int = 0
    session_id: int = 0
    credential: str = ""


class Identified(NamedTuple):
    """The principal of a credential, and its account. With ``sudo`` both belong to the user to act as."""

    principal: Principal
    account: AccountRow


async def identify(db: Database, sign_ins: SignIns, credential: Authenticate) -> Identified | None:
    """Return the principal and its account; None if no account has the credential.

    Raises Denied for an account that may not sign in. Raises Denied for ``sudo`` unless an administrator's
    credential has full rights. Raises CodeRequired, and TooManyRequests after too many wrong passwords or
    codes.

    Raises SecondFactorMissing for a correct password, or a session, without the second factor that the site
    requires.
    """
    holder = await _by_token(db, credential.token) if credential.token else None
    if holder is None and credential.session:
        holder = await _by_session(db, sign_ins, credential.session, credential.proxy_user)
    if holder is None and credential.name:
        holder = await _by_name(db, sign_ins, credential)
    if holder is None:
        return None
    _require_active(holder.account)
    if holder.via == "basic" and is_outdated(holder.account.last_login_at):
        async with db.transaction() as tx:
            await accounts.mark_signed_in(tx, holder.account.id)
    if not credential.sudo:
        return Identified(await _principal(db, holder), holder.account)
    acting = await _acting_as(db, holder, credential.sudo)
    return Identified(await _principal(db, acting, sudo_by=holder.account.login), acting.account)


async def renew(db: Database, sign_ins: SignIns, old: RenewPrincipal) -> Principal | None:
    """Return the current principal of the credential; None if the credential is no longer valid.

    Sessions and ``sudo`` have no credential, so the result is None. Raises Denied for an account that may not
    sign in.
    """
    kind, _, name = old.credential.partition(":")
    token_id = _id_of(name)
    holder: Holder | None = None
    row: AccountRow | None = None
    source_id = LOCAL
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
            case "directory":
                source_id = _id_of(name.partition(":")[0])
                source = await sources.get(reader, source_id)
                if source and source.enabled and await identities.get_of_account(reader, old.id, source_id):
                    row = await accounts.get(reader, old.id)
    if row is not None and not await lacks_required(db, sign_ins, row):
        with_code = await is_enabled(db, row.id)
        holder = _holder_of_password(row, source_id=source_id, with_code=with_code)
    if holder is None or (holder.account.id, holder.credential) != (old.id, old.credential):
        return None
    _require_active(holder.account)
    return await _principal(db, holder)


def _id_of(text: str) -> int:
    """Return the id in a credential; 0, which no row has, for any other text."""
    return int(text) if _ID.fullmatch(text) else 0


async def principal_of_ssh_key(db: Database, fingerprint: str, *, used: bool) -> tuple[Principal, str] | None:
    """Return the user who has this key, and its title; None if no account has it.

    The SSH server has verified the key. ``used`` records the time. Raises Denied for an account that may not
    sign in.
    """
    async with db.read() as reader:
        row = await ssh_keys.get_holder(reader, fingerprint)
    if row is None:
        return None
    _require_active(row)
    if used and is_outdated(row.key_used_at):
        async with db.transaction() as tx:
            await ssh_keys.mark_used(tx, row.key_id)
    scopes = READ_ONLY_SCOPES if row.key_read_only else None
    return await _principal(db, Holder(row, via="ssh", scopes=scopes)), row.title


async def principal_of_reply(db: Database, account_id: int, address: str) -> Principal | None:
    """Return the principal of a reply by mail, which may only write issues.

    None unless ``address`` is a confirmed address of the account, and its user may sign in.
    """
    async with db.read() as reader:
        row = await accounts.get(reader, account_id)
        own = await emails.among(reader, account_id, [address.lower()])
    if row is None or row.kind != AccountKind.USER or row.login_prohibited or not row.active:
        return None
    if not own or own[0].confirmed_at is None:
        return None
    return await _principal(db, Holder(row, via="mail", scopes=REPLY_SCOPES))


async def _by_name(db: Database, sign_ins: SignIns, credential: Authenticate) -> Holder | None:
    # git clients send a token where a password is asked for, or as the name with any password.
    for candidate in (credential.password, credential.name):
        if holder := await _by_token(db, candidate):
            return holder
    async with sign_ins.throttle.attempt(credential.name, credential.address) as attempt:
        checked = await _check_password(db, sign_ins, credential)
        row, knows_password = checked.account, checked.is_right
        attempt.succeeded = knows_password
        needs_code = row is not None and knows_password and await is_enabled(db, row.id)
        if row is not None and needs_code:
            if not credential.code:
                # It must not clear the count of failures: who knows the password may be guessing codes.
                raise CodeRequired(row, sent=False)
            attempt.succeeded = await use_code(db, sign_ins, row, credential.code)
    if row is not None and attempt.succeeded:
        _require_active(row)
        if await lacks_required(db, sign_ins, row):
            raise SecondFactorMissing(row)
        return _holder_of_password(row, source_id=checked.source_id, with_code=needs_code)
    await audit_failure(db, row, credential.address, "code" if knows_password else "password")
    if checked.refusal is not None:
        raise checked.refusal
    if row is not None and knows_password:
        raise CodeRequired(row, sent=True)
    return None


class _Checked(NamedTuple):
    """The result of a password check: the account of the name, and the source that verified the password.

    ``refusal`` is raised after the attempt has been counted.
    """

    account: AccountRow | None
    source_id: int = LOCAL
    is_right: bool = False
    refusal: Denied | Unavailable | None = None


async def _check_password(db: Database, sign_ins: SignIns, credential: Authenticate) -> _Checked:
    """Check a password against the local hash, and then at the directories.

    Errors of directories are returned in ``refusal``.
    """
    row = await _user_named(db, credential.name)
    if await sign_ins.passwords.matches(credential.password, row.password_hash if row else None):
        return _Checked(row, is_right=True)
    try:
        signed_in = await sign_ins.others.sign_in(
            credential.name, row, credential.password, credential.address
        )
    except (Denied, Unavailable) as error:
        # Raised later: the attempt counts as failed, because the password here is wrong.
        return _Checked(row, refusal=error)
    return _Checked(*signed_in, is_right=True) if signed_in else _Checked(row)


async def _user_named(db: Database, name: str) -> AccountRow | None:
    """Return the user with this login or primary address, or None."""
    async with db.read() as reader:
        row = await accounts.get_by_login(reader, name)
        if row is None and "@" in name:
            row = await emails.get_by_email(reader, name)
    return row if row is not None and row.kind == AccountKind.USER else None


async def _by_session(db: Database, sign_ins: SignIns, secret: str, proxy_user: str) -> Holder | None:
    """Return the holder of a browser's session, or None.

    The result is also None if ``proxy_user`` has another account than the session. Raises SecondFactorMissing
    for a session without a required second factor: it may only be used to set one up.
    """
    async with db.read() as reader:
        row = await browser_sessions.get(reader, tokens.digest(secret))
        if row is not None and proxy_user and not await is_account_of(reader, proxy_user, row):
            return None
    if row is None:
        return None
    if await lacks_required(db, sign_ins, row):
        raise SecondFactorMissing(row)
    if is_outdated(row.used_at):
        async with db.transaction() as tx:
            await browser_sessions.mark_used(tx, row.session_id)
    return Holder(row, via="session", session_id=row.session_id)


async def _by_token(db: Database, secret: str) -> Holder | None:
    if has_access_token_format(secret):
        return await _by_oauth2_token(db, secret)
    if not tokens.has_secret_format(secret):
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
    restricted_to = [int(id_) for id_ in row.restricted_to.split(",")] if row.restricted_to else None
    public_only = tokens.PUBLIC_ONLY in scopes
    return Holder(
        row,
        via="token",
        token_id=row.token_id,
        scopes=None if "all" in scopes else scopes,
        restricted_to=[] if public_only else restricted_to,
        public_only=public_only,
        credential=f"token:{row.token_id}",
    )


async def _by_oauth2_token(db: Database, secret: str) -> Holder | None:
    async with db.read() as reader:
        row = await oauth2_grants.get_holder(reader, sha256=tokens.digest(secret))
    return _holder_of_grant(row) if row else None


def _holder_of_grant(row: oauth2_grants.OAuth2HolderRow) -> Holder:
    return Holder(row, via="token", scopes=row.scopes.split(), credential=f"oauth2:{row.token_id}")


def _holder_of_password(row: AccountRow, *, source_id: int, with_code: bool) -> Holder:
    """Return the holder of a password.

    The credential includes the second factor, so enabling or disabling a second factor invalidates it.
    """
    kind = PASSWORD_CREDENTIAL if source_id == LOCAL else f"{DIRECTORY_CREDENTIAL}{source_id}:"
    credential = f"{kind}{stamp_of(row.password_hash)}{WITH_CODE if with_code else ''}"
    return Holder(row, via="basic", credential=credential)


def source_of_credential(credential: str) -> tuple[str, int]:
    """Return the stamp in the credential of a password, and the source that has the password."""
    kind, _, rest = credential.partition(":")
    source, _, stamp = rest.rpartition(":")
    return stamp, _id_of(source) if f"{kind}:" == DIRECTORY_CREDENTIAL else LOCAL


async def _acting_as(db: Database, holder: Holder, login: str) -> Holder:
    has_scope = holder.scopes is None or "sudo" in holder.scopes
    if not holder.account.admin or not has_scope or holder.restricted_to is not None:
        raise Denied("only site administrators may act as another user")
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
        # Decided here for all services: with another token an administrator has the rights of an ordinary
        # user.
        admin=row.admin and (scopes is None or ADMIN_SCOPE in scopes),
        via=holder.via,
        scopes=scopes,
        organizations=organizations,
        sudo_by=sudo_by,
        restricted_to=holder.restricted_to,
        public_only=holder.public_only,
        # Of an administrator's token without that right, too: the account is what counts.
        granted_only=is_granted_only(row),
        token_id=0 if sudo_by else holder.token_id,
        session_id=0 if sudo_by else holder.session_id,
        credential="" if sudo_by else holder.credential,
    )
