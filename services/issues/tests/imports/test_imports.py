"""Imports: rows of a source with their numbers, times and authors, each once, whatever is killed."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from ingot_chassis.clock import now
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.comparisons import CompareHeads
from ingot_contracts.repos.events import ImportFetched, RepositoryDeleted
from ingot_contracts.repos.imports import (
    ImportedComment,
    ImportedDependency,
    ImportedIssue,
    ImportedLabel,
    ImportedLineComment,
    ImportedMilestone,
    ImportedPerson,
    ImportedPull,
    ImportedReaction,
    ImportedRequest,
    ImportedReview,
    ImportedTime,
    ImportPage,
    ReadImportPage,
)
from ingot_contracts.repos.merge_rules import MergeRule
from ingot_issues.imports.jobs import PAGES_AT_ONCE, ImportJobs
from ingot_issues.imports.rules.pages import IMPORT
from ingot_issues.markdown.rules.rendering import LARGEST
from ingot_testing.service import count_statements

from ..builders import APP, BASE, HEAD, JOINED, repository

EARLIER = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = EARLIER + timedelta(days=3)
BOB = ImportedPerson(account_id=2, name="robert", source_id=70)
ELSE = ImportedPerson(name="eve", source_id=71)


def issue(number, **fields):
    values = {"author": ELSE, "title": f"issue {number}", "created_at": EARLIER, "updated_at": LATER}
    return ImportedIssue(source_id=1000 + number, number=number, **values | fields)


def comment(number, source_id=1, **fields):
    values = {"author": ELSE, "body": "me too", "created_at": EARLIER, "updated_at": LATER}
    return ImportedComment(source_id=source_id, number=number, **values | fields)


def serve(world, *pages):
    """Let repos answer with these pages, one after the other."""
    cursors = ["", *(f"after {number}" for number in range(1, len(pages) + 1))]
    world.repos.import_pages = {
        (APP, cursor): ImportPage(state="page", cursor=following, **page)
        for (cursor, following), page in zip(pairwise(cursors), pages, strict=True)
    }


async def imported(world, *pages):
    serve(world, *pages)
    await world.deliver(ImportFetched(repository=repository()))
    await world.work()


async def test_an_issue_keeps_what_the_source_says(world):
    await imported(
        world,
        {"labels": [ImportedLabel(source_id=5, name="bug", color="#EE0701", description="bad")]},
        {
            "milestones": [
                ImportedMilestone(
                    source_id=6,
                    title="one",
                    state="closed",
                    closed_at=LATER,
                    created_at=EARLIER,
                    updated_at=LATER,
                )
            ]
        },
        {
            "issues": [
                issue(
                    12,
                    body="so",
                    state="closed",
                    closed_at=LATER,
                    labels=[5, 99],
                    milestone=6,
                    assignees=[BOB, ELSE],
                    is_locked=True,
                    due_date=LATER,
                    ref="main",
                )
            ]
        },
        {"comments": [comment(12, author=BOB)]},
    )
    got = (await world.call("GET", "/issues/12")).json()
    assert (got["title"], got["body"], got["state"], got["is_locked"], got["ref"]) == (
        "issue 12",
        "so",
        "closed",
        True,
        "main",
    )
    assert (got["created_at"], got["updated_at"], got["closed_at"], got["due_date"]) == (
        "2020-01-02T03:04:05Z",
        *("2020-01-05T03:04:05Z",) * 3,
    )
    assert [(label["name"], label["color"]) for label in got["labels"]] == [("bug", "ee0701")]
    assert (got["milestone"]["title"], got["milestone"]["state"], got["milestone"]["closed_issues"]) == (
        "one",
        "closed",
        1,
    )
    assert [person["login"] for person in got["assignees"]] == ["bob"]
    assert (got["user"]["id"], got["original_author"], got["original_author_id"]) == (-1, "eve", 71)
    assert got["comments"] == 1
    [text] = (await world.call("GET", "/issues/12/comments")).json()
    assert (text["body"], text["user"]["login"], text["original_author"], text["created_at"]) == (
        "me too",
        "bob",
        "robert",
        "2020-01-02T03:04:05Z",
    )


def pull(number, **fields):
    values = {
        "author": ELSE,
        "title": f"pull {number}",
        "created_at": EARLIER,
        "updated_at": LATER,
        "base_branch": "main",
        "base_sha": BASE,
        "head_branch": "fix",
        "head_sha": HEAD,
        "merge_base": BASE,
        "is_from_base": True,
    }
    return ImportedPull(source_id=2000 + number, number=number, **values | fields)


async def test_pull_requests_are_what_they_were(world):
    merged = {"merged": True, "merged_at": LATER, "merged_by": BOB, "merge_sha": JOINED, "state": "closed"}
    await imported(
        world,
        {"issues": [issue(1)]},
        {
            "pulls": [
                pull(2),
                pull(3, **merged, additions=3, deletions=1, changed_files=2),
                pull(4, state="closed", is_from_base=False, head_branch="main", closed_at=LATER),
            ]
        },
        {"comments": [comment(2), comment(1, 2)]},
    )
    opened, done, closed = [(await world.call("GET", f"/pulls/{number}")).json() for number in (2, 3, 4)]
    assert (opened["state"], opened["merged"], opened["mergeable"]) == ("open", False, True)
    assert (opened["head"]["ref"], opened["head"]["sha"], opened["head"]["repo_id"]) == ("fix", HEAD, APP)
    assert (opened["base"]["ref"], opened["merge_base"], opened["comments"]) == ("main", BASE, 1)
    assert (done["state"], done["merged"], done["merged_at"]) == ("closed", True, "2020-01-05T03:04:05Z")
    assert (done["merged_by"]["login"], done["merge_commit_sha"]) == ("bob", JOINED)
    assert (done["original_merger"], opened["original_merger"]) == ("robert", "")
    assert (done["additions"], done["deletions"], done["changed_files"]) == (3, 1, 2)
    assert (closed["state"], closed["merged"], closed["head"]["repo"]) == ("closed", False, None)
    assert await world.open_counts() == (1, 1)
    assert await world.payloads("issues.pull.changed.v1") == []
    as_issue = (await world.call("GET", "/issues/2")).json()
    assert (as_issue["original_author"], as_issue["pull_request"]["merged"]) == ("eve", False)
    assert (await world.open_issue())["number"] == 5


def review(source_id, state="APPROVED", **fields):
    values = {"author": ELSE, "body": "so", "commit_sha": HEAD, "submitted_at": EARLIER, "updated_at": LATER}
    return ImportedReview(source_id=source_id, state=state, **values | fields)


def line(**fields):
    values = {"author": ELSE, "body": "why", "path": "a.py", "new_position": 3, "commit_sha": HEAD}
    values |= {"diff_hunk": "@@ -1 +1,3 @@\n+c", "created_at": EARLIER, "updated_at": LATER}
    return ImportedLineComment(**values | fields)


async def test_an_imported_approval_counts_for_no_rule(world):
    """The source says whose it is."""
    rule = MergeRule(rule_name="main", required_approvals=1, may_merge=True)
    world.repos.merge_rules[APP, "main"] = rule
    await imported(world, {"pulls": [pull(1, reviews=[review(2, author=BOB)])]})
    [shown] = (await world.call("GET", "/pulls/1/reviews")).json()
    assert (shown["user"]["login"], shown["state"], shown["official"]) == ("bob", "APPROVED", False)
    reasons = {one["kind"] for one in (await world.call("GET", "/pulls/1/merge/refusals")).json()}
    assert "approvals" in reasons


async def test_reviews_stand_where_they_were(world):
    moments = [EARLIER + timedelta(hours=number) for number in range(4)]
    reviews = [
        review(
            1, "REQUEST_CHANGES", submitted_at=moments[1], comments=[line(), line(author=BOB, resolver=BOB)]
        ),
        review(2, author=BOB, submitted_at=moments[3], dismissed=True, body=""),
    ]
    requests = [ImportedRequest(reviewer=one, commit_sha=HEAD, created_at=EARLIER) for one in (BOB, ELSE)]
    await imported(
        world,
        {
            "pulls": [pull(1, reviews=reviews, requests=requests)],
            "comments": [comment(1, 2, created_at=moments[2]), comment(1, 1, created_at=moments[0])],
        },
    )
    first, second, request = sorted(
        (await world.call("GET", "/pulls/1/reviews")).json(),
        key=lambda one: (one["state"] == "REQUEST_REVIEW", one["id"]),
    )
    assert (first["state"], first["original_author"], first["user"]["id"], first["commit_id"]) == (
        "REQUEST_CHANGES", "eve", -1, HEAD,
    )  # fmt: skip
    assert (first["submitted_at"], first["official"], first["comments_count"]) == (
        "2020-01-02T04:04:05Z",
        False,
        2,
    )
    assert (second["state"], second["user"]["login"], second["dismissed"]) == ("APPROVED", "bob", True)
    assert (request["state"], request["user"]["login"]) == ("REQUEST_REVIEW", "bob")
    texts = (await world.call("GET", f"/pulls/1/reviews/{first['id']}/comments")).json()
    assert [(one["path"], one["position"], one["original_position"], one["body"]) for one in texts] == [
        ("a.py", 3, 0, "why")
    ] * 2
    assert [one["original_author"] for one in texts] == ["eve", "robert"]
    assert texts[1]["resolver"]["login"] == "bob"
    timeline = (await world.call("GET", "/issues/1/timeline")).json()
    assert {(one["original_author"], one["original_author_id"]) for one in timeline} == {
        ("eve", 71), ("robert", 70),
    }  # fmt: skip
    assert [(one["type"], one["created_at"][11:13]) for one in timeline] == [
        ("comment", "03"), ("review", "04"), ("comment", "05"), ("review", "06"),
    ]  # fmt: skip
    assert (await world.call("GET", "/pulls/1")).json()["comments"] == 2


async def test_reactions_are_kept_with_their_people(world):
    def reaction(author, content="heart"):
        return ImportedReaction(author=author, content=content, created_at=EARLIER)

    reactions = [reaction(BOB), reaction(BOB), reaction(ELSE), reaction(BOB, "thumb")]
    await imported(
        world,
        {"issues": [issue(1, reactions=reactions)]},
        {"comments": [comment(1, reactions=[reaction(BOB, "+1")])]},
    )
    got = (await world.call("GET", "/issues/1/reactions")).json()
    assert [(one["user"]["id"], one["content"], one["created_at"]) for one in got] == [
        (2, "heart", "2020-01-02T03:04:05Z"), (-1, "heart", "2020-01-02T03:04:05Z"),
    ]  # fmt: skip
    [text] = (await world.call("GET", "/issues/1/comments")).json()
    got = (await world.call("GET", f"/issues/comments/{text['id']}/reactions")).json()
    assert [(one["user"]["login"], one["content"]) for one in got] == [("bob", "+1")]


async def test_times_and_dependencies_are_kept(world):
    spent = ImportedTime(source_id=1, number=1, author=BOB, seconds=60, created_at=EARLIER)
    page = {
        "times": [spent, ImportedTime(source_id=2, number=9, author=BOB, seconds=60, created_at=EARLIER)],
        "dependencies": [
            ImportedDependency(number=1, blocker=2),
            ImportedDependency(number=1, blocker=1),
            ImportedDependency(number=9, blocker=1),
        ],
    }
    await imported(world, {"issues": [issue(1), issue(2)]}, page, page)
    [time] = (await world.call("GET", "/issues/1/times")).json()
    assert (time["time"], time["user_name"], time["created"]) == (60, "bob", "2020-01-02T03:04:05Z")
    assert [one["number"] for one in (await world.call("GET", "/issues/1/dependencies")).json()] == [2]


async def test_only_readers_are_assigned_in_a_private_repository(world):
    world.repos.add(repository(private=True), {2: "none", 3: "read"})
    eve = ImportedPerson(account_id=3, name="eve", source_id=71)
    requests = [ImportedRequest(reviewer=one, commit_sha=HEAD, created_at=EARLIER) for one in (BOB, eve)]
    more = {"assignees": [BOB, eve]}
    serve(world, {"issues": [issue(1, **more)], "pulls": [pull(2, requests=requests, **more)]})
    await world.deliver(ImportFetched(repository=repository(private=True)))
    await world.work()
    for path in ("/issues/1", "/pulls/2"):
        got = (await world.call("GET", path)).json()
        assert [person["id"] for person in got["assignees"]] == [3], path
    got = (await world.call("GET", "/pulls/2/reviews")).json()
    assert [one["user"]["id"] for one in got] == [3]


async def test_a_head_of_another_repository_does_not_follow_a_branch_of_the_same_name(world):
    await imported(world, {"pulls": [pull(1, is_from_base=False, head_branch="main")]})
    [heads] = world.repos.bodies("comparisons", CompareHeads)
    assert [(head.repository_id, head.number) for head in heads.heads] == [(0, 1)]


async def test_people_write_on_what_the_ghost_has_written(world):
    await imported(world, {"issues": [issue(1)]}, {"pulls": [pull(2)]})
    for number in (1, 2):
        await world.create(f"/issues/{number}/comments", {"body": "@bob look"}, as_=3)
    await world.work()
    threads = (await world.call("GET", "//notifications", as_=2)).json()
    assert sorted(thread["subject"]["title"] for thread in threads) == ["issue 1", "pull 2"]
    table = world.db.metadata.tables["job"]
    async with world.db.read() as db:
        assert {row.last_error for row in (await db.execute(table.select())).all()} == {None}


async def test_a_pull_request_of_the_ghost_in_a_private_repository_is_compared(world):
    world.repos.add(repository(private=True))
    serve(world, {"pulls": [pull(1)]})
    await world.deliver(ImportFetched(repository=repository(private=True)))
    await world.work()
    assert (await world.call("GET", "/pulls/1")).json()["mergeable"]
    [heads] = world.repos.bodies("comparisons", CompareHeads)
    assert [head.branch for head in heads.heads] == ["fix"]


async def test_the_next_number_is_above_the_imported_ones(world):
    await imported(world, {"issues": [issue(12), issue(3)]})
    assert (await world.open_issue())["number"] == 13
    assert await world.open_counts() == (3, 0)


async def test_nothing_of_an_import_is_announced_or_notified(world):
    await imported(world, {"issues": [issue(1, body="@bob see #2"), issue(2)]}, {"comments": [comment(1)]})
    types = [
        row["type"] for row in await world.payloads("issues.issue.changed.v1", "issues.comment.changed.v1")
    ]
    assert types == []
    assert await world.kinds(2) == []
    assert (await world.call("GET", "//notifications", as_=2)).json() == []


async def test_pull_requests_that_are_read_twice_are_written_once(world):
    heart = ImportedReaction(author=BOB, content="heart", created_at=EARLIER)
    page = {
        "pulls": [pull(1, reviews=[review(1, comments=[line()])], reactions=[heart])],
        "comments": [comment(1, reactions=[heart])],
    }
    await imported(world, page, page)
    timeline = (await world.call("GET", "/issues/1/timeline")).json()
    assert [one["type"] for one in timeline] == ["comment", "review"]
    for table, count in {"review": 1, "review_comment": 1, "reaction": 2, "comment": 2}.items():
        async with world.db.read() as db:
            assert len((await db.execute(world.db.metadata.tables[table].select())).all()) == count, table


async def test_a_page_that_is_read_twice_is_written_once(world):
    pages = [{"labels": [ImportedLabel(source_id=5, name="bug", color="f00")]}, {"issues": [issue(1)]}]
    again = [*pages, *pages, {"comments": [comment(1)]}, {"comments": [comment(1), comment(1, 2)]}]
    await imported(world, *again)
    assert len((await world.call("GET", "/labels")).json()) == 1
    assert [one["number"] for one in (await world.call("GET", "/issues")).json()] == [1]
    assert len((await world.call("GET", "/issues/1/comments")).json()) == 2


async def statements_of(world, *pages):
    """Return the number of statements that write these pages, after a page with a label and a milestone."""
    base = {
        "labels": [ImportedLabel(source_id=5, name="bug", color="f00")],
        "milestones": [
            ImportedMilestone(source_id=one, title="one", created_at=EARLIER, updated_at=LATER)
            for one in (6, 7)
        ],
    }
    await imported(world, base)
    serve(world, base, *pages)
    await world.deliver(ImportFetched(repository=repository()))
    with count_statements(world.db) as statements:
        await world.work()
    return len(statements)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("kind", ["labels", "milestones", "issues", "pulls", "comments"])
async def test_a_page_is_written_with_a_constant_number_of_statements(world, kind):
    def page(numbers):
        more = {"labels": [5], "assignees": [BOB]}
        return {
            "labels": [ImportedLabel(source_id=one, name=f"l{one}", color="f00") for one in numbers],
            "milestones": [
                ImportedMilestone(source_id=one, title="two", created_at=EARLIER, updated_at=LATER)
                for one in numbers
            ],
            "issues": [issue(one, milestone=6 + one % 2, **more) for one in numbers],
            "pulls": [pull(one, milestone=6 + one % 2, **more) for one in numbers],
            "comments": [comment(1000 + one % 10, one) for one in numbers],
        }[kind]

    targets = {"issues": [issue(number) for number in range(1000, 1010)]}
    counts = [
        await statements_of(world, targets, {kind: page(numbers)})
        for numbers in (range(100, 102), range(200, 202), range(300, 350))
    ]
    assert counts[1] == counts[2]


class Killed(BaseException):
    """The end of a worker."""


class DyingRepos:
    """Repos for a worker that is killed when it has the answer to its second page."""

    def __init__(self, repos):
        self.repos, self.calls = repos, 0

    async def import_page(self, repository_id, cursor, **more):
        page = await self.repos.import_page(repository_id, cursor, **more)
        self.calls += 1
        if self.calls == 2:
            raise Killed
        return page


async def test_workers_that_are_killed_between_all_pages_write_everything_once(world):
    heart = ImportedReaction(author=BOB, content="heart", created_at=EARLIER)
    pages = [{"issues": [issue(number, reactions=[heart])]} for number in range(1, 5)]
    pages += [
        {
            "pulls": [pull(number, reviews=[review(number, comments=[line()])])],
            "comments": [comment(number, 10 + number)],
        }
        for number in range(5, 8)
    ]
    pages += [{"comments": [comment(number, number)]} for number in range(1, 5)]
    spent = ImportedTime(source_id=1, number=1, author=BOB, seconds=60, created_at=EARLIER)
    pages += [{"times": [spent]}, {"dependencies": [ImportedDependency(number=1, blocker=2)]}]
    serve(world, *pages)
    await world.deliver(ImportFetched(repository=repository()))
    jobs = Jobs(world.db, lease=timedelta(0))
    kills = 0
    while claimed := await jobs.claim([IMPORT]):
        try:
            await ImportJobs(
                world.db, jobs, DyingRepos(world.components.repos), world.components.identity, None
            ).run(claimed[0])
            await jobs.finish_alone(claimed[0])
        except Killed:
            kills += 1
    assert kills == len(pages)
    cursors = [body.cursor for body in world.repos.bodies("pages", ReadImportPage)]
    assert cursors[-1] == f"after {len(pages)}"
    got = (await world.call("GET", "/issues?sort=oldest")).json()
    assert [one["number"] for one in got] == [*range(1, 8)]
    assert len((await world.call("GET", "/issues/comments")).json()) == 7
    assert await world.open_counts() == (4, 3)
    rows = {"reaction": 4, "review": 3, "review_comment": 3, "tracked_time": 1, "dependency": 1}
    async with world.db.read() as db:
        for name, count in rows.items():
            assert len((await db.execute(world.db.metadata.tables[name].select())).all()) == count, name


async def test_a_page_is_not_written_by_a_worker_that_has_lost_its_job(world):
    serve(world, {"issues": [issue(1)]})
    await world.deliver(ImportFetched(repository=repository()))
    jobs = Jobs(world.db, lease=timedelta(0))
    [first] = await jobs.claim([IMPORT])
    [second] = await jobs.claim([IMPORT])
    work = ImportJobs(world.db, jobs, world.components.repos, world.components.identity, None)
    await work.run(second)
    await work.run(first)
    assert len((await world.call("GET", "/issues")).json()) == 1


async def test_a_pause_of_the_source_is_kept(world):
    serve(world, {"issues": [issue(1)]})
    world.repos.import_pages[APP, "after 1"] = ImportPage(state="wait", seconds=3600)
    before = now()
    await world.deliver(ImportFetched(repository=repository()))
    await world.work()
    table = world.db.metadata.tables["job"]
    async with world.db.read() as db:
        [row] = (await db.execute(table.select().where(table.c.kind == IMPORT))).all()
    assert row.state == "waiting"
    assert row.run_at >= before + timedelta(seconds=3600)


async def test_many_pages_are_read_in_several_runs(world):
    count = PAGES_AT_ONCE * 2 + 3
    await imported(world, *({"issues": [issue(number)]} for number in range(1, count + 1)))
    answer = await world.call("GET", "/issues?limit=1")
    assert answer.headers["x-total-count"] == str(count)


async def test_a_number_that_is_taken_ends_the_import_in_repos(world):
    await world.open_issue("mine")
    await imported(world, {"issues": [issue(1), issue(2)]})
    assert [one["title"] for one in (await world.call("GET", "/issues")).json()] == ["mine"]
    assert world.repos.bodies("pages", ReadImportPage)[-1] == ReadImportPage(cursor="", is_refused=True)


async def test_texts_that_do_not_fit_are_clipped(world):
    await imported(
        world,
        {"labels": [ImportedLabel(source_id=5, name=" ", color="reddish")]},
        {"issues": [issue(1, title="a\0b" * 300, body="x" * (LARGEST + 1)), issue(2, title="", body="\0")]},
    )
    first = (await world.call("GET", "/issues/1")).json()
    assert (len(first["title"]), len(first["body"]), first["body"][-1]) == (255, LARGEST, ")")
    second = (await world.call("GET", "/issues/2")).json()
    assert (second["title"], second["body"]) == ("-", "")
    assert (await world.call("GET", "/labels")).json()[0]["color"] == "ededed"


async def test_comments_on_what_is_not_here_are_left_out(world):
    await imported(world, {"issues": [issue(1)]}, {"comments": [comment(2), comment(1, 2)]})
    assert len((await world.call("GET", "/issues/comments")).json()) == 1


async def test_nothing_is_left_of_a_deleted_repository(world):
    await imported(world, {"issues": [issue(1)]}, {"comments": [comment(1)]})
    await world.deliver(RepositoryDeleted(repository=repository(), sender=User(id=1, login="ann")))
    async with world.db.read() as db:
        for name in ("import_cursor", "imported_object", "imported_file", "issue", "comment"):
            assert (await db.execute(world.db.metadata.tables[name].select())).all() == []
    serve(world, {"issues": [issue(1)]})
    await world.deliver(ImportFetched(repository=repository()))
    await world.work()
    assert world.repos.bodies("pages", ReadImportPage)[-1].is_refused
