"""Forgotten passwords, and attempts to take over an account or to find out whether it exists."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from ingot_chassis.clock import now
from ingot_identity.emails.store import email
from ingot_identity.messages.rules import PER_ADDRESS
from ingot_identity.messages.store import message
from ingot_identity.recovery.components import MOST_REQUESTS
from ingot_identity.sessions.store import browser_session

from ..applications import Person, forms
from ..two_factors.test_two_factors import enrol
from ..world import PASSWORD

FORGOT, RESET = "/user/forgot_password", "/user/reset_password"
NEW = "a new correct horse"


class Forgetful(Person):
    """A browser without a session."""

    async def request(self, address, **headers):
        """The answer to the request for a link."""
        page = await self.http.get(FORGOT)
        form = forms(page.text)[0][1] | {"email": address}
        return await self.http.post(FORGOT, data=form, headers=headers)

    async def form(self, link):
        """The fields of the form behind a link, filled in."""
        page = await self.http.get(link)
        assert page.status_code == 200, page.text
        return forms(page.text)[0][1] | {"password": NEW, "repeated": NEW}

    async def reset(self, link):
        return await self.http.post(RESET, data=await self.form(link))


@pytest.fixture
async def ann(mailing):
    """A browser of ann, who has an account and has forgotten its password."""
    await mailing.add_user("ann")
    return Forgetful(mailing, "ann")


async def opens(world, name, password):
    """True if the password opens the account."""
    return bool((await world.authenticate(name=name, password=password)).json().get("user_id"))


async def session_count(world):
    async with world.database.read() as db:
        return len((await db.execute(select(browser_session.c.id))).all())


async def test_a_link_replaces_the_password_and_ends_all_sessions(mailing, mailbox, ann):
    await mailing.start_session("ann")
    assert await session_count(mailing) == 1
    assert (await ann.request("ANN@example.com")).status_code == 200
    (mail,) = await mailbox.all()
    assert (mail["kind"], mail["address"]) == ("password_reset", "ann@example.com")
    answer = await ann.reset(await mailbox.link("ann@example.com"))
    assert answer.headers["location"] == "/login"
    assert "set-cookie" not in answer.headers
    assert (await opens(mailing, "ann", PASSWORD), await opens(mailing, "ann", NEW)) == (False, True)
    assert "identity.credentials.revoked.v1" in await mailing.emitted_types()
    assert await session_count(mailing) == 0


async def test_a_link_works_once_and_ends_the_others_of_the_address(mailing, mailbox, ann):
    for _ in range(2):
        await ann.request("ann@example.com")
    messages = await mailbox.all()
    links = [one["fields"]["url"].removeprefix("http://127.0.0.1:3000") for one in messages]
    bodies = [await ann.form(link) for link in links]
    assert (await ann.http.post(RESET, data=bodies[0])).status_code == 303
    for body in bodies:
        assert (
            await ann.http.post(RESET, data=body | {"password": "x" * 9, "repeated": "x" * 9})
        ).status_code == 404
    assert await opens(mailing, "ann", NEW)


async def test_a_link_expires_after_an_hour(mailing, mailbox, ann):
    await ann.request("ann@example.com")
    form = await ann.form(await mailbox.link("ann@example.com"))
    async with mailing.database.transaction() as tx:
        (expires_at,) = (await tx.execute(select(message.c.expires_at))).scalars()
        assert timedelta(minutes=59) < expires_at - now() <= timedelta(hours=1)
        await tx.execute(update(message).values(expires_at=now()))
    assert (await ann.http.post(RESET, data=form)).status_code == 404
    assert await opens(mailing, "ann", PASSWORD)


async def test_a_link_ends_when_the_password_changes(mailing, mailbox, ann):
    await ann.request("ann@example.com")
    form = await ann.form(await mailbox.link("ann@example.com"))
    await mailing.call("PATCH", "/admin/users/ann", {"password": "set by root"}, as_="root")
    assert (await ann.http.post(RESET, data=form)).status_code == 404
    assert await opens(mailing, "ann", "set by root")


async def test_a_link_ends_when_the_address_moves_to_another_account(mailing, mailbox, ann):
    await mailing.add_user("bob")
    await ann.request("ann@example.com")
    form = await ann.form(await mailbox.link("ann@example.com"))
    await mailing.call("PATCH", "/admin/users/ann", {"email": "other@example.com"}, as_="root")
    await mailing.call("PATCH", "/admin/users/bob", {"email": "ann@example.com"}, as_="root")
    assert (await ann.http.post(RESET, data=form)).status_code == 404
    assert (await opens(mailing, "ann", NEW), await opens(mailing, "bob", NEW)) == (False, False)


async def test_a_link_that_was_not_mailed_yet_opens_nothing(mailing, ann):
    """Only the answer to mail binds it to an account."""
    await ann.request("ann@example.com")
    async with mailing.database.read() as db:
        (bound,) = (await db.execute(select(message.c.account_id))).scalars()
    assert bound is None


async def test_the_answer_is_the_same_for_every_address(mailing, mailbox, ann):
    await mailing.add_user("eve")
    await mailing.call("PATCH", "/admin/users/eve", {"prohibit_login": True}, as_="root")
    answers, statements = [], []
    for address in ("ann@example.com", "eve@example.com", "nobody@example.com"):
        with mailing.count_statements() as counted:
            answer = await ann.request(address)
        headers = {name: value for name, value in answer.headers.items() if name != "x-request-id"}
        answers.append((answer.status_code, answer.text, headers))
        statements.append([text for text, _ in counted])
    assert answers[0] == answers[1] == answers[2]
    assert statements[0] == statements[1] == statements[2]
    assert [one["address"] for one in await mailbox.all()] == ["ann@example.com"]


async def test_a_link_goes_to_the_address_of_the_account_and_not_to_one_that_looks_like_it(
    mailing, mailbox, ann
):
    """``K`` for kelvin is ``k`` in lower case, and some servers tell letter cases apart."""
    await mailing.add_user("mike")
    assert (await ann.request("mi\N{KELVIN SIGN}e@example.com")).status_code == 422
    await ann.request("MIKE@EXAMPLE.com")
    assert [one["address"] for one in await mailbox.all()] == ["mike@example.com"]


async def test_an_address_that_is_only_claimed_gets_no_link(mailing, mailbox, ann):
    """A claim of the address of another person opens no account."""
    await mailing.call("POST", "/user/emails", {"emails": ["claimed@example.com"]}, as_="ann")
    await ann.request("claimed@example.com")
    assert [one["kind"] for one in await mailbox.all()] == ["address_confirmation"]
    async with mailing.database.transaction() as tx:
        await tx.execute(update(email).where(email.c.is_primary).values(confirmed_at=None))
    await ann.request("ann@example.com")
    assert [one["kind"] for one in await mailbox.all()] == ["address_confirmation"]


async def test_the_password_of_a_source_is_not_replaced_but_its_owner_hears_who_manages_it(
    mailing, mailbox, ann
):
    config = {"kind": "oidc", "issuer": "https://id.example.com", "client_id": "ingot"}
    body = {"name": "corp", "title": "Corp", "secret": "s", "config": config}
    source = (await mailing.call("POST", "/admin/auths", body, as_="root")).json()["id"]
    await ann.request("ann@example.com")
    form = await ann.form(await mailbox.link("ann@example.com"))
    change = {"source_id": source, "login_name": "00u1"}
    assert (await mailing.call("PATCH", "/admin/users/ann", change, as_="root")).status_code == 200
    assert (await ann.http.post(RESET, data=form)).status_code == 404
    (mail,) = await mailbox.all()
    assert (mail["kind"], mail["fields"]) == ("password_managed", {"manager": "Corp"})


async def test_the_second_factor_stays(mailing, mailbox, ann):
    await enrol(mailing)
    await ann.request("ann@example.com")
    await ann.reset(await mailbox.link("ann@example.com"))
    page = await ann.sign_in(await ann.get("/login"), NEW)
    assert 'name="code"' in page.text
    assert not await opens(mailing, "ann", NEW)


@pytest.mark.parametrize("change", [{"prohibit_login": True}, {"active": False}])
async def test_an_account_that_may_not_sign_in_gets_no_link_and_uses_none(mailing, mailbox, ann, change):
    await ann.request("ann@example.com")
    form = await ann.form(await mailbox.link("ann@example.com"))
    await mailing.call("PATCH", "/admin/users/ann", change, as_="root")
    assert (await mailbox.all(), (await ann.http.post(RESET, data=form)).status_code) == ([], 404)


async def test_other_sites_can_send_neither_form(mailing, mailbox, ann):
    await ann.request("ann@example.com")
    form = await ann.form(await mailbox.link("ann@example.com"))
    stranger = Forgetful(mailing, "sam")
    for path, fields in ((FORGOT, {"email": "ann@example.com"}), (RESET, form)):
        for token in ("", "x.y", form["token"]):
            answer = await stranger.http.post(path, data=fields | {"token": token})
            assert answer.status_code == 403, (path, token)
    assert (len(await mailbox.all()), await opens(mailing, "ann", PASSWORD)) == (1, True)


@pytest.mark.parametrize("code", ["", "x", "%ff", "../../admin", "a" * 5_000])
async def test_a_guessed_code_is_refused(ann, code):
    assert (await ann.http.get(f"{RESET}?code={code}")).status_code in (404, 422)


async def test_a_code_for_another_purpose_is_refused(mailing, mailbox, ann):
    await mailing.call("POST", "/user/emails", {"emails": ["ann@work.example"]}, as_="ann")
    code = await mailbox.code("ann@work.example")
    assert (await ann.http.get(f"{RESET}?code={code}")).status_code == 404


@pytest.mark.parametrize(
    ("first", "second"), [("short", "short"), (NEW, "other"), ("x" * 256, "x" * 256), ("", "")]
)
async def test_a_password_that_does_not_do_leaves_the_link_valid(mailing, mailbox, ann, first, second):
    await ann.request("ann@example.com")
    form = await ann.form(await mailbox.link("ann@example.com"))
    refused = await ann.http.post(RESET, data=form | {"password": first, "repeated": second})
    assert (refused.status_code, "password" in refused.text) == (422, True)
    assert (await ann.http.post(RESET, data=form)).status_code == 303


@pytest.mark.parametrize(
    "address", ["", "nonsense", "a@b@c", "x" * 300 + "@x.io", "a@b.io\r\nBcc: c@d.io", "a\x1f@b.io"]
)
async def test_a_text_that_is_no_address_is_refused(mailbox, ann, address):
    assert (await ann.request(address)).status_code == 422
    assert await mailbox.ids() == []


async def test_an_address_gets_few_links_an_hour_and_the_answer_does_not_tell(mailbox, ann):
    answers = {(await ann.request("ann@example.com")).text for _ in range(PER_ADDRESS + 2)}
    assert (len(answers), len(await mailbox.all())) == (1, PER_ADDRESS)


async def test_a_network_requests_few_links(mailbox, ann):
    near, far = {"x-forwarded-for": "192.0.2.7"}, {"x-forwarded-for": "198.51.100.7"}
    for number in range(MOST_REQUESTS):
        assert (await ann.request(f"n{number}@example.com", **near)).status_code == 200
    refused = await ann.request("ann@example.com", **near)
    assert (refused.status_code, "retry-after" in refused.headers) == (429, True)
    assert (await ann.request("ann@example.com", **far)).status_code == 200
    assert len(await mailbox.all()) == 1


async def test_pages_lead_nowhere_else(mailbox, ann):
    await ann.request("ann@example.com")
    link = await mailbox.link("ann@example.com")
    answer = await ann.http.post(
        f"{RESET}?to=//evil.example&next=https://evil.example", data=await ann.form(link)
    )
    assert answer.headers["location"] == "/login"
    page = await ann.http.get(FORGOT)
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


async def test_without_mail_the_page_says_who_sets_passwords(world):
    person = Forgetful(world, "ann")
    page = await person.http.get(FORGOT)
    assert (page.status_code, "administrators" in page.text) == (404, True)
    assert (await person.http.post(FORGOT, data={"email": "root@localhost.localdomain"})).status_code == 404
    assert FORGOT not in (await person.http.get("/login")).text
