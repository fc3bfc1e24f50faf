"""The git repository of a wiki over HTTP: who may fetch and push, and what goes along with its repository."""

import asyncio
import os
import shutil

import pytest

from ingot_repos.catalog.store import wikis
from ingot_repos.shards.jobs.commands import ShardCommands
from ingot_repos.shards.store import moves as move_rows
from ingot_repos.upkeep.rules.examinations import examine_storage

from ..shard_world import two_shards
from ..world import commit, git, migrate, work_tree

SERVICES = ("git-upload-pack", "git-receive-pack")


@pytest.fixture
async def work(ann, tmp_path):
    await ann.create("app")
    work = await work_tree(tmp_path)
    await commit(work, "Home.md", "hello\n")
    return work


async def push(work, git_url, person, *what, check=True):
    return await git("push", "-q", f"{git_url}/ann/app.wiki.git", *what, cwd=work, person=person, check=check)


async def clone(folder, git_url, person, name="copy"):
    await git("clone", "-q", f"{git_url}/ann/app.wiki.git", name, cwd=folder, person=person)
    return folder / name


async def wiki_of(world, repository_id=1):
    async with world.database.read() as db:
        return await wikis.get(db, repository_id)


async def refs(person, service, path="/ann/app.wiki.git"):
    return await person.call("GET", f"{path}/info/refs?service={service}")


async def test_a_wiki_that_is_pushed_can_be_cloned(ann, bob, work, git_url, tmp_path):
    await push(work, git_url, ann, "master")
    assert (await clone(tmp_path, git_url, bob) / "Home.md").read_text() == "hello\n"


async def test_the_first_branch_of_a_wiki_becomes_its_default_branch(world, ann, work, git_url, tmp_path):
    await git("branch", "-m", "trunk", cwd=work)
    await push(work, git_url, ann, "trunk")
    copy = await clone(tmp_path, git_url, ann)
    assert (await git("branch", "--show-current", cwd=copy)).strip() == "trunk"
    assert (await wiki_of(world)).default_branch == "trunk"
    assert (await ann.get("/repos/ann/app")).json()["default_branch"] == "master"


async def test_there_is_no_wiki_before_its_first_push(world, ann, work):
    assert (await refs(ann, "git-upload-pack")).status_code == 404
    assert (await refs(ann, "git-receive-pack")).status_code == 200
    assert (await refs(ann, "git-upload-pack")).status_code == 200
    assert (await wiki_of(world)).empty


async def test_simultaneous_first_pushes_create_one_wiki(world, ann, work):
    answers = await asyncio.gather(*(refs(ann, "git-receive-pack") for _ in range(4)))
    assert {answer.status_code for answer in answers} == {200}
    assert len(list(world.components.storage.ids())) == 2


async def test_only_those_who_may_write_code_push_to_the_wiki(world, ann, bob, work, git_url):
    await push(work, git_url, ann, "master")
    nobody = world.user(0, "")
    assert (await refs(bob, "git-receive-pack")).status_code == 403
    assert (await refs(nobody, "git-receive-pack")).status_code == 401
    assert (await refs(nobody, "git-upload-pack")).status_code == 200
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    assert (await refs(bob, "git-receive-pack")).status_code == 200


async def test_the_wiki_of_a_private_repository_is_private(world, ann, bob, work, git_url):
    await push(work, git_url, ann, "master")
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert [(await refs(bob, service)).status_code for service in SERVICES] == [404, 404]
    assert (await refs(world.user(0, ""), "git-upload-pack")).status_code == 401


async def test_a_wiki_that_is_switched_off_is_not_found_and_comes_back(ann, work, git_url):
    await push(work, git_url, ann, "master")
    assert (await ann.get("/repos/ann/app")).json()["has_wiki"] is True
    for has_wiki, status in ((False, 404), (True, 200)):
        edited = await ann.call("PATCH", "/api/v1/repos/ann/app", {"has_wiki": has_wiki})
        assert edited.json()["has_wiki"] is has_wiki
        assert [(await refs(ann, service)).status_code for service in SERVICES] == [status, status]


async def test_the_wiki_of_an_archived_repository_accepts_no_push(ann, work, git_url):
    await push(work, git_url, ann, "master")
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})
    assert [(await refs(ann, service)).status_code for service in SERVICES] == [200, 403]


async def test_a_wiki_follows_a_new_name_and_former_names_lead_to_it(ann, work, git_url, tmp_path):
    await push(work, git_url, ann, "master")
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"name": "tool"})
    assert (await refs(ann, "git-upload-pack", "/ann/tool.wiki.git")).status_code == 200
    moved = await refs(ann, "git-upload-pack")
    assert (moved.status_code, moved.headers["location"].split("?")[0]) == (
        302,
        "/ann/tool.wiki.git/info/refs",
    )
    await clone(tmp_path, git_url, ann)


async def test_a_wiki_is_no_repository_of_lists_or_of_the_api(world, ann, bob, work, git_url):
    before = (await ann.get("/user/repos")).json(), (await ann.get("/repos/search?q=wiki")).json()
    await push(work, git_url, ann, "master")
    wiki = await wiki_of(world)
    admin = ann.but(admin=True)
    for person in (ann, bob, admin):
        assert (await person.get("/repos/ann/app.wiki")).status_code == 404
        assert (await person.get(f"/repositories/{wiki.id}")).status_code == 404
        listed = await person.get("/repos/search")
        assert [one["name"] for one in listed.json()["data"]] == ["app"]
        assert listed.headers["x-total-count"] == "1"
    after = (await ann.get("/user/repos")).json(), (await ann.get("/repos/search?q=wiki")).json()
    assert [[one["id"] for one in before[0]], before[1]["data"]] == [[one["id"] for one in after[0]], []]
    assert after[1]["data"] == []
    assert (await ann.internal("GET", f"{wiki.id}/access")).status_code == 404
    answer = await ann.post("/user/repos", {"name": "app.wiki"})
    assert answer.status_code == 422


async def test_a_push_to_the_wiki_is_journaled_and_is_no_push_of_the_repository(world, ann, work, git_url):
    sha = await commit(work, "Page.md", "text")
    await push(work, git_url, ann, "master")
    wiki = await wiki_of(world)
    assert (wiki.ref_version, wiki.empty) == (1, False)
    assert [(ref.repository_id, ref.oid) for ref in await world.rows("ref")] == [(wiki.id, sha)]
    assert await world.rows("push") == []
    assert await world.events("push") == []
    assert (await ann.get("/repos/ann/app")).json()["empty"] is True


async def test_an_interrupted_push_to_a_wiki_is_settled_once_more(world, ann, work, git_url):
    await push(work, git_url, ann, "master")
    wiki, pushes = await wiki_of(world), world.components.pushes
    sha = await commit(work, "Page.md", "text")
    async with pushes.journaled(wiki.id, 1, ["refs/heads/master"]) as push_id:
        folder = world.components.storage.path(wiki.id)
        await git("push", "-q", str(folder), "master", cwd=work)
        async with world.database.transaction() as tx:
            await tx.execute(world.database.metadata.tables["push"].delete())
        await pushes.settle(push_id)
    assert [ref.oid for ref in await world.rows("ref")] == [sha]


async def test_a_push_to_a_wiki_is_limited_like_any_push(make_database, world, ann, work, git_url):
    world.settings.max_push_bytes = 1000
    (work / "big.bin").write_bytes(os.urandom(50_000))
    await commit(work, "Page.md", "text")
    code, said = await push(work, git_url, ann, "master", check=False)
    assert code != 0, said
    assert await world.rows("ref") == []


async def test_a_wiki_has_no_pull_requests(world, ann, work, git_url):
    await push(work, git_url, ann, "master")
    await commit(work, "Page.md", "text")
    code, said = await push(work, git_url, ann, "HEAD:refs/for/master", check=False)
    assert code != 0
    assert "a wiki has no pull requests" in said
    assert await world.events("proposed") == []


async def test_a_wiki_is_packed_and_checked(world, ann, work, git_url):
    await push(work, git_url, ann, "master")
    lines = [line async for line in world.components.upkeep.check_all()]
    wiki = await wiki_of(world)
    checked = {row.repository_id: row.damage for row in await world.rows("upkeep")}
    assert checked[wiki.id] == "", lines
    for file in (world.components.storage.path(wiki.id) / "objects").rglob("*"):
        if file.is_file():
            file.unlink()
    lines = [line async for line in world.components.upkeep.check_all()]
    assert f"repository {wiki.id}:" in lines[0], lines


async def test_a_deleted_repository_takes_its_wiki_along(world, ann, work, git_url):
    await push(work, git_url, ann, "master")
    wiki = await wiki_of(world)
    await ann.call("DELETE", "/api/v1/repos/ann/app")
    assert await wiki_of(world) is None
    assert (await refs(ann, "git-upload-pack")).status_code == 404
    while await world.components.workers.step():
        pass
    assert not world.components.storage.exists(wiki.id)


async def test_a_fork_starts_without_the_wiki(world, ann, bob, work, git_url):
    await push(work, git_url, ann, "master")
    await bob.post("/repos/ann/app/forks")
    assert (await refs(bob, "git-upload-pack", "/bob/app.wiki.git")).status_code == 404
    assert (await refs(bob, "git-receive-pack", "/bob/app.wiki.git")).status_code in (200, 503)
    assert (await ann.get("/repos/ann/app")).json()["forks_count"] <= 1


async def test_a_transferred_repository_keeps_its_wiki(world, ann, work, git_url, tmp_path):
    await push(work, git_url, ann, "master")
    admin = ann.but(admin=True)
    world.user(2, "bob")
    answer = await admin.post("/repos/ann/app/transfer", {"new_owner": "bob"})
    assert answer.status_code == 202, answer.text
    accepted = await world.user(2, "bob").post("/repos/ann/app/transfer/accept")
    assert (await refs(world.user(2, "bob"), "git-receive-pack", "/bob/app.wiki.git")).status_code == 200, (
        accepted.text
    )


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_wiki_moves_to_another_shard_with_its_repository(make_database, tmp_path):
    async with two_shards(make_database("repos", migrate), tmp_path) as (a, b, urls):
        ann = a.user(1, "ann")
        await ann.create("app")
        work = await work_tree(tmp_path)
        await commit(work, "Home.md", "hello\n")
        await push(work, urls[1], ann, "master")  # through the other shard
        assert (await wiki_of(a)).shard == "a"
        commands = ShardCommands(a.components.jobs, ["a", "b"], poll_seconds=0.01)

        async def run():
            return [line async for line in commands.move("ann/app", "b")]

        said = asyncio.create_task(run())
        while not said.done():
            await b.components.move_workers.step()
            await asyncio.sleep(0.02)
        wiki = await wiki_of(a)
        assert wiki.shard == "b", said.result()
        assert b.components.storage.exists(wiki.id)
        copy = await clone(tmp_path, urls[0], ann)
        assert (copy / "Home.md").read_text() == "hello\n"


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_replica_of_a_repository_has_its_wiki_also_a_later_one(make_database, tmp_path):
    async with two_shards(make_database("repos", migrate), tmp_path) as (a, _, urls):
        ann = a.user(1, "ann")
        work = await work_tree(tmp_path)
        await commit(work, "Home.md", "hello\n")
        await ann.create("app")
        commands = ShardCommands(a.components.jobs, ["a", "b"])
        [line async for line in commands.replicate("ann/app", "b")]
        await push(work, urls[0], ann, "master")
        wiki = await wiki_of(a)
        assert {row.repository_id for row in await a.rows("replica")} == {1, wiki.id}
        [line async for line in commands.unreplicate("ann/app", "b")]
        assert all(row.obsolete for row in await a.rows("replica"))


async def test_a_network_is_found_from_the_wiki_as_well(world, ann, work, git_url):
    await push(work, git_url, ann, "master")
    wiki = await wiki_of(world)
    async with world.database.read() as db:
        for start in (1, wiki.id):
            assert [row.id for row in await move_rows.network(db, start)] == [1, wiki.id]


async def test_the_doctor_finds_nothing_wrong_with_a_wiki(world, ann, work, git_url):
    await push(work, git_url, ann, "master")
    components = world.components
    examined = await examine_storage(
        world.database, components.storage, components.objects, world.settings.shard, repair=False
    )
    assert examined == []
    shutil.rmtree(components.storage.path((await wiki_of(world)).id))
    examined = await examine_storage(
        world.database, components.storage, components.objects, world.settings.shard, repair=False
    )
    assert len(examined) == 1, examined
