"""Searches by a part of a name or an address: what they find, and for whom."""

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from ingot_chassis.db.migrations import pending, upgrade
from ingot_identity.migrations import SCRIPTS
from ingot_testing.roles import without_extensions

from ..world import PASSWORD

pytestmark = pytest.mark.both_databases

USERS, ADMIN_USERS = "/users/search", "/admin/users"
ORGANIZATIONS, ADDRESSES = "/orgs", "/admin/emails/search"


async def matches(world, path, text_, as_="root"):
    answer = await world.call("GET", f"{path}?q={text_}", as_=as_)
    assert answer.status_code == 200, answer.text
    rows = answer.json()["data"] if path == USERS else answer.json()
    assert answer.headers["x-total-count"] == str(len(rows))
    return [row["email"] if path == ADDRESSES else row["username"] for row in rows]


async def test_each_search_finds_parts_of_any_length_in_any_case(world):
    body = {
        "username": "Hanna",
        "email": "h-1@Mail.io",
        "password": PASSWORD,
        "full_name": 'Änn "Straw" 100%_x',
    }
    await world.call("POST", "/admin/users", body, as_="root")
    await world.call("POST", "/orgs", {"username": "Barn", "full_name": "Straw & Söhne"}, as_="root")
    of_user = ("ANN", "nn", 'n "strA', "100%25_X", "ÄNN", "änn", "n%20%22s", "MAIL.io", "H-1@")
    for path, row, parts in (
        (USERS, "Hanna", of_user),
        (ADMIN_USERS, "Hanna", of_user),
        (ORGANIZATIONS, "Barn", ("ARN", "ar", "straw %26", "SÖHNE", "söh")),
        (ADDRESSES, "h-1@Mail.io", ("ANN", "na", "MAIL.io", "H-1@", "-1")),
    ):
        for part in parts:
            assert await matches(world, path, part) == [row], (path, part)
        for part in ("rootx", "a_n", "%25%25", "\\", "hannahanna"):
            assert await matches(world, path, part) == [], (path, part)


@pytest.mark.parametrize(
    ("caller", "names"),
    [("", []), ("bob", ["ann"]), ("cid", ["ann", "cid"]), ("root", ["ann", "cid"])],
)
async def test_an_address_finds_those_who_show_it_to_the_caller(world, caller, names):
    for name in ("ann", "bob", "cid"):
        await world.add_user(name)
    for name in ("ann", "cid"):
        await world.call("PATCH", f"/admin/users/{name}", {"email": f"{name}@zq.io"}, as_="root")
    await world.call("PATCH", "/user/settings", {"hide_email": True}, as_="cid")
    for part in ("@ZQ.io", "zq"):
        assert await matches(world, USERS, part, caller) == names


async def test_organizations_are_found_by_those_who_may_know_of_them(world):
    for name, visibility in (("straw-1", "public"), ("straw-2", "limited"), ("straw-3", "private")):
        body = {"username": name, "visibility": visibility}
        await world.call("POST", "/orgs", body, as_="root")
    await world.add_user("ann")
    for caller, number in (("", 1), ("ann", 2), ("root", 3)):
        assert len(await matches(world, ORGANIZATIONS, "STRAW", caller)) == number


async def test_what_changes_is_found_by_its_new_words_alone(world):
    await world.add_user("needle")
    await world.call("PATCH", "/admin/users/needle", {"full_name": "Old Hay"}, as_="root")
    await world.call("POST", "/user/emails", {"emails": ["second@x.io"]}, as_="needle")
    await world.call(
        "PATCH", "/admin/users/needle", {"full_name": "New Straw", "email": "barn@x.io"}, as_="root"
    )
    await world.call("POST", "/admin/users/needle/rename", {"new_username": "thread"}, as_="root")
    parts = ("needle", "old hay", "thread", "w str", "barn@")
    assert [await matches(world, USERS, part) for part in parts] == [[], [], *[["thread"]] * 3]
    await world.call("DELETE", "/user/emails", {"emails": ["second@x.io"]}, as_="needle")
    assert await matches(world, ADDRESSES, "second") == []
    assert await matches(world, ADDRESSES, "thread") == ["barn@x.io"]
    assert (await world.call("DELETE", "/admin/users/thread", as_="root")).status_code == 204
    for path in (USERS, ADDRESSES):
        assert [await matches(world, path, part) for part in ("thread", "barn@")] == [[], []]
    if world.database.is_sqlite:
        async with world.database.transaction() as tx:
            for table in ("account_trigrams", "email_trigrams"):  # fails where rows and index differ
                await tx.execute(text(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')"))


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_database_without_trigrams_is_migrated_all_the_same(database_url):
    """As a role that may not create extensions."""
    async with without_extensions(database_url) as url:
        with capture_logs() as lines:
            await upgrade(url, SCRIPTS)
        warnings = [line["statements"][0] for line in lines if line["log_level"] == "warning"]
        assert warnings == ["CREATE EXTENSION IF NOT EXISTS pg_trgm"]
        assert not await pending(url, SCRIPTS)
