"""Addresses that their owners confirm by the link of a mail, and attempts to confirm those of others."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from ingot_chassis.clock import now
from ingot_identity.emails import store as emails
from ingot_identity.messages.rules import PER_ACCOUNT, PER_ADDRESS
from ingot_identity.messages.store import message

from ..applications import Person, forms

CONFIRM = "/user/confirm_address"


async def add(world, address, as_="ann"):
    return await world.call("POST", "/user/emails", {"emails": [address]}, as_=as_)


async def verified(world, as_="ann"):
    listed = (await world.call("GET", "/user/emails", as_=as_)).json()
    return {one["email"]: one["verified"] for one in listed}


async def signed_in(world, name):
    person = Person(world, name)
    await person.sign_in(await person.get("/login"))
    return person


async def form_of(person, path):
    """The fields of the form behind a link."""
    return forms((await person.http.get(path)).text)[0][1]


async def test_an_address_is_confirmed_by_the_link_of_its_mail(mailing, mailbox):
    ann = await mailing.add_user("ann")
    await add(mailing, "Ann@Work.example")
    (mail,) = await mailbox.all()
    assert (mail["kind"], mail["address"], mail["user_id"]) == (
        "address_confirmation",
        "ann@work.example",
        ann,
    )
    person = await signed_in(mailing, "ann")
    page = await person.get(await mailbox.link("ann@work.example"))
    assert "ann@work.example" in page.text
    assert await verified(mailing) == {"ann@example.com": True, "Ann@Work.example": False}
    answer = await person.http.post(CONFIRM, data=forms(page.text)[0][1])
    assert answer.headers["location"] == "/user/settings/emails"
    assert await verified(mailing) == {"ann@example.com": True, "Ann@Work.example": True}
    assert await mailbox.all() == []


async def test_the_primary_address_is_confirmed_in_its_place(mailing, mailbox):
    """It was claimed with mail, added and chosen without mail, and then confirmed by the old link."""
    ann = await mailing.add_user("ann")
    await add(mailing, "ann@work.example")
    async with mailing.database.transaction() as tx:
        await emails.add(tx, ann, {"ann@work.example": "ann@work.example"}, is_primary=False, confirmed=False)
        await emails.mark_primary(tx, ann, "ann@work.example")
    person = await signed_in(mailing, "ann")
    form = await form_of(person, await mailbox.link("ann@work.example"))
    assert (await person.http.post(CONFIRM, data=form)).status_code == 303
    listed = (await mailing.call("GET", "/user/emails", as_="ann")).json()
    assert [(one["email"], one["primary"], one["verified"]) for one in listed] == [
        ("ann@work.example", True, True),
        ("ann@example.com", False, True),
    ]


async def test_a_link_works_once(mailing, mailbox):
    await mailing.add_user("ann")
    await add(mailing, "ann@work.example")
    person = await signed_in(mailing, "ann")
    link = await mailbox.link("ann@work.example")
    form = await form_of(person, link)
    assert (await person.http.post(CONFIRM, data=form)).status_code == 303
    assert (await person.http.post(CONFIRM, data=form)).status_code == 404
    assert (await person.http.get(link)).status_code == 404


async def test_a_link_expires_after_a_day(mailing, mailbox):
    await mailing.add_user("ann")
    await add(mailing, "ann@work.example")
    person = await signed_in(mailing, "ann")
    link = await mailbox.link("ann@work.example")
    form = await form_of(person, link)
    async with mailing.database.transaction() as tx:
        (expires_at,) = (await tx.execute(select(message.c.expires_at))).scalars()
        assert timedelta(hours=23) < expires_at - now() <= timedelta(days=1)
        await tx.execute(update(message).values(expires_at=now()))
    assert (await person.http.post(CONFIRM, data=form)).status_code == 404
    assert await mailbox.all() == []
    assert not (await verified(mailing))["ann@work.example"]


async def test_another_account_cannot_use_a_link_nor_use_it_up(mailing, mailbox):
    for name in ("ann", "eve"):
        await mailing.add_user(name)
    await add(mailing, "ann@work.example")
    eve, link = await signed_in(mailing, "eve"), await mailbox.link("ann@work.example")
    page = await eve.http.get(link)
    assert (page.status_code, "ann@work.example" in page.text) == (404, False)
    await add(mailing, "eve@work.example", as_="eve")
    own = await form_of(eve, await mailbox.link("eve@work.example"))
    stolen = own | {"code": await mailbox.code("ann@work.example")}
    assert (await eve.http.post(CONFIRM, data=stolen)).status_code == 404
    ann = await signed_in(mailing, "ann")
    assert (await ann.http.post(CONFIRM, data=await form_of(ann, link))).status_code == 303


async def test_a_claim_that_moved_to_another_account_is_not_confirmed_by_an_old_link(mailing, mailbox):
    """eve asked for it first; then the owner of the mailbox has it."""
    for name in ("ann", "eve"):
        await mailing.add_user(name)
    await add(mailing, "ann@work.example", as_="eve")
    eve = await signed_in(mailing, "eve")
    form = await form_of(eve, await mailbox.link("ann@work.example"))
    await mailing.call("DELETE", "/user/emails", {"emails": ["ann@work.example"]}, as_="eve")
    assert await mailbox.all() == []
    await add(mailing, "ann@work.example")
    assert (await eve.http.post(CONFIRM, data=form)).status_code == 404
    assert not (await verified(mailing))["ann@work.example"]


async def test_other_sites_cannot_send_the_form(mailing, mailbox):
    await mailing.add_user("ann")
    await add(mailing, "ann@work.example")
    person = await signed_in(mailing, "ann")
    form = await form_of(person, await mailbox.link("ann@work.example"))
    for token in ("", "x.y", form["token"] + "0"):
        assert (await person.http.post(CONFIRM, data=form | {"token": token})).status_code == 403
    stranger = Person(mailing, "sam")
    assert (await stranger.http.post(CONFIRM, data=form)).status_code == 403
    assert not (await verified(mailing))["ann@work.example"]


async def test_without_a_session_the_link_leads_to_the_sign_in_and_back(mailing, mailbox):
    await mailing.add_user("ann")
    await add(mailing, "ann@work.example")
    person, link = Person(mailing, "ann"), await mailbox.link("ann@work.example")
    page = await person.sign_in(await person.get(link))
    assert "Confirm address" in page.text


@pytest.mark.parametrize("code", ["", "x", "%00", "%ff", "https://evil.example/", "a" * 5_000])
async def test_a_guessed_code_is_refused(mailing, code):
    await mailing.add_user("ann")
    person = await signed_in(mailing, "ann")
    assert (await person.http.get(f"{CONFIRM}?code={code}")).status_code in (404, 422)


async def test_a_mail_is_sent_again_to_an_address_that_is_not_confirmed(mailing, mailbox):
    await mailing.add_user("ann")
    await add(mailing, "ann@work.example")
    assert (await add(mailing, "ann@work.example")).status_code == 201
    assert len(await mailbox.all()) == 2
    await mailing.call("POST", "/user/emails", {"emails": ["ann@example.com"]}, as_="ann")
    assert len(await mailbox.all()) == 2


async def test_an_address_gets_few_mails_an_hour(mailing, mailbox):
    await mailing.add_user("ann")
    for _ in range(PER_ADDRESS + 2):
        assert (await add(mailing, "victim@work.example")).status_code == 201
    assert len(await mailbox.all()) == PER_ADDRESS


async def test_an_account_requests_few_mails_an_hour(mailing, mailbox):
    await mailing.add_user("ann")
    addresses = [f"n{number}@work.example" for number in range(PER_ACCOUNT + 1)]
    refused = await mailing.call("POST", "/user/emails", {"emails": addresses}, as_="ann")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "3600")
    assert (await mailbox.all(), len(await verified(mailing))) == ([], 1)


async def test_only_a_confirmed_address_becomes_the_primary_one_and_the_old_one_hears_of_it(mailing, mailbox):
    await mailing.add_user("ann")
    await add(mailing, "ann@work.example")
    choice = {"email": "ann@work.example"}
    refused = await mailing.call("PATCH", "/user/emails", choice, as_="ann")
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "unconfirmed")
    person = await signed_in(mailing, "ann")
    await person.http.post(CONFIRM, data=await form_of(person, await mailbox.link("ann@work.example")))
    assert (await mailing.call("PATCH", "/user/emails", choice, as_="ann")).status_code == 200
    (note,) = await mailbox.all()
    assert (note["kind"], note["address"]) == ("address_changed", "ann@example.com")
    assert note["fields"] == {"new_address": "ann@work.example"}
    assert (await mailing.call("PATCH", "/user/emails", choice, as_="ann")).status_code == 200
    assert len(await mailbox.all()) == 1


async def test_a_user_who_may_not_sign_in_gets_no_mail(mailing, mailbox):
    await mailing.add_user("ann")
    await add(mailing, "ann@work.example")
    await mailing.call("PATCH", "/admin/users/ann", {"prohibit_login": True}, as_="root")
    assert await mailbox.all() == []


async def test_nobody_but_mail_reads_messages(mailing, mailbox):
    await mailing.add_user("ann")
    await add(mailing, "ann@work.example")
    (message_id,) = await mailbox.ids()
    assert (await mailing.get_as_peer(f"/internal/messages/{message_id}")).status_code == 404


async def test_neither_addresses_nor_secrets_are_at_rest_or_in_events(mailing, mailbox):
    await mailing.add_user("ann")
    await add(mailing, "ann@work.example")
    code = await mailbox.code("ann@work.example")
    async with mailing.database.read() as db:
        row = (await db.execute(select(message))).one()
    assert "work.example" not in repr(row)
    assert code not in repr(row)


async def test_without_mail_nothing_is_sent_and_a_claim_becomes_the_primary_address(world):
    await world.add_user("ann")
    await add(world, "ann@work.example")
    assert "identity.message.requested.v1" not in await world.emitted_types()
    choice = {"email": "ann@work.example"}
    assert (await world.call("PATCH", "/user/emails", choice, as_="ann")).status_code == 200
    assert (await add(world, "ann@work.example")).status_code == 422


async def test_an_address_of_another_account_is_answered_like_a_free_one(mailing, mailbox):
    for name in ("ann", "bob", "eve"):
        await mailing.add_user(name)
    answers, costs = [], []
    for as_, address in (("ann", "eve@example.com"), ("bob", "new@example.com")):
        with mailing.count_statements() as statements:
            answer = await add(mailing, address, as_=as_)
        costs.append(len(statements))
        *_, added = answer.json()
        answers.append((answer.status_code, added["email"] == address, added["verified"], len(answer.json())))
    assert answers == [(201, True, False, 2)] * 2
    assert costs[0] == costs[1]
    for as_, address in (("ann", "eve@example.com"), ("bob", "new@example.com")):
        assert list(await verified(mailing, as_)) == [f"{as_}@example.com", address]
        choice = await mailing.call("PATCH", "/user/emails", {"email": address}, as_=as_)
        assert choice.json()["errors"][0]["code"] == "unconfirmed"
        removed = await mailing.call("DELETE", "/user/emails", {"emails": [address]}, as_=as_)
        assert removed.status_code == 204
        assert list(await verified(mailing, as_)) == [f"{as_}@example.com"]


async def test_the_owner_of_an_address_hears_that_another_account_entered_it(mailing, mailbox):
    for name in ("ann", "eve"):
        await mailing.add_user(name)
    await add(mailing, "EVE@example.com")
    (mail,) = await mailbox.all()
    assert (mail["kind"], mail["address"], mail["fields"]) == ("address_in_use", "eve@example.com", {})
    await mailing.call("PATCH", "/admin/users/eve", {"active": False}, as_="root")
    assert await mailbox.all() == []


async def test_several_accounts_claim_an_address_and_its_reader_gets_it(mailing, mailbox):
    for name in ("ann", "eve"):
        await mailing.add_user(name)
    await add(mailing, "ann@work.example", as_="eve")
    eve = await signed_in(mailing, "eve")
    form = await form_of(eve, await mailbox.link("ann@work.example"))
    await add(mailing, "ann@work.example")
    ann = await signed_in(mailing, "ann")
    own = await form_of(ann, await mailbox.link("ann@work.example"))
    assert (await ann.http.post(CONFIRM, data=own)).status_code == 303
    assert (await eve.http.post(CONFIRM, data=form)).status_code == 404
    assert (await verified(mailing))["ann@work.example"]
    assert not (await verified(mailing, "eve"))["ann@work.example"]
