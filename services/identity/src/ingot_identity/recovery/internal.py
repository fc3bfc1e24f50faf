"""Internal route for mail: the current content of a message."""

from litestar import get

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import services
from ingot_contracts.identity.messages import Message
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store.tables import AccountRow
from ingot_identity.emails import store as emails
from ingot_identity.emails.internal import recipient_of, user_of
from ingot_identity.invitations import rules as invitations
from ingot_identity.messages import store
from ingot_identity.messages.components import MessageComponents
from ingot_identity.messages.store import MessageRow
from ingot_identity.recovery.rules import may_reset
from ingot_identity.sessions.rules import stamp_of
from ingot_identity.sources.store import sources


@get("/internal/messages/{message_id:int}", policy=services("mail"), include_in_schema=False)
async def get_message(request: IdentityRequest, message_id: int) -> Message:
    """Return a message that is due, or 404.

    A message about an account is not due if its user may not sign in.
    """
    async with request.db.transaction() as tx:
        row = await store.get(tx, message_id)
        if row is None:
            raise NotFound
        if row.kind == "password_reset":
            return await _reset(request, tx, row)
        if row.kind == invitations.KIND:
            return await _invitation(request, tx, row)
        if row.kind == "registration":
            return await _registration(request, tx, row)
        if row.kind == "registration_refused":
            messages = request.part(MessageComponents).messages
            return Message(kind=row.kind, address=messages.address_of(row))
        return await _message(request, tx, row)


async def _registration(request: IdentityRequest, db: Executor, row: MessageRow) -> Message:
    """Return a link to create an account, or the account's name if the address already has one.

    The request does not look up accounts, so its response reveals none. The mail goes to the address in the
    spelling of the account.
    """
    messages = request.part(MessageComponents).messages
    typed = messages.address_of(row)
    account = await emails.get_confirmed_owner(db, typed)
    if account is None:
        return Message(kind=row.kind, address=typed, fields=messages.fields_of(row))
    own, user = await emails.among(db, account.id, [typed.lower()]), await user_of(request, db, account.id)
    return Message(
        kind="registration_known",
        address=own[0].spelling or own[0].address,
        name=user.name or user.login,
        language=user.language,
        user_id=account.id,
        fields={"login": user.login, "url": f"{request.public_url}login"},
    )


async def _invitation(request: IdentityRequest, db: Executor, row: MessageRow) -> Message:
    """Return an invitation that has not expired. Raises NotFound.

    It does not reveal if the address has an account.
    """
    if not await invitations.is_due(db, row):
        raise NotFound
    messages = request.part(MessageComponents).messages
    return Message(kind=row.kind, address=messages.address_of(row), fields=messages.fields_of(row))


async def _message(request: IdentityRequest, db: Executor, row: MessageRow) -> Message:
    messages = request.part(MessageComponents).messages
    if row.account_id is None:
        raise NotFound
    address = messages.address_of(row)
    if row.kind == "address_confirmation":
        claims = await emails.among(db, row.account_id, [address])
        claims = claims or await emails.claims_among(db, row.account_id, [address])
        if not claims or claims[0].confirmed_at is not None:
            raise NotFound
        owner = await emails.get_confirmed_owner(db, address)
        if owner is not None:
            return await _notice_of_use(request, db, owner, address)
    find = user_of if address else recipient_of
    recipient = await find(request, db, row.account_id)
    return Message(
        kind=row.kind,
        address=address or recipient.address,
        name=recipient.name or recipient.login,
        language=recipient.language,
        user_id=row.account_id,
        fields=messages.fields_of(row),
    )


async def _notice_of_use(request: IdentityRequest, db: Executor, owner: AccountRow, address: str) -> Message:
    """Return a notice that replaces the confirmation link for an address of another account."""
    own, user = await emails.among(db, owner.id, [address]), await user_of(request, db, owner.id)
    return Message(
        kind="address_in_use",
        address=own[0].spelling or own[0].address,
        name=user.name or user.login,
        language=user.language,
        user_id=owner.id,
    )


async def _reset(request: IdentityRequest, db: Executor, row: MessageRow) -> Message:
    """Return the link that resets the password of the account with this address. Raises NotFound.

    The request does not look up accounts, so its response reveals none. The mail goes to the spelling in the
    account, because another spelling can belong to another person.
    """
    messages = request.part(MessageComponents).messages
    typed = messages.address_of(row)
    account = await emails.get_confirmed_owner(db, typed)
    own = await emails.among(db, account.id, [typed.lower()]) if account is not None else []
    if account is None or not own:
        raise NotFound
    user = await user_of(request, db, account.id)
    kind, fields = row.kind, messages.fields_of(row)
    if may_reset(account):
        await store.bind(db, row.id, account.id, stamp_of(account.password_hash))
    else:
        source = await sources.get(db, account.source_id)
        kind, fields = "password_managed", {"manager": source.title if source is not None else ""}
    return Message(
        kind=kind,
        address=own[0].spelling or own[0].address,
        name=user.name or user.login,
        language=user.language,
        user_id=account.id,
        fields=fields,
    )


routes = [get_message]
