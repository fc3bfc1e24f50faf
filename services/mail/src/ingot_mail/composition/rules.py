"""The content of mails by kind, and the message with its headers.

Texts of users are never trusted: control characters are removed from headers and texts, and the templates
escape HTML. A mail contains no remote content.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

import jinja2
import msgspec

from ingot_contracts.identity.messages import MailRecipient, Message
from ingot_contracts.issues.notices import IssueNotice, NoticeReason, NoticeSource
from ingot_mail.settings import Settings

MAX_SUBJECT = 200
MAX_TEXT = 50_000
"""Maximum characters of a text in a mail. The link leads to the rest."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_ADDRESS = re.compile(r"""[^\s<>(),;:\\"\[\]@\x00-\x1f\x7f-\x9f]+@[^\s<>(),;:\\"\[\]@\x00-\x1f\x7f-\x9f]+""")
_REASONS: Mapping[NoticeReason, str] = {
    "mentioned": "You get this mail because you were mentioned.",
    "requested": "You get this mail because you were assigned or asked for a review.",
    "participating": "You get this mail because you take part in this conversation.",
    "watching": "You get this mail because you watch the repository.",
    "own": "You get this mail because you asked for mails about your own actions.",
}


class Thread(NamedTuple):
    """The conversation of a mail: its repository, and the name of its thread."""

    full_name: str
    name: str


class Entry(NamedTuple):
    """A line of a digest: a title, a sentence and a link."""

    title: str
    lead: str
    url: str


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of a mail. ``thread`` is None if the mail belongs to no repository."""

    subject: str
    lead: str
    reason: str
    body: str = ""
    facts: Sequence[tuple[str, str]] = ()
    entries: Sequence[Entry] = ()
    link_url: str = ""
    link_text: str = ""
    thread: Thread | None = None


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """The details of a mail about a release."""

    full_name: str
    tag: str
    name: str
    author: str
    text: str
    url: str


class Deactivation(msgspec.Struct, frozen=True, kw_only=True):
    """The details of a mail about a hook that was switched off."""

    hook_id: int
    host: str
    reason: str


class FinishedImport(msgspec.Struct, frozen=True, kw_only=True):
    """The details of a mail about an import. ``reason`` is empty after a success."""

    full_name: str
    url: str
    reason: str = ""


class FailedCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The details of a mail about failed checks of a commit."""

    sha: str


class RefusedReply(msgspec.Struct, frozen=True, kw_only=True):
    """The details of a mail about a reply by mail that was refused."""

    reason: str


class Links(NamedTuple):
    """The links at the end of a mail. Both may be empty."""

    preferences: str = ""
    unsubscribe: str = ""


def of_issue(notice: IssueNotice, source: NoticeSource, reason: NoticeReason) -> Content:
    """Return the content of a notice about an issue or pull request."""
    thing = "pull request" if notice.is_pull else "issue"
    actor = notice.actor or "A deleted account"
    has_text = bool(source.comment_id or source.review_id or source.is_opened or reason == "mentioned")
    if source.comment_id:
        lead = f"{actor} commented on {thing} #{notice.number}."
    elif source.review_id:
        lead = f"{actor} reviewed pull request #{notice.number}."
    elif source.is_opened:
        lead = f"{actor} opened {thing} #{notice.number}."
    elif reason == "requested":
        lead = f"{actor} assigned {thing} #{notice.number} to you or asked you for a review."
    else:
        lead = f"{actor} changed {thing} #{notice.number}. It is {notice.state}."
    return Content(
        subject=f"[{notice.full_name}] {notice.title} (#{notice.number})",
        lead=lead,
        body=notice.text if has_text else "",
        reason=_REASONS[reason],
        link_url=notice.url,
        link_text=f"Open the {thing}",
        thread=_thread_of(notice),
    )


def of_failed_check(notice: IssueNotice, failed: FailedCheck) -> Content:
    """Return the content of a notice about failed checks of the head of a pull request."""
    return Content(
        subject=f"[{notice.full_name}] {notice.title} (#{notice.number})",
        lead=f"A check of pull request #{notice.number} failed at {failed.sha[:10]}.",
        body="",
        reason=_REASONS["participating"],
        link_url=notice.url,
        link_text="Open the pull request",
        thread=_thread_of(notice),
    )


def _thread_of(notice: IssueNotice) -> Thread:
    return Thread(notice.full_name, f"{'pulls' if notice.is_pull else 'issues'}-{notice.number}")


def of_release(release: Release) -> Content:
    """Return the content of a notice about a published release."""
    return Content(
        subject=f"[{release.full_name}] Release {release.name or release.tag}",
        lead=f"{release.author} published {release.tag} of {release.full_name}.",
        body=release.text,
        reason=_REASONS["watching"],
        link_url=release.url,
        link_text="Open the release",
        thread=Thread(release.full_name, f"releases-{release.tag}"),
    )


def of_reply(notice: IssueNotice, refused: RefusedReply) -> Content:
    """Return the content of a notice about a refused reply by mail."""
    thing = "pull request" if notice.is_pull else "issue"
    return Content(
        subject=f"[{notice.full_name}] {notice.title} (#{notice.number})",
        lead=f"Your reply by mail to {thing} #{notice.number} was not stored.",
        facts=[("Reason", refused.reason)],
        reason="You get this mail because a reply was sent to the address of one of your mails.",
        link_url=notice.url,
        link_text=f"Open the {thing}",
        thread=_thread_of(notice),
    )


def of_deactivation(details: Deactivation, site: str) -> Content:
    """Return the content of a notice about a hook that was switched off."""
    return Content(
        subject=f"[{site}] A webhook was switched off",
        lead=f"Your webhook {details.hook_id} to {details.host} was switched off. It sends nothing any more.",
        facts=[("Reason", details.reason)],
        reason="You get this mail because you are responsible for the webhook.",
    )


def of_import(details: FinishedImport) -> Content:
    """Return the content of a notice about an import that has ended."""
    if details.reason:
        return Content(
            subject=f"[{details.full_name}] The import failed",
            lead=f"The import of {details.full_name} failed. You can start it again on its page.",
            facts=[("Reason", details.reason)],
            reason="You get this mail because you started the import.",
            link_url=details.url,
            link_text="Open the repository",
        )
    return Content(
        subject=f"[{details.full_name}] The import is finished",
        lead=f"The import of {details.full_name} is finished.",
        reason="You get this mail because you started the import.",
        link_url=details.url,
        link_text="Open the repository",
    )


def of_digest(contents: Sequence[Content], site: str) -> Content:
    """Return the contents of several notices as one digest."""
    plural = "" if len(contents) == 1 else "s"
    return Content(
        subject=f"[{site}] {len(contents)} notification{plural}",
        lead=f"{len(contents)} notification{plural} since the last summary:",
        entries=[Entry(one.subject, one.lead, one.link_url) for one in contents],
        reason="You get this mail because you chose a summary of your notifications.",
    )


class _Sentences(NamedTuple):
    subject: str
    lead: str
    link_text: str = ""
    facts: tuple[tuple[str, str], ...] = ()


_MESSAGES: Mapping[str, _Sentences] = {
    "address_confirmation": _Sentences(
        "Confirm your address",
        "This address was entered for an account at {site}. Follow the link if the account is yours.",
        "Confirm the address",
        (("Valid until", "expires"),),
    ),
    "address_changed": _Sentences(
        "Your address was changed",
        "The address of your account at {site} was changed. If this was not you, ask your administrator now.",
        facts=(("New address", "new_address"),),
    ),
    "address_in_use": _Sentences(
        "Your address was entered for another account",
        "This address was entered for another account at {site}. It stays yours, and nothing changes.",
    ),
    "password_reset": _Sentences(
        "Set a new password",
        "A new password was requested for your account at {site}. If this was not you, do nothing.",
        "Set a new password",
        (("Valid until", "expires"),),
    ),
    "password_managed": _Sentences(
        "Your password is set elsewhere",
        "A new password was requested for your account at {site}. Set it where your password is kept.",
        facts=(("Sign in with", "manager"),),
    ),
    "invitation": _Sentences(
        "Invitation to {target}",
        "{inviter} invites you to {target} at {site}.",
        "Accept the invitation",
        (("Valid until", "expires"),),
    ),
    "registration": _Sentences(
        "Create your account",
        "An account at {site} was requested for this address. If this was not you, do nothing.",
        "Create the account",
        (("Valid until", "expires"),),
    ),
    "registration_known": _Sentences(
        "You have an account",
        "An account at {site} was requested for this address, but it has one. You can sign in.",
        "Sign in",
        (("User name", "login"),),
    ),
    "registration_approved": _Sentences(
        "Your account was approved",
        "Your registration at {site} was approved. You can sign in now.",
        "Sign in",
        (("User name", "login"),),
    ),
    "registration_refused": _Sentences(
        "Your account was not approved",
        "Your registration at {site} was refused by its administrators.",
    ),
    "new_token": _Sentences(
        "A new access token",
        "An access token was made for your account at {site}. If this was not you, revoke it now.",
        "Open your tokens",
        (("Name", "name"), ("Scopes", "scopes")),
    ),
    "new_key": _Sentences(
        "A new key",
        "A key was added to your account at {site}. If this was not you, remove it now.",
        "Open your keys",
        (("Name", "name"), ("Fingerprint", "fingerprint")),
    ),
    "new_sign_in": _Sentences(
        "A sign-in from a new place",
        "There was a sign-in to your account at {site}. If this was not you, change your password now.",
        "Open your sessions",
        (("Time", "time"), ("Address", "address"), ("Program", "program")),
    ),
}


def of_message(message: Message, site: str) -> Content | None:
    """Return the content of a message of identity; None for a kind of a later release."""
    sentences = _MESSAGES.get(message.kind)
    if sentences is None:
        return None
    fields = {"inviter": "", "target": "", **message.fields, "site": site}
    url = fields.get("url", "")
    return Content(
        subject=f"[{site}] {sentences.subject.format_map(fields)}",
        lead=sentences.lead.format_map(fields),
        facts=[(name, fields[key]) for name, key in sentences.facts if fields.get(key)],
        reason=f"You get this mail because this address was used at {site}.",
        link_url=url if sentences.link_text else "",
        link_text=sentences.link_text if url else "",
    )


def one_line(text: str, limit: int = MAX_SUBJECT) -> str:
    """Return the text as one line without control characters, cut at ``limit``."""
    line = " ".join(_CONTROL.sub(" ", text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def header_text(text: str) -> str:
    """Return the text for a header.

    Encoded words are broken up, because the library would decode them, including line breaks.
    """
    return one_line(text).replace("=?", "= ?")


def is_address(text: str) -> bool:
    """True for an address of the form name@host without characters that need quotes."""
    return _ADDRESS.fullmatch(text) is not None


def mailbox(name: str, address: str) -> Address:
    """Return a mailbox for a header. Raises ValueError for an address that no header can hold."""
    if not is_address(address):
        raise ValueError("the address is not one of the form name@host")
    try:
        return Address(header_text(name), addr_spec=address)
    except (MessageError, IndexError) as error:
        raise ValueError(str(error)) from error


def message_of(
    content: Content,
    recipient: MailRecipient,
    settings: Settings,
    *,
    mail_id: str,
    at: datetime,
    links: Links = Links(),  # noqa: B008 - immutable
    reply_to: str = "",
) -> EmailMessage:
    """Return the message with this content. ``reply_to`` is a signed address, or empty.

    Raises ValueError for an address that no header can hold.
    """
    host = host_of(settings)
    subject = header_text(content.subject)
    values = {
        "subject": subject,
        "lead": one_line(content.lead, 2 * MAX_SUBJECT),
        "body": _clean(content.body),
        "facts": [(name, one_line(value, 1000)) for name, value in content.facts],
        "entries": [
            Entry(one_line(one.title), one_line(one.lead, 2 * MAX_SUBJECT), one_line(one.url, 2000))
            for one in content.entries
        ],
        "link_url": one_line(content.link_url, 2000),
        "link_text": content.link_text,
        "reason": content.reason,
        "full_name": one_line(content.thread.full_name) if content.thread else "",
        "preferences_url": links.preferences,
        "unsubscribe_url": links.unsubscribe,
        "takes_replies": bool(reply_to),
    }
    message = EmailMessage(policy=SMTP)
    message["Subject"] = subject
    message["From"] = mailbox(settings.site_name, sender_of(settings))
    message["To"] = mailbox(recipient.name or recipient.login, recipient.address)
    if reply_to:
        message["Reply-To"] = mailbox(settings.site_name, reply_to)
    message["Date"] = format_datetime(at)
    message["Message-ID"] = f"<{mail_id}@{host}>"
    message["Auto-Submitted"] = "auto-generated"
    if content.thread is not None:
        owner, _, name = content.thread.full_name.partition("/")
        root = f"<{_token(content.thread.full_name)}-{_token(content.thread.name)}@{host}>"
        message["In-Reply-To"] = root
        message["References"] = root
        message["List-ID"] = f"<{_token(name)}.{_token(owner)}.{host}>"
    if links.unsubscribe:
        message["List-Unsubscribe"] = f"<{links.unsubscribe}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(_template("mail.txt").render(values))
    message.add_alternative(_template("mail.html").render(values), subtype="html")
    return message


def host_of(settings: Settings) -> str:
    """Return the host of this site, for the ids of mails."""
    return urlsplit(settings.public_url).hostname or "localhost"


def sender_of(settings: Settings) -> str:
    return settings.sender or f"noreply@{host_of(settings)}"


def unsubscribe_page(*, is_done: bool) -> str:
    """Return the page of the link to unsubscribe, as HTML."""
    return _template("unsubscribe.html").render(is_done=is_done)


def _clean(text: str) -> str:
    clipped = text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "\n…"
    return _CONTROL.sub(" ", clipped.replace("\r\n", "\n").replace("\r", "\n"))


def _token(text: str) -> str:
    """Return the text as a part of an identifier in a header."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)


@cache
def _template(name: str) -> jinja2.Template:
    loader = jinja2.PackageLoader("ingot_mail.composition")
    environment = jinja2.Environment(
        loader=loader,
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(name)
