"""Counts of users, organizations and addresses, without counting rows."""

import pytest
from sqlalchemy import func, select

from ingot_chassis.db.noted_counts import MOST_NOTES
from ingot_identity.accounts.store.counts import add_up, list_count
from ingot_identity.accounts.store.tables import account
from ingot_identity.emails.store import email
from ingot_identity.users.store import recount
from ingot_testing.service import change_at_once

pytestmark = pytest.mark.both_databases


async def differences(world):
    """Lists whose total is not that of their rows: the total, and the number of rows."""
    wrong = {}
    for path, callers in {
        "/users/search": ("", "sam", "root"),
        "/admin/users": ("root",),
        "/orgs": ("", "sam", "mia", "root"),
        "/admin/orgs": ("root",),
        "/admin/emails": ("root",),
    }.items():
        for caller in callers:
            answer = await world.call("GET", f"{path}?limit=50", as_=caller)
            body = answer.json()
            rows = len(body["data"] if isinstance(body, dict) else body)
            if (total := int(answer.headers["x-total-count"])) != rows:
                wrong[path, caller] = total, rows
    return wrong


async def rows_of(world, table, *condition):
    async with world.database.read() as db:
        return (await db.execute(select(func.count()).select_from(table).where(*condition))).scalar_one()


async def test_totals_follow_whatever_comes_goes_and_changes(world, acme):
    assert await differences(world) == {}
    for name, visibility in (("lim", "limited"), ("priv", "private"), ("pub", "public")):
        body = {"username": name, "visibility": visibility}
        assert (await world.call("POST", "/orgs", body, as_="ann")).status_code == 201
    assert await differences(world) == {}
    for visibility in ("limited", "private", "public"):
        await world.call("PATCH", "/orgs/acme", {"visibility": visibility}, as_="ann")
        assert await differences(world) == {}, visibility
    totals = [
        (await world.call("GET", "/orgs", as_=caller)).headers["x-total-count"]
        for caller in ("", "sam", "mia", "ann", "root")
    ]
    assert totals == ["2", "3", "3", "4", "4"]
    assert (await world.call("POST", "/user/emails", {"emails": ["b@x.io", "c@x.io"]}, as_="sam")).is_success
    assert (await world.call("DELETE", "/user/emails", {"emails": ["b@x.io"]}, as_="sam")).is_success
    rename = await world.call("POST", "/admin/users/sam/rename", {"new_username": "pam"}, as_="root")
    assert rename.is_success
    assert await differences(world) == {}
    for path in ("/admin/users/pam", "/orgs/priv"):
        assert (await world.call("DELETE", path, as_="root")).status_code == 204
    assert await differences(world) == {}
    users = await world.call("GET", "/admin/users", as_="root")
    assert (
        users.headers["x-total-count"] == str(await rows_of(world, account, account.c.kind == "user")) == "3"
    )
    addresses = await world.call("GET", "/admin/emails", as_="root")
    assert addresses.headers["x-total-count"] == str(await rows_of(world, email)) == "3"


async def test_what_is_undone_is_not_counted(world):
    async def delete_and_fail():
        async with world.database.transaction() as tx:
            await tx.execute(account.delete().where(account.c.admin))
            raise LookupError

    with pytest.raises(LookupError):
        await delete_and_fail()
    assert await differences(world) == {}


async def test_to_count_anew_leaves_one_row_of_each_list_and_mends_what_is_wrong(world, acme):
    async with world.database.transaction() as tx:
        await tx.execute(list_count.insert().values(list="users", number=7))
    assert (await differences(world))["/admin/users", "root"] == (11, 4)
    for _ in range(2):
        async with world.database.transaction() as tx:
            await recount(tx)
        async with world.database.read() as db:
            rows = await db.execute(select(list_count.c.list, list_count.c.number))
        assert sorted(map(tuple, rows)) == [("emails", 4), ("public organizations", 1), ("users", 4)]
        assert await differences(world) == {}


async def test_many_notes_become_one_of_each_list(world, acme):
    async def added_up():
        async with world.database.transaction() as tx:
            return await add_up(tx)

    assert await added_up() == 0
    before = await rows_of(world, list_count)
    async with world.database.transaction() as tx:
        for number in (1, -1):
            await tx.execute(list_count.insert(), [{"list": "users", "number": number}] * (MOST_NOTES // 2))
    assert await added_up() == before + MOST_NOTES
    async with world.database.read() as db:
        rows = await db.execute(select(list_count.c.list, list_count.c.number))
    assert sorted(map(tuple, rows)) == [("emails", 4), ("public organizations", 1), ("users", 4)]
    assert await differences(world) == {}
    assert await added_up() == 0


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
@pytest.mark.parametrize("change", [add_up, recount])
async def test_one_at_a_time_adds_up_or_counts_anew(world, change):
    """Of two at once one would count what the other has counted already."""

    async def recount_and_note(tx):
        await recount(tx)
        await tx.execute(list_count.insert(), [{"list": "users", "number": 0}] * MOST_NOTES)

    await change_at_once(world.database, recount_and_note, change)
    assert await differences(world) == {}
    assert await rows_of(world, list_count) == 2
