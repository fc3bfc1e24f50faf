"""The number of visible repositories, without counting rows."""

import msgspec
import pytest
from sqlalchemy import func, select, text, update

from ingot_chassis.db.noted_counts import MOST_NOTES
from ingot_chassis.http.paging import Page
from ingot_contracts.identity.accounts import Account
from ingot_repos.access.store import collaborations
from ingot_repos.catalog.store import accounts
from ingot_repos.catalog.store.counts import add_up, count_visible, recount, repository_count
from ingot_repos.catalog.store.tables import account, repository
from ingot_repos.catalog.store.viewers import Viewer, visible
from ingot_repos.repositories.store import topics
from ingot_testing.service import rows_touched, unprepared_statements

pytestmark = pytest.mark.both_databases

VIEWERS = {
    "nobody": Viewer(),
    "ann": Viewer(id=1),
    "bob": Viewer(id=2),
    "administrator": Viewer(id=3, admin=True),
    "member": Viewer(id=2, inside=[10]),
    "owner": Viewer(id=2, inside=[10], entire=[10]),
    "team": Viewer(id=2, inside=[10], teams=[60]),
    "restricted": Viewer(id=1, restricted_to=[1, 2, 3, 4]),
    "restricted administrator": Viewer(id=3, admin=True, restricted_to=[2]),
    "public": Viewer(id=1, restricted_to=[], public_only=True),
}
VIEWERS |= {
    f"restricted user: {name}": msgspec.structs.replace(viewer, granted_only=True)
    for name, viewer in VIEWERS.items()
    if not viewer.admin
}
FILL = """
    INSERT INTO repository (owner_id, name, lower_name, description, website, private, empty, archived,
        mirror, default_branch, fork_of, size, stars_count, forks_count, watchers_count, open_issues_count,
        state, shard, ref_version, created_at, updated_at)
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2000)
    SELECT 1, 'r' || n, 'r' || n, '', '', false, true, false, false, 'master', NULL, n, n % 7, 0, 0, 0,
        'ready', 'shard-0', 0, '2026-01-01 00:00:00+00', '2026-01-01 00:00:00+00'
    FROM n
"""


async def differences(world):
    """Viewers for whom the number is not that of the rows they see: the number, and that of the rows."""
    wrong = {}
    async with world.database.read() as db:
        for name, viewer in VIEWERS.items():
            rows = select(func.count()).select_from(
                repository.join(account, account.c.id == repository.c.owner_id)
            )
            counted = (await db.execute(rows.where(visible(viewer.kind)), viewer.values())).scalar_one()
            if (number := await count_visible(db, viewer)) != counted:
                wrong[name] = number, counted
    return wrong


async def change(world, statement):
    async with world.database.transaction() as tx:
        await tx.execute(statement)


@pytest.fixture
async def shelf(world, ann, bob):
    """Repositories of ann, bob and an organization, of which some are private."""
    world.organization(10, "acme")
    await ann.create("open")
    await ann.create("closed", private=True)
    await bob.create("own", private=True)
    root = ann.but(admin=True)
    for name, private in (("shown", False), ("hidden", True)):
        answer = await root.post("/admin/users/acme/repos", {"name": name, "private": private})
        assert answer.status_code == 201, answer.text
    async with world.database.transaction() as tx:
        await collaborations.grant(tx, answer.json()["id"], 60)
    return world


async def test_the_number_follows_whatever_comes_goes_and_changes(shelf, ann, bob):
    assert await differences(shelf) == {}
    await ann.call("PUT", "/api/v1/repos/ann/closed/collaborators/bob", {})
    for visibility in ("limited", "private", "public"):
        async with shelf.database.transaction() as tx:
            await accounts.save(tx, Account(id=10, kind="organization", login="acme", visibility=visibility))
        assert await differences(shelf) == {}, visibility
    for private in (True, False):
        await ann.call("PATCH", "/api/v1/repos/ann/open", {"private": private})
        assert await differences(shelf) == {}, private
    own = repository.c.name == "own"
    await change(shelf, update(repository).where(own).values(owner_id=10, private=False))
    assert await differences(shelf) == {}
    for state in ("creating", "ready"):
        await change(shelf, update(repository).where(own).values(state=state))
        assert await differences(shelf) == {}, state
    assert (await ann.call("DELETE", "/api/v1/repos/ann/open")).status_code == 204
    assert await differences(shelf) == {}


async def test_a_list_of_all_says_the_number(shelf, ann):
    numbers = [
        (await person.get(f"/repos/search?{query}")).headers["x-total-count"]
        for person in (ann, ann.but(admin=True))
        for query in ("", "sort=updated&order=desc&limit=1", "private=false")
    ]
    assert numbers == ["3", "3", "2", "5", "5", "2"]


async def test_to_count_anew_leaves_one_row_of_each_kind_and_mends_what_is_wrong(shelf):
    await change(shelf, repository_count.insert().values(visibility="public", private=False, number=7))
    assert (await differences(shelf))["nobody"] == (9, 2)
    for _ in range(2):
        async with shelf.database.transaction() as tx:
            await recount(tx)
        assert await differences(shelf) == {}
        async with shelf.database.read() as db:
            kinds = await db.execute(select(repository_count.c.visibility, repository_count.c.private))
            assert sorted(map(tuple, kinds)) == [("public", False), ("public", True)]


@pytest.mark.parametrize("viewer", ["nobody", "bob", "administrator", "restricted", "restricted user: bob"])
async def test_the_number_costs_the_same_among_many(shelf, viewer):
    def count(db):
        return count_visible(db, VIEWERS[viewer])

    few = await rows_touched(shelf.database, count)
    await change(shelf, text(FILL))
    async with shelf.database.transaction() as tx:
        await recount(tx)
        await tx.execute(text("ANALYZE"))
    assert await rows_touched(shelf.database, count) <= few + 300  # it would be 2,000
    assert await differences(shelf) == {}


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_the_number_and_the_search_for_topics_are_prepared(shelf):
    with unprepared_statements(shelf.database) as statements:
        async with shelf.database.read() as db:
            for viewer in VIEWERS.values():
                await count_visible(db, viewer)
                for part in ("web", "w"):
                    await topics.search(db, viewer, part, Page(2, 5))
    assert statements == []


async def test_many_notes_become_one_of_each_kind(shelf):
    async def notes():
        async with shelf.database.read() as db:
            return (await db.execute(select(func.count()).select_from(repository_count))).scalar_one()

    async def added_up():
        async with shelf.database.transaction() as tx:
            return await add_up(tx)

    assert await added_up() == 0
    before = await notes()
    async with shelf.database.transaction() as tx:
        for number in (1, -1):
            row = {"visibility": "public", "private": False, "number": number}
            await tx.execute(repository_count.insert(), [row] * (MOST_NOTES // 2))
    assert await added_up() == before + MOST_NOTES
    assert await notes() == 2
    assert await differences(shelf) == {}
    assert await added_up() == 0
