"""Mails about what happens to an account, each with the page where the person can undo it."""

import pytest
from sqlalchemy import update

from ingot_chassis.clock import now
from ingot_identity.messages.rules import PER_ACCOUNT
from ingot_identity.networks.rules import network_of
from ingot_identity.networks.store import RETENTION, sign_in_network

from ..applications import Person
from ..mailbox import Mailbox
from ..matrix import pgp_key, ssh_key
from ..passkeys.authenticator import add_passkey, signed_in
from ..world import PASSWORD

ROOT = "http://localhost:3000"


@pytest.fixture
async def world(make_world):
    async with make_world(sends_mail=True, public_url=f"{ROOT}/") as world:
        await world.add_user("ann")
        yield world


async def mails(world):
    """Kind, address and fields of each mail."""
    return [(one["kind"], one["address"], one["fields"]) for one in await Mailbox(world).all()]


async def test_of_a_new_token_without_its_secret(world):
    body = {"name": "ci", "scopes": ["read:user", "write:issue"]}
    secret = (await world.call("POST", "/users/ann/tokens", body, as_="ann")).json()["sha1"]
    fields = {"name": "ci", "scopes": "read:user, write:issue", "url": f"{ROOT}/user/settings/applications"}
    assert await mails(world) == [("new_token", "ann@example.com", fields)]
    assert secret not in str(await mails(world))


@pytest.mark.parametrize(
    ("path", "as_"), [("/user/keys", "ann"), ("/admin/users/ann/keys", "root")], ids=["own", "administrator"]
)
async def test_of_a_new_ssh_key_to_its_owner(world, path, as_):
    added = (await world.call("POST", path, {"title": "laptop", "key": ssh_key(1)}, as_=as_)).json()
    fields = {
        "name": "SSH key laptop",
        "fingerprint": added["fingerprint"],
        "url": f"{ROOT}/user/settings/keys",
    }
    assert await mails(world) == [("new_key", "ann@example.com", fields)]


async def test_of_a_new_openpgp_key(world):
    body = {"armored_public_key": pgp_key("ann")}
    added = (await world.call("POST", "/user/gpg_keys", body, as_="ann")).json()
    fields = {"name": f"OpenPGP key {added['key_id']}", "url": f"{ROOT}/user/settings/gpg_keys"}
    assert await mails(world) == [("new_key", "ann@example.com", fields)]


async def test_of_a_new_passkey(world):
    await add_passkey(await signed_in(world, "ann"))
    ((kind, _, fields),) = await mails(world)
    assert (kind, fields["url"]) == ("new_key", f"{ROOT}/login/passkeys")
    assert fields["name"].startswith("passkey ")


async def test_of_an_address_that_an_administrator_changed_to_the_former_one(world):
    for address in ("ann@example.com", "other@example.com"):
        await world.call("PATCH", "/admin/users/ann", {"email": address}, as_="root")
    fields = {"new_address": "other@example.com"}
    assert await mails(world) == [("address_changed", "ann@example.com", fields)]


async def test_of_a_refused_change_there_is_none(world):
    await world.call("POST", "/users/ann/tokens", {"name": "t", "scopes": ["none"]}, as_="ann")
    await world.call("POST", "/user/keys", {"title": "k", "key": "no key"}, as_="ann")
    assert await Mailbox(world).ids() == []


async def test_their_number_is_limited(world):
    for number in range(PER_ACCOUNT + 2):
        answer = await world.call("POST", "/users/ann/tokens", {"name": f"t{number}"}, as_="ann")
        assert answer.status_code == 201
    assert len(await Mailbox(world).ids()) == PER_ACCOUNT


async def sign_in(world, address, password=PASSWORD):
    person = Person(world, "ann")
    person.http.headers.update({"x-forwarded-for": address, "user-agent": "Firefox <b>"})
    return await person.sign_in(await person.get("/login"), password)


async def test_of_a_sign_in_from_a_new_network_once(world):
    for address in ("192.0.2.7", "192.0.2.99", "198.51.100.1", "198.51.100.2", "192.0.2.7"):
        await sign_in(world, address)
    ((kind, address, fields),) = await mails(world)
    assert (kind, address) == ("new_sign_in", "ann@example.com")
    assert (fields["address"], fields["program"]) == ("198.51.100.1", "Firefox <b>")
    assert fields["url"] == f"{ROOT}/user/settings/security"
    assert fields["time"].endswith(" UTC")


async def test_a_wrong_password_makes_no_network_a_former_one(world):
    await sign_in(world, "192.0.2.7")
    await sign_in(world, "198.51.100.1", "wrong")
    assert await Mailbox(world).ids() == []
    await sign_in(world, "198.51.100.1")
    assert len(await Mailbox(world).ids()) == 1


async def test_a_network_is_new_again_after_a_long_time_and_is_deleted(world):
    for address in ("192.0.2.7", "198.51.100.1"):
        await sign_in(world, address)
    async with world.database.transaction() as tx:
        old = update(sign_in_network).where(sign_in_network.c.last_at < now())
        await tx.execute(old.values(last_at=now() - RETENTION))
    (task,) = [one for one in world.app.state.parts.tasks if one.name == "identity_delete_old_networks"]
    await task.run_now()
    async with world.database.read() as db:
        assert (await db.execute(sign_in_network.select())).all() == []


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.0/24"),
        ("::ffff:192.0.2.7", "192.0.2.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("unknown", "unknown"),
    ],
)
def test_a_network_of_an_address(address, network):
    assert network_of(address) == network


async def test_nothing_is_noted_without_mail(make_world):
    async with make_world() as world:
        await world.add_user("ann")
        await sign_in(world, "192.0.2.7")
        async with world.database.read() as db:
            assert (await db.execute(sign_in_network.select())).all() == []
