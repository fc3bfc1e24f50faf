"""Incoming mails: a reply becomes a comment of its sender, once; everything else changes nothing."""

import asyncio
import base64
from datetime import timedelta
from email.message import EmailMessage

import pytest

from ingot_chassis.clock import now
from ingot_mail.replies.jobs import receiving
from ingot_mail.replies.jobs.receiving import EMPTY, EXPIRED, MOST_PER_HOUR, TOO_LONG, UNCONFIRMED
from ingot_mail.replies.rules.reading import read_text
from ingot_testing.non_empty import non_empty

from ..world import REPLY_KEY

BOB = "bob@example.org"


def mail(to, body="I agree.\n", *, sender=BOB, message_id="<1@laptop>", **headers):
    """A mail as a mail server delivers it. Names of headers have _ for -."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = f"Bob <{sender}>", to, "Re: A title"
    if message_id:
        message["Message-ID"] = message_id
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(body)
    return message.as_bytes()


async def post(world, content, *, key=REPLY_KEY):
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return await world.client.post("/mail/replies", content=content, headers=headers)


async def outcome(world, content):
    answer = await post(world, content)
    assert answer.status_code == 200, answer.text
    return answer.json()["outcome"], answer.json()["reason"]


def address_of(world, account_id=2, issue_id=100, *, at=None):
    world.add_issue(issue_id)
    return world.addresses.sign(account_id, issue_id, at or now())


def comments(world):
    return [tuple(one) for one in world.issues.replies.values()]


async def test_a_notification_takes_a_reply(world, mailbox):
    world.add_issue()
    await world.notify((2, "participating"))
    await world.worker.step()
    (sent,) = mailbox.messages
    assert "Reply to this mail to write a comment." in sent.get_body(("plain",)).get_content()
    content = mail(sent["Reply-To"], "I agree.\n\nOn 2026-11-29 at 10:00 Ingot wrote:\n> A text\n")
    assert await outcome(world, content) == ("stored", "")
    assert comments(world) == [(100, 2, "I agree.")]


async def test_a_message_that_comes_again_is_one_comment(world):
    content = mail(address_of(world))
    assert await outcome(world, content) == await outcome(world, content) == ("stored", "")
    assert len(comments(world)) == 1


async def test_a_message_that_comes_twice_at_once_is_one_comment(world):
    content = mail(address_of(world))
    answers = await asyncio.gather(*(outcome(world, content) for _ in range(5)))
    assert set(answers) == {("stored", "")}
    assert len(comments(world)) == 1


async def test_a_message_without_an_id_is_one_comment(world):
    content = mail(address_of(world), message_id="")
    await outcome(world, content)
    await outcome(world, content)
    assert len(comments(world)) == 1


async def test_two_replies_to_one_mail_are_two_comments(world):
    to = address_of(world)
    await outcome(world, mail(to))
    await outcome(world, mail(to, "And more.\n", message_id="<2@laptop>"))
    assert [body for _, _, body in comments(world)] == ["I agree.", "And more."]


async def test_the_message_id_of_another_person_does_not_hide_a_reply(world):
    await outcome(world, mail(address_of(world, 1), sender="ann@example.org"))
    await outcome(world, mail(address_of(world, 2)))
    assert [author for _, author, _ in comments(world)] == [1, 2]


async def test_a_lost_answer_of_issues_makes_the_server_try_again_and_stores_one_comment(world):
    content = mail(address_of(world))
    world.issues.loses_answers = True
    assert (await post(world, content)).status_code == 503
    world.issues.loses_answers = False
    assert await outcome(world, content) == ("stored", "")
    assert len(comments(world)) == 1


@pytest.mark.parametrize("owner", ["identity", "issues"])
async def test_a_reply_waits_while_a_service_does_not_answer(world, owner):
    content = mail(address_of(world))
    getattr(world, owner).unavailable = True
    assert (await post(world, content)).status_code == 503
    getattr(world, owner).unavailable = False
    assert await outcome(world, content) == ("stored", "")


@pytest.mark.parametrize(
    "header", ["Delivered_To", "X_Original_To", "Envelope_To", "Cc"], ids=lambda name: name.replace("_", "-")
)
async def test_the_signed_address_is_found_in_other_headers(world, header):
    content = mail("team@example.org", **{header: address_of(world)})
    assert await outcome(world, content) == ("stored", "")


async def test_an_address_in_other_letter_cases_is_the_same(world):
    to = address_of(world)
    assert await outcome(world, mail(to.upper())) == ("stored", "")
    assert await outcome(world, mail(to.lower(), message_id="<2@laptop>")) == ("stored", "")


async def test_a_forged_address_is_ignored(world):
    to = address_of(world)
    token = to.partition("+")[2].partition("@")[0]
    for place in range(0, len(token), 5):
        other = "a" if token[place] != "a" else "b"
        forged = to.replace(token, token[:place] + other + token[place + 1 :])
        assert (await outcome(world, mail(forged)))[0] == "ignored"
    assert comments(world) == []


async def test_an_address_that_another_site_signed_is_ignored(world, settings):
    to = address_of(world)
    world.addresses._key = b"another key"
    forged = address_of(world)
    assert forged != to
    assert (await outcome(world, mail(forged)))[0] == "ignored"


async def test_the_address_of_another_person_is_refused(world, mailbox):
    assert await outcome(world, mail(address_of(world, 1))) == ("refused", UNCONFIRMED)
    assert comments(world) == []


async def test_a_sender_whose_address_is_not_confirmed_is_refused(world, mailbox):
    content = mail(address_of(world), sender="bob@elsewhere.example")
    assert await outcome(world, content) == ("refused", UNCONFIRMED)
    await world.worker.step()
    # The person of the signed address hears of it; the sender, who may be anybody, does not.
    assert [recipient for recipient, _ in mailbox.taken] == [BOB]


async def test_several_senders_are_refused(world):
    content = mail(address_of(world)).replace(b"From: ", b"From: ann@example.org, ")
    assert await outcome(world, content) == ("refused", UNCONFIRMED)


async def test_an_expired_address_is_refused(world):
    to = address_of(world, at=now() - timedelta(days=92))
    assert await outcome(world, mail(to)) == ("refused", EXPIRED)
    assert comments(world) == []


async def test_an_address_is_valid_for_ninety_days(world):
    to = address_of(world, at=now() - timedelta(days=89))
    assert await outcome(world, mail(to)) == ("stored", "")


async def test_a_reply_without_text_of_its_own_is_refused(world):
    content = mail(address_of(world), "On 2026-11-29 at 10:00 Ingot wrote:\n> A text\n")
    assert await outcome(world, content) == ("refused", EMPTY)


async def test_a_reply_that_is_too_long_is_refused(world):
    content = mail(address_of(world), "long line\n" * 7000)
    assert await outcome(world, content) == ("refused", TOO_LONG)


@pytest.mark.parametrize("message", ["the conversation is locked", "the repository is archived"])
async def test_a_refusal_of_issues_is_mailed_with_its_reason_once(world, mailbox, message):
    content = mail(address_of(world))
    world.issues.refusals[100] = 403, message
    assert await outcome(world, content) == await outcome(world, content) == ("refused", message)
    await world.worker.step()
    (sent,) = mailbox.messages
    assert message in sent.get_body(("plain",)).get_content()
    assert sent["Reply-To"] is None
    assert sent["Auto-Submitted"] == "auto-generated"


async def test_who_may_not_read_the_issue_gets_no_mail(world, mailbox):
    content = mail(address_of(world))
    world.issues.hidden.add((100, 2))
    assert (await outcome(world, content))[0] == "refused"
    assert await world.worker.step() == 0
    assert mailbox.taken == []


async def test_who_lost_access_gets_no_mail_about_an_empty_reply_either(world, mailbox):
    content = mail(address_of(world), "> A text\n")
    world.issues.hidden.add((100, 2))
    assert await outcome(world, content) == ("refused", EMPTY)
    await world.worker.step()
    assert mailbox.taken == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Auto_Submitted": "auto-replied"},
        {"Auto_Submitted": "Auto-Generated; owner-email=x"},
        {"Precedence": "bulk"},
        {"Precedence": "auto_reply"},
        {"X_Autoreply": "yes"},
        {"List_Id": "<list.example.org>"},
        {"Return_Path": "<>"},
    ],
    ids=repr,
)
async def test_mails_of_programs_are_ignored(world, mailbox, headers):
    assert (await outcome(world, mail(address_of(world), **headers)))[0] == "ignored"
    assert (comments(world), await world.rows()) == ([], [])


async def test_a_mail_that_says_that_a_person_wrote_it_is_taken(world):
    content = mail(address_of(world), Auto_Submitted="no", Return_Path=f"<{BOB}>")
    assert await outcome(world, content) == ("stored", "")


async def test_own_mails_are_ignored(world, mailbox):
    world.add_issue()
    await world.notify((2, "participating"))
    await world.worker.step()
    ((_, sent),) = mailbox.taken
    to = address_of(world)
    assert (await outcome(world, sent + b""))[0] == "ignored"
    assert (await outcome(world, mail(to, sender="noreply@forge.test"))) == ("ignored", "this site sent it")
    assert (await outcome(world, mail(to, sender=to))) == ("ignored", "this site sent it")


async def test_a_person_cannot_send_without_end(world):
    to = address_of(world)
    for number in range(MOST_PER_HOUR):
        await outcome(world, mail(to, message_id=f"<{number}@laptop>"))
    # The mail server keeps it, and tries again.
    assert (await post(world, mail(to, message_id="<more@laptop>"))).status_code == 429
    assert len(comments(world)) == MOST_PER_HOUR
    assert await outcome(world, mail(to, message_id="<0@laptop>")) == ("stored", "")
    assert (await outcome(world, mail(address_of(world, 1), sender="ann@example.org")))[0] == "stored"


async def test_unconfirmed_senders_do_not_count_and_are_mailed_once_in_an_hour(world, mailbox):
    to, other = address_of(world), address_of(world, issue_id=101)
    for number in range(MOST_PER_HOUR + 5):
        content = mail((to, other)[number % 2], sender="eve@example.org", message_id=f"<{number}@laptop>")
        assert await outcome(world, content) == ("refused", UNCONFIRMED)
    assert len(await world.rows()) == 1
    async with world.db.read() as db:
        assert len((await db.execute(world.db.metadata.tables["reply"].select())).all()) == 1
    assert await outcome(world, mail(to, message_id="<own@laptop>")) == ("stored", "")


async def test_unconfirmed_senders_are_mailed_again_after_an_hour(world, mailbox):
    to = address_of(world)
    await outcome(world, mail(to, sender="eve@example.org"))
    async with world.db.transaction() as tx:
        old = now() - timedelta(minutes=61)
        await tx.execute(world.db.metadata.tables["reply"].update().values(received_at=old))
    await outcome(world, mail(to, sender="eve@example.org", message_id="<2@laptop>"))
    assert len(await world.rows()) == 2


async def test_a_mail_that_is_too_large_is_ignored(world):
    content = mail(address_of(world), "a line\n" * 1_500_000)
    assert (await outcome(world, content))[0] == "ignored"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 1000,
        b"no header",
        b"From: \xff\xfe <\xff@x>\r\nTo: \xff\r\n\r\n\xff",
        b"Content-Type: multipart/mixed; boundary=\r\n\r\n--\r\n",
        b"Content-Type: multipart/mixed; boundary=x\r\n" * 100,
    ],
    ids=range(6),
)
async def test_malformed_mails_are_ignored(world, content):
    assert (await outcome(world, content))[0] == "ignored"


@pytest.fixture
def parsed_bodies(monkeypatch):
    """The mails whose bodies were parsed."""
    bodies = []

    def read(content):
        bodies.append(content)
        return read_text(content)

    monkeypatch.setattr(receiving, "read_text", read)
    return bodies


async def test_a_body_is_parsed_only_for_a_signed_address_and_a_confirmed_sender(world, parsed_bodies):
    to = address_of(world)
    assert (await outcome(world, mail(to.replace("reply+", "reply+aaaa"))))[0] == "ignored"
    assert (await outcome(world, mail("team@example.org")))[0] == "ignored"
    assert (await outcome(world, mail(to, sender="eve@example.org")))[0] == "refused"
    assert (await outcome(world, mail(to, Precedence="bulk")))[0] == "ignored"
    assert parsed_bodies == []
    assert (await outcome(world, mail(to, message_id="<2@laptop>")))[0] == "stored"
    assert len(parsed_bodies) == 1


async def test_one_mail_is_parsed_at_a_time(world, monkeypatch):
    at_once, most = [], []

    def read(content):
        at_once.append(content)
        most.append(len(at_once))
        text = read_text(content)
        at_once.remove(content)
        return text

    monkeypatch.setattr(receiving, "read_text", read)
    to = address_of(world)
    mails = [mail(to, "a line\n" * 5000, message_id=f"<{number}@laptop>") for number in range(8)]
    answers = await asyncio.gather(*(outcome(world, content) for content in mails))
    assert (set(answers), most) == ({("stored", "")}, [1] * 8)


async def test_a_mail_whose_header_is_too_long_is_ignored(world):
    content = mail(address_of(world))
    assert (await outcome(world, b"X: y\r\n" * 20_000 + content))[0] == "ignored"


async def test_a_reply_with_too_many_parts_is_refused(world):
    part = b"Content-Type: multipart/mixed; boundary*0=b\r\n\r\n--b\r\n"
    header = f"From: {BOB}\r\nTo: {address_of(world)}\r\n".encode()
    assert (await outcome(world, header + part * 60))[0] == "refused"
    assert comments(world) == []


@pytest.mark.parametrize("letter", ["\u017f", "\u0131", "\u0130", "\u212a"])
async def test_letters_that_only_look_like_those_of_a_token_are_none(world, letter):
    to = f"reply+{letter * 48}@example.org"
    content = f"From: {BOB}\r\nTo: {to}\r\nDelivered-To: {to}\r\n\r\nI agree.".encode()
    assert (await outcome(world, content))[0] == "ignored"
    assert world.addresses.find([to]) is None


async def test_a_body_that_decodes_to_surrogates_is_stored_without_them(world):
    header = f"From: {BOB}\r\nTo: {address_of(world)}\r\nContent-Type: text/plain; charset=utf-7\r\n\r\n"
    assert await outcome(world, header.encode() + b"hi +2AA- there\r\n") == ("stored", "")
    assert [body for _, _, body in comments(world)] == ["hi  there"]


async def test_a_message_id_that_is_no_text_is_one_comment(world):
    content = mail(address_of(world)).replace(b"<1@laptop>", b"<\xff\xfe@laptop>")
    assert await outcome(world, content) == await outcome(world, content) == ("stored", "")
    assert len(comments(world)) == 1


async def test_a_mail_that_raises_an_unexpected_error_does_not_come_again(world, monkeypatch):
    def read(content):
        raise ZeroDivisionError

    monkeypatch.setattr(receiving, "read_text", read)
    assert (await outcome(world, mail(address_of(world))))[0] == "ignored"


@pytest.mark.parametrize("status", [400, 401, 403, 405, 409, 413, 418, 422, 451])
async def test_a_4xx_of_issues_is_a_refusal(world, status):
    content = mail(address_of(world))
    world.issues.refusals[100] = status, "a reason"
    assert await outcome(world, content) == ("refused", "a reason")


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_issues_can_ask_for_a_later_try(world, status):
    content = mail(address_of(world))
    world.issues.refusals[100] = status, "later"
    assert (await post(world, content)).status_code == (429 if status == 429 else 503)
    del world.issues.refusals[100]
    assert await outcome(world, content) == ("stored", "")


@pytest.mark.parametrize("key", ["", "wrong", REPLY_KEY + "x"])
async def test_only_the_mail_server_posts(world, key):
    answer = await post(world, mail(address_of(world)), key=key)
    assert (answer.status_code, comments(world)) == (401, [])


async def test_the_texts_of_replies_are_not_kept(world):
    await outcome(world, mail(address_of(world), "the secret plan\n"))
    async with world.db.read() as db:
        rows = (await db.execute(world.db.metadata.tables["reply"].select())).all()
    assert len(rows) == 1
    assert "secret" not in repr(rows)


async def test_a_reply_address_in_the_text_is_not_published(world):
    to = address_of(world)
    await outcome(world, mail(to, f"Mail me at {to.upper()}, please.\n"))
    assert [body for _, _, body in comments(world)] == ["Mail me at …, please."]


def spellings(address):
    """An address as mail programs and people write it."""
    token = address.partition("+")[2].partition("@")[0]
    for place in (1, 20, 47):
        for between in ("\n> ", "=\n", "\r\n>> > ", "  \n", "\u200b", "\u00ad"):
            yield address.replace(token, token[:place] + between + token[place:])
    yield address.replace("+", "%2B")
    yield address.replace("@", "%40")
    yield token
    yield token.upper()
    for before in ("a", "ab", "abcdefg", "abcdefgh" * 50 + "abc"):
        yield before + token + "zz"
    yield f"{token}{token}"


def test_a_token_is_removed_wherever_it_stands(world):
    address = address_of(world)
    token = address.partition("+")[2].partition("@")[0]
    for spelled in non_empty(spellings(address)):
        text = world.addresses.removed_from(f"Look: <{spelled}>.")
        assert (text[:7], text[-2:]) == ("Look: <", ">.")
        letters = "".join(one for one in text.lower() if one.isascii() and one.isalnum())
        assert "…" in text
        assert not any(token[place : place + 4] in letters for place in range(44))


@pytest.mark.parametrize(
    "text",
    ["word " * 13_000, "a" * 65_536, "> a\n" * 16_000, "A sentence.\n\n> With a quote.", ""],
    ids=range(5),
)
def test_texts_without_a_token_stay(world, text):
    assert world.addresses.removed_from(text) == text


def test_characters_are_decoded_a_bounded_number_of_times(world, monkeypatch):
    decoded = []
    decode = base64.b32decode

    def count(text):
        decoded.append(len(text))
        return decode(text)

    monkeypatch.setattr(base64, "b32decode", count)
    world.addresses.removed_from("a" * 65_536)
    assert sum(decoded) <= 8 * 65_536


def test_a_forged_token_is_no_secret_and_stays(world):
    token = address_of(world).partition("+")[2].partition("@")[0]
    forged = ("b" if token[0] == "a" else "a") + token[1:]
    assert world.addresses.removed_from(f"> {forged}") == f"> {forged}"
