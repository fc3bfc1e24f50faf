"""Pull requests: base and head branches, commits, files and texts, what a merge takes along, crashes."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from ingot_chassis.errors import Conflict, Denied, NotFound, Unavailable
from ingot_chassis.tables import now
from ingot_contracts.identity import User
from ingot_contracts.pulls import ChangedPath, Merged
from ingot_contracts.repos import NO_COMMIT
from ingot_issues.core.merges import TAKE

from .builders import BASE, HEAD, JOINED, NEXT, comparison, history_commit, push, repository
from .conftest import World
from .test_pulls import PULL, propose, told


async def test_another_base_is_compared_anew_and_told(world: World) -> None:
    await propose(world)
    world.repos.compared = comparison(base_sha=NEXT, merge_base=NEXT, mergeable=False)
    answer = await world.call("PATCH", "/pulls/1", {"base": "next", "title": "Other"})
    assert answer.status_code == 201
    pull = answer.json()
    assert (pull["base"]["ref"], pull["base"]["sha"], pull["merge_base"]) == ("next", NEXT, NEXT)
    assert (pull["mergeable"], pull["title"]) == (False, "Other")
    event = (await world.events("issues.pull.changed.v1"))[-1]
    assert (event["action"], event["changes"]) == ("edited", {"ref": {"from": "main"}})
    row = (await world.call("GET", "/issues/1/timeline")).json()[-1]
    assert (row["type"], row["old_ref"], row["new_ref"]) == ("change_target_branch", "main", "next")


@pytest.mark.parametrize(
    ("compared", "base", "as_", "status"),
    [
        (NotFound(), "nowhere", 1, 404),
        (comparison(commits=0), "next", 1, 422),
        (comparison(), "fix", 1, 422),
        (comparison(), "taken", 1, 409),
        (comparison(), "next", 3, 403),
        (comparison(), "next", 0, 401),
        (comparison(), "main", 1, 201),
        (comparison(), "", 1, 201),
    ],
)
async def test_a_base_that_does_not_do_changes_nothing(
    world: World, compared: Any, base: str, as_: int, status: int
) -> None:
    await propose(world)
    await propose(world, base="taken")
    world.repos.compared = compared
    edit = {"base": base, "title": "Changed"}
    assert (await world.call("PATCH", "/pulls/1", edit, as_=as_)).status_code == status
    pull = (await world.call("GET", "/pulls/1")).json()
    assert (pull["base"]["ref"], pull["title"]) == ("main", "Changed" if status == 201 else "Fix")


async def test_what_is_closed_or_merged_keeps_its_base(world: World) -> None:
    await propose(world)
    await world.call("PATCH", "/pulls/1", {"state": "closed"})
    assert (await world.call("PATCH", "/pulls/1", {"base": "next"})).status_code == 409


async def test_the_base_of_a_plain_issue_is_not_found(world: World) -> None:
    await world.call("POST", "/issues", {"title": "x"})
    assert (await world.call("PATCH", "/pulls/1", {"base": "next"})).status_code == 404


async def test_labels_are_replaced_together_with_the_rest(world: World) -> None:
    label = (await world.call("POST", "/labels", {"name": "bug", "color": "#ff0000"})).json()
    await propose(world)
    edited = await world.call("PATCH", "/pulls/1", {"labels": [label["id"]], "title": "Other"})
    assert (edited.json()["title"], edited.json()["labels"]) == ("Other", [label])


async def test_commits_are_paged_with_their_authors(world: World) -> None:
    await propose(world, as_=2)
    world.repos.commits = [
        history_commit(HEAD),
        history_commit(NEXT, login="nobody"),
        history_commit(JOINED, login=""),
    ]
    answer = await world.call("GET", "/pulls/1/commits?limit=2", as_=0)
    assert answer.headers["x-total-count"] == "3"
    first, second = answer.json()
    assert (first["sha"], first["author"]["login"], first["author"]["email"]) == (HEAD, "bob", "")
    assert (first["commit"]["author"]["name"], first["commit"]["message"]) == ("Bob", "a commit\n")
    assert first["parents"][0]["sha"] == BASE
    assert (second["author"], second["committer"]) == (None, None)
    assert world.repos.asked[-1] == "history a b"


async def test_the_commits_of_a_fork_are_kept_before_the_answer(world: World) -> None:
    await propose(world, as_=4, head="dan:fix")
    assert [asked.number for asked in world.repos.compares] == [0, 1]


async def test_files_say_what_changed(world: World) -> None:
    await propose(world)
    world.repos.changed = [
        ChangedPath(path="a b.txt", status="modified", additions=2, deletions=1),
        ChangedPath(path="new", previous="old", status="renamed"),
        ChangedPath(path="gone", status="deleted", deletions=3),
    ]
    changed, renamed, deleted = (await world.call("GET", "/pulls/1/files", as_=0)).json()
    assert (changed["status"], changed["additions"], changed["deletions"], changed["changes"]) == (
        "changed",
        2,
        1,
        3,
    )
    assert changed["raw_url"].endswith(f"/api/v1/repos/ann/app/raw/{HEAD}/a%20b.txt")
    assert (renamed["filename"], renamed["previous_filename"]) == ("new", "old")
    assert f"/raw/{BASE}/" in deleted["raw_url"]


@pytest.mark.parametrize("what", ["commits", "files"])
async def test_contents_are_of_pull_requests_only(world: World, what: str) -> None:
    await world.call("POST", "/issues", {"title": "x"})
    for number in (1, 9):
        assert (await world.call("GET", f"/pulls/{number}/{what}")).status_code == 404


async def page(world: World, path: str, as_: int = 0) -> Any:
    headers = {"ingot-principal": world.identity.statement(as_)} if as_ else {}
    return await world.http.get(path, headers=headers)


@pytest.mark.parametrize("form", ["diff", "patch"])
async def test_the_addresses_in_a_pull_request_lead_to_its_texts(world: World, form: str) -> None:
    pull = await propose(world)
    path = pull[f"{form}_url"].removeprefix("http://127.0.0.1:3000")
    answer = await page(world, path)
    assert (answer.status_code, answer.text) == (200, f"{form} a b")
    assert answer.headers["content-type"].startswith("text/plain")
    world.repos.repositories[7] = repository(private=True)
    assert [(await page(world, path, as_)).status_code for as_ in (0, 3, 2)] == [404, 404, 200]
    world.repos.pulls_enabled = False
    assert (await page(world, path, 1)).status_code == 404


@pytest.mark.parametrize("last", ["1", "9.diff", "0.diff", "x.diff", "1.exe", "1.diff.patch", "1."])
async def test_other_pages_are_not_found(world: World, last: str) -> None:
    await propose(world)
    assert (await page(world, f"/ann/app/pulls/{last}", 1)).status_code == 404


@pytest.mark.parametrize("spelling", ["delete_branch_after_merge", "DeleteBranchAfterMerge"])
async def test_the_head_branch_goes_on_request(world: World, spelling: str) -> None:
    await propose(world)
    assert (await world.call("POST", "/pulls/1/merge", {spelling: True})).status_code == 200
    assert world.repos.taken == [(7, "fix", HEAD)]
    row = (await world.call("GET", "/issues/1/timeline")).json()[-1]
    assert (row["type"], row["old_ref"]) == ("delete_branch", "fix")


@pytest.mark.parametrize(
    ("fields", "others", "taking"),
    [
        ({"head": "main", "base": "stable"}, [], None),
        ({}, [{"base": "stable"}], None),
        ({}, [], Denied()),
        ({}, [], Conflict()),
        ({}, [], NotFound()),
    ],
)
async def test_a_branch_that_is_needed_stays_and_the_merge_stands(
    world: World, fields: dict[str, str], others: list[dict[str, str]], taking: Any
) -> None:
    await propose(world, **fields)
    for other in others:
        await propose(world, **other)
    world.repos.taking = taking
    answer = await world.call("POST", "/pulls/1/merge", {"delete_branch_after_merge": True})
    assert (answer.status_code, world.repos.taken) == (200, [])
    assert (await world.call("GET", "/pulls/1/merge")).status_code == 204
    assert "delete_branch" not in (await world.call("GET", "/issues/1/timeline")).text


async def test_without_the_request_the_branch_stays(world: World) -> None:
    await propose(world)
    await world.call("POST", "/pulls/1/merge")
    assert world.repos.taken == []


async def test_a_head_out_of_sight_is_the_same_as_none(world: World) -> None:
    world.repos.repositories[8] = repository(8, owner=4, parent=repository(), private=True)
    hidden = await world.call("POST", "/pulls", PULL | {"head": "dan:fix"}, as_=1)
    none = await world.call("POST", "/pulls", PULL | {"head": "cat:fix"}, as_=1)
    assert (hidden.status_code, hidden.json()) == (none.status_code, none.json()) == (404, none.json())


async def test_a_base_branch_that_is_gone_takes_no_merge(world: World) -> None:
    await propose(world)
    await world.hear(push(after=NO_COMMIT))
    assert (await world.call("GET", "/pulls/1")).json()["mergeable"] is False
    world.repos.compared = world.repos.merged = NotFound()
    answer = await world.call("POST", "/pulls/1/merge")
    assert (answer.status_code, answer.content) == (405, b"")


async def test_a_head_branch_that_is_gone_can_still_be_merged(world: World) -> None:
    await propose(world)
    await world.hear(push("refs/heads/fix", after=NO_COMMIT))
    shown = (await world.call("GET", "/pulls/1")).json()
    assert (shown["mergeable"], shown["head"]["sha"]) == (True, HEAD)
    world.repos.compared = NotFound()
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200
    assert world.repos.merges[0].head_sha == HEAD


DYING = """
import asyncio, os, signal, sys

sys.path.insert(0, sys.argv[1])
from tests.conftest import World


async def main():
    world = World(sys.argv[2])

    async def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(world.repos, sys.argv[3], die)
    await world.call("POST", "/pulls/2/merge", {"delete_branch_after_merge": True})


asyncio.run(main())
"""
"""A process that is killed at the moment when a ref has moved and no row says so."""


async def die_at(world: World, call: str) -> None:
    """Merge in a process that is killed when it asks repos for ``call``."""
    url = world.db.url.render_as_string(hide_password=False)
    folder = str(Path(__file__).parents[1])
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", DYING, folder, url, call)
    assert await process.wait() == -signal.SIGKILL


async def much_later(world: World) -> None:
    """Let the jobs that wait for their time run now."""
    jobs = world.app.state.jobs
    async with world.db.transaction() as tx:
        await jobs.reschedule(tx, TAKE, 2, now())
    await world.workers.step()


@pytest.mark.parametrize("call", ["merge", "take_branch"])
async def test_a_process_killed_while_it_merges_leaves_no_branch(world: World, call: str) -> None:
    await world.call("POST", "/issues", {"title": "x"})
    await propose(world)
    await die_at(world, call)
    await world.hear(push(after=JOINED, merged_pull=2, pusher=User(id=1, login="ann")))
    assert (await world.call("GET", "/pulls/2/merge")).status_code == 204
    await much_later(world)
    assert (world.repos.taken, world.repos.takers) == ([(7, "fix", HEAD)], [1])
    row = (await world.call("GET", "/issues/2/timeline")).json()[-1]
    assert (row["type"], row["old_ref"], row["user"]["login"]) == ("delete_branch", "fix", "ann")
    await much_later(world)
    assert len(world.repos.taken) == 1


async def test_what_the_request_has_deleted_no_job_deletes_again(world: World) -> None:
    await world.call("POST", "/issues", {"title": "x"})
    await propose(world)
    await world.call("POST", "/pulls/2/merge", {"delete_branch_after_merge": True})
    await much_later(world)
    assert world.repos.taken == [(7, "fix", HEAD)]


async def test_a_branch_that_could_not_be_deleted_for_now_is_deleted_later(world: World) -> None:
    await world.call("POST", "/issues", {"title": "x"})
    await propose(world)
    world.repos.taking = Unavailable()
    answer = await world.call("POST", "/pulls/2/merge", {"delete_branch_after_merge": True})
    assert (answer.status_code, world.repos.taken) == (200, [])
    world.repos.taking = None
    await much_later(world)
    assert world.repos.taken == [(7, "fix", HEAD)]


async def test_a_merge_that_failed_leaves_no_wish_to_a_later_one(world: World) -> None:
    await propose(world)
    world.repos.merged = Unavailable()
    await world.call("POST", "/pulls/1/merge", {"delete_branch_after_merge": True})
    world.repos.merged = Merged(sha=JOINED)
    assert (await world.call("POST", "/pulls/1/merge")).status_code == 200
    await world.hear(push(after=JOINED, merged_pull=1))
    while await world.workers.step():
        pass
    assert world.repos.taken == []


async def test_the_branch_of_a_fork_goes_only_if_the_caller_may_write_there(world: World) -> None:
    for number, as_, level in ((1, 1, "read"), (2, 2, "write")):
        await propose(world, as_=4, head=f"dan:fix{number}")
        world.repos.levels[(8, as_)] = level
        answer = await world.call(
            "POST", f"/pulls/{number}/merge", {"delete_branch_after_merge": True}, as_=as_
        )
        assert answer.status_code == 200
    assert world.repos.taken == [(8, "fix2", HEAD)]


async def test_a_process_killed_between_the_ref_and_the_row_merges_once(world: World) -> None:
    await world.call("POST", "/issues", {"title": "x"})
    await propose(world, title="fixes #1")
    await die_at(world, "merge")
    assert (await world.call("GET", "/pulls/2")).json()["merged"] is False
    assert (await world.call("POST", "/pulls/2/merge")).status_code == 409
    for _ in range(2):
        await world.hear(push(after=JOINED, merged_pull=2))
    pull = (await world.call("GET", "/pulls/2")).json()
    assert (pull["merged"], pull["state"], pull["merge_commit_sha"]) == (True, "closed", JOINED)
    assert (await world.call("POST", "/pulls/2/merge")).status_code == 405
    assert (await world.call("GET", "/issues/1")).json()["state"] == "closed"
    assert await told(world) == [("opened", False), ("closed", True)]
    assert world.repos.merges == []
