"""Commits, files and texts of pull requests."""

from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from ingot_contracts.repos.commits import Verification
from ingot_contracts.repos.comparisons import ChangedPath
from ingot_contracts.repos.histories import HistoryChanges, HistoryFile

from ..builders import BASE, HEAD, JOINED, NEXT, history_commit, repository
from ..world import World


async def test_commits_are_paged_with_their_authors(world):
    await world.propose(as_=2)
    file = HistoryFile(filename="a", status="added")
    changes = HistoryChanges(files=[file], additions=3, deletions=1)
    signed = Verification(verified=True, reason="bob / SHA256:x", signature="-----BEGIN", payload="tree")
    world.repos.commits = [
        msgspec.structs.replace(history_commit(HEAD), changes=changes, verification=signed),
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
    assert first["files"] == [{"filename": "a", "status": "added"}]
    assert first["stats"] == {"total": 4, "additions": 3, "deletions": 1}
    assert first["commit"]["verification"] == msgspec.to_builtins(signed)
    without = "/pulls/1/commits?files=false&stat=false&verification=false"
    bare = (await world.call("GET", without)).json()[0]
    assert (bare["files"], bare["stats"], bare["commit"]["verification"]) == (None, None, None)
    assert world.histories() == [(BASE, HEAD)] * 2


async def test_the_commits_of_a_fork_are_fetched_before_the_answer(world):
    await world.propose(as_=4, head="dan:fix")
    assert [compare.number for compare in world.comparisons()] == [0, 1]


async def test_files_say_what_changed(world):
    await world.propose()
    world.repos.files = [
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
    for query, whitespace, names in [
        ("skip-to=new&whitespace=ignore-all", "ignore-all", ["new", "gone"]),
        ("skip-to=a%20b.txt&limit=1&whitespace=some", "show-all", ["a b.txt"]),
        ("skip-to=missing%26limit%3D1", "show-all", []),
    ]:
        answer = await world.call("GET", f"/pulls/1/files?{query}")
        assert [file["filename"] for file in answer.json()] == names
        assert f"whitespace={whitespace}&" in world.repos.calls[-1].query


@pytest.mark.parametrize("what", ["commits", "files"])
async def test_contents_are_of_pull_requests_only(world, what):
    await world.call("POST", "/issues", {"title": "x"})
    for number in (1, 9):
        assert (await world.call("GET", f"/pulls/{number}/{what}")).status_code == 404


async def page(world: World, path: str, as_: int = 0) -> Any:
    world.forget_grants()
    return await world.http.get(path, headers=world.headers(as_))


@pytest.mark.parametrize("form", ["diff", "patch"])
async def test_diff_url_and_patch_url_lead_to_the_texts(world, form):
    pull = await world.propose()
    path = pull[f"{form}_url"].removeprefix("http://127.0.0.1:3000")
    answer = await page(world, path)
    assert (answer.status_code, answer.text) == (200, f"{form} {BASE} {HEAD}")
    assert answer.headers["content-type"].startswith("text/plain")
    world.repos.repositories[7] = repository(private=True)
    assert [(await page(world, path, as_)).status_code for as_ in (0, 3, 2)] == [404, 404, 200]
    world.repos.repositories[7] = repository(has_pull_requests=False)
    assert (await page(world, path, 1)).status_code == 404


@pytest.mark.parametrize(
    "path", ["/pulls/1.diff", "/pulls/1.diff?files=2", "/pulls/1.patch", "/pulls/1/files", "page"]
)
@pytest.mark.parametrize("name", ["commit_id", "base_branch", "merge_base"])
async def test_changes_are_those_that_the_caller_names_or_a_conflict(world, path, name):
    await world.propose()
    world.repos.files = [ChangedPath(path="new", status="added")]
    target = {"commit_id": HEAD.upper(), "base_branch": "main", "merge_base": BASE}

    async def ask(values):
        if path == "page":
            return await page(world, f"/ann/app/pulls/1.diff?{urlencode(values)}", 1)
        return await world.call("GET", f"{path}{'&' if '?' in path else '?'}{urlencode(values)}")

    assert (await ask(target)).status_code == 200
    other = await ask(target | {name: "free" if name == "base_branch" else NEXT})
    assert (other.status_code, f"the changes have moved: {name} is now " in other.text) == (409, True)


@pytest.mark.parametrize("last", ["1", "9.diff", "0.diff", "x.diff", "1.exe", "1.diff.patch", "1."])
async def test_other_pages_are_not_found(world, last):
    await world.propose()
    assert (await page(world, f"/ann/app/pulls/{last}", 1)).status_code == 404
