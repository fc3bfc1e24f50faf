"""Comparisons of refs by the API, also across forks."""

from functools import partial

import pytest

from ingot_git.testing.builders import commit, set_ref

from ..code_world import opened, repository_with_history

C = "/repos/ann/app/compare"


@pytest.fixture
async def app(world, ann):
    return await repository_with_history(world, ann)


def shas(answer):
    assert answer.status_code == 200, answer.text
    return [one["sha"] for one in answer.json()["commits"]]


async def test_what_the_head_has_and_the_base_has_not(ann, app):
    for text, expected in [
        ("light...master", ["third", "second"]),
        ("light..master", ["third", "second"]),
        ("master...light", []),
        ("master...feature/side", ["side"]),
        ("feature/side...master", ["third", "second"]),
        (f"{app['first']}...{app['second'][:9]}", ["second"]),
        ("refs/tags/light...refs/heads/master", ["third", "second"]),
        ("feature/side", ["side"]),
        ("...feature/side", ["side"]),
        ("master...ann:feature/side", ["side"]),
        ("light...v1.0", ["second"]),
        ("HEAD...feature/side", ["side"]),
        ("light...HEAD", ["third", "second"]),
    ]:
        answer = await ann.get(f"{C}/{text}")
        assert shas(answer) == [app[name] for name in expected], text
        assert answer.json()["total_commits"] == len(expected)
    one = (await ann.get(f"{C}/light...v1.0")).json()["commits"][0]
    assert {"filename": "run.sh", "status": "added"} in one["files"]
    page = await ann.get(f"{C}/light...master?limit=1&page=2")
    assert (shas(page), page.headers["x-total-count"]) == ([app["second"]], "2")


async def test_a_comparison_names_the_commits_of_its_diff(ann, app):
    for text, before, after in [
        ("feature/side...master", "first", "third"),
        ("feature/side..master", "side", "third"),
        ("light...v1.0", "first", "second"),
    ]:
        shown = (await ann.get(f"{C}/{text}")).json()
        assert (shown["before"], shown["after"]) == (app[before], app[after]), text
        assert shown["head_repo"] == "ann/app"


async def test_the_changes_as_text(ann, app):
    since = (await ann.get(f"{C}/master...feature/side?output=diff")).text
    assert "+side" in since
    assert "-more" not in since
    direct = (await ann.get(f"{C}/master..feature/side?output=diff")).text
    assert "-more" in direct
    patch = (await ann.get(f"{C}/light...master?output=patch")).text
    assert patch.index("Subject: [PATCH 1/2] second") < patch.index("Subject: [PATCH 2/2] third")
    assert (await ann.get(f"{C}/light...master?output=x")).status_code == 422


async def test_the_changes_of_some_files_as_text(ann, app):
    for path in (f"{C}/light...master?output=diff", f"/repos/ann/app/git/commits/{app['third']}.diff?"):
        heads = [line for line in (await ann.get(path)).text.split("\n") if line.startswith("diff --git")]
        pages = [await ann.get(f"{path}&page={number}&limit=1") for number in range(1, len(heads) + 2)]
        assert [page.text.split("\n")[0] for page in pages] == [*heads, ""]
        assert {page.headers["x-total-count"] for page in pages} == {str(len(heads))}


async def test_what_cannot_be_compared(ann, app):
    for text in ("none...master", "master...none", "master...", "none", "master...bob:x",
                 "master...ann/other:x",
                 "--all...master", "master...--all", "a%00...b", f"{'0' * 40}...master", "x" * 3000,
                 "master...:x", "master...ann:", "master...ann:--x", "master....light"):  # fmt: skip
        assert (await ann.get(f"{C}/{text}")).status_code in (400, 404), text


async def test_histories_without_a_common_commit(world, ann, app):
    repo = opened(world, app["id"])
    other = commit(repo, {"other": b"1"}, message="other\n")
    repo.references.create("refs/heads/other", other)
    assert shas(await ann.get(f"{C}/master...other")) == [other]
    assert "+1" in (await ann.get(f"{C}/master...other?output=diff")).text


async def test_a_branch_of_a_fork_that_the_caller_may_read(world, ann, bob, app):
    assert (await bob.post("/repos/ann/app/forks")).status_code == 202
    await world.components.workers.step()
    fork = (await bob.get("/repos/bob/app")).json()
    repo = opened(world, fork["id"])
    new = commit(repo, {"bob": b"1"}, [app["third"]], "bob's\n")
    repo.references.create("refs/heads/bobs", new)
    for text in ("master...bob:bobs", "master...bob/app:bobs", "master...BOB:bobs"):
        answer = await ann.get(f"{C}/{text}")
        assert shas(answer) == [new], text
        assert (answer.json()["head_repo"], answer.json()["after"]) == ("bob/app", new)
    assert "+1" in (await ann.get(f"{C}/master...bob:bobs?output=diff")).text
    from_fork = await bob.get("/repos/bob/app/compare/bobs...ann:master")
    assert shas(from_fork) == []
    assert not [name for name in opened(world, app["id"]).references if name.startswith("refs/scratch")]
    assert (await ann.get(f"/repos/ann/app/git/commits/{new}")).status_code == 404
    await bob.call("PATCH", "/api/v1/repos/bob/app", {"private": True})
    assert (await ann.get(f"{C}/master...bob:bobs")).status_code == 404
    assert shas(await world.user(9, "root").but(admin=True).get(f"{C}/master...bob:bobs")) == [new]
    await repository_with_history(world, ann, "unrelated")
    assert (await ann.get(f"{C}/master...ann/unrelated:master")).status_code == 404


async def test_a_full_id_is_no_branch_of_a_fork(world, ann, bob, app):
    assert (await bob.post("/repos/ann/app/forks")).status_code == 202
    await world.components.workers.step()
    repo = opened(world, (await bob.get("/repos/bob/app")).json()["id"])
    new = commit(repo, {"bob": b"1"}, [app["third"]], "bob's\n")
    for name in (app["first"], app["first"].upper(), "b" * 64, app["first"][:39]):
        repo.references.create(f"refs/heads/{name}", new)
        is_id = len(name) >= 40
        for text in (f"master...bob:{name}", f"master..bob/app:{name}", f"master...bob:{name}?output=diff"):
            assert (await ann.get(f"{C}/{text}")).status_code == (404 if is_id else 200), text
    assert shas(await ann.get(f"{C}/light...ann:{app['second']}")) == [app["second"]]


async def test_who_may_not_read_gets_nothing(world, ann, bob):
    await repository_with_history(world, ann, private=True)
    for person, status in ((ann, 200), (bob, 404), (world.user(0, ""), 404)):
        assert (await person.get(f"{C}/light...master")).status_code == status
    await ann.create("empty")
    assert (await ann.get("/repos/ann/empty/compare/a...b")).status_code == 404


async def test_the_changes_of_some_files_without_those_of_white_space(world, ann, app):
    repo = opened(world, app["id"])
    before = commit(repo, {"a": b"if x:\ny\n", "b": b"1\n"}, [app["third"]])
    after = commit(repo, {"a": b"if x:\n  y\n", "b": b"2\n"}, [before])
    set_ref(repo, "refs/heads/spaced", after)
    get = partial(ann.internal, "GET")
    for ask, path in (
        (ann.get, f"{C}/{before}...spaced?output=diff&page=1"),
        (ann.get, f"/repos/ann/app/git/commits/{after}.diff?page=1"),
        (get, f"{app['id']}/diff?base={before}&head={after}&files=9"),
    ):
        for whitespace, is_shown in (("ignore-all", False), ("ignore-eol", True), ("show-all", True)):
            answer = await ask(f"{path}&whitespace={whitespace}")
            assert (answer.text.count("diff --git"), answer.headers["x-total-count"]) == (2, "2"), answer.text
            assert ("+  y" in answer.text, "+2" in answer.text) == (is_shown, True), (path, whitespace)
