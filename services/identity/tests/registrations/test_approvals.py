"""Registrations that wait for an administrator."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from ingot_chassis.clock import now
from ingot_identity.registrations import store
from ingot_identity.registrations.store import WAITS_FOR, registration

from ..mailbox import Mailbox
from ..world import PASSWORD
from .visitors import BITS, Visitor

PATH = "/admin/registrations"
APPROVAL = {"registration": "approval", "registration_work_bits": BITS}


@pytest.fixture
async def site(make_world):
    async with make_world(sends_mail=True, **APPROVAL) as world:
        yield world


async def ask(world, name="nora", address="nora@x.io", **fields):
    """Register as far as the form for the account; its answer."""
    visitor = Visitor(world, name)
    await visitor.sign_up(address)
    return await visitor.register(await Mailbox(world).link(address), name, **fields)


async def waiting(world):
    return (await world.call("GET", PATH, as_="root")).json()


async def opens(world, name):
    return bool((await world.authenticate(name=name, password=PASSWORD)).json()["user_id"])


async def test_a_registration_waits_and_is_no_account(site):
    answer = await ask(site, note="I fix bugs")
    assert (answer.status_code, "Wait for approval" in answer.text) == (200, True)
    assert "ingot-session" not in answer.headers.get("set-cookie", "")
    (shown,) = await waiting(site)
    assert (shown["username"], shown["email"], shown["email_confirmed"]) == ("nora", "nora@x.io", True)
    assert shown["note"] == "I fix bugs"
    assert not await opens(site, "nora")
    assert (await site.call("GET", "/users/nora")).status_code == 404


async def test_an_approved_registration_is_an_account(site):
    await ask(site)
    (shown,) = await waiting(site)
    answer = await site.call("POST", f"{PATH}/{shown['id']}/approval", as_="root")
    assert answer.status_code == 204, answer.text
    assert await opens(site, "nora")
    assert await waiting(site) == []
    *_, mail = await Mailbox(site).all()
    assert (mail["kind"], mail["address"], mail["fields"]["login"]) == (
        "registration_approved",
        "nora@x.io",
        "nora",
    )
    assert (await site.call("POST", f"{PATH}/{shown['id']}/approval", as_="root")).status_code == 404


async def test_a_refused_registration_is_gone(site):
    await ask(site)
    (shown,) = await waiting(site)
    assert (await site.call("DELETE", f"{PATH}/{shown['id']}", as_="root")).status_code == 204
    assert (await waiting(site), await opens(site, "nora")) == ([], False)
    *_, mail = await Mailbox(site).all()
    assert (mail["kind"], mail["address"], mail["fields"]) == ("registration_refused", "nora@x.io", {})
    assert (await site.call("DELETE", f"{PATH}/{shown['id']}", as_="root")).status_code == 404
    assert (await ask(site)).status_code == 200


async def test_a_name_waits_once(site):
    await ask(site)
    for name in ("Nora", "root"):
        answer = await ask(site, name, f"{name}@y.io".lower())
        assert (answer.status_code, "taken" in answer.text) == (422, True)
    assert len(await waiting(site)) == 1


async def test_a_name_that_was_taken_meanwhile_is_not_approved(site):
    await ask(site)
    (shown,) = await waiting(site)
    await site.add_user("nora")
    answer = await site.call("POST", f"{PATH}/{shown['id']}/approval", as_="root")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "taken")
    assert await waiting(site) == [shown]


async def test_a_character_that_cannot_be_stored_is_left_out(site):
    assert (await ask(site, note="I\0 fix bugs")).status_code == 200
    (shown,) = await waiting(site)
    assert shown["note"] == "I fix bugs"


async def test_a_long_note_is_refused(site):
    answer = await ask(site, note="x" * 1_001)
    assert (answer.status_code, "1000 characters" in answer.text) == (422, True)


async def test_only_administrators_decide(site):
    await site.add_user("ann")
    await ask(site)
    (shown,) = await waiting(site)
    for as_, status in (("ann", 403), ("", 403)):
        for method, path in (
            ("GET", PATH),
            ("POST", f"{PATH}/{shown['id']}/approval"),
            ("DELETE", f"{PATH}/1"),
        ):
            assert (await site.call(method, path, as_=as_)).status_code == status
    assert await waiting(site) == [shown]


async def test_a_registration_waits_for_some_time(site):
    await ask(site)
    async with site.database.transaction() as tx:
        await store.remove_old(tx)
    assert len(await waiting(site)) == 1
    async with site.database.transaction() as tx:
        await tx.execute(update(registration).values(created_at=now() - WAITS_FOR - timedelta(seconds=1)))
        await store.remove_old(tx)
    assert await waiting(site) == []


async def test_without_mail_an_administrator_sees_that_the_address_is_not_confirmed(make_world):
    async with make_world(**APPROVAL) as world:
        await world.add_user("ann")
        answers = []
        for name, address in (("nora", "ann@example.com"), ("nils", "new@example.com")):
            fields = {"username": name, "password": PASSWORD, "repeated": PASSWORD}
            answers.append(await Visitor(world, name).sign_up(address, **fields))
        assert {answer.status_code for answer in answers} == {200}
        assert [one["email_confirmed"] for one in await waiting(world)] == [False, False]
        first, second = await waiting(world)
        assert (await world.call("POST", f"{PATH}/{first['id']}/approval", as_="root")).status_code == 422
        assert (await world.call("POST", f"{PATH}/{second['id']}/approval", as_="root")).status_code == 204
