"""Forks: metadata at once, commits by a worker that may die."""

import asyncio
import hashlib
from functools import partial

import msgspec
import pytest
from sqlalchemy import select

from ingot_git.process.command import run_git
from ingot_git.storage import forks as git_forks
from ingot_repos.catalog.store import repositories
from ingot_repos.repositories.api import repositories as api_repositories
from ingot_testing.service import change_at_once

from ..world import commit, git, work_tree


@pytest.fixture
async def parent(ann):
    return await ann.create("app", auto_init=True, description="An app")


async def test_a_fork_has_its_metadata_at_once_and_its_commits_soon(world, bob, parent):
    answer = await bob.post("/repos/ann/app/forks")
    assert answer.status_code == 202, answer.text
    fork = answer.json()
    assert (fork["full_name"], fork["fork"], fork["parent"]["full_name"]) == ("bob/app", True, "ann/app")
    refused = await bob.call("GET", "/bob/app/info/refs?service=git-upload-pack")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    refused = await bob.get("/repos/bob/app/branches")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")

    assert await world.components.workers.step() == 1

    assert (await bob.call("GET", "/bob/app/info/refs?service=git-upload-pack")).status_code == 200
    assert [b["name"] for b in (await bob.get("/repos/bob/app/branches")).json()] == ["master"]
    assert (await bob.get("/repos/ann/app")).json()["forks_count"] == 1
    assert [f["full_name"] for f in (await bob.get("/repos/ann/app/forks")).json()] == ["bob/app"]
    kinds = [event["type"] for event in await world.events("repos.")][-3:]
    assert kinds == [
        "repos.fork.requested.v1",
        "repos.repository.forked.v1",
        "repos.repository.created.v1",
    ]


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_two_forks_that_go_at_once_are_both_counted(world, ann, bob, parent):
    for person in (bob, world.user(3, "cat")):
        assert (await person.post("/repos/ann/app/forks")).status_code == 202
        await world.components.workers.step()
    first, second = [fork["id"] for fork in (await ann.get("/repos/ann/app/forks")).json()]
    assert (await ann.get("/repos/ann/app")).json()["forks_count"] == 2

    async def remove(tx, fork_id):
        await repositories.remove(tx, fork_id)
        await repositories.count_forks(tx, parent["id"])

    await change_at_once(world.database, *(partial(remove, fork_id=fork_id) for fork_id in (first, second)))
    assert (await ann.get("/repos/ann/app")).json()["forks_count"] == 0


async def test_a_fork_that_was_never_ready_does_not_count(ann, bob, parent):
    assert (await bob.post("/repos/ann/app/forks")).status_code == 202
    assert (await bob.call("DELETE", "/api/v1/repos/bob/app")).status_code == 204
    assert (await ann.get("/repos/ann/app")).json()["forks_count"] == 0


async def test_the_answer_waits_for_the_commits(world, bob, parent):
    world.settings.fork_wait_seconds = 30
    answer = asyncio.create_task(bob.post("/repos/ann/app/forks"))
    while not await world.components.workers.step():
        await asyncio.sleep(0)
    assert (await answer).status_code == 202
    assert [b["name"] for b in (await bob.get("/repos/bob/app/branches")).json()] == ["master"]


async def test_a_worker_that_died_after_copying_is_succeeded(world, bob, parent):
    fork = (await bob.post("/repos/ann/app/forks")).json()
    (job,) = await world.components.jobs.claim(["fork@shard-0"])
    world.components.storage.fork(parent["id"], fork["id"])
    await world.components.jobs.retry(job, "killed")
    table = world.database.metadata.tables["job"]
    async with world.database.transaction() as tx:
        await tx.execute(table.update().values(run_at=table.c.created_at))
    assert await world.components.workers.step() == 1
    assert [b["name"] for b in (await bob.get("/repos/bob/app/branches")).json()] == ["master"]
    assert len(await world.events("forked")) == 1


async def test_a_fork_that_cannot_be_is_a_conflict(world, ann, bob, parent):
    assert (await ann.post("/repos/ann/app/forks")).status_code == 409
    assert (await bob.post("/repos/ann/app/forks")).status_code == 202
    assert (await bob.post("/repos/ann/app/forks", {"name": "second"})).status_code == 409
    carl = world.user(3, "carl")
    await carl.create("app")
    assert (await carl.post("/repos/ann/app/forks")).status_code == 409


async def test_a_member_forks_into_an_organization(world, bob, parent):
    world.organization(9, "acme")
    assert (await bob.post("/repos/ann/app/forks", {"organization": "acme"})).status_code == 403
    world.identity.join(2, 9)
    answer = await bob.post("/repos/ann/app/forks", {"organization": "acme"})
    assert answer.json()["full_name"] == "acme/app"


async def test_a_fork_whose_parent_is_gone_fails_for_good(world, ann, bob, parent):
    await bob.post("/repos/ann/app/forks")
    world.components.storage.delete(parent["id"])
    await world.components.workers.step()
    assert (await bob.call("GET", "/bob/app/info/refs?service=git-upload-pack")).status_code == 404
    assert (await bob.call("DELETE", "/api/v1/repos/bob/app")).status_code == 204


async def test_a_fork_deleted_before_it_was_ready_leaves_nothing(world, bob, parent):
    fork = (await bob.post("/repos/ann/app/forks")).json()
    assert (await bob.call("DELETE", "/api/v1/repos/bob/app")).status_code == 204
    await world.components.workers.step()
    assert not world.components.storage.exists(fork["id"])
    assert await world.events("deleted") == []


async def test_a_fork_whose_files_are_removed_while_it_is_copied_says_nothing_of_its_parent(
    world, bob, parent, monkeypatch
):
    """A fork that was never ready is removed at once, even by a worker that does not copy it."""
    storage = world.components.storage
    storage.open(parent["id"]).create_blob(b"no ref needs it, so git packs what is needed")
    await git("repack", "-dq", "--geometric=2", cwd=storage.path(parent["id"]))
    fork = (await bob.post("/repos/ann/app/forks")).json()
    assert (await bob.call("DELETE", "/api/v1/repos/bob/app")).status_code == 204
    verbs = []

    def run_git_beside_the_removal(args, **options):
        verbs.append(args.verb)
        if args.verb == "repack":
            storage.delete(fork["id"])
        return run_git(args, **options)

    monkeypatch.setattr(git_forks, "run_git", run_git_beside_the_removal)
    assert await world.components.workers.step() == 2
    assert "repack" in verbs
    table = world.database.metadata.tables["job"]
    async with world.database.read() as db:
        assert (await db.execute(select(table.c.state).distinct())).scalars().all() == ["done"]


async def test_the_deletion_of_a_fork_that_became_ready_meanwhile_is_announced(
    world, bob, parent, monkeypatch
):
    await bob.post("/repos/ann/app/forks")
    sender_of = api_repositories.sender_of

    async def sender_when_it_is_ready(request):
        await world.components.workers.step()
        return await sender_of(request)

    monkeypatch.setattr(api_repositories, "sender_of", sender_when_it_is_ready)
    assert (await bob.call("DELETE", "/api/v1/repos/bob/app")).status_code == 204
    assert len(await world.events("repos.repository.deleted")) == 1


async def test_anonymous_callers_cannot_fork(ann, parent):
    assert (await ann.but(id=0, name="", via="").post("/repos/ann/app/forks")).status_code == 401


async def test_git_itself_can_clone_a_fork(world, bob, parent, git_url, tmp_path):
    await bob.post("/repos/ann/app/forks")
    await world.components.workers.step()
    await git("clone", "-q", f"{git_url}/bob/app.git", "copy", cwd=tmp_path, person=bob)
    assert (tmp_path / "copy" / "README.md").exists()


async def test_a_member_who_forks_for_an_organization_gets_no_more_than_a_member(world, ann, bob):
    world.organization(9, "acme")
    world.identity.join(2, 9, teams={51: "read"})
    await ann.create("app", auto_init=True)
    fork = await bob.post("/repos/ann/app/forks", {"organization": "acme"})
    assert fork.status_code == 202, fork.text
    assert fork.json()["permissions"] == {"admin": False, "push": False, "pull": True}
    assert (await bob.get("/repos/acme/app")).json()["permissions"] == fork.json()["permissions"]


async def test_a_fork_shows_no_more_than_its_parent_did(world, ann, bob):
    await ann.create("secret", auto_init=True, private=True)
    assert (await bob.post("/repos/ann/secret/forks")).status_code == 404
    await ann.call("PUT", "/api/v1/repos/ann/secret/collaborators/bob", {"permission": "read"})
    assert (await bob.post("/repos/ann/secret/forks")).json()["private"] is True
    world.organization(9, "acme", visibility="limited")
    world.identity.join(1, 9, owner=True)
    await ann.post("/orgs/acme/repos", {"name": "inner", "auto_init": True})
    assert (await bob.post("/repos/acme/inner/forks")).json()["private"] is True
    await world.components.workers.step()
    assert (await bob.call("PATCH", "/api/v1/repos/bob/inner", {"private": False})).status_code == 422


async def test_permissions_of_what_was_forked_are_those_on_it(bob, parent):
    fork = (await bob.post("/repos/ann/app/forks")).json()
    assert fork["permissions"]["admin"] is True
    assert fork["parent"]["permissions"] == {"admin": False, "push": False, "pull": True}
    assert (await bob.get("/repos/bob/app")).json()["parent"]["permissions"] == fork["parent"]["permissions"]


async def test_two_forks_asked_for_at_once_are_one(bob, parent):
    answers = await asyncio.gather(
        *(bob.post("/repos/ann/app/forks", {"name": f"app{number}"}) for number in range(4))
    )
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409]


async def test_a_commit_is_served_by_the_repository_alone_whose_refs_reach_it(
    world, ann, bob, parent, git_url, tmp_path
):
    """A deleted branch leaves hidden objects in the parent. The fork does not have them."""
    work = await work_tree(tmp_path)
    await git("pull", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    await git("switch", "-q", "-c", "doomed", cwd=work)
    secret = await commit(work, "secret.txt", "the secret")
    await git("push", "-q", f"{git_url}/ann/app.git", "doomed", cwd=work, person=ann)
    await git("push", "-q", f"{git_url}/ann/app.git", ":doomed", cwd=work, person=ann)
    fork = (await bob.post("/repos/ann/app/forks")).json()
    await world.components.workers.step()
    path = world.components.storage.path(fork["id"])
    theirs = world.components.storage.path(parent["id"])
    assert (await git("cat-file", "-t", secret, cwd=theirs)).strip() == "commit"
    await git("update-ref", "refs/scratch/x", secret, cwd=theirs)
    with pytest.raises(AssertionError):
        await git("cat-file", "-t", secret, cwd=path)
    for repository in ("ann/app", "bob/app"):
        for route in (
            f"raw/{secret}/secret.txt",
            f"archive/{secret}.zip",
            f"statuses/{secret}",
            f"commits/{secret}/status",
            f"branches/{secret}",
        ):
            answer = await bob.get(f"/repos/{repository}/{route}")
            assert (answer.status_code, "the secret" in answer.text) == (404, False), route
        said = await ann.but(admin=True).post(f"/repos/{repository}/statuses/{secret}", {"state": "success"})
        assert said.status_code == 404
    tip = (await git("rev-parse", "master", cwd=path)).strip()
    for pair in (f"base={tip}&head={secret}", f"base={secret}&head={tip}"):
        for number in (parent["id"], fork["id"]):
            assert (await bob.internal("GET", f"{number}/diff?{pair}")).status_code == 404
    refs = await git("ls-remote", f"{git_url}/bob/app.git", cwd=work, person=bob)
    assert "scratch" not in refs


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_nobody_takes_hidden_commits_of_the_parent_into_a_fork(
    world, ann, bob, parent, git_url, tmp_path
):
    work = await work_tree(tmp_path)
    secret = await commit(work, "secret.txt", "the secret")
    await git("push", "-q", f"{git_url}/ann/app.git", "HEAD:doomed", cwd=work, person=ann)
    await git("push", "-q", f"{git_url}/ann/app.git", ":doomed", cwd=work, person=ann)
    await bob.post("/repos/ann/app/forks")
    await world.components.workers.step()
    name = f"{'0' * 40} {secret} refs/heads/mine\0report-status".encode()
    empty = b"PACK" + (2).to_bytes(4) + bytes(4)
    body = b"%04x%b0000%b%b" % (len(name) + 4, name, empty, hashlib.sha1(empty).digest())
    answer = await bob.call(
        "POST",
        "/bob/app.git/git-receive-pack",
        content=body,
        headers={"Content-Type": "application/x-git-receive-pack-request"},
    )
    assert "ng refs/heads/mine missing necessary objects" in answer.text
    assert (await bob.get("/repos/bob/app/branches/mine")).status_code == 404


async def test_a_fork_shares_files_with_its_parent_and_needs_none_of_them(world, ann, bob, parent):
    fork = (await bob.post("/repos/ann/app/forks")).json()
    await world.components.workers.step()
    theirs, ours = (world.components.storage.path(one["id"]) for one in (parent, fork))
    inodes = [{file.stat().st_ino for file in path.glob("objects/??/*")} for path in (theirs, ours)]
    assert inodes[0] == inodes[1] != set()
    assert not (ours / "objects/info/alternates").exists()
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app")).status_code == 204
    await world.components.workers.step()
    assert (await bob.get("/repos/bob/app/raw/README.md")).status_code == 200


async def test_a_fork_of_what_is_private_stays_private(world, ann, bob, parent):
    await ann.create("secret", private=True, auto_init=True)
    await ann.call("PUT", "/api/v1/repos/ann/secret/collaborators/bob", {"permission": "read"})
    fork = (await bob.post("/repos/ann/secret/forks")).json()
    assert fork["private"] is True
    refused = await bob.call("PATCH", "/api/v1/repos/bob/secret", {"private": False, "description": "open"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "private")
    failed_fork = (await bob.get("/repos/bob/secret")).json()
    assert (failed_fork["private"], failed_fork["description"]) == (True, "")
    assert (await bob.call("PATCH", "/api/v1/repos/bob/secret", {"private": True})).status_code == 200
    await ann.call("PATCH", "/api/v1/repos/ann/secret", {"private": False})
    opened = await bob.call("PATCH", "/api/v1/repos/bob/secret", {"private": False})
    assert (opened.status_code, opened.json()["private"]) == (200, False)


async def test_a_fork_of_what_became_private_before_it_was_ready_is_private(world, ann, bob, parent):
    assert (await bob.post("/repos/ann/app/forks")).json()["private"] is False
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "read"})
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    await world.components.workers.step()
    assert (await bob.get("/repos/bob/app")).json()["private"] is True
    assert [event["repository"]["private"] for event in await world.events("forked")] == [True]


async def test_a_private_fork_may_be_opened_when_what_it_came_from_is_gone(world, ann, bob, parent):
    await bob.post("/repos/ann/app/forks")
    await bob.call("PATCH", "/api/v1/repos/bob/app", {"private": True})
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert (await bob.call("PATCH", "/api/v1/repos/bob/app", {"private": False})).status_code == 422
    await ann.call("DELETE", "/api/v1/repos/ann/app")
    assert (await bob.call("PATCH", "/api/v1/repos/bob/app", {"private": False})).status_code == 200


async def lose_collaboration(_world, ann):
    await ann.call("DELETE", "/api/v1/repos/ann/app/collaborators/bob")


async def lose_membership(world, _ann):
    del world.identity.memberships[2][9]


async def lose_account(world, _ann):
    account = world.identity.accounts[2]
    world.identity.accounts[2] = msgspec.structs.replace(account, active=False)


@pytest.mark.parametrize("lose", [lose_collaboration, lose_membership, lose_account])
@pytest.mark.parametrize("is_copied", [False, True])
async def test_a_forker_without_access_gets_nothing_when_the_job_runs(
    world, ann, bob, parent, monkeypatch, lose, is_copied
):
    """Access is lost before the job begins, or while it copies."""
    world.organization(9, "acme")
    world.identity.join(2, 9)
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "read"})
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    body = {"organization": "acme"} if lose is lose_membership else {}
    fork = (await bob.post("/repos/ann/app/forks", body)).json()
    storage = world.components.storage
    if is_copied:
        copy, loop = storage.fork, asyncio.get_running_loop()

        def copy_and_lose(source, target):
            copy(source, target)
            asyncio.run_coroutine_threadsafe(lose(world, ann), loop).result()

        monkeypatch.setattr(storage, "fork", copy_and_lose)
    else:
        await lose(world, ann)
    await world.components.workers.step()

    assert not storage.exists(fork["id"])
    assert await world.events("forked") == []
    table = world.database.metadata.tables["job"]
    async with world.database.read() as db:
        jobs = (await db.execute(select(table.c.state, table.c.last_error))).all()
    assert [tuple(job) for job in jobs] == [
        ("failed", "the forker may no longer read the parent of the fork")
    ]
    shown = await ann.but(admin=True).get(f"/repos/{fork['full_name']}")
    assert (shown.status_code, shown.json()["private"]) == (200, True)
