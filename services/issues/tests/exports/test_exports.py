"""Exports: what an import brought goes out as it came, page by page, whatever is killed."""

from datetime import timedelta

import msgspec
import pytest

from ingot_chassis.http.parts import PARTS
from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.events import ExportRequested, OrganizationExportRequested
from ingot_contracts.repos.exports import ExportedLabels, ExportedPull, ExportPage, LeftOutFile
from ingot_contracts.repos.imports import (
    ImportedDependency,
    ImportedLabel,
    ImportedMilestone,
    ImportedPerson,
    ImportedReaction,
    ImportedRequest,
    ImportedTime,
)
from ingot_issues.attachments.components import AttachmentComponents
from ingot_issues.attachments.rules import OBJECTS
from ingot_issues.exports import jobs, rules
from ingot_issues.exports.rules import KINDS, read_page
from ingot_issues.labels.store import organization
from ingot_testing.service import count_statements

from ..builders import APP, HEAD, JOINED, repository
from ..imports.test_imports import BOB, EARLIER, ELSE, LATER, comment, imported, issue, line, pull, review

HEART = ImportedReaction(author=BOB, content="heart", created_at=EARLIER)
LABEL = ImportedLabel(source_id=5, name="bug", color="ee0701", description="bad", exclusive=True)
MILESTONE = ImportedMilestone(
    source_id=6,
    title="one",
    description="all of it",
    state="closed",
    closed_at=LATER,
    due_on=LATER,
    created_at=EARLIER,
    updated_at=LATER,
)
ISSUE = issue(
    12,
    body="so",
    state="closed",
    closed_at=LATER,
    labels=[5],
    milestone=6,
    assignees=[BOB],
    is_locked=True,
    due_date=LATER,
    ref="main",
    pin_order=1,
    reactions=[HEART],
)
PULL = pull(
    13,
    state="closed",
    closed_at=LATER,
    merged=True,
    merged_at=LATER,
    merged_by=BOB,
    merge_sha=JOINED,
    additions=3,
    deletions=1,
    changed_files=2,
    reviews=[
        review(
            20,
            "REQUEST_CHANGES",
            dismissed=True,
            comments=[line(resolver=BOB), line(old_position=4, new_position=0)],
        )
    ],
    requests=[ImportedRequest(reviewer=BOB, commit_sha=HEAD, created_at=EARLIER)],
)
ON_PULL = comment(13, 2, reactions=[HEART], created_at=EARLIER + timedelta(hours=1))
PAGES = (
    {"labels": [LABEL]},
    {"milestones": [MILESTONE]},
    {"issues": [issue(1), ISSUE]},
    {"pulls": [PULL], "comments": [ON_PULL]},
    {"comments": [comment(12, 1, author=BOB)]},
    {"times": [ImportedTime(source_id=9, number=12, author=BOB, seconds=60, created_at=EARLIER)]},
    {"dependencies": [ImportedDependency(number=12, blocker=1), ImportedDependency(number=12, blocker=13)]},
)


async def exported(world, name="one"):
    """Export, and return the pages."""
    world.repos.exports[name] = []
    await world.deliver(ExportRequested(repository_id=APP, name=name))
    await world.work()
    return world.repos.exports[name]


def objects_of(pages):
    return {kind: [one for page in pages for one in getattr(page, kind)] for kind in KINDS}


def portable(value):
    """A struct without ids of rows, and with people as an export names them."""
    if isinstance(value, ImportedPerson):
        return value.account_id if value.account_id != -1 else value.name
    if isinstance(value, list):
        return [portable(one) for one in value]
    if isinstance(value, msgspec.Struct):
        skipped = ("source_id", "labels", "milestone")
        return {
            name: portable(getattr(value, name)) for name in value.__struct_fields__ if name not in skipped
        }
    return value


async def test_what_an_import_brought_goes_out_as_it_came(world):
    await imported(world, *PAGES)
    pages = await exported(world)
    objects = objects_of(pages)
    for page in PAGES:
        for kind, some in page.items():
            if kind != "comments" and kind != "pulls":
                assert portable(objects[kind]) == portable(some), kind
    expected = ExportedPull(**msgspec.structs.asdict(PULL), comments=[ON_PULL])
    assert portable(objects["pulls"]) == portable([expected])
    assert portable(objects["comments"]) == portable([comment(12, 1, author=BOB)])
    [label], [milestone] = objects["labels"], objects["milestones"]
    assert (objects["issues"][1].labels, objects["issues"][1].milestone) == (
        [label.source_id],
        milestone.source_id,
    )
    assert objects["issues"][0].author == ELSE
    assert objects["issues"][1].assignees == [ImportedPerson(account_id=2)]
    assert [page.cursor for page in pages[1:]] == [page.following for page in pages[:-1]]
    assert pages[-1].following == ""


async def test_labels_of_an_organization_go_out_at_once(world, monkeypatch):
    for name in ("zinc", "Alum"):
        await add_label(world, 9, name)
    await add_label(world, 10, "of another")
    monkeypatch.setattr(jobs, "MOST_LABELS", 2)
    await world.deliver(OrganizationExportRequested(organization_id=9, name="one"))
    await world.work()
    [sent] = world.repos.bodies("labels", ExportedLabels)
    assert (sent.name, sent.is_too_large) == ("one", False)
    assert [(one.name, one.color, one.exclusive) for one in sent.labels] == [
        ("Alum", "00aabb", True), ("zinc", "00aabb", True)
    ]  # fmt: skip
    await add_label(world, 9, "too much")
    await world.deliver(OrganizationExportRequested(organization_id=9, name="two"))
    await world.work()
    [_, sent] = world.repos.bodies("labels", ExportedLabels)
    assert (sent.name, sent.labels, sent.is_too_large) == ("two", [], True)


async def add_label(world, organization_id, name):
    values = {
        "name": name,
        "color": "00aabb",
        "description": "",
        "exclusive": True,
        "is_archived": False,
    }
    async with world.db.transaction() as tx:
        await organization.add(tx, organization_id, values)


async def test_people_without_an_account_go_out_by_name(world):
    """Whatever they did: assigned, reacted, tracked time, resolved, or asked for a review."""
    theirs = ImportedReaction(author=ELSE, content="heart", created_at=EARLIER)
    request = ImportedRequest(reviewer=ELSE, commit_sha=HEAD, created_at=EARLIER)
    answered = review(20, "COMMENT", comments=[line(resolver=ELSE)])
    await imported(
        world,
        {"issues": [issue(1, assignees=[ELSE], reactions=[theirs])]},
        {"pulls": [pull(2, reviews=[answered], requests=[request])]},
        {"comments": [comment(1, 1, author=BOB, reactions=[theirs])]},
        {"times": [ImportedTime(source_id=9, number=1, author=ELSE, seconds=60, created_at=EARLIER)]},
    )
    objects = objects_of(await exported(world))
    [first], [second], [text] = objects["issues"], objects["pulls"], objects["comments"]
    [sent], [[on_line]] = second.requests, [one.comments for one in second.reviews]
    assert (sent.commit_sha, sent.created_at) == (HEAD, EARLIER)
    people = [
        *first.assignees, *(one.author for one in (*first.reactions, *text.reactions, *objects["times"])),
        sent.reviewer, on_line.resolver,
    ]  # fmt: skip
    assert people == [ImportedPerson(account_id=-1, name=ELSE.name)] * 6


async def test_a_merger_without_an_account_goes_out_by_name(world):
    """So one import after another keeps who merged."""
    merged = {"merged": True, "merged_at": LATER, "merged_by": ELSE, "merge_sha": JOINED, "state": "closed"}
    await imported(world, {"pulls": [pull(1, **merged)]})
    [exported_pull] = objects_of(await exported(world))["pulls"]
    assert exported_pull.merged_by == ImportedPerson(account_id=-1, name=ELSE.name)


async def test_drafts_of_reviews_stay_with_their_authors(world):
    await imported(world, {"pulls": [pull(1)]})
    answer = await world.call("POST", "/pulls/1/reviews", {"body": "a secret", "event": "PENDING"}, as_=2)
    assert answer.status_code == 200, answer.text
    [exported_pull] = objects_of(await exported(world))["pulls"]
    assert exported_pull.reviews == []


async def test_pages_follow_each_other_and_a_killed_job_goes_on(world, monkeypatch):
    monkeypatch.setattr(rules, "PAGE_BYTES", 400)
    await imported(world, {"issues": [issue(number) for number in range(1, 8)]})
    pages = await exported(world)
    numbers = [[one.number for one in page.issues] for page in pages if page.issues]
    assert len(numbers) > 2
    assert [number for some in numbers for number in some] == [*range(1, 8)]
    world.repos.exports["two"] = pages[:3]
    rest = [one for one in pages if one not in pages[:3]]
    world.repos.exports["two"] = [msgspec.structs.replace(page, name="two") for page in pages[:3]]
    await world.deliver(ExportRequested(repository_id=APP, name="two"))
    await world.work()
    assert [page.cursor for page in world.repos.exports["two"][3:]] == [page.cursor for page in rest]


async def test_an_export_with_a_page_that_is_too_large_fails(world):
    world.repos.largest_page = 10
    await imported(world, {"issues": [issue(1, body="x" * 20)]})
    *_, last = await exported(world)
    assert (last.is_too_large, last.issues, last.cursor) == (True, [], "[2,0,0]")
    assert len([one for one in world.repos.calls if one.operation == "pages" and b"xxx" in one.body]) == 1


async def test_an_export_that_has_ended_gets_no_pages(world):
    await world.deliver(ExportRequested(repository_id=APP, name="none"))
    await world.work()
    assert world.repos.bodies("pages", ExportPage) == []


@pytest.mark.both_databases
@pytest.mark.parametrize("cursor", ["[2]", "[3]", "[4]"])
async def test_a_page_costs_the_same_for_any_number_of_objects(world, monkeypatch, cursor):
    numbers = range(10, 15)
    await imported(
        world,
        {"issues": [issue(one, reactions=[HEART]) for one in numbers]},
        {"pulls": [pull(100 + one, reviews=[review(one, comments=[line()])]) for one in numbers]},
        {"comments": [comment(one, one, reactions=[HEART]) for one in numbers]},
    )
    counts = []
    for most in (1, 5):
        monkeypatch.setattr(rules, "PAGE_OBJECTS", most)
        monkeypatch.setattr(rules, "PULL_OBJECTS", most)
        with count_statements(world.db) as statements:
            async with world.db.read() as db:
                page = (await read_page(db, APP, "one", cursor)).page
        counts.append(len(statements))
        assert len([*page.issues, *page.pulls, *page.comments]) == most
    assert 0 < counts[0] == counts[1]


async def test_files_of_texts_come_before_their_pages(world):
    issue = await world.open_issue()
    number = issue["number"]
    text = await world.create(f"/issues/{number}/comments", {"body": "see"})
    files = {f"/issues/{number}/assets": b"of the issue", f"/issues/comments/{text['id']}/assets": b"more"}
    for path, content in files.items():
        sent = {"attachment": ("a.log", content)}
        answer = await world.http.post(f"/api/v1/repos/ann/app{path}", files=sent, headers=world.headers(1))
        assert answer.status_code == 201, answer.text
    objects = objects_of(await exported(world))
    assert [*world.repos.export_files.values()] == [*files.values()]
    [of_issue], [of_comment] = objects["issues"][0].files, objects["comments"][0].files
    assert of_issue.name == "a.log"
    assert [one.address for one in (of_issue, of_comment)] == [
        f"files/{sha256}" for sha256 in world.repos.export_files
    ]


async def test_a_file_that_is_too_large_stays_behind(world, monkeypatch):
    monkeypatch.setattr(jobs, "MOST_FILE_BYTES", 3)
    issue = await world.open_issue()
    path = f"/api/v1/repos/ann/app/issues/{issue['number']}/assets"
    for content in (b"abc", b"abcd"):
        sent = {"attachment": (f"{len(content)}.log", content)}
        await world.http.post(path, files=sent, headers=world.headers(1))
    pages = await exported(world)
    assert [*world.repos.export_files.values()] == [b"abc"]
    [left_out] = [one for page in pages for one in page.left_out]
    assert left_out == LeftOutFile(number=issue["number"], name="4.log", size=4, reason="too-large")


async def test_a_file_that_is_not_stored_stays_behind_and_is_named(world):
    issue = await world.open_issue()
    text = await world.create(f"/issues/{issue['number']}/comments", {"body": "see"})
    path = f"/api/v1/repos/ann/app/issues/comments/{text['id']}/assets"
    await world.http.post(path, files={"attachment": ("a.log", b"abc")}, headers=world.headers(1))
    objects = world.app.state[PARTS][AttachmentComponents].editor.objects
    [keys] = [page async for page in objects.list(OBJECTS)]
    await objects.delete([one.key for one in keys])
    pages = await exported(world)
    assert world.repos.export_files == {}
    [left_out] = [one for page in pages for one in page.left_out]
    assert left_out == LeftOutFile(number=issue["number"], name="a.log", size=3, reason="lost")


async def test_a_file_that_is_stored_once_more_is_not_lost(world):
    issue = await world.open_issue()
    path = f"/api/v1/repos/ann/app/issues/{issue['number']}/assets"
    for name in ("a.log", "b.log", "c.log"):
        await world.http.post(path, files={"attachment": (name, b"abc")}, headers=world.headers(1))
    objects = world.app.state[PARTS][AttachmentComponents].editor.objects
    [keys] = [page async for page in objects.list(OBJECTS)]
    await objects.delete([keys[0].key, keys[2].key])
    pages = await exported(world)
    assert [*world.repos.export_files.values()] == [b"abc"]
    assert [one for page in pages for one in page.left_out] == []


async def test_the_rows_of_files_are_read_once(world):
    issue = await world.open_issue()
    path = f"/api/v1/repos/ann/app/issues/{issue['number']}/assets"
    await world.http.post(path, files={"attachment": ("a.log", b"abc")}, headers=world.headers(1))
    with count_statements(world.db) as statements:
        await exported(world)
    reads = [one for one, _ in statements if "FROM attachment" in one]
    assert reads
    assert [one for one in reads if "WHERE attachment.uuid" in one] == []


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_only_labels_of_the_owner_are_compared(world):
    """By the plan of SQLite, a page of labels walks over no labels of other owners."""
    with count_statements(world.db) as statements:
        async with world.db.read() as db:
            await read_page(db, APP, "one", "", owner_id=20)
    [(statement, parameters)] = [one for one in statements if "FROM label" in one[0]]
    async with world.db.reading.connect() as connection:
        plan = [
            row.detail
            for row in await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        ]
    lookups = [one for one in plan if one.startswith(("SEARCH label", "SCAN label"))]
    assert len(lookups) == 2, plan
    for column in ("repository_id=?", "organization_id=?"):
        assert [one for one in lookups if column in one], plan


async def test_labels_of_the_organization_come_if_issues_have_them(world):
    world.identity.add_account(20, "acme", kind="organization")
    world.identity.memberships = {1: {20: Membership(owner=True)}}
    owned = {"owner": User(id=20, login="acme"), "full_name": "acme/app"}
    world.repos.repositories[APP] = msgspec.structs.replace(repository(), **owned)
    world.repos.levels[APP, 1] = "owner"
    labels = "//orgs/acme/labels"
    used, _unused = [
        await world.create(labels, {"name": name, "color": "#00ff00"}) for name in ("for all", "unused")
    ]
    new = {"title": "It burns", "labels": [used["id"]]}
    await world.create("//repos/acme/app/issues", new)
    [label] = objects_of(await exported(world))["labels"]
    assert (label.name, label.source_id) == ("for all", used["id"])
