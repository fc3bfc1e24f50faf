"""Tables of people: accounts here by logins at the source."""

import pytest

from .test_sources import ALL, COMMENTS, ISSUES, migrate, read_all, settings, source  # noqa: F401 - fixtures

CSV = 'Annie,bob\r\n"cat",ANN\r\n\r\n'


async def refused(person, source, **fields):  # noqa: F811
    form = {"clone_addr": source.url("there/source.git"), "repo_name": "copy", **ALL, **fields}
    answer = await person.post("/repos/migrate", form)
    return answer.status_code, answer.json()


@pytest.mark.parametrize("fields", [{"people": {"annie": "bob", "CAT": "ann"}}, {"people_csv": CSV}])
async def test_a_table_comes_before_addresses_and_logins(world, ann, bob, source, fields):  # noqa: F811
    await ann.create("mine")  # annie shows the address of ann
    await world.user(3, "cat").create("mine")
    repository_id = await migrate(world, bob.but(admin=True), source, map_logins=True, **fields)
    first, third = (await read_all(bob, repository_id))["issues"]
    assert (first["author"]["account_id"], first["author"]["name"]) == (2, "annie")
    assert [person["account_id"] for person in first["assignees"]] == [2, 1]
    assert third["author"] == {"account_id": -1, "name": "old", "source_id": 70}
    assert [row.people for row in await world.rows("import_source")] == ["{}"]


async def test_releases_have_the_authors_of_the_table(world, ann, bob, source):  # noqa: F811
    await ann.create("mine")
    times = {"created_at": "2020-01-02T03:04:05Z"}
    source.lists["releases"] = [
        {"id": 1, "tag_name": "v1", "author": {"id": 71, "login": "cat"}, **times}
    ]  # fmt: skip
    await migrate(world, bob.but(admin=True), source, releases=True, people={"cat": "ann"})
    assert [row.author_id for row in await world.rows("release")] == [1]


async def test_an_account_maps_only_people_to_itself(world, bob, source):  # noqa: F811
    for here in ("ann", "nobody"):  # the answer does not tell which accounts exist
        assert (await refused(bob, source, people={"cat": "bob", "annie": here}))[0] == 403
    repository_id = await migrate(world, bob, source, people={"cat": "BOB"})
    first, _ = (await read_all(bob, repository_id))["issues"]
    assert [person["account_id"] for person in (first["author"], *first["assignees"])] == [-1, -1, 2]


async def test_an_account_that_is_deleted_later_is_the_ghost(world, ann, bob, source):  # noqa: F811
    await ann.create("mine")
    repository_id = await migrate(world, bob.but(admin=True), source, people={"cat": "ann"})
    table = world.database.metadata.tables["account"]
    async with world.database.transaction() as tx:
        await tx.execute(table.delete().where(table.c.id == 1))
    first, _ = (await read_all(bob, repository_id))["issues"]
    assert [person["account_id"] for person in first["assignees"]] == [-1, -1]


async def test_a_dry_run_counts_people_of_the_table_as_mapped(world, ann, bob, source):  # noqa: F811
    await ann.create("mine")
    fields = {"dry_run": True, "people": {"cat": "ann"}}
    status, report = await refused(bob.but(admin=True), source, **fields)
    assert (status, report["unmapped"]) == (200, [])
    assert report["unmapped_authors"] == []
    _, report = await refused(bob.but(admin=True), source, dry_run=True, people={"annie": "ann"})
    assert (report["unmapped"], report["unmapped_authors"]) == (["cat"], [])  # cat is an assignee alone


async def test_a_dry_run_names_who_wrote_most_first(world, bob, source):  # noqa: F811
    cat, dog = {"id": 71, "login": "cat"}, {"id": 72, "login": "dog"}
    source.lists["issues"] = [ISSUES[0] | {"id": 5, "user": cat}, ISSUES[0] | {"id": 6, "user": dog}]
    source.lists["issues/comments"] = [COMMENTS[0] | {"user": dog}]
    _, report = await refused(bob, source, dry_run=True)
    assert report["unmapped_authors"] == [
        {"login": "dog", "id": 72, "objects": 2}, {"login": "cat", "id": 71, "objects": 1}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "field", "named"),
    [
        ({"people": {"cat": "nobody"}}, "people", "'nobody'"),
        ({"people": {"cat": "acme"}}, "people", "'acme'"),
        ({"people": {"cat": ""}}, "people", "empty"),
        ({"people": {" ": "ann"}}, "people", "empty"),
        ({"people": {"cat": "ann", "CAT": "bob"}}, "people", "'CAT'"),
        ({"people": {"cat": "ann"}, "people_csv": "cat,bob"}, "people_csv", "'cat'"),
        ({"people": {"x" * 256: "ann"}}, "people", "255"),
        ({"people": {f"p{number}": "ann" for number in range(1001)}}, "people", "1000"),
        ({"people_csv": "\n".join(f"p{number},ann" for number in range(1001))}, "people_csv", "1,000"),
        ({"people_csv": "cat,ann\ncat"}, "people_csv", "line 2"),
        ({"people_csv": "cat,ann,x"}, "people_csv", "line 1"),
        ({"people_csv": "a\n" * 20_001}, "people_csv", "cells"),
        ({"people_csv": "x" * 500_001}, "people_csv", "500000"),
    ],
)
async def test_a_wrong_table_names_its_field_and_makes_nothing(
    world, ann, bob, source, fields, field, named  # noqa: F811
):  # fmt: skip
    await ann.create("mine")
    world.organization(9, "acme")
    status, answer = await refused(bob.but(admin=True), source, **fields)
    assert (status, answer["errors"][0]["field"].partition("[")[0]) == (422, field)
    assert named in answer["message"]
    assert await world.rows("import_source") == []
