"""Invitations to teams, and attempts to get into one without being asked or to learn of accounts."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import select, update

from ingot_chassis.clock import now
from ingot_chassis.db.audit import list_entries
from ingot_identity.emails.store import email
from ingot_identity.invitations.rules import PER_INVITER
from ingot_identity.invitations.store import invitation
from ingot_identity.messages.store import message

from ..world import PASSWORD
from .visitors import INVITED, Visitor, invitation_of, invite, join, members

NEW = "new@work.example"


@pytest.fixture
def devs(acme):
    return acme[1]


async def test_a_stranger_is_invited_registers_by_the_link_and_joins(world, mailbox, devs):
    answer = await invite(world, "New@Work.example", team=devs)
    assert answer.status_code == 201
    shown = answer.json()
    assert (shown["email"], shown["inviter"]["login"]) == ("New@Work.example", "ann")
    (mail,) = await mailbox.all()
    assert (mail["kind"], mail["address"], mail["user_id"]) == ("invitation", "New@Work.example", 0)
    assert (mail["fields"]["inviter"], mail["fields"]["target"]) == ("ann", "the team devs of acme")
    link = urlsplit(mail["fields"]["url"])
    assert link.path == "/user/invitation"
    code = parse_qs(link.query)["code"][0]

    visitor = Visitor(world, "nora")
    answer = await visitor.register(code, "nora")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/user/invitation?code={code}")
    assert "nora" not in await members(world, devs)
    own = (await world.call("GET", "/user/emails", as_="nora")).json()
    assert [(one["email"], one["verified"], one["primary"]) for one in own] == [
        ("New@Work.example", True, True)
    ]
    assert (await join(world, code, "nora")).json()["path"] == "/acme"
    assert "nora" in await members(world, devs)
    assert (await visitor.get("/login")).text.count("nora")


async def test_a_link_is_used_once_by_one_account(world, mailbox, devs):
    await invite(world, team=devs)
    code = await mailbox.code(NEW)
    assert (await join(world, code, "sam")).status_code == 200
    await world.add_user("eve")
    assert (await join(world, code, "eve")).status_code == 404
    assert (await invitation_of(world, code)).status_code == 404
    assert (await Visitor(world, "x").form(code)).status_code == 404
    await world.call("DELETE", f"/teams/{devs}/members/sam", as_="ann")
    assert (await join(world, code, "sam")).status_code == 404
    assert await members(world, devs) == {"mia"}


async def test_a_link_makes_one_account(world, mailbox, devs):
    await invite(world, team=devs)
    code = await mailbox.code(NEW)
    assert (await Visitor(world, "one").register(code, "one")).status_code == 303
    async with world.database.transaction() as tx:
        await tx.execute(update(email).where(email.c.address == NEW).values(address="moved@x.io"))
    assert (await Visitor(world, "two").register(code, "two")).status_code == 404
    assert not (await invitation_of(world, code)).json()["may_register"]


async def test_an_anonymous_caller_joins_nothing(world, mailbox, devs):
    await invite(world, team=devs)
    code = await mailbox.code(NEW)
    assert (await join(world, code, "")).status_code == 401
    assert (await invitation_of(world, code)).status_code == 200


@pytest.mark.parametrize("what", ["role", "account", "right", "inviter"])
async def test_an_inviter_who_lost_the_right_invites_nobody(world, mailbox, devs, acme, what):
    await world.call("PUT", f"/teams/{acme[0]}/members/mia", as_="ann")
    await invite(world, team=devs, as_="mia")
    code = await mailbox.code(NEW)
    if what == "role":
        await world.call("DELETE", f"/teams/{acme[0]}/members/mia", as_="ann")
    elif what == "account":
        await world.call("PATCH", "/admin/users/mia", {"prohibit_login": True}, as_="root")
    elif what == "right":
        await world.call("DELETE", "/orgs/acme/members/mia", as_="ann")
    else:
        await world.call("DELETE", "/orgs/acme/members/mia", as_="ann")
        assert (await world.call("DELETE", "/admin/users/mia", as_="root")).status_code == 204
    status = 404 if what == "inviter" else 403
    refused, registered = await join(world, code, "sam"), await Visitor(world, "nora").register(code, "nora")
    assert (refused.status_code, registered.status_code) == (status, status)
    if status == 403:
        assert "ask for a new invitation" in refused.json()["message"]
        assert "ask for a new invitation" in registered.text
    assert "sam" not in await members(world, devs)
    assert (await world.call("GET", "/users/nora", as_="root")).status_code == 404


async def test_the_answer_and_the_mail_do_not_tell_whether_an_address_has_an_account(world, mailbox, devs):
    taken = (await invite(world, "sam@example.com", team=devs)).json()
    free = (await invite(world, "fre@example.com", team=devs)).json()
    for one in (taken, free):
        del one["id"], one["email"], one["created_at"], one["expires_at"]
    assert taken == free
    mails = await mailbox.all()
    for one in mails:
        del one["address"], one["fields"]["url"], one["fields"]["expires"]
    assert mails[0] == mails[1]
    with world.count_statements() as with_account:
        await invite(world, "mia@example.com", team=devs)
    with world.count_statements() as without:
        await invite(world, "mib@example.com", team=devs)
    assert len(with_account) == len(without)


async def test_a_withdrawn_or_expired_invitation_is_worth_nothing(world, mailbox, devs):
    path = f"/orgs/acme/teams/{devs}/invitations"
    first = (await invite(world, team=devs)).json()
    code = await mailbox.code(NEW)
    assert [one["id"] for one in (await world.call("GET", path, as_="ann")).json()] == [first["id"]]
    assert (await world.call("DELETE", f"{path}/{first['id']}", as_="ann")).status_code == 204
    assert (await world.call("DELETE", f"{path}/{first['id']}", as_="ann")).status_code == 404
    assert (await world.call("GET", path, as_="ann")).json() == []
    assert (await join(world, code, "sam")).status_code == 404
    assert await mailbox.all() == []
    await invite(world, team=devs)
    code = await mailbox.code(NEW)
    async with world.database.transaction() as tx:
        await tx.execute(update(invitation).values(expires_at=now()))
    assert (await join(world, code, "sam")).status_code == 404
    assert (await Visitor(world, "nora").form(code)).status_code == 404


async def test_a_second_invitation_ends_the_first(world, mailbox, devs):
    await invite(world, team=devs)
    old = await mailbox.code(NEW)
    await invite(world, NEW.upper(), team=devs)
    assert (await join(world, old, "sam")).status_code == 404
    assert len(await mailbox.all()) == 1
    assert len((await world.call("GET", f"/orgs/acme/teams/{devs}/invitations", as_="ann")).json()) == 1


async def test_an_invitation_goes_with_its_team(world, mailbox, devs):
    await invite(world, team=devs)
    code = await mailbox.code(NEW)
    await world.call("DELETE", f"/teams/{devs}", as_="ann")
    assert (await join(world, code, "sam")).status_code == 404
    assert await mailbox.all() == []


async def test_ids_of_another_organization_or_team_lead_to_nothing(world, devs, acme):
    await world.call("POST", "/orgs", {"username": "other"}, as_="sam")
    shown = (await invite(world, team=devs)).json()
    assert (await world.call("POST", f"/orgs/other/teams/{devs}/members", {"email": NEW}, as_="sam")
            ).status_code == 404  # fmt: skip
    assert (await world.call("POST", f"/orgs/other/teams/{devs}/members", {"email": NEW}, as_="root")
            ).status_code == 404  # fmt: skip
    foreign = f"/orgs/acme/teams/{acme[0]}/invitations/{shown['id']}"
    assert (await world.call("DELETE", foreign, as_="ann")).status_code == 404


async def test_only_owners_see_invitations(world, devs):
    await invite(world, team=devs)
    for name in ("mia", "sam"):
        answer = await world.call("GET", f"/orgs/acme/teams/{devs}/invitations", as_=name)
        assert (answer.status_code, NEW in answer.text) == (404, False)


async def test_an_inviter_has_a_limit_that_withdrawing_does_not_lift(world, devs):
    path = f"/orgs/acme/teams/{devs}/invitations"
    for number in range(PER_INVITER):
        one = (await invite(world, f"n{number}@x.io", team=devs)).json()
        await world.call("DELETE", f"{path}/{one['id']}", as_="ann")
    refused = await invite(world, team=devs)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "3600")


@pytest.mark.parametrize(
    "address", ["", "x", "a@b@c.example", "a@b.example\nBcc: c@d.example", "a b@c.example"]
)
async def test_a_bad_address_is_refused(world, mailbox, devs, address):
    answer = await invite(world, address, team=devs)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "email")
    assert await mailbox.ids() == []


async def test_an_address_that_somebody_claims_belongs_to_the_invited_person(world, mailbox, devs):
    await world.call("POST", "/user/emails", {"emails": [NEW]}, as_="sam")
    await invite(world, team=devs)
    assert (await Visitor(world, "nora").register(await mailbox.code(NEW), "nora")).status_code == 303
    verified = []
    for name in ("nora", "sam"):
        listed = (await world.call("GET", "/user/emails", as_=name)).json()
        verified += [one["verified"] for one in listed if one["email"] == NEW]
    assert verified == [True, False]


async def test_an_address_with_an_account_makes_no_second_one(world, mailbox, devs):
    await invite(world, "sam@example.com", team=devs)
    code = await mailbox.code("sam@example.com")
    answer = await Visitor(world, "sam2").register(code, "sam2")
    assert (answer.status_code, "in use" in answer.text) == (422, True)
    assert (await join(world, code, "sam")).status_code == 200


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"username": "sam"}, "taken"),
        ({"username": "<b>"}, "letters"),
        ({"repeated": "other"}, "two ways"),
        ({"password": "x", "repeated": "x"}, "fewer"),
    ],
)
async def test_a_refused_form_can_be_sent_again(world, mailbox, devs, fields, problem):
    await invite(world, team=devs)
    code, visitor = await mailbox.code(NEW), Visitor(world, "nora")
    refused = await visitor.register(code, "nora", **fields)
    assert (refused.status_code, problem in refused.text, "<b>" in refused.text) == (422, True, False)
    assert PASSWORD not in refused.text
    assert (await visitor.register(code, "nora")).status_code == 303


async def test_other_sites_cannot_send_the_form(world, mailbox, devs):
    await invite(world, team=devs)
    visitor = Visitor(world, "nora")
    body = {"code": await mailbox.code(NEW), "username": "nora", "password": PASSWORD, "repeated": PASSWORD}
    assert (await visitor.http.post(INVITED, data=body)).status_code == 403
    assert (await world.call("GET", "/users/nora", as_="root")).status_code == 404


async def test_secrets_and_addresses_are_stored_sealed(world, mailbox, devs):
    await invite(world, team=devs)
    code = await mailbox.code(NEW)
    async with world.database.read() as db:
        rows = [*(await db.execute(select(invitation))).all(), *(await db.execute(select(message))).all()]
    assert code not in str(rows)
    assert NEW not in str(rows)


async def test_an_operator_can_keep_registration_closed(make_world, acme, devs):
    from ..mailbox import Mailbox

    async with make_world(sends_mail=True, invitations_register=False) as world:
        await invite(world, team=devs)
        code = await Mailbox(world).code(NEW)
        assert (await Visitor(world, "nora").form(code)).status_code == 404
        assert not (await invitation_of(world, code)).json()["may_register"]
        assert (await join(world, code, "sam")).status_code == 200


async def test_without_mail_nobody_is_invited(make_world, acme, devs):
    async with make_world() as world:
        answer = await invite(world, team=devs)
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "no_mail")


async def test_ended_invitations_are_deleted_after_their_limits(world, devs):
    await invite(world, team=devs)
    await invite(world, "other@x.io", team=devs)
    async with world.database.transaction() as tx:
        ended = update(invitation).where(invitation.c.id == 1)
        await tx.execute(ended.values(expires_at=now() - timedelta(hours=2)))
    (task,) = [one for one in world.app.state.parts.tasks if one.name == "identity_delete_ended_invitations"]
    await task.run_now()
    async with world.database.read() as db:
        assert list((await db.execute(select(invitation.c.id))).scalars()) == [2]


async def test_all_steps_are_noted_without_the_secret(world, mailbox, devs):
    withdrawn = (await invite(world, "x@x.io", team=devs)).json()["id"]
    await world.call("DELETE", f"/orgs/acme/teams/{devs}/invitations/{withdrawn}", as_="ann")
    await invite(world, team=devs)
    code = await mailbox.code(NEW)
    await Visitor(world, "nora").register(code, "nora")
    await join(world, code, "nora")
    async with world.database.read() as db:
        noted = (await list_entries(db, service="identity", limit=7))[::-1]
    assert [(one.action, one.actor) for one in noted if one.action != "session.start"][-5:] == [
        ("team.invite", "ann"),
        ("team.withdraw_invitation", "ann"),
        ("team.invite", "ann"),
        ("user.register", "nora"),
        ("team.accept_invitation", "nora"),
    ]
    assert code not in str(noted)
