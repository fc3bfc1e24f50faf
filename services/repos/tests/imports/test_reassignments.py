"""People of a source who get accounts later: releases change their authors, issues gets an event."""

from ingot_testing.service import count_statements

from ..world import git
from .test_sources import (  # noqa: F401 - fixtures
    copied,
    migrate,
    read_all,
    releases_of,
    settings,
    source,
    with_releases,
)


async def reassign(person, repository_id, status=202, **body):
    answer = await person.post(f"/repos/migrate/{repository_id}/people", body)
    assert answer.status_code == status, answer.text
    return answer


async def test_an_account_gets_what_a_person_of_the_source_did(world, copied, bob, source):  # noqa: F811
    await git("tag", "v1", cwd=source.work)
    await git("push", "-q", "origin", "v1", cwd=source.work)
    with_releases(source)
    repository_id = await migrate(world, bob, source, releases=True)
    await read_all(bob, repository_id)
    assert {one["author"]["id"] for one in await releases_of(bob)} == {-1}
    await reassign(bob.but(admin=True), repository_id, people_csv="Annie,ann\n")
    authors = {one["original_author"]: one["author"]["login"] for one in await releases_of(bob)}
    assert authors == {"annie": "ann", "cat": "Ghost"}
    [event] = await world.events("import.reassigned")
    assert (event["repository_id"], event["accounts"]) == (repository_id, {"annie": 1})


async def test_only_administrators_of_the_site_name_others(world, ann, bob, source):  # noqa: F811
    repository_id = await migrate(world, bob, source)
    await reassign(bob, repository_id, status=403, people={"annie": "ann"})
    await reassign(bob, repository_id, people={"robert": "bob"})
    await reassign(ann, repository_id, status=403, people={"annie": "ann"})
    refused = await reassign(bob.but(admin=True), repository_id, status=422, people={"annie": "nobody"})
    assert refused.json()["errors"][0]["field"] == "people"
    await reassign(bob, repository_id, status=422)
    await reassign(bob, repository_id + 1, status=404, people={"robert": "bob"})


async def test_what_a_person_has_claimed_is_not_taken(world, copied, bob, source):  # noqa: F811
    await git("tag", "v1", cwd=source.work)
    await git("push", "-q", "origin", "v1", cwd=source.work)
    with_releases(source)
    repository_id = await migrate(world, bob, source, releases=True)
    await read_all(bob, repository_id)
    await reassign(bob, repository_id, people={"annie": "bob"})
    await reassign(bob.but(admin=True), repository_id, people={"annie": "ann", "cat": "ann"})
    authors = {one["original_author"]: one["author"]["login"] for one in await releases_of(bob)}
    assert authors == {"annie": "bob", "cat": "ann"}


async def test_many_people_take_as_many_statements_as_one(world, copied, bob, source):  # noqa: F811
    with_releases(source)
    first = source.lists["releases"][0]
    source.lists["releases"] = [
        {
            **first,
            "id": number,
            "tag_name": f"v{number}",
            "assets": [],
            "author": {"id": number, "login": f"one{number}"},
        }
        for number in range(1, 12)
    ]
    repository_id = await migrate(world, bob, source, releases=True)
    await read_all(bob, repository_id)
    counts = []
    for numbers in ((1,), range(2, 12)):
        with count_statements(world.database) as statements:
            await reassign(bob, repository_id, people={f"one{number}": "bob" for number in numbers})
        counts.append(len(statements))
    assert counts[0] == counts[1]
    assert {one["author"]["login"] for one in await releases_of(bob)} == {"bob"}
