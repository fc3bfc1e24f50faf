"""Imports that are repeated: what is new at the source comes, once, and what changed here stays."""

from datetime import timedelta

import msgspec
import pytest

from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos.events import ImportFetched
from ingot_contracts.repos.imports import (
    GHOST_ID,
    ImportConflict,
    ImportedDependency,
    ImportedFile,
    ImportedLabel,
    ImportedMilestone,
    ImportedPerson,
    ImportedReaction,
    ImportedTime,
    ImportFile,
    ReadImportPage,
)
from ingot_issues.imports.jobs import ImportJobs
from ingot_issues.imports.rules.pages import IMPORT
from ingot_issues.imports.store.placeholders import Role
from ingot_testing.service import count_statements

from ..builders import APP, HEAD, NEXT, comparison, new_commit, push, repository
from .test_imports import (
    BOB,
    EARLIER,
    ELSE,
    LATER,
    DyingRepos,
    Killed,
    comment,
    imported,
    issue,
    line,
    pull,
    review,
    serve,
)

NEW = LATER + timedelta(days=1)
HEART = ImportedReaction(author=BOB, content="heart", created_at=EARLIER)
BUG = ImportedLabel(source_id=5, name="bug", color="ee0701")
ONE = ImportedMilestone(source_id=6, title="one", created_at=EARLIER, updated_at=LATER)


def changed(one, **fields):
    return msgspec.structs.replace(one, updated_at=NEW, **fields)


async def repeated(world, *pages, repeat=1):
    """Repeat the import with these pages, and return the conflicts."""
    serve(world, *pages)
    world.repos.calls.clear()
    await world.deliver(ImportFetched(repository=repository(), repeat=repeat))
    await world.work()
    return [one for body in world.repos.bodies("pages", ReadImportPage) for one in body.conflicts]


async def count(world, **rows):
    async with world.db.read() as db:
        counts = {
            name: len((await db.execute(world.db.metadata.tables[name].select())).all()) for name in rows
        }
    assert counts == rows


async def test_an_issue_gets_what_changed_at_the_source(world):
    first = issue(1, labels=[5], assignees=[BOB])
    await imported(world, {"labels": [BUG], "milestones": [ONE]}, {"issues": [first, issue(2)]})
    later = changed(
        first,
        title="renamed",
        body="more",
        state="closed",
        closed_at=NEW,
        labels=[7],
        milestone=6,
        assignees=[],
        is_locked=True,
        due_date=NEW,
    )
    docs = ImportedLabel(source_id=7, name="docs", color="00ff00")
    pages = [
        {"labels": [msgspec.structs.replace(BUG, color="0000ff"), docs], "milestones": [ONE]},
        {"issues": [later, issue(2), issue(3)]},
        {"comments": [comment(1)]},
    ]
    assert await repeated(world, *pages) == []
    got = (await world.call("GET", "/issues/1")).json()
    assert (got["title"], got["body"], got["state"], got["is_locked"], got["comments"]) == (
        "renamed", "more", "closed", True, 1,
    )  # fmt: skip
    assert got["closed_at"] == got["due_date"] == got["updated_at"] == "2020-01-06T03:04:05Z"
    assert ([label["name"] for label in got["labels"]], got["assignees"]) == (["docs"], [])
    assert (got["milestone"]["title"], got["milestone"]["closed_issues"]) == ("one", 1)
    labels = {one["name"]: one["color"] for one in (await world.call("GET", "/labels")).json()}
    assert labels == {"bug": "0000ff", "docs": "00ff00"}
    assert await world.open_counts() == (2, 0)
    assert await repeated(world, *pages, repeat=2) == []
    await count(world, issue=3, label=2, milestone=1, comment=1)


async def test_what_changed_on_both_sides_stays_and_is_reported(world):
    await imported(world, {"labels": [BUG]}, {"issues": [issue(1), issue(2)]}, {"comments": [comment(1)]})
    await world.call("PATCH", "/issues/1", {"title": "ours"})
    [text] = (await world.call("GET", "/issues/1/comments")).json()
    await world.call("PATCH", f"/issues/comments/{text['id']}", {"body": "ours"})
    pages = [
        {"issues": [changed(issue(1), title="theirs", body="new"), changed(issue(2), title="two")]},
        {"comments": [changed(comment(1), body="theirs")]},
    ]
    conflicts = await repeated(world, *pages)
    assert conflicts == [
        ImportConflict(kind="issue", number=1, fields=["title"]),
        ImportConflict(kind="comment", number=1, name="1", fields=["body"]),
    ]
    got = (await world.call("GET", "/issues/1")).json()
    assert (got["title"], got["body"]) == ("ours", "new")
    assert (await world.call("GET", "/issues/2")).json()["title"] == "two"
    assert (await world.call("GET", "/issues/1/comments")).json()[0]["body"] == "ours"
    assert await repeated(world, *pages, repeat=2) == conflicts


async def test_what_changed_here_only_stays(world):
    await imported(world, {"issues": [issue(1)]}, {"comments": [comment(1)]})
    await world.call("PATCH", "/issues/1", {"title": "ours", "state": "closed"})
    assert await repeated(world, {"issues": [issue(1)]}, {"comments": [comment(1)]}) == []
    got = (await world.call("GET", "/issues/1")).json()
    assert (got["title"], got["state"]) == ("ours", "closed")


async def test_the_same_change_on_both_sides_is_no_conflict(world):
    await imported(world, {"issues": [issue(1)]})
    await world.call("PATCH", "/issues/1", {"title": "same"})
    assert await repeated(world, {"issues": [changed(issue(1), title="same")]}) == []
    assert await repeated(world, {"issues": [changed(issue(1), title="next")]}, repeat=2) == []
    assert (await world.call("GET", "/issues/1")).json()["title"] == "next"


async def test_a_number_that_was_taken_here_is_reported_and_gets_no_comments(world):
    await imported(world, {"issues": [issue(1)]})
    assert (await world.open_issue("mine"))["number"] == 2
    spent = ImportedTime(source_id=1, number=2, author=BOB, seconds=60, created_at=EARLIER)
    conflicts = await repeated(
        world,
        {"issues": [issue(1), issue(2), issue(3)]},
        {"comments": [comment(2), comment(3, 2)], "times": [spent]},
        {"dependencies": [ImportedDependency(number=2, blocker=1)]},
    )
    assert conflicts == [ImportConflict(kind="issue", number=2, name="issue 2", fields=["number"])]
    got = (await world.call("GET", "/issues/2")).json()
    assert (got["title"], got["comments"]) == ("mine", 0)
    await count(world, issue=3, tracked_time=0, dependency=0)


async def test_what_was_deleted_here_does_not_come_back(world):
    spent = ImportedTime(source_id=1, number=2, author=BOB, seconds=60, created_at=EARLIER)
    pages = [
        {"labels": [BUG]},
        {"issues": [issue(1), issue(2, labels=[5])]},
        {"comments": [comment(2)], "times": [spent]},
    ]
    await imported(world, *pages)
    await world.call("DELETE", "/issues/1")
    [text] = (await world.call("GET", "/issues/2/comments")).json()
    await world.call("DELETE", f"/issues/comments/{text['id']}")
    [label] = (await world.call("GET", "/labels")).json()
    await world.call("DELETE", f"/labels/{label['id']}")
    assert await repeated(world, *pages) == []
    await count(world, issue=1, comment=0, label=0)
    pages[1] = {"issues": [changed(issue(1), title="theirs"), issue(2, labels=[5])]}
    [conflict] = await repeated(world, *pages, repeat=2)
    assert (conflict.number, conflict.fields) == (1, ["deleted"])


async def test_a_label_and_a_milestone_of_both_sides_are_the_same(world):
    await imported(world, {"issues": [issue(1)]})
    await world.call("POST", "/labels", {"name": "Bug", "color": "#000000"})
    await world.call("POST", "/milestones", {"title": "one"})
    conflicts = await repeated(
        world,
        {"labels": [BUG], "milestones": [ONE]},
        {"issues": [changed(issue(1), labels=[5], milestone=6)]},
    )
    assert [(one.kind, one.name, one.fields) for one in conflicts] == [("label", "bug", ["name", "color"])]
    await count(world, label=1, milestone=1)
    got = (await world.call("GET", "/issues/1")).json()
    assert (got["labels"][0]["name"], got["milestone"]["open_issues"]) == ("Bug", 1)


async def test_a_pull_request_is_merged_and_gets_new_commits_and_reviews(world):
    reviewed = pull(2, reviews=[review(1, comments=[line()])])
    closed = pull(3, state="closed", closed_at=LATER)
    await imported(world, {"pulls": [pull(1), reviewed, closed], "comments": [comment(1)]})
    merged = {"merged": True, "merged_at": NEW, "merged_by": BOB, "merge_sha": NEXT, "state": "closed"}
    answered = [
        review(1, dismissed=True, comments=[line(resolver=BOB), line(body="one more", path="b.py")]),
        review(2, state="COMMENT", body="again"),
    ]
    pages = [
        {
            "pulls": [
                changed(pull(1), closed_at=NEW, **merged),
                changed(reviewed, reviews=answered),
                changed(closed, head_sha=NEXT),
            ],
            "comments": [comment(1), comment(2, 9)],
        }
    ]
    assert await repeated(world, *pages) == []
    got = (await world.call("GET", "/pulls/1")).json()
    assert (got["state"], got["merged"], got["merge_commit_sha"]) == ("closed", True, NEXT)
    assert got["merged_by"]["login"] == "bob"
    assert (await world.call("GET", "/pulls/3")).json()["head"]["sha"] == NEXT
    reviews = (await world.call("GET", "/pulls/2/reviews")).json()
    assert [(one["state"], one["dismissed"], one["comments_count"]) for one in reviews] == [
        ("APPROVED", True, 2),
        ("COMMENT", False, 0),
    ]
    lines = (await world.call("GET", f"/pulls/2/reviews/{reviews[0]['id']}/comments")).json()
    assert sorted((one["body"], bool(one["resolver"])) for one in lines) == [
        ("one more", False),
        (line().body, True),
    ]
    assert await world.open_counts() == (0, 1)
    assert await repeated(world, *pages, repeat=2) == []
    await count(world, review=2, review_comment=2, pull=3, comment=4)


async def test_reactions_files_and_dependencies_come_once_and_do_not_come_back(world):
    file = ImportedFile(uuid="7", address="http://there/7", name="a.txt", created_at=EARLIER)
    blocked = {"dependencies": [ImportedDependency(number=1, blocker=2)]}
    await imported(world, {"issues": [issue(1, reactions=[HEART]), issue(2)]}, {"comments": [comment(1)]})
    cry = ImportedReaction(author=ELSE, content="confused", created_at=EARLIER)
    pages = [
        {"issues": [issue(1, reactions=[HEART, cry], files=[file]), issue(2)]},
        {"comments": [comment(1, reactions=[HEART])]},
        blocked,
    ]
    assert await repeated(world, *pages) == []
    await count(world, reaction=3, dependency=1)
    await world.call("DELETE", "/issues/1/reactions", {"content": "heart"}, as_=2)
    await world.call("DELETE", "/issues/1/dependencies", {"owner": "ann", "repo": "app", "index": 2})
    await count(world, reaction=2, dependency=0)
    assert await repeated(world, *pages, repeat=2) == []
    await count(world, reaction=2, dependency=0, imported_file=0)


async def test_a_repeat_that_is_killed_between_all_pages_goes_on(world):
    first = [{"issues": [issue(1), issue(2)]}, {"comments": [comment(1)]}]
    await imported(world, *first)
    await world.call("PATCH", "/issues/1", {"title": "ours"})
    pages = [
        {"issues": [changed(issue(1), title="theirs"), changed(issue(2), state="closed"), issue(3)]},
        {"pulls": [pull(4, reviews=[review(1, comments=[line()])])], "comments": [comment(4, 2)]},
        {"comments": [comment(1), comment(3, 3)]},
    ]
    serve(world, *pages)
    world.repos.calls.clear()
    await world.deliver(ImportFetched(repository=repository(), repeat=1))
    jobs, kills = Jobs(world.db, lease=timedelta(0)), 0
    while claimed := await jobs.claim([IMPORT]):
        repos = DyingRepos(world.components.repos)
        try:
            await ImportJobs(world.db, jobs, repos, world.components.identity, None).run(claimed[0])
            await jobs.finish_alone(claimed[0])
        except Killed:
            kills += 1
    assert kills == len(pages)
    bodies = world.repos.bodies("pages", ReadImportPage)
    sent = {body.cursor: body.conflicts for body in bodies if body.conflicts}
    assert sent == {"after 1": [ImportConflict(kind="issue", number=1, fields=["title"])]}
    assert await world.open_counts() == (2, 1)
    await count(world, issue=4, comment=5, review=1, review_comment=1)


async def test_an_import_of_an_earlier_release_reports_what_differs(world):
    await imported(world, {"issues": [issue(1), issue(2)]})
    async with world.db.transaction() as tx:
        await tx.execute(world.db.metadata.tables["imported_object"].update().values(base=None))
    conflicts = await repeated(world, {"issues": [changed(issue(1), title="theirs"), issue(2)]})
    assert conflicts == [ImportConflict(kind="issue", number=1, fields=["title"])]
    assert await repeated(world, {"issues": [issue(1), changed(issue(2), title="two")]}, repeat=2) == []
    assert (await world.call("GET", "/issues/2")).json()["title"] == "two"


async def test_dependencies_of_an_earlier_release_do_not_come_back(world):
    blocked = [ImportedDependency(number=1, blocker=2), ImportedDependency(number=1, blocker=3)]
    await imported(world, {"issues": [issue(1), issue(2), issue(3)]}, {"dependencies": blocked})
    await world.call("DELETE", "/issues/1/dependencies", {"owner": "ann", "repo": "app", "index": 2})
    async with world.db.transaction() as tx:
        await tx.execute(world.db.metadata.tables["imported_object"].update().values(base=None))
    unknown = ImportConflict(kind="issue", number=1, fields=["dependencies"])
    of_new = [ImportedDependency(number=4, blocker=1), ImportedDependency(number=1, blocker=4)]
    pages = [{"issues": [issue(1), issue(2), issue(3), issue(4)]}, {"dependencies": [*blocked, *of_new]}]
    assert await repeated(world, *pages) == [unknown]
    await count(world, dependency=3)
    later = ImportedDependency(number=2, blocker=3)
    pages[1]["dependencies"].append(later)
    assert await repeated(world, *pages, repeat=2) == [unknown]
    await count(world, dependency=4)
    await world.call("POST", "/issues/1/dependencies", {"owner": "ann", "repo": "app", "index": 2})
    assert await repeated(world, *pages, repeat=3) == []
    await count(world, dependency=5)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_page_without_changes_takes_a_constant_number_of_statements(world):
    counts = []
    for repeat, numbers in enumerate((range(1, 4), range(1, 31)), 1):
        pages = [
            {"issues": [issue(number, labels=[5]) for number in numbers]},
            {"comments": [comment(number, number) for number in numbers]},
        ]
        await imported(world, {"labels": [BUG]}, *pages)
        await repeated(world, {"labels": [BUG]}, *pages, repeat=2 * repeat)
        serve(world, {"labels": [BUG]}, *pages)
        await world.deliver(ImportFetched(repository=repository(), repeat=2 * repeat + 1))
        with count_statements(world.db) as statements:
            await world.work()
        counts.append(len(statements))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("is_import", [False, True])
async def test_a_push_of_a_repeat_closes_and_merges_nothing(world, is_import):
    opened = changed(pull(1), head_sha=HEAD)
    await imported(world, {"issues": [issue(3)], "pulls": [opened]})
    world.repos.comparison = comparison(base_sha=NEXT, merge_base=HEAD, commits=0)
    commits = [new_commit(NEXT, "fixes #3\n")]
    await world.deliver(push(commits=commits, total_commits=1, restricted=True, imported=is_import))
    await world.work()
    states = [(await world.call("GET", f"/issues/{number}")).json()["state"] for number in (3, 1)]
    assert states == (["open"] * 2 if is_import else ["closed"] * 2)
    rows = [(await world.call("GET", f"/issues/{number}/timeline")).json() for number in (3, 1)]
    assert (rows == [[], []]) is is_import


@pytest.mark.parametrize("is_import", [False, True])
async def test_a_head_that_a_repeat_moves_is_not_announced(world, is_import):
    await imported(world, {"pulls": [pull(1)]})
    world.repos.comparison = comparison(head_sha=NEXT)
    await world.deliver(push(ref="refs/heads/fix", before=HEAD, restricted=True, imported=is_import))
    await world.work()
    assert (await world.call("GET", "/pulls/1")).json()["head"]["sha"] == NEXT
    assert len((await world.call("GET", "/issues/1/timeline")).json()) == (0 if is_import else 1)


async def test_the_head_of_a_pull_request_with_commits_of_both_sides_stays(world):
    await imported(world, {"pulls": [pull(1)]})
    async with world.db.transaction() as tx:
        await tx.execute(world.db.metadata.tables["pull"].update().values(head_sha="c" * 40))
    conflicts = await repeated(world, {"pulls": [changed(pull(1), head_sha=NEXT)]})
    assert conflicts == [ImportConflict(kind="pull", number=1, fields=["head"])]
    assert HEAD not in ((await world.call("GET", "/pulls/1")).json()["head"]["sha"], NEXT)


@pytest.mark.parametrize("source_id", [0, 41])
async def test_comments_on_moved_lines_and_of_renamed_authors_come_once(world, source_id):
    first = line(source_id=source_id)
    renamed = msgspec.structs.replace(ELSE, name="eve2")
    await imported(world, {"pulls": [pull(1, reviews=[review(1, comments=[first])])]})
    moved = msgspec.structs.replace(first, new_position=13, path="b.py", commit_sha=NEXT)
    for repeat, later in enumerate((moved, msgspec.structs.replace(moved, author=renamed, body="better")), 1):
        pages = {"pulls": [changed(pull(1, reviews=[review(1, comments=[later])]))]}
        assert await repeated(world, pages, repeat=repeat) == []
        await count(world, review_comment=1)
    async with world.db.read() as db:
        [row] = (await db.execute(world.db.metadata.tables["review_comment"].select())).all()
    assert row.body == "better"


async def test_a_comment_on_a_line_comes_once_in_two_reviews(world):
    both = [review(number, comments=[line(source_id=41), line(source_id=41)]) for number in (1, 2)]
    await imported(world, {"pulls": [pull(1, reviews=both)]})
    await count(world, review=2, review_comment=1)


async def test_a_comment_on_a_line_of_an_earlier_release_is_known_again(world):
    pages = {"pulls": [pull(1, reviews=[review(1, comments=[line()])])]}
    await imported(world, pages)
    for repeat, body in enumerate(("why", "better"), 1):
        later = changed(pull(1, reviews=[review(1, comments=[line(source_id=41, body=body)])]))
        if repeat == 1:
            async with world.db.transaction() as tx:
                await tx.execute(world.db.metadata.tables["imported_object"].update().values(base=None))
        assert await repeated(world, {"pulls": [later]}, repeat=repeat) == []
    await count(world, review_comment=1)


async def test_reactions_of_renamed_people_and_those_that_exist_here_come_once(world):
    cry = ImportedReaction(author=ELSE, content="confused", created_at=EARLIER)
    await imported(world, {"issues": [issue(1, reactions=[cry])]}, {"comments": [comment(1)]})
    await world.call("POST", "/issues/1/reactions", {"content": "heart"}, as_=2)
    renamed = msgspec.structs.replace(cry, author=msgspec.structs.replace(ELSE, name="eve2"))
    pages = [
        {"issues": [issue(1, reactions=[renamed, HEART])]},
        {"comments": [comment(1, reactions=[HEART])]},
    ]
    assert await repeated(world, *pages) == []
    await count(world, reaction=3)


async def assigned(world, number=1):
    got = (await world.call("GET", f"/issues/{number}")).json()
    return [person["login"] for person in got["assignees"] or []]


async def assignee_placeholders(world):
    async with world.db.read() as db:
        rows = (await db.execute(world.db.metadata.tables["placeholder"].select())).all()
    return sorted(row.person for row in rows if row.role == Role.ASSIGNEE)


UNMAPPED_BOB = msgspec.structs.replace(BOB, account_id=GHOST_ID)
CAT = ImportedPerson(account_id=3, name="kitty", source_id=73)


async def test_a_repeat_without_the_people_of_the_first_run_unassigns_no_one(world):
    await imported(world, {"issues": [issue(1, assignees=[BOB])], "pulls": [pull(2, assignees=[BOB])]})
    pages = {
        "issues": [changed(issue(1, title="new", assignees=[UNMAPPED_BOB, CAT]))],
        "pulls": [pull(2, assignees=[UNMAPPED_BOB])],
    }
    assert await repeated(world, pages) == []
    assert (await assigned(world), await assigned(world, 2)) == (["bob", "cat"], ["bob"])
    assert await assignee_placeholders(world) == []
    assert await repeated(world, {"issues": [changed(issue(1, assignees=[CAT]))]}, repeat=2) == []
    assert await assigned(world) == ["cat"]


async def test_assignees_of_both_sides_stay(world):
    await imported(world, {"issues": [issue(1, assignees=[BOB])]})
    await world.call("PATCH", "/issues/1", {"assignees": ["bob", "ann"]})
    assert await repeated(world, {"issues": [changed(issue(1, assignees=[CAT]))]}) == []
    assert await assigned(world) == ["ann", "cat"]


async def test_placeholders_of_assignees_follow_the_source(world):
    await imported(world, {"issues": [issue(1, assignees=[UNMAPPED_BOB])]})
    await repeated(world, {"issues": [changed(issue(1, assignees=[ELSE]))]})
    assert await assignee_placeholders(world) == ["eve"]
    await repeated(world, {"issues": [changed(issue(1, assignees=[ELSE]))]}, repeat=2)
    assert await assignee_placeholders(world) == ["eve"]


async def test_an_assignee_who_cannot_read_the_repository_any_more_is_not_unassigned(world):
    await imported(world, {"issues": [issue(1, assignees=[BOB])]})
    world.repos.levels[APP, BOB.account_id] = "none"
    world.forget_grants()
    await repeated(world, {"issues": [changed(issue(1, title="new", assignees=[BOB]))]})
    assert await assigned(world) == ["bob"]


async def test_assignees_of_an_earlier_release_are_compared(world):
    await imported(world, {"issues": [issue(1, assignees=[BOB]), issue(2)]})
    async with world.db.transaction() as tx:
        await tx.execute(world.db.metadata.tables["imported_object"].update().values(base=None))
    pages = {"issues": [issue(1, assignees=[UNMAPPED_BOB]), issue(2, assignees=[CAT], title="theirs")]}
    conflicts = await repeated(world, pages)
    assert conflicts == [ImportConflict(kind="issue", number=2, fields=["title", "assignees"])]
    assert (await assigned(world), await assigned(world, 2)) == (["bob"], [])


async def test_a_source_with_new_ids_doubles_nothing(world):
    spent = ImportedTime(source_id=1, number=1, author=BOB, seconds=60, created_at=EARLIER)
    await imported(world, {"issues": [issue(1)]}, {"comments": [comment(1)], "times": [spent]})
    pages = [
        {"issues": [msgspec.structs.replace(issue(1), source_id=77)]},
        {"comments": [comment(1, 500)], "times": [msgspec.structs.replace(spent, source_id=2)]},
    ]
    for repeat in (1, 2):
        [conflict] = await repeated(world, *pages, repeat=repeat)
        assert (conflict.number, conflict.fields) == (1, ["number"])
    await count(world, issue=1, comment=1, tracked_time=1)


async def test_issues_with_other_numbers_now_are_reported_and_stay(world):
    await imported(world, {"issues": [issue(1)], "pulls": [pull(2)]}, {"comments": [comment(2)]})
    first = msgspec.structs.replace(issue(1), number=2, title="theirs")
    second = msgspec.structs.replace(pull(2), number=9, title="theirs", reviews=[review(5)])
    conflicts = await repeated(
        world, {"issues": [first], "pulls": [second]}, {"comments": [comment(2, 7), comment(9, 8)]}
    )
    assert [(one.kind, one.number, one.fields) for one in conflicts] == [
        ("issue", 2, ["number"]),
        ("pull", 9, ["number"]),
    ]
    titles = [(await world.call("GET", f"/issues/{number}")).json()["title"] for number in (1, 2)]
    assert titles == ["issue 1", "pull 2"]
    await count(world, issue=2, comment=1, review=0)


async def test_files_that_did_not_come_have_links_to_the_source_in_new_texts_too(world):
    address, local = "http://there/7", "http://here/attachments/7"
    file = ImportedFile(
        uuid="00000000-0000-0000-0000-000000000007",
        address=address,
        name="a.txt",
        created_at=EARLIER,
        local_url=local,
        original_url=address,
    )
    world.repos.import_files = {address: ImportFile(state="absent")}
    first = issue(1, body=f"see {local}", files=[file])
    await imported(world, {"issues": [first]})
    assert await repeated(world, {"issues": [changed(first, body=f"look {local}")]}) == []
    assert (await world.call("GET", "/issues/1")).json()["body"] == f"look {address}"
    await count(world, imported_file=0)


async def test_a_pull_request_that_was_reopened_here_is_not_merged_at_once(world):
    closed = pull(1, state="closed", closed_at=LATER)
    await imported(world, {"pulls": [closed]})
    assert (await world.call("PATCH", "/pulls/1", {"state": "open"})).status_code == 201
    merged = changed(closed, merged=True, merged_at=NEW, merged_by=BOB, merge_sha=NEXT)
    conflicts = await repeated(world, {"pulls": [merged]})
    assert conflicts == [ImportConflict(kind="pull", number=1, fields=["state"])]
    got = (await world.call("GET", "/pulls/1")).json()
    assert (got["state"], got["merged"]) == ("open", False)


async def test_the_head_of_a_pull_request_that_was_merged_here_stays(world):
    await imported(world, {"pulls": [pull(1)]})
    tables = world.db.metadata.tables
    async with world.db.transaction() as tx:
        await tx.execute(tables["pull"].update().values(merged=True, merge_sha=HEAD))
        await tx.execute(tables["issue"].update().values(state="closed"))
    later = {"pulls": [changed(pull(1), head_sha=NEXT, title="new")]}
    for repeat in (1, 2):
        conflicts = await repeated(world, later, repeat=repeat)
        assert conflicts == [ImportConflict(kind="pull", number=1, fields=["head"])]
    got = (await world.call("GET", "/pulls/1")).json()
    assert (got["head"]["sha"], got["title"]) == (HEAD, "new")


async def test_the_later_time_of_a_change_stays(world):
    await imported(world, {"issues": [issue(1)]})
    await world.call("PATCH", "/issues/1", {"body": "ours"})
    before = (await world.call("GET", "/issues/1")).json()["updated_at"]
    assert await repeated(world, {"issues": [changed(issue(1), title="theirs", assignees=[BOB])]}) == []
    got = (await world.call("GET", "/issues/1")).json()
    assert (got["title"], got["updated_at"]) == ("theirs", before)
