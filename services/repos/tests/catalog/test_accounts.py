"""SQL for the copies of accounts."""

import pytest

from ingot_repos.catalog.store import accounts

pytestmark = pytest.mark.both_databases


@pytest.mark.parametrize(
    ("account", "addresses", "login", "logins"),
    [
        (1, [], "ann", {}),
        (1, ["Bob@example.org", "", "nobody@example.org"], "ann", {"bob@example.org": "bob"}),
        (1, ["ann@example.org"], "ann", {"ann@example.org": "ann"}),
        (99, ["bob@example.org"], None, {"bob@example.org": "bob"}),
        (99, [""], None, {}),
    ],
)
async def test_the_pusher_and_the_authors_are_found_at_once(
    world, ann, bob, account, addresses, login, logins
):
    for person in (ann, bob):  # the copies come with the first repository
        await person.create("app")
    table = world.database.metadata.tables["account"]
    hidden = {"id": 5, "kind": "user", "login": "eve", "lower_login": "eve", "email": ""}
    async with world.database.transaction() as tx:
        await tx.execute(table.insert().values(hidden))
    async with world.database.read() as db:
        pusher, by_address = await accounts.pusher_and_authors(db, account, addresses)
        assert (pusher and pusher.login, by_address) == (login, logins)
        assert by_address == await accounts.logins_by_email(db, addresses)
