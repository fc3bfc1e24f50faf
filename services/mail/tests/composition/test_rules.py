"""Headers and texts of mails, also of hostile input."""

import re
from datetime import UTC, datetime
from email import message_from_bytes, policy

import msgspec
import pytest
from cryptography.fernet import Fernet

from ingot_contracts.identity.messages import FIELDS, MailRecipient, Message
from ingot_contracts.issues.notices import IssueNotice, NoticeSource
from ingot_mail.composition.rules import Links, Release, message_of, of_issue, of_message, of_release
from ingot_mail.settings import Settings

AT = datetime(2026, 3, 4, tzinfo=UTC)
SETTINGS = Settings(public_url="https://forge.test/", sealing_key=Fernet.generate_key().decode())
BOB = MailRecipient(address="bob@example.org", login="bob")
HOSTILE = [
    "a\r\nBcc: eve@example.org",
    "a\nBcc: eve@example.org",
    "a\rBcc: eve@example.org",
    "a\u2028Bcc: eve@example.org",
    "a\x85Bcc: eve@example.org",
    "a\r\n\r\n<script>alert(1)</script>",
    "=?utf-8?q?a=0D=0ABcc:_eve=40example.org?=",
    "\x00\x01\x1b[31m",
    "",
    "x" * 5000,
    "\ud7ff😀" * 300,
]


def notice(**fields):
    values = {
        "repository_id": 7,
        "full_name": "ann/app",
        "number": 12,
        "title": "A title",
        "is_pull": False,
        "state": "open",
        "url": "https://forge.test/ann/app/issues/12",
        "actor": "ann",
        "text": "A text",
    }
    return IssueNotice(**values | fields)


def sent(content, recipient=BOB, links=Links()):  # noqa: B008 - immutable
    message = message_of(content, recipient, SETTINGS, mail_id="id", at=AT, links=links)
    return message_from_bytes(message.as_bytes(), policy=policy.default)


def test_a_notice_has_the_headers_of_its_thread():
    links = Links("https://forge.test/user/settings/mail", "https://forge.test/mail/unsubscribe/x")
    message = sent(of_issue(notice(), NoticeSource(comment_id=5), "mentioned"), links=links)
    assert message["Subject"] == "[ann/app] A title (#12)"
    assert message["Message-ID"] == "<id@forge.test>"
    assert message["References"] == message["In-Reply-To"] == "<ann-app-issues-12@forge.test>"
    assert message["List-ID"] == "<app.ann.forge.test>"
    assert message["List-Unsubscribe"] == "<https://forge.test/mail/unsubscribe/x>"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert message["Auto-Submitted"] == "auto-generated"
    text = message.get_body(("plain",)).get_content()
    assert text.index("A text") < text.index("because you were mentioned")


@pytest.mark.parametrize("text", HOSTILE, ids=repr)
@pytest.mark.parametrize("field", ["title", "actor", "text", "full_name"])
def test_hostile_texts_add_no_header(field, text):
    message = sent(of_issue(notice(**{field: text}), NoticeSource(comment_id=5), "watching"))
    assert message["Bcc"] is None
    assert message["To"] == "bob@example.org" or message["To"].addresses[0].addr_spec == "bob@example.org"
    names = [name.lower() for name in message]
    assert len(names) == len(set(names))


ENCODED = [
    "=?utf-8?q?a=0D=0ABcc:_eve=40example.org?=",
    "=?UTF-8?Q?=0D=0A=0D=0Abody?=",
    "=?utf-8?b?DQpCY2M6IGV2ZUBleGFtcGxlLm9yZw==?=",
    "=?utf-8?q?a=0D?= =?utf-8?q?=0ABcc:_eve=40example.org?=",
    "==??utf-8?q?=0D=0ABcc:_eve=40example.org?=",
    "=\x00?utf-8?q?=0D=0ABcc:_eve=40example.org?=",
    "=?utf-8*en?q?=0D=0ABcc:_eve=40example.org?=",
    "é" * 30 + "=?utf-8?q?=0D=0ABcc:_eve=40example.org?=",
]
"""Encoded words that hide a line break, of which the library for headers would make one."""
NAMES = {
    "subject", "from", "to", "date", "message-id", "auto-submitted", "in-reply-to", "references", "list-id",
    "mime-version", "content-type",
}  # fmt: skip


@pytest.mark.parametrize("text", ENCODED, ids=repr)
@pytest.mark.parametrize("field", ["title", "full_name", "recipient", "release", "inviter", "site"])
def test_encoded_words_add_no_header(field, text):
    content, recipient, settings = of_issue(notice(), NoticeSource(), "watching"), BOB, SETTINGS
    match field:
        case "title" | "full_name":
            content = of_issue(notice(**{field: text}), NoticeSource(), "watching")
        case "recipient":
            recipient = MailRecipient(address="bob@example.org", login="bob", name=text)
        case "release":
            fields = {"full_name": "ann/app", "tag": text, "name": text, "author": text, "text": text}
            content = of_release(Release(**fields, url="https://forge.test/"))
        case "inviter":
            fields = {"url": "https://forge.test/", "expires": "", "inviter": text, "target": text}
            message = Message(kind="invitation", address="e@example.org", fields=fields)
            content = of_message(message, text)
        case "site":
            settings = msgspec.structs.replace(SETTINGS, site_name=text)
    data = message_of(content, recipient, settings, mail_id="id", at=AT).as_bytes()
    head = data.partition(b"\r\n\r\n")[0].decode("ascii")
    lines = re.sub(r"\r\n[ \t]", " ", head).split("\r\n")
    assert {line.partition(":")[0].lower() for line in lines} <= NAMES
    parsed = message_from_bytes(data, policy=policy.default)
    assert [one.addr_spec for one in parsed["To"].addresses] == ["bob@example.org"]
    for name, value in parsed.items():
        assert not re.search(r"[\r\n]", value), name


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
def test_hostile_names_add_no_recipient(name):
    recipient = MailRecipient(address="bob@example.org", login="bob", name=name)
    message = sent(of_issue(notice(), NoticeSource(), "watching"), recipient)
    assert [one.addr_spec for one in message["To"].addresses] == ["bob@example.org"]
    assert message["Bcc"] is None


@pytest.mark.parametrize(
    "address", ["a b@example.org", "a@b\r\nBcc: c@d", "a@b, c@d", "", "@", "a@", "<a@b>"]
)
def test_an_address_that_no_header_holds_is_refused(address):
    recipient = MailRecipient(address=address, login="bob")
    with pytest.raises(ValueError, match="the address"):
        sent(of_issue(notice(), NoticeSource(), "watching"), recipient)


def test_html_is_escaped_and_fetches_nothing():
    hostile = '<img src="https://evil.test/x.png"><script>alert(1)</script>'
    message = sent(of_issue(notice(title=hostile, text=hostile), NoticeSource(comment_id=5), "watching"))
    page = message.get_body(("html",)).get_content()
    assert "<img" not in page
    assert "<script" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize("kind", FIELDS)
def test_every_kind_of_message_shows_its_fields(kind):
    fields = {name: f"value-of-{name}" for name in FIELDS[kind]}
    content = of_message(Message(kind=kind, address="eve@example.org", fields=fields), "Ingot")
    message = sent(content, MailRecipient(address="eve@example.org", login=""))
    text = f"{message['Subject']} {message.get_body(('plain',)).get_content()}"
    for value in fields.values():
        assert value in text


def test_a_field_cannot_read_others():
    fields = {"url": "https://forge.test/x", "expires": "", "inviter": "{site.__class__}", "target": "{url}"}
    content = of_message(Message(kind="invitation", address="e@example.org", fields=fields), "Ingot")
    assert "{url}" in content.subject
    assert "{site.__class__}" in content.lead


def test_a_kind_of_a_later_release_has_no_content():
    assert of_message(Message(kind="later", address="e@example.org"), "Ingot") is None
