"""People of a source who get accounts later: everything that the ghost had for them becomes theirs."""

from datetime import timedelta

import msgspec

from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos.events import ImportFetched, ImportReassigned
from ingot_contracts.repos.imports import (
    ImportedFile,
    ImportedPerson,
    ImportedReaction,
    ImportedRequest,
    ImportedTime,
    ImportFile,
)
from ingot_issues.imports.jobs import ImportJobs
from ingot_issues.imports.rules import placeholders
from ingot_issues.imports.rules.placeholders import REASSIGN
from ingot_testing.service import count_statements

from ..builders import APP, HEAD, JOINED, account, repository
from .test_imports import (
    BOB,
    EARLIER,
    ELSE,
    LATER,
    Killed,
    comment,
    imported,
    issue,
    line,
    pull,
    review,
    serve,
)

HEART = ImportedReaction(author=ELSE, content="heart", created_at=EARLIER)
OTHER = ImportedPerson(name="mallory", source_id=72)
FILE = ImportedFile(
    uuid="00000000-0000-0000-0000-000000000007", address="http://there/7", name="a.txt", created_at=EARLIER
)
PAGES = (
    {"issues": [issue(1, assignees=[ELSE, BOB], reactions=[HEART], files=[FILE]), issue(2, author=OTHER)]},
    {
        "pulls": [
            pull(3, state="closed", merged=True, merged_at=LATER, merged_by=ELSE, merge_sha=JOINED),
            pull(
                4,
                author=BOB,
                reviews=[review(1, author=ELSE, comments=[line(author=ELSE, resolver=ELSE)])],
                requests=[ImportedRequest(reviewer=ELSE, commit_sha=HEAD, created_at=EARLIER)],
            ),
        ],
        "comments": [comment(1, author=ELSE, reactions=[HEART]), comment(1, 2, author=OTHER)],
    },
    {"times": [ImportedTime(source_id=1, number=1, author=ELSE, seconds=60, created_at=EARLIER)]},
)


async def rows(world, table, column):
    async with world.db.read() as db:
        stored = (await db.execute(world.db.metadata.tables[table].select())).mappings().all()
    return [row[column] for row in sorted(stored, key=lambda row: row.get("id") or row["issue_id"])]


async def reassigned(world, **accounts):
    await world.deliver(ImportReassigned(repository_id=APP, accounts=accounts))
    await world.work()


async def test_everything_of_a_person_becomes_that_of_the_account(world):
    world.repos.import_files[FILE.address] = ImportFile(state="file", content=b"bytes")
    await imported(world, *PAGES)
    assert await rows(world, "issue", "author_id") == [-1, -1, -1, 2]
    await reassigned(world, eve=3)
    assert await rows(world, "issue", "author_id") == [3, -1, 3, 2]
    kinds = await rows(world, "comment", "kind")
    authors = dict(
        zip(
            await rows(world, "comment", "original_author"),
            await rows(world, "comment", "author_id"),
            strict=True,
        )
    )
    assert (authors["eve"], authors["mallory"], len(kinds)) == (3, -1, 3)
    assert await rows(world, "reaction", "account_id") == [3, 3]
    assert await rows(world, "tracked_time", "account_id") == [3]
    assert await rows(world, "pull", "merged_by") == [3, None]
    assert await rows(world, "review_comment", "resolver_id") == [3]
    assert await rows(world, "review_comment", "author_id") == [3]
    assert await rows(world, "attachment", "uploader_id") == [3]
    assert await rows(world, "placeholder", "id") == []
    got = (await world.call("GET", "/issues/1")).json()
    assert sorted(one["login"] for one in got["assignees"]) == ["bob", "cat"]
    assert (got["user"]["login"], got["original_author"]) == ("cat", "eve")
    requested = (await world.call("GET", "/pulls/4")).json()["requested_reviewers"]
    assert requested == []  # the account has reviewed it


async def test_a_person_who_was_asked_for_a_review_is_asked(world):
    request = ImportedRequest(reviewer=ELSE, commit_sha=HEAD, created_at=EARLIER)
    await imported(world, {"pulls": [pull(1, author=BOB, requests=[request])]})
    await reassigned(world, EVE=3)
    got = (await world.call("GET", "/pulls/1")).json()
    assert [one["login"] for one in got["requested_reviewers"]] == ["cat"]


async def test_an_account_without_access_becomes_no_assignee_until_it_has(world):
    private = msgspec.structs.replace(repository(), private=True)
    world.repos.add(private, {2: "read"})
    await imported(world, {"issues": [issue(1, assignees=[ELSE], reactions=[HEART])]})
    await reassigned(world, eve=3)
    assert await rows(world, "reaction", "account_id") == [3]
    assert await rows(world, "assignee", "account_id") == []
    world.repos.add(private, {2: "read", 3: "read"})
    world.components.repos.drop_grants(APP)
    await reassigned(world, eve=3)
    assert await rows(world, "assignee", "account_id") == [3]


async def test_a_reaction_that_the_account_has_itself_is_not_doubled(world):
    await imported(world, {"issues": [issue(1, reactions=[HEART])]})
    await world.call("POST", "/issues/1/reactions", {"content": "heart"}, as_=3)
    await reassigned(world, eve=3)
    assert await rows(world, "reaction", "account_id") == [3]


async def test_what_another_person_has_claimed_stays(world):
    await imported(world, *PAGES)
    await reassigned(world, eve=2)
    await reassigned(world, eve=3)
    assert await rows(world, "issue", "author_id") == [2, -1, 2, 2]
    assert await rows(world, "reaction", "account_id") == [2, 2]
    assert await rows(world, "review_comment", "resolver_id") == [2]
    got = (await world.call("GET", "/issues/1")).json()
    assert [one["login"] for one in got["assignees"]] == ["bob"]


async def test_two_people_of_the_source_become_one_account(world):
    both = [HEART, msgspec.structs.replace(HEART, author=OTHER)]
    await imported(world, {"issues": [issue(1, reactions=both, assignees=[ELSE, OTHER])]})
    await reassigned(world, eve=3, mallory=3)
    assert await rows(world, "reaction", "account_id") == [3]
    assert await rows(world, "assignee", "account_id") == [3]
    assert await rows(world, "placeholder", "id") == []


async def test_names_without_ascii_are_known_in_any_letter_case(world):
    name = ImportedPerson(name="Éva", source_id=73)
    await imported(world, {"issues": [issue(1, author=name)], "comments": [comment(1, author=name)]})
    await reassigned(world, éva=3)
    assert await rows(world, "issue", "author_id") == [3]
    assert await rows(world, "comment", "author_id") == [3]


async def test_many_people_take_as_many_statements_as_one(world):
    people = [ImportedPerson(name=f"one {number}", source_id=100 + number) for number in range(30)]
    texts = [
        issue(number, author=one, assignees=[one], reactions=[msgspec.structs.replace(HEART, author=one)])
        for number, one in enumerate(people, 1)
    ]
    await imported(world, {"issues": texts})
    counts = []
    for some in (people[:1], people[1:2], people[2:]):
        await world.deliver(ImportReassigned(repository_id=APP, accounts={one.name: 3 for one in some}))
        with count_statements(world.db) as statements:
            await world.work()
        counts.append(len(statements))
    assert counts[1] == counts[2]  # the first call has copied the account
    assert set(await rows(world, "issue", "author_id")) == {3}


async def test_another_repository_and_texts_from_here_stay(world):
    await world.open_issue("mine")
    await imported(world, {"issues": [issue(7)]})
    await world.deliver(ImportReassigned(repository_id=APP + 1000, accounts={"eve": 3}))
    await world.work()
    assert await rows(world, "issue", "author_id") == [1, -1]


class DyingClients:
    """Clients of a worker that is killed after its first transaction."""

    def __init__(self, database):
        self._db, self.left = database, 1

    def read(self):
        return self._db.read()

    def transaction(self):
        if not self.left:
            raise Killed
        self.left -= 1
        return self._db.transaction()


async def test_a_reassignment_that_is_killed_after_each_batch_goes_on(world, monkeypatch):
    monkeypatch.setattr(placeholders, "BATCH", 2)
    monkeypatch.setattr(placeholders, "ROWS_READ", 3)
    serve(
        world,
        {"issues": [issue(number, reactions=[HEART]) for number in range(1, 8)]},
        {"comments": [comment(number, number) for number in range(1, 8)]},
    )
    await world.deliver(ImportFetched(repository=repository()))
    await world.work()
    await world.deliver(ImportReassigned(repository_id=APP, accounts={"eve": 3}))
    jobs, kills = Jobs(world.db, lease=timedelta(0)), 0
    while claimed := await jobs.claim([REASSIGN]):
        mortal = DyingClients(world.db)
        mortal.left = kills
        try:
            await ImportJobs(mortal, jobs, world.components.repos, world.components.identity, None).reassign(
                claimed[0]
            )
            await jobs.finish_alone(claimed[0])
        except Killed:
            kills += 1
    assert kills >= 4
    assert await rows(world, "issue", "author_id") == [3] * 7
    assert await rows(world, "comment", "author_id") == [3] * 7
    assert await rows(world, "reaction", "account_id") == [3] * 7
    assert account(3).id == 3
