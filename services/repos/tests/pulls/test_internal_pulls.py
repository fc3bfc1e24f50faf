"""Comparing and merging for issues, and what is between two commits of a pull request."""

import pytest

from ingot_git.changes import tree_merges
from ingot_git.testing import builders
from ingot_git.testing.builders import LINES, set_branches
from ingot_repos.pulls.internal import pulls as internal_pulls

from ..code_world import opened
from ..protection.test_protections import protect
from ..world import commit, git


async def compared(person, base_id, **more):
    body = {"base_branch": "master", "head_repository_id": base_id, "head_branch": "topic", **more}
    return await person.internal("POST", f"{base_id}/compare", body)


async def test_a_comparison_says_what_a_merge_would_bring(ann, base):
    answer = await compared(ann, base, number=1)
    assert answer.status_code == 200, answer.text
    comparison = answer.json()
    assert (comparison["mergeable"], comparison["commits"]) == (True, 1)
    tip = (await ann.internal("GET", f"{base}/branches/topic")).json()
    assert tip == {"name": "topic", "sha": comparison["head_sha"]}
    assert (await compared(ann, base, head_branch="nothing")).status_code == 404
    assert (await compared(ann, base, base_branch="..")).status_code == 404


async def test_the_tip_of_a_branch_comes_with_its_commit_on_request(ann, base):
    tip = (await ann.internal("GET", f"{base}/branches/topic")).json()
    whole = (await ann.internal("GET", f"{base}/branches/topic?commit=true")).json()
    assert ("commit" in tip, whole["sha"]) == (False, tip["sha"])
    commit = whole["commit"]
    assert (commit["id"], commit["message"]) == (tip["sha"], "topic\n")
    assert (commit["added"], commit["removed"], commit["modified"]) == (["b.txt"], [], [])


async def test_comparing_needs_access_to_both(world, ann, bob, base):
    other = await ann.create("secret", private=True)
    assert (await compared(bob, base)).status_code == 200
    assert (await compared(bob, base, head_repository_id=other["id"])).status_code == 404


async def test_a_fork_is_compared_with_its_parent(world, ann, bob, base):
    fork = (await bob.post("/repos/ann/app/forks")).json()
    await world.components.workers.step()
    answer = await compared(bob, base, head_repository_id=fork["id"], number=2)
    assert answer.json()["commits"] == 1


async def test_many_heads_are_compared_with_one_base_at_once(world, ann, bob, base, git_log):
    fork = (await bob.post("/repos/ann/app/forks")).json()
    await world.components.workers.step()
    secret = await bob.create("secret", private=True, auto_init=True)
    heads = [
        {"repository_id": base, "branch": "topic", "number": 1},
        {"repository_id": base, "branch": "nothing", "number": 2},
        {"repository_id": base, "branch": "master", "number": 3},
        {"repository_id": fork["id"], "branch": "topic", "number": 4},
        {"repository_id": secret["id"], "branch": "master", "number": 5},
        {"repository_id": 999, "branch": "master", "number": 6},
        {"repository_id": base, "branch": "--all", "number": 7},
    ]
    body = {"base_branch": "master", "heads": heads}
    comparison = (await ann.internal("POST", f"{base}/comparisons", body)).json()["found"]
    assert [one and one["commits"] for one in comparison] == [1, None, 0, 1, None, None, None]
    assert comparison[0] == (await compared(ann, base, number=1)).json()
    assert comparison[0]["counts"] == {"additions": 1, "deletions": 0, "changed_files": 1}
    git_log.clear()
    counted = [
        head | {"counted_base": one["merge_base"], "counted_head": one["head_sha"]} if one else head
        for head, one in zip(heads, comparison, strict=True)
    ]
    again = (await ann.internal("POST", f"{base}/comparisons", body | {"heads": counted})).json()["found"]
    uncounted = [one and one | {"counts": None} for one in comparison]
    assert (again, list(git_log)) == (uncounted, [])
    alone = (await ann.internal("POST", f"{base}/comparisons?unattended=true", body)).json()["found"]
    assert [one and one["commits"] for one in alone] == [1, None, 0, 1, 1, None, None]


async def test_one_git_process_judges_all_heads_of_a_base(world, ann, base, git_log):
    repo = opened(world, base)
    start = builders.commit(repo, {"a": LINES})
    tips = {
        "main": builders.commit(repo, {"a": b"main\n" + LINES}, [start]),
        "clean": builders.commit(repo, {"a": LINES + b"clean\n"}, [start]),
        "other": builders.commit(repo, {"a": LINES + b"other\n"}, [start]),
        "conflict": builders.commit(repo, {"a": b"conflict\n" + LINES}, [start]),
    }
    set_branches(repo, **tips)
    names = ["clean", "conflict", "main", "other"]
    heads = [
        {"repository_id": base, "branch": name, "number": number, "counted_base": start,
         "counted_head": tips[name]}
        for number, name in enumerate(names, start=10)
    ]  # fmt: skip
    body = {"base_branch": "main", "heads": heads}
    comparison = (await ann.internal("POST", f"{base}/comparisons", body)).json()["found"]
    assert [one["mergeable"] for one in comparison] == [True, False, True, True]
    assert sum("merge-tree" in words for words in git_log) == 1
    alone = await compared(ann, base, base_branch="main", head_branch="conflict", number=11)
    assert alone.json()["mergeable"] is False


@pytest.mark.parametrize("is_in_tip", [True, False])
async def test_a_damaged_fork_is_no_reason_to_compare_no_other_head(world, ann, bob, base, is_in_tip):
    fork = (await bob.post("/repos/ann/app/forks")).json()["id"]
    await world.components.workers.step()
    content = {"content": "b25l", "message": "m", "branch": "topic"}
    created = (await bob.post("/repos/bob/app/contents/new.txt", content)).json()
    oid = created["commit"]["sha"] if is_in_tip else created["content"]["sha"]
    (world.components.storage.path(fork) / "objects" / oid[:2] / oid[2:]).unlink()
    world.components.storage.delete(9999)  # after this no thread remembers an object
    heads = [
        {"repository_id": base, "branch": "topic", "number": 1},
        {"repository_id": fork, "branch": "topic", "number": 2},
        {"repository_id": base, "branch": "master", "number": 3},
    ]
    answer = await ann.internal("POST", f"{base}/comparisons", {"base_branch": "master", "heads": heads})
    assert [one and one["commits"] for one in answer.json()["found"]] == [1, None, 0]
    own = [{"repository_id": fork, "branch": "topic", "number": 2}]
    answer = await bob.internal("POST", f"{fork}/comparisons", {"base_branch": "topic", "heads": own})
    assert answer.status_code == (500 if is_in_tip else 200)


async def test_a_head_that_somebody_moves_is_no_damaged_fork(world, ann, bob, base):
    """It is said that it cannot be compared now, so callers ask again."""
    fork = (await bob.post("/repos/ann/app/forks")).json()["id"]
    await world.components.workers.step()
    lock = world.components.storage.path(base) / "refs/pull/2/head.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    body = {
        "base_branch": "master",
        "heads": [{"repository_id": fork, "branch": "topic", "number": 2}],
    }
    tip = (await bob.internal("GET", f"{fork}/branches/topic")).json()["sha"]
    merge = {
        "number": 2,
        "base_branch": "master",
        "head_repository_id": fork,
        "head_branch": "topic",
        "head_sha": tip,
    }
    assert (await ann.internal("POST", f"{base}/comparisons", body)).status_code == 503
    assert (await ann.internal("POST", f"{base}/merge", merge)).status_code == 503
    lock.unlink()
    answer = await ann.internal("POST", f"{base}/comparisons", body)
    assert answer.json()["found"][0]["commits"] == 1
    assert (await ann.internal("POST", f"{base}/merge", merge)).status_code == 200


async def test_what_heads_may_be_asked_for(ann, bob, base):
    head = {"repository_id": base, "branch": "topic"}
    other = await ann.create("secret", private=True)
    for person, repository, body, status in (
        (ann, base, {"base_branch": "nothing", "heads": [head]}, 404),
        (ann, base, {"base_branch": "master", "heads": [head] * 101}, 400),
        (ann, base, {"base_branch": "master", "heads": [{"branch": "topic"}]}, 422),
        (ann, base, {"base_branch": "master", "heads": []}, 200),
        (ann, 999, {"base_branch": "master", "heads": []}, 404),
        (bob, other["id"], {"base_branch": "master", "heads": []}, 404),
    ):
        assert (await person.internal("POST", f"{repository}/comparisons", body)).status_code == status


@pytest.mark.parametrize("style", ["merge", "rebase", "rebase-merge", "squash", "fast-forward-only"])
async def test_a_merge_moves_the_base_and_is_announced_as_one(world, ann, base, style):
    comparison = (await compared(ann, base, number=1)).json()
    body = {"number": 1, "base_branch": "master", "head_sha": comparison["head_sha"], "style": style}
    answer = await ann.internal("POST", f"{base}/merge", body)
    assert answer.status_code == 200, answer.text
    event = (await world.events("push"))[-1]
    assert (event["ref"], event["merged_pull"]) == ("refs/heads/master", 1)
    assert (event["before"], event["after"]) == (comparison["base_sha"], answer.json()["sha"])
    again = (await ann.internal("POST", f"{base}/merge", body)).json()
    assert again == {"sha": answer.json()["sha"], "already": True, "base_sha": "", "merge_base": ""}


async def test_a_merge_whose_outcome_is_unknown_is_not_made_a_second_time(world, ann, base):
    comparison = (await compared(ann, base, number=1)).json()
    body = {"number": 1, "base_branch": "master", "head_sha": comparison["head_sha"], "style": "squash"}
    async with world.components.pushes.journaled(base, 1, ["refs/heads/master"], merged_pull=1) as push_id:
        assert (await ann.internal("POST", f"{base}/merge", body)).status_code == 409
        await world.components.pushes.settle(push_id)
    assert (await ann.internal("POST", f"{base}/merge", body)).json()["already"] is False


async def test_a_merge_is_made_by_the_person_who_asks(ann, base):
    comparison = (await compared(ann, base, number=1)).json()
    body = {
        "number": 1,
        "base_branch": "master",
        "head_sha": comparison["head_sha"],
        "title": "Join",
        "message": "Why",
    }
    await ann.internal("POST", f"{base}/merge", body)
    tip = (await ann.get("/repos/ann/app/branches/master")).json()["commit"]
    assert tip["message"] == "Join\n\nWhy\n"
    assert tip["committer"] == {"name": "Ann", "email": "ann@example.org", "username": "ann"}


async def test_what_cannot_be_merged_says_why(world, ann, bob, base):
    comparison = (await compared(ann, base, number=1)).json()
    body = {"number": 1, "base_branch": "master", "head_sha": comparison["head_sha"]}
    assert (await bob.internal("POST", f"{base}/merge", body)).status_code == 403
    stale = body | {"head_sha": comparison["base_sha"]}
    refused = await ann.internal("POST", f"{base}/merge", stale)
    words = "the head branch has moved; look at its new commits, then merge again"
    assert (refused.status_code, refused.json()["message"]) == (409, words)
    assert (await ann.internal("POST", f"{base}/merge", body | {"base_branch": "no"})).status_code == 404
    assert (await ann.internal("POST", f"{base}/merge", {"number": 1})).status_code == 422
    assert await world.rows("push") == []


async def test_conflicting_changes_are_a_conflict(world, ann, base, git_url, tmp_path):
    work = tmp_path / "work"
    await git("checkout", "-q", "master", cwd=work)
    await commit(work, "b.txt", "other\n")
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    comparison = (await compared(ann, base, number=1)).json()
    assert comparison["mergeable"] is False
    body = {"number": 1, "base_branch": "master", "head_sha": comparison["head_sha"]}
    assert (await ann.internal("POST", f"{base}/merge", body)).status_code == 409


async def test_a_merge_above_the_cpu_time_of_a_request_is_left_to_a_job(
    world, ann, base, git_log, monkeypatch
):
    monkeypatch.setattr(internal_pulls, "CPU_SECONDS", tree_merges.TEST_CPU_SECONDS)
    repo = opened(world, base)
    ours, theirs = builders.costly_merge(repo)
    set_branches(repo, ours=ours, theirs=theirs)
    branches = {"base_branch": "ours", "head_branch": "theirs"}
    for _ in range(2):
        comparison = await compared(ann, base, number=1, counted_head=theirs, **branches)
        assert (comparison.status_code, comparison.json()["mergeable"]) == (200, True)
    assert sum("merge-tree" in words for words in git_log) == 1
    body = branches | {"number": 1, "head_sha": theirs, "head_repository_id": base}
    refused = await ann.internal("POST", f"{base}/merge", body)
    assert (refused.status_code, "merge in a clone" in refused.json()["message"]) == (413, True)
    merged = await ann.internal("POST", f"{base}/merge?user=1", body)
    assert merged.status_code == 200, merged.text


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_repository_says_whether_white_space_conflicts(ann, base, git_url, tmp_path):
    work = tmp_path / "work"
    for branch, text in (("master", "one  \n"), ("topic", "one word\n")):
        await git("checkout", "-q", branch, cwd=work)
        await commit(work, "a.txt", text)
    await git("push", "-q", f"{git_url}/ann/app.git", "master", "topic", cwd=work, person=ann)
    comparison = (await compared(ann, base, number=1)).json()
    update = {
        "head_branch": "topic", "head_sha": comparison["head_sha"],
        "base_repository_id": base, "base_branch": "master",
    }  # fmt: skip
    merge = {"number": 1, "base_branch": "master", "head_repository_id": base, "head_branch": "topic"}
    assert comparison["mergeable"] is False
    assert (await ann.internal("POST", f"{base}/update-branch", update)).status_code == 409
    refused = await ann.internal("POST", f"{base}/merge", merge | {"head_sha": comparison["head_sha"]})
    assert refused.status_code == 405
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"ignore_whitespace_conflicts": True})
    assert (await compared(ann, base, number=1)).json()["mergeable"] is True
    updated = (await ann.internal("POST", f"{base}/update-branch", update)).json()
    answer = await ann.internal("POST", f"{base}/merge", merge | {"head_sha": updated["sha"]})
    assert answer.status_code == 200, answer.text


async def test_a_merge_that_names_the_branch_needs_no_comparison_before(world, ann, base, git_log):
    tip, before = [
        (await ann.internal("GET", f"{base}/branches/{name}")).json()["sha"] for name in ("topic", "master")
    ]
    body = {"number": 1, "base_branch": "master", "head_repository_id": base, "head_branch": "topic"}
    moved = await ann.internal("POST", f"{base}/merge", body | {"head_sha": before})
    assert moved.status_code == 409
    git_log.clear()
    answer = (await ann.internal("POST", f"{base}/merge", body | {"head_sha": tip})).json()
    assert (answer["already"], answer["base_sha"], answer["merge_base"]) == (False, before, before)
    assert (await ann.internal("GET", f"{base}/branches/master")).json()["sha"] == answer["sha"] != before
    assert list(git_log) == []
    assert await world.rows("push") == []


async def test_a_base_that_was_rewritten_since_the_changes_were_reviewed_gets_nothing(
    ann, base, git_url, tmp_path
):
    """The base had a commit of the head, so no reviewer saw it in the changes."""
    work = tmp_path / "work"
    await git("checkout", "-q", "topic", cwd=work)
    await git("push", "-q", f"{git_url}/ann/app.git", "topic:master", cwd=work, person=ann)
    await commit(work, "c.txt", "harmless")
    await git("push", "-q", f"{git_url}/ann/app.git", "topic", cwd=work, person=ann)
    reviewed = (await compared(ann, base, number=1)).json()
    await git("push", "-qf", f"{git_url}/ann/app.git", "topic~2:master", cwd=work, person=ann)
    body = {"number": 1, "base_branch": "master", "head_repository_id": base, "head_branch": "topic"}
    body |= {"head_sha": reviewed["head_sha"]}
    refused = await ann.internal("POST", f"{base}/merge", body | {"merge_base": reviewed["merge_base"]})
    assert (refused.status_code, "other changes are left" in refused.text) == (409, True)
    present = (await compared(ann, base, number=1)).json()
    merged = await ann.internal("POST", f"{base}/merge", body | {"merge_base": present["merge_base"]})
    assert merged.status_code == 200, merged.text


@pytest.mark.parametrize("visible", [True, False])
async def test_the_head_of_a_fork_is_merged_as_far_as_the_person_may_see_it(world, ann, bob, base, visible):
    fork = (await bob.post("/repos/ann/app/forks")).json()
    await world.components.workers.step()
    if not visible:
        await bob.call("PATCH", "/api/v1/repos/bob/app", {"private": True})
    tip = (await bob.internal("GET", f"{fork['id']}/branches/topic")).json()["sha"]
    body = {
        "number": 9,
        "base_branch": "master",
        "head_repository_id": fork["id"],
        "head_branch": "topic",
        "head_sha": tip,
    }
    answer = await ann.internal("POST", f"{base}/merge", body)
    assert answer.status_code == (200 if visible else 409), answer.text
    if not visible:  # what was kept while it could be seen is merged
        await compared(ann, base, number=9)
        assert (await ann.internal("POST", f"{base}/merge", body)).status_code == 200


async def test_a_branch_that_is_gone_is_merged_as_it_was_kept(ann, base, git_url, tmp_path):
    tip = (await compared(ann, base, number=1)).json()["head_sha"]
    await git("push", "-q", f"{git_url}/ann/app.git", ":topic", cwd=tmp_path / "work", person=ann)
    body = {"base_branch": "master", "head_repository_id": base, "head_branch": "topic", "head_sha": tip}
    assert (await ann.internal("POST", f"{base}/merge", body | {"number": 2})).status_code == 409
    assert (await ann.internal("POST", f"{base}/merge", body | {"number": 1})).status_code == 200


async def test_of_a_head_that_is_gone_what_is_kept_is_compared(world, ann, bob, base, git_url, tmp_path):
    fork = (await bob.post("/repos/ann/app/forks")).json()["id"]
    await world.components.workers.step()
    tips = [
        (await compared(bob, base, head_repository_id=source, number=number)).json()["head_sha"]
        for number, source in ((1, base), (2, fork))
    ]
    await git("push", "-q", f"{git_url}/ann/app.git", ":topic", cwd=tmp_path / "work", person=ann)
    assert (await bob.call("DELETE", "/api/v1/repos/bob/app")).status_code == 204
    await world.components.workers.step()
    heads = [
        {"repository_id": source, "branch": "topic", "number": number}
        for number, source in ((1, base), (2, fork), (3, base), (3, fork))
    ]
    body = {"base_branch": "master", "heads": heads}
    for suffix in ("", "?unattended=true"):
        comparison = (await ann.internal("POST", f"{base}/comparisons{suffix}", body)).json()["found"]
        assert [one and (one["head_sha"], one["mergeable"]) for one in comparison] == [
            (tips[0], True),
            (tips[1], True),
            None,
            None,
        ]


@pytest.mark.parametrize(
    ("file", "style", "status"),
    [("b.txt", "merge", 405), ("b.txt", "rebase", 405), ("c.txt", "fast-forward-only", 409)],
)
async def test_a_merge_that_names_the_branch_tells_conflicts_apart(
    ann, base, git_url, tmp_path, file, style, status
):
    work = tmp_path / "work"
    await git("checkout", "-q", "master", cwd=work)
    await commit(work, file, "other\n")
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    tip = (await ann.internal("GET", f"{base}/branches/topic")).json()["sha"]
    body = {
        "number": 1,
        "base_branch": "master",
        "head_repository_id": base,
        "head_branch": "topic",
        "head_sha": tip,
        "style": style,
    }
    assert (await ann.internal("POST", f"{base}/merge", body)).status_code == status


async def test_diff_and_patch_are_texts_of_commits_in_the_history(ann, bob, base):
    comparison = (await compared(ann, base, number=1)).json()
    query = f"{base}/diff?base={comparison['base_sha']}&head={comparison['head_sha']}"
    assert "+two" in (await ann.internal("GET", query)).text
    assert "Subject: [PATCH] topic" in (await ann.internal("GET", f"{query}&format=patch")).text
    some = await ann.internal("GET", f"{query}&files=1")
    assert (some.text.count("diff --git"), "+two" in some.text) == (1, True)
    total = int(some.headers["x-total-count"])
    assert total >= 1
    beyond = await ann.internal("GET", f"{query}&files=1&offset={total}")
    assert (beyond.text, beyond.headers["x-total-count"]) == ("", str(total))
    assert (await ann.internal("GET", f"{base}/diff?base={'1' * 40}&head=--output=x")).status_code == 404


async def test_commits_and_files_of_a_pull_request_are_paged(ann, base, git_url, tmp_path):
    work = tmp_path / "work"
    await commit(work, "c/d.bin", "\0", message="more")
    await git("mv", "a.txt", "z.txt", cwd=work)
    await commit(work, "c/e.txt", "1\n2\n", message="most")
    await git("push", "-q", f"{git_url}/ann/app.git", "topic", cwd=work, person=ann)
    comparison = (await compared(ann, base, number=1)).json()
    query = f"base={comparison['merge_base']}&head={comparison['head_sha']}"
    history = (await ann.internal("GET", f"{base}/commits?{query}&limit=2")).json()
    assert (history["total"], [c["message"] for c in history["commits"]]) == (3, ["most\n", "more\n"])
    assert history["commits"][0]["author"]["login"] == "ann"
    rest = (await ann.internal("GET", f"{base}/commits?{query}&offset=2&limit=2")).json()
    assert [c["message"] for c in rest["commits"]] == ["topic\n"]
    files = (await ann.internal("GET", f"{base}/files?{query}")).json()
    assert files["total"] == 4
    assert {f["path"]: f["status"] for f in files["files"]} == {
        "b.txt": "added", "c/d.bin": "added", "c/e.txt": "added", "z.txt": "renamed",
    }  # fmt: skip
    for more, line in (
        ("", "Binary files /dev/null and b/c/d.bin differ"),
        ("&binary=true", "GIT binary patch"),
        ("&format=patch", "GIT binary patch"),
    ):
        assert line in (await ann.internal("GET", f"{base}/diff?{query}{more}")).text
    rest = (await ann.internal("GET", f"{base}/files?{query}&skip_to=c/e.txt&whitespace=ignore-all")).json()
    assert ([file["path"] for file in rest["files"]], rest["total"]) == (["c/e.txt", "z.txt"], 2)
    whole = (await ann.internal("GET", f"{base}/commits?base=&head={comparison['head_sha']}")).json()
    assert whole["total"] == 4
    for text in ("diff", "diff?format=patch"):
        joined = "&" if "?" in text else "?"
        answer = await ann.internal("GET", f"{base}/{text}{joined}base=&head={comparison['head_sha']}")
        assert "+one" in answer.text


async def test_git_lists_the_files_of_a_pull_request_once(ann, base, git_log):
    comparison = (await compared(ann, base, number=1)).json()
    query = f"{base}/files?base={comparison['merge_base']}&head={comparison['head_sha']}"
    first = (await ann.internal("GET", query)).json()
    git_log.clear()
    assert [(await ann.internal("GET", query)).json() for _ in range(2)] == [first, first]
    assert (await ann.internal("GET", f"{query}&whitespace=ignore-all")).json() == first
    assert len(list(git_log)) == 1


@pytest.mark.parametrize("what", ["commits", "files", "diff"])
async def test_what_is_between_commits_is_for_readers_and_of_the_history(world, ann, bob, what):
    secret = await ann.create("secret", private=True, auto_init=True)
    query = f"{secret['id']}/{what}?base=&head="
    tip = (await ann.internal("GET", f"{secret['id']}/branches/{secret['default_branch']}")).json()["sha"]
    assert (await ann.internal("GET", query + tip)).status_code == 200
    assert (await bob.internal("GET", query + tip)).status_code == 404
    assert (await bob.internal("GET", query + tip + "&unattended=true")).status_code == 200
    for head in ("1" * 40, "--output=x", ""):
        assert (await ann.internal("GET", query + head)).status_code == 404


async def branched(ann, base, work, git_url):
    """Master and topic have a commit each that the other has not; the tips of both."""
    comparison = (await compared(ann, base)).json()
    await git("checkout", "-q", "-B", "later", comparison["merge_base"], cwd=work)
    tip = await commit(work, "later.txt", "later\n")
    await git("push", "-q", f"{git_url}/ann/app.git", "later:master", cwd=work, person=ann)
    return tip, comparison["head_sha"]


@pytest.mark.parametrize(("style", "parents"), [("merge", 2), ("rebase", 1)])
async def test_a_branch_gets_the_commits_of_its_base_as_a_push(
    world, ann, bob, base, tmp_path, git_url, style, parents
):
    tip, head = await branched(ann, base, tmp_path / "work", git_url)
    body = {
        "head_branch": "topic", "head_sha": head, "base_repository_id": base, "base_branch": "master",
        "style": style,
    }  # fmt: skip
    assert (await bob.internal("POST", f"{base}/update-branch", body)).status_code == 403
    answer = await ann.internal("POST", f"{base}/update-branch", body)
    assert answer.status_code == 200, answer.text
    event = (await world.events("push"))[-1]
    assert (event["ref"], event["before"], event["after"]) == ("refs/heads/topic", head, answer.json()["sha"])
    assert event["forced"] is (style == "rebase")
    comparison = (await compared(ann, base)).json()
    assert (comparison["base_sha"], comparison["merge_base"]) == (tip, tip)
    [commit_info] = (
        await ann.internal("GET", f"{base}/commits?base={tip}&head={comparison['head_sha']}&limit=1")
    ).json()["commits"]
    assert len(commit_info["parents"]) == parents
    moved = await ann.internal("POST", f"{base}/update-branch", body)
    words = "one of the branches has moved; look at what is new, then update again"
    assert (moved.status_code, moved.json()["message"]) == (409, words)
    again = await ann.internal("POST", f"{base}/update-branch", body | {"head_sha": comparison["head_sha"]})
    assert again.json() == answer.json()


@pytest.mark.parametrize(
    ("style", "rule", "status"),
    [
        ("merge", {"enable_push": False}, 403),
        ("rebase", {"enable_push": True}, 403),
        ("rebase", {"enable_push": True, "enable_force_push": True}, 200),
        ("merge", {"enable_push": True, "require_signed_commits": True}, 403),
        ("merge", {"enable_push": True, "protected_file_patterns": "new.*"}, 403),
        ("merge", {"enable_push": True, "protected_file_patterns": "old.*"}, 200),
    ],
)
async def test_a_branch_of_a_fork_gets_nothing_of_the_base_that_a_rule_refuses(
    world, ann, bob, base, style, rule, status
):
    storage = world.components.storage
    fork = (await bob.post("/repos/ann/app/forks")).json()["id"]
    await world.components.workers.step()
    content = {"content": "b25l", "message": "m", "branch": "master"}
    newest = (await ann.post("/repos/ann/app/contents/new.txt", content)).json()["commit"]["sha"]
    await protect(bob, "topic", repository="bob/app", **rule)
    head = (await bob.internal("GET", f"{fork}/branches/topic")).json()["sha"]
    body = {
        "head_branch": "topic", "head_sha": head, "base_repository_id": base, "base_branch": "master",
        "style": style,
    }  # fmt: skip
    before = sorted(storage.path(fork).rglob("*"))
    answer = await bob.internal("POST", f"{fork}/update-branch", body)
    assert answer.status_code == status, answer.text
    assert (sorted(storage.path(fork).rglob("*")) == before) is (status == 403)
    assert await storage.call(fork, lambda repo: newest in repo) is (status == 200)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"base_branch": "nothing"}, 404),
        ({"head_branch": "nothing"}, 409),
        ({"head_branch": "-x"}, 409),
        ({"base_repository_id": 999}, 404),
        ({"style": "squash"}, 422),
        ({"head_sha": "0" * 40}, 409),
    ],
)
async def test_what_no_branch_can_get_is_refused(ann, base, fields, status):
    comparison = (await compared(ann, base)).json()
    body = {"head_branch": "topic", "head_sha": comparison["head_sha"], "base_repository_id": base}
    answer = await ann.internal("POST", f"{base}/update-branch", body | {"base_branch": "master"} | fields)
    assert answer.status_code == status, answer.text
