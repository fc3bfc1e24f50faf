"""For mail: addresses of users, and messages to addresses."""

from litestar import get

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import services
from ingot_contracts.identity.messages import MailRecipient, Message
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.emails import store
from ingot_identity.messages import store as message_store
from ingot_identity.messages.components import MessageComponents


@get(
    "/internal/accounts/{account_id:int}/mail-recipient",
    policy=services("mail"),
    include_in_schema=False,
)
async def get_mail_recipient(request: IdentityRequest, account_id: int) -> MailRecipient:
    """The confirmed primary address of a user who may sign in."""
    async with request.db.read() as db:
        return await _recipient(request, db, account_id)


@get("/internal/messages/{message_id:int}", policy=services("mail"), include_in_schema=False)
async def get_message(request: IdentityRequest, message_id: int) -> Message:
    """A message that is due. Of an account, only while its user may sign in."""
    messages = request.part(MessageComponents).messages
    async with request.db.read() as db:
        row = await message_store.get(db, message_id)
        if row is None or row.account_id is None:
            raise NotFound
        recipient = await _user(request, db, row.account_id)
        address = messages.address_of(row)
        if row.kind == "address_confirmation":
            claims = await store.among(db, row.account_id, [address])
            if not claims or claims[0].confirmed_at is not None:
                raise NotFound
        if not address:
            recipient = await _recipient(request, db, row.account_id)
    return Message(
        kind=row.kind,
        address=address or recipient.address,
        name=recipient.name or recipient.login,
        language=recipient.language,
        user_id=row.account_id,
        fields=messages.fields_of(row),
    )


async def _recipient(request: IdentityRequest, db: Executor, account_id: int) -> MailRecipient:
    """The user with the confirmed primary address. Raises NotFound."""
    user = await _user(request, db, account_id)
    email = await store.get_primary(db, account_id)
    if email is None or email.confirmed_at is None:
        raise NotFound
    return MailRecipient(
        address=email.spelling or email.address, login=user.login, name=user.name, language=user.language
    )


async def _user(request: IdentityRequest, db: Executor, account_id: int) -> MailRecipient:
    """A user who may sign in, without an address. Raises NotFound."""
    account = await accounts.get(db, account_id)
    if account is None:
        raise NotFound
    shown = request.presenter.account(account)
    if shown.kind != "user" or not shown.active:
        raise NotFound
    return MailRecipient(address="", login=shown.login, name=shown.full_name, language=account.language)


routes = [get_mail_recipient, get_message]
