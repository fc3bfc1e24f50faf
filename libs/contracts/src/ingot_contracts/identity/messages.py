"""Messages of identity to e-mail addresses: confirmations, password links, invitations, notices.

identity announces ``MessageRequested`` without an address or a secret. Before sending, mail requests the
``Message`` by ``GET /internal/messages/{message_id}``. The answer is 404 if the message is no longer due: it
was replaced, used, expired, or its account was deleted. identity creates the links, because it knows their
secrets.
"""

from typing import Literal

import msgspec

MessageKind = Literal[
    "address_confirmation",
    "address_changed",
    "address_in_use",
    "password_reset",
    "password_managed",
    "invitation",
    "registration",
    "registration_known",
    "registration_approved",
    "registration_refused",
    "new_token",
    "new_key",
    "new_sign_in",
]

FIELDS: dict[MessageKind, tuple[str, ...]] = {
    "address_confirmation": ("url", "expires"),
    "address_changed": ("new_address",),
    "address_in_use": (),
    "password_reset": ("url", "expires"),
    "password_managed": ("manager",),
    "invitation": ("url", "expires", "inviter", "target"),
    "registration": ("url", "expires"),
    "registration_known": ("login", "url"),
    "registration_approved": ("login", "url"),
    "registration_refused": (),
    "new_token": ("name", "scopes", "url"),
    "new_key": ("name", "fingerprint", "url"),
    "new_sign_in": ("time", "address", "program", "url"),
}
"""The ``fields`` of each kind. All are texts, shown escaped; an empty one is left out with its sentence.

``url`` is absolute: the link to follow, or the page where the person can undo what happened. ``expires`` and
``time`` are for people, with the time zone. ``target`` is an organization, a team or a repository. ``name``
is the title of a token or key. ``address`` and ``program`` are the network address and the browser of a
sign-in. ``manager`` is the title of the system that has the password. ``login`` is the name of the account.
"""


class MessageRequested(msgspec.Struct, frozen=True, kw_only=True, tag="identity.message.requested.v1"):
    """A message is due. ``kind`` is a ``MessageKind``, or a kind of a later release."""

    message_id: int
    kind: str


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message in its current state.

    ``name`` is the full name or login of the person, empty for an invited address. ``language`` is a BCP 47
    tag, or empty. ``fields`` are the fields that ``FIELDS`` names. ``user_id`` is 0 without an account.
    """

    kind: str
    address: str
    name: str = ""
    language: str = ""
    user_id: int = 0
    fields: dict[str, str] = {}


class MailRecipient(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/accounts/{id}/mail-recipient: the confirmed primary address of a user who may sign in.

    Answers 404 for every other account.
    """

    address: str
    login: str
    name: str = ""
    language: str = ""


class ReplySender(msgspec.Struct, frozen=True, kw_only=True):
    """POST /internal/accounts/{id}/reply-principal: the address that a reply by mail came from.

    The answer is a ``ReplyPrincipal``. It is 404 unless the user may sign in and has confirmed the address.
    """

    address: str


class ReplyPrincipal(msgspec.Struct, frozen=True, kw_only=True):
    """The user as the principal of a reply by mail, signed for issues and repos. It may only write issues."""

    principal_token: str
