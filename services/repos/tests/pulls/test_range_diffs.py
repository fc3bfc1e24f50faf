"""Two heads of a pull request, for issues. A push has replaced the old head, so no ref has it."""

import shutil
from pathlib import Path

import pytest

from ingot_git.history import range_diffs
from ingot_git.process.cpu_time import CpuLimit
from ingot_git.testing.builders import LINES, commit, set_branches

from ..code_world import opened


@pytest.fixture
def heads(world, base):
    """Commits of ann/app: the root, the tip of master, the replaced head and the head of topic."""
    repo = opened(world, base)
    root = str(repo.branches["master"].target)
    tip = commit(repo, {"m": b""}, [root], "main\n")
    old = commit(repo, {"f": LINES}, [commit(repo, {"g": b"g\n"}, [root], "first\n")], "second\n")
    new = commit(repo, {"f": LINES + b"more\n", "m": b""}, [tip], "second\n")
    set_branches(repo, topic=new, master=tip)
    return {"base": root, "base_tip": tip, "old": old, "new": new}


async def ask(person, base, parameters):
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    return await person.internal("GET", f"{base}/range-diff?{query}")


async def test_the_commits_of_a_replaced_head_are_paired_with_those_of_the_new_one(ann, base, heads):
    answer = await ask(ann, base, heads)
    assert answer.status_code == 200, answer.text
    first, second = answer.json()["pairs"]
    assert (first["state"], first["title"], first["new"], first["difference"]) == ("dropped", "first", "", "")
    assert (second["state"], second["old"], second["new"]) == ("changed", heads["old"], heads["new"])
    assert "++more" in second["difference"]
    again = (await ask(ann, base, heads | {"old": heads["new"]})).json()
    assert [pair["state"] for pair in again["pairs"]] == ["unchanged"]


async def test_after_a_merge_the_commits_are_those_since_the_merge_base(world, ann, base, heads):
    set_branches(opened(world, base), master=heads["new"])
    merged = heads | {"base": heads["base_tip"], "base_tip": heads["new"]}
    assert [pair["state"] for pair in (await ask(ann, base, merged)).json()["pairs"]] == [
        "dropped",
        "changed",
    ]


async def test_a_head_that_was_deleted_is_named(world, ann, base, heads):
    answer = await ask(ann, base, heads | {"old": "1" * 40})
    assert answer.json() == {"pairs": [], "missing": "1" * 40}
    path = Path(opened(world, base).path) / "objects" / heads["new"][:2]
    shutil.rmtree(path)
    assert (await ask(ann, base, heads)).json() == {"pairs": [], "missing": heads["new"]}


@pytest.mark.parametrize("name", ["", "master", "topic", "--output=x", "1" * 39, "HEAD~1"])
async def test_only_full_ids_are_accepted(ann, base, heads, name):
    for field in ("old", "new"):
        assert (await ask(ann, base, heads | {field: name})).status_code == 404
    for field in ("base", "base_tip"):
        assert (await ask(ann, base, heads | {field: name})).status_code == 200


async def test_only_readers_and_only_issues_may_ask(ann, bob, base, heads):
    assert (await ask(bob, base, heads)).status_code == 200
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert (await ask(bob, base, heads)).status_code == 404
    assert (await ask(ann, 999, heads)).status_code == 404
    assert (await ann.get(f"/internal/repositories/{base}/range-diff")).status_code == 404


async def test_work_beyond_a_limit_is_refused_with_the_reason(ann, base, heads, monkeypatch):
    for name, value, reason in (
        ("MOST_COMMITS", 1, "there are more than 1 commits"),
        ("MOST_OUTPUT", 10, "the differences are too large"),
        ("MAX_CPU", CpuLimit(0.0), "the differences are too large"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(range_diffs, name, value)
            answer = await ask(ann, base, heads)
        message = answer.json()["message"]
        assert (answer.status_code, message.startswith(reason), "in a clone" in message) == (413, True, True)
    monkeypatch.setattr(range_diffs, "_SECONDS", 0.0)
    assert (await ask(ann, base, heads)).status_code == 503
