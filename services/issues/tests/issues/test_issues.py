"""Issues through the API: opening, editing, and their events."""

import asyncio
import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import ingot_issues

SOURCES = Path(ingot_issues.__file__).parent


async def test_an_opened_issue_has_the_declared_shape(world):
    opened = await world.open_issue("  It burns ", body="help", as_=3)
    assert opened["number"] == 1
    assert opened["title"] == "It burns"
    assert opened["user"]["login"] == "cat"
    assert opened["url"] == "http://127.0.0.1:3000/api/v1/repos/ann/app/issues/1"
    assert (opened["labels"], opened["milestone"], opened["assignee"]) == ([], None, None)
    assert opened["pull_request"] is None
    assert (await world.call("GET", "/issues/1", as_=0)).json() == opened | {
        "user": opened["user"] | {"email": ""}
    }


async def test_an_opened_issue_is_announced(world):
    await world.open_issue()
    [opened] = await world.payloads()
    assert (opened["action"], opened["issue"]["number"], opened["sender"]["login"]) == ("opened", 1, "ann")
    assert opened["repository"]["full_name"] == "ann/app"


async def test_issues_opened_at_once_get_numbers_without_gap_or_clash(world):
    await asyncio.gather(*(world.open_issue(f"number {n}", as_=1 + n % 3) for n in range(12)))
    listed = (await world.call("GET", "/issues")).json()
    assert [issue["number"] for issue in listed] == list(range(12, 0, -1))


async def test_a_refused_issue_takes_no_number(world):
    assert (await world.call("POST", "/issues", {"title": " "})).status_code == 422
    assert (await world.open_issue())["number"] == 1


async def test_closing_twice_is_announced_once(world):
    await world.open_issue()
    for _ in range(2):
        answer = await world.call("PATCH", "/issues/1", {"state": "closed"})
        assert (answer.status_code, answer.json()["state"]) == (201, "closed")
    actions = await world.actions()
    assert actions == ["opened", "closed"]


async def test_reopening_clears_the_closing_time(world):
    await world.open_issue(closed=True)
    assert (await world.call("GET", "/issues/1")).json()["closed_at"]
    assert (await world.call("PATCH", "/issues/1", {"state": "open"})).json()["closed_at"] is None


async def test_a_reader_sets_neither_assignee_nor_label_nor_state_when_opening(world):
    opened = await world.open_issue(as_=3, assignee="nobody", labels=[1], milestone=5, closed=True)
    assert (opened["assignee"], opened["state"]) == (None, "open")


async def test_an_edit_announces_the_former_text(world):
    await world.open_issue("old", body="was")
    edited = await world.call("PATCH", "/issues/1", {"title": "new", "body": "is"})
    assert (edited.json()["title"], edited.json()["body"]) == ("new", "is")
    event = (await world.payloads("issues.issue.changed.v1"))[-1]
    assert event["action"] == "edited"
    assert event["changes"] == {"title": {"from": "old"}, "body": {"from": "was"}}


async def test_only_author_and_writers_edit(world):
    await world.open_issue(as_=3)
    assert (await world.call("PATCH", "/issues/1", {"title": "a"}, as_=3)).status_code == 201
    assert (await world.call("PATCH", "/issues/1", {"title": "b"}, as_=2)).status_code == 201
    assert (await world.call("PATCH", "/issues/1", {"title": "c"}, as_=4)).status_code == 403
    assert (await world.call("PATCH", "/issues/1", {"title": "d"}, as_=0)).status_code == 401


async def test_a_refused_change_leaves_everything_as_it_was(world):
    before = await world.open_issue("old", body="was")
    edits: list[dict[str, Any]] = [
        {"title": "x" * 256, "body": "new"},
        {"title": "new", "milestone": 999},
        {"title": "new", "assignees": ["nobody"]},
        {"title": "new", "due_date": "never"},
    ]
    for edit in edits:
        assert (await world.call("PATCH", "/issues/1", edit)).status_code == 422, edit
    assert (await world.call("GET", "/issues/1")).json() == before


async def test_opening_an_issue_crosses_five_files_of_its_subject_and_seven_below_it(world):
    await world.open_issue()
    files: set[str] = set()

    def note_file(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCES)):
            files.add(str(Path(frame.f_code.co_filename).relative_to(SOURCES)))

    sys.setprofile(note_file)
    try:
        await world.call("POST", "/issues", {"title": "It burns"}, remember=True)
    finally:
        sys.setprofile(None)
    policy = {"access/api/policies.py", "access/rules/repositories.py", "clients/repos.py"}
    own = {file for file in files if file.startswith("issues/")}
    assert own == {
        "issues/api/routes.py",
        "issues/rules/announcements.py",
        "issues/rules/editing.py",
        "issues/rules/views.py",
        "issues/store/details.py",
    }
    assert files - policy - own == {
        "access/api/request.py",
        "attachments/rules.py",
        "records/rules/fields.py",
        "records/rules/presenter.py",
        "references/rules.py",
        "repositories/rules/announcements.py",
        "repositories/store/counters.py",
    }


async def test_an_issue_names_its_repository_and_has_whole_seconds(world):
    await world.create_milestone(due_on="2030-01-01T00:00:00.5Z")
    await world.open_issue(milestone=1, due_date="2030-01-01T00:00:00.5Z", closed=True)
    await world.propose()
    await world.call("POST", "/issues/1/comments", {"body": "x"})
    for path in (
        "/issues/1",
        "/issues?state=all",
        "/pulls/2",
        "/issues/comments",
        "/milestones",
        "/issues/1/timeline",
    ):
        answer = await world.call("GET", path)
        times = re.findall(r"[0-9]T[0-9:.]+Z", answer.text)
        assert times, path
        assert all(len(time) == len("1T00:00:00Z") for time in times), path
    shown = (await world.call("GET", "/issues/1")).json()
    assert shown["repository"] == {"id": 7, "name": "app", "owner": "ann", "full_name": "ann/app"}
    events = await world.payloads("issues.issue.changed.v1")
    assert {event["issue"]["repository"]["full_name"] for event in events} == {"ann/app"}


async def test_a_list_that_ends_at_the_time_of_an_issue_has_the_issue(world):
    moment = (await world.open_issue())["updated_at"]
    for query in (f"before={moment}", f"since={moment}"):
        assert len((await world.call("GET", f"/issues?{query}")).json()) == 1, query


async def test_a_deleted_issue_leaves_nothing_but_its_number(world):
    world.add_library()
    await world.create_milestone()
    await world.open_issue(milestone=1)
    await world.open_issue(body="#1")
    await world.create("//repos/ann/lib/issues", {"title": "ann/app#1"})
    await world.create("/issues/1/comments", {"body": "#2 and ann/lib#1"})
    await world.work()
    assert await world.kinds(2) == ["comment_ref"]
    for who, status in ((0, 401), (3, 403), (2, 403), (1, 204), (1, 404)):
        assert (await world.call("DELETE", "/issues/1", as_=who)).status_code == status
    assert (await world.call("GET", "/issues/1")).status_code == 404
    assert (await world.call("GET", "/issues/comments/1")).status_code == 404
    assert await world.kinds(2) == []
    library = (await world.call("GET", "//repos/ann/lib/issues/1/timeline")).json()
    assert library == []
    assert (await world.call("GET", "/milestones/1")).json()["open_issues"] == 0
    assert await world.open_counts() == (1, 0)
    for state, total in (("open", "1"), ("closed", "0"), ("all", "1")):
        listed = await world.call("GET", f"/issues?state={state}")
        assert (listed.headers["x-total-count"], len(listed.json())) == (total, int(total))
    assert (await world.open_issue())["number"] == 3


async def test_a_deleted_pull_request_is_no_pull_request_any_more(world):
    await world.propose_many("fix")
    await world.call("POST", "/pulls/1/reviews", {"event": "COMMENT", "body": "x"})
    assert (await world.call("DELETE", "/issues/1")).status_code == 204
    assert (await world.call("GET", "/pulls/1")).status_code == 404
    assert (await world.call("GET", "/pulls")).json() == []
    assert (await world.propose())["number"] == 2
    await world.work()


async def test_an_issue_is_about_a_branch_until_it_is_about_another(world):
    assert (await world.open_issue(ref="main"))["ref"] == "main"
    for fields, ref in (({"title": "x"}, "main"), ({"ref": "stable"}, "stable"), ({"ref": ""}, "")):
        assert (await world.call("PATCH", "/issues/1", fields)).json()["ref"] == ref
    rows = [row for row in await world.timeline() if row["type"] == "change_issue_ref"]
    assert [(row["old_ref"], row["new_ref"]) for row in rows] == [("main", "stable"), ("stable", "")]
    assert (await world.call("PATCH", "/issues/1", {"ref": "x" * 256})).status_code == 422


async def test_an_edit_of_an_older_text_is_refused(world):
    opened = await world.open_issue(body="one")
    assert opened["content_version"] == 0
    for title, body, version in (("a", None, 0), (None, "two", 1), (None, "two", 1), (None, "three", 2)):
        sent = {"title": title, "body": body, "content_version": (await current(world))["content_version"]}
        edited = await world.call("PATCH", "/issues/1", sent)
        assert (edited.status_code, edited.json()["content_version"]) == (201, version)
    stale = await world.call("PATCH", "/issues/1", {"title": "b", "body": "four", "content_version": 1})
    words = "the text has content_version 2, not 1; read it again, then send your change with that"
    assert (stale.status_code, stale.json()["message"]) == (409, words)
    unread = await world.call("PATCH", "/issues/1", {"body": "four", "content_version": 99})
    assert "content_version 2, not 99" in unread.json()["message"]
    assert ((await current(world))["title"], (await current(world))["body"]) == ("a", "three")


async def current(world):
    return (await world.call("GET", "/issues/1")).json()


async def test_projects_are_refused_in_words(world):
    for method, path in (("POST", "/issues"), ("PATCH", "/issues/1")):
        assert (await world.call(method, path, {"title": "x", "projects": []})).status_code == 201
        refused = await world.call(method, path, {"title": "x", "projects": [1]})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "projects")
