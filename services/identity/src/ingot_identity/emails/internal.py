"""Internal routes for mail: addresses of users."""

from litestar import get

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import services
from ingot_contracts.identity.messages import MailRecipient
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.emails import store


@get(
    "/internal/accounts/{account_id:int}/mail-recipient",
    policy=services("mail"),
    include_in_schema=False,
)
async def get_mail_recipient(request: IdentityRequest, account_id: int) -> MailRecipient:
    """Return the confirmed primary address of a user who may sign in, or 404."""
    async with request.db.read() as db:
        return await recipient_of(request, db, account_id)


async def recipient_of(request: IdentityRequest, db: Executor, account_id: int) -> MailRecipient:
    """Return a user who may sign in, with the confirmed primary address. Raises NotFound."""
    user = await user_of(request, db, account_id)
    email = await store.get_primary(db, account_id)
    if email is None or email.confirmed_at is None:
        raise NotFound
    return MailRecipient(
        address=email.spelling or email.address, login=user.login, name=user.name, language=user.language
    )


async def user_of(request: IdentityRequest, db: Executor, account_id: int) -> MailRecipient:
    """Return a user who may sign in, with an empty address. Raises NotFound."""
    account = await accounts.get(db, account_id)
    if account is None:
        raise NotFound
    shown = request.presenter.account(account)
    if shown.kind != "user" or not shown.active:
        raise NotFound
    return MailRecipient(address="", login=shown.login, name=shown.full_name, language=account.language)


routes = [get_mail_recipient]
