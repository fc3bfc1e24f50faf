"""The route to which a mail server posts incoming mails."""

import hmac

import msgspec
from litestar import post

from ingot_chassis.errors import NotFound, Unauthenticated
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_chassis.http.policy import anyone
from ingot_mail.replies.components import ReplyComponents
from ingot_mail.replies.rules.outcomes import Outcome

MOST_BYTES = 50_000_000
"""The limit for a body, the highest that the setting for mails allows."""


class ReceivedMail(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a mail. `reason` is empty for a stored reply."""

    outcome: Outcome
    reason: str


@post(
    "/mail/replies",
    policy=anyone(),
    include_in_schema=False,
    status_code=200,
    request_max_body_size=MOST_BYTES,
)
async def receive_mail(request: DatabaseRequest) -> ReceivedMail:
    """Receive a mail (RFC 5322) from the mail server that knows the key.

    After any status other than 200, the mail server must try again later.
    """
    components = request.part(ReplyComponents)
    if components.receive is None or not components.key:
        raise NotFound
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    is_right = hmac.compare_digest(key.strip().encode(), components.key.encode())
    if scheme.lower() != "bearer" or not is_right:
        raise Unauthenticated("the key of the mail server is missing or wrong")
    received = await components.receive(await request.body())
    return ReceivedMail(outcome=received.outcome, reason=received.reason)


routes = [receive_mail]
