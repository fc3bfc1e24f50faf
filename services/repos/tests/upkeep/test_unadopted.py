"""Folders of repositories without a row: their list, adoption and deletion by site administrators."""

import asyncio
import shutil

import pygit2
import pytest
from pygit2.enums import ObjectType

from ingot_repos.upkeep.rules.unadopted import alone, find_orphans

from ..shard_world import two_shards
from ..shards.test_moves import request_move
from ..world import commit, git, migrate, work_tree

LIST = "/admin/unadopted"
WHO = pygit2.Signature("Ann", "ann@example.org", 1, 0)


@pytest.fixture
def root(ann):
    return ann.but(admin=True)


@pytest.fixture
async def work(tmp_path):
    """A work tree with a branch, a tag and a pull request of another server."""
    (tmp_path / "operator").mkdir()
    tree = await work_tree(tmp_path / "operator")
    await commit(tree, "a.txt", message="first")
    await git("branch", "-m", "trunk", cwd=tree)
    await git("tag", "v1", cwd=tree)
    await git("update-ref", "refs/pull/1/head", "HEAD", cwd=tree)
    return tree


def dropped(world, owner="bob", name="brought"):
    return world.components.storage.root / "unadopted" / owner / f"{name}.git"


async def drop(world, work, owner="bob", name="brought"):
    """Copy a bare repository into the storage, as an operator does."""
    path = dropped(world, owner, name)
    await git("clone", "-q", "--mirror", str(work), str(path), cwd=work)
    return path


async def adopt(root, name="bob/brought"):
    return await root.call("POST", f"/api/v1{LIST}/{name}")


async def remove(root, name="bob/brought"):
    return await root.call("DELETE", f"/api/v1{LIST}/{name}")


async def listed(root, query=""):
    answer = await root.get(f"{LIST}{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def orphan(world, work, id_=1000):
    """A folder of the service that belongs to no repository."""
    path = world.components.storage.path(id_)
    path.parent.mkdir(parents=True, exist_ok=True)
    await git("clone", "-q", "--mirror", str(work), str(path), cwd=work)
    return path


async def test_a_folder_that_was_copied_in_becomes_a_private_repository_of_its_owner(
    world, root, bob, work, git_url, tmp_path
):
    path = await drop(world, work)
    (path / "hooks").mkdir(exist_ok=True)
    (path / "config").write_text("[core]\n\tbare = true\n[uploadpack]\n\thideRefs = refs/heads\n")
    assert await listed(root) == ["bob/brought"]
    assert (await adopt(root)).status_code == 204
    shown = (await bob.get("/repos/bob/brought")).json()
    assert (shown["private"], shown["empty"], shown["default_branch"]) == (True, False, "trunk")
    (row,) = await world.rows("repository")
    assert row.size > 0
    (event,) = await world.events("repos.repository.created.v1")
    assert (event["repository"]["full_name"], event["sender"]["login"]) == ("bob/brought", "ann")
    await git("clone", "-q", f"{git_url}/bob/brought.git", "clone", cwd=tmp_path, person=bob)
    assert (tmp_path / "clone" / "a.txt").exists()
    refs = await git("ls-remote", f"{git_url}/bob/brought.git", cwd=tmp_path, person=bob)
    assert [line.split("\t")[1] for line in refs.splitlines()] == ["HEAD", "refs/heads/trunk", "refs/tags/v1"]
    stored = world.components.storage.path(shown["id"])
    assert "hideRefs" not in (stored / "config").read_text()
    assert await listed(root) == []
    assert not path.exists()
    assert [folder.name.startswith("brought-") for folder in (stored.parents[3] / "trash").iterdir()] == [
        True
    ]


async def test_an_orphan_becomes_a_repository_of_the_caller_under_a_new_id(world, base, root, bob, work):
    await orphan(world, work)
    assert await listed(root) == ["-/1000"]
    assert (await adopt(root, "-/1000")).status_code == 204
    shown = (await root.get("/repos/ann/1000")).json()
    assert (shown["owner"]["login"], shown["default_branch"]) == ("ann", "trunk")
    assert shown["id"] != 1000
    assert not world.components.storage.exists(1000)
    assert (await adopt(root, "-/1000")).status_code == 404


async def test_a_deleted_folder_is_in_the_trash_for_two_days(world, base, root, bob, work):
    path, own = await drop(world, work), await orphan(world, work)
    for name in ("bob/brought", "-/1000"):
        assert (await remove(root, name)).status_code == 204
        assert (await remove(root, name)).status_code == 404
    assert (path.exists(), own.exists(), await listed(root)) == (False, False, [])
    storage = world.components.storage
    storage.sweep()
    assert len(list((storage.root / "trash").iterdir())) == 2
    storage.sweep(older_than=0)
    assert list((storage.root / "trash").iterdir()) == []


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["-/1000", "ann/tool", "bob/app", "bob/brought"]),
        ("?limit=2", ["-/1000", "ann/tool"]),
        ("?limit=2&page=2", ["bob/app", "bob/brought"]),
        ("?pattern=b*", ["bob/app", "bob/brought"]),
        ("?pattern=BOB/a*", ["bob/app"]),
        ("?pattern=*/t*", ["ann/tool"]),
        ("?pattern=app", []),
        ("?page=9", []),
    ],
)
async def test_the_list_is_paged_and_filtered(world, base, root, bob, work, query, names):
    for owner, name in (("bob", "brought"), ("bob", "app"), ("ann", "tool")):
        await drop(world, work, owner, name)
    await orphan(world, work)
    answer = await root.get(f"{LIST}{query}")
    assert answer.json() == names
    total = {"?pattern=b*": 2, "?pattern=BOB/a*": 1, "?pattern=*/t*": 1, "?pattern=app": 0}.get(query, 4)
    assert answer.headers["x-total-count"] == str(total)


async def test_only_site_administrators_see_and_change_folders(world, root, ann, bob, work):
    path = await drop(world, work)
    for person in (ann, bob):
        for method, rest in (("GET", ""), ("POST", "/bob/brought"), ("DELETE", "/bob/brought")):
            assert (await person.call(method, f"/api/v1{LIST}{rest}")).status_code == 403
    restricted = root.but(restricted_to=[1])
    for method, rest in (("GET", ""), ("POST", "/bob/brought"), ("DELETE", "/bob/brought")):
        assert (await restricted.call(method, f"/api/v1{LIST}{rest}")).status_code == 403
    assert path.exists()


async def test_what_is_no_folder_of_a_repository_is_not_listed(world, root, bob, work, tmp_path):
    path = await drop(world, work)
    folder = path.parent
    (folder / "file.git").touch()
    (folder / "empty.git").mkdir()
    (folder / "b d.git").mkdir()
    (folder / "linked.git").symlink_to(path)
    (folder.parent / "elsewhere").symlink_to(folder)
    assert await listed(root) == ["bob/brought"]
    for name in (
        "bob/linked",
        "elsewhere/brought",
        "bob/empty",
        "bob/nothing",
        "..%2Fbob/brought",
        "-/x",
        "-/0",
    ):
        assert (await adopt(root, name)).status_code == 404
        assert (await remove(root, name)).status_code == 404


@pytest.mark.parametrize("damage", ["object", "refs", "format", "name", "owner"])
async def test_what_cannot_be_adopted_stays_where_it_is(world, root, bob, work, damage):
    name = {"name": "brought.wiki"}.get(damage, "brought")
    owner = "nobody" if damage == "owner" else "bob"
    path = await drop(world, work, owner, name)
    match damage:
        case "object":
            shutil.rmtree(path / "objects")
            (path / "objects" / "pack").mkdir(parents=True)
        case "refs":
            (path / "packed-refs").write_text("x" * 10)
            (path / "refs" / "heads" / "trunk").write_text("y")
        case "format":
            (path / "packed-refs").write_text(f"{'1' * 64} refs/heads/trunk\n")
    answer = await adopt(root, f"{owner}/{name}")
    assert answer.status_code == (404 if damage == "owner" else 422), answer.text
    assert str(world.folder) not in answer.text
    assert await listed(root) == [f"{owner}/{name}"]
    assert list((world.components.storage.root / "staging").iterdir()) == []
    assert await world.rows("repository") == []


@pytest.mark.parametrize("kind", ["dropped", "orphan"])
@pytest.mark.parametrize(
    ("name", "mode", "content", "reason"),
    [
        (b".gitmodules", b"100644", b'[submodule "a"]\n\tpath = -x\n\turl = u\n', "(gitmodulesPath)"),
        (b".gitmodules", b"100644", b'[submodule "../../x"]\n\tpath = a\n\turl = u\n', "(gitmodulesName)"),
        (b".gitattributes", b"120000", b"/etc/passwd", "(gitattributesSymlink)"),
        (b".git", b"100644", b"x", "(hasDotgit)"),
    ],
)
async def test_objects_that_no_push_may_bring_are_not_adopted(
    world, base, root, bob, work, kind, name, mode, content, reason
):
    path = await (drop(world, work) if kind == "dropped" else orphan(world, work))
    repo = pygit2.Repository(str(path))
    tree = repo.odb.write(ObjectType.TREE, mode + b" " + name + b"\0" + repo.create_blob(content).raw)
    repo.references.create("refs/heads/bad", repo.create_commit(None, WHO, WHO, "x\n", tree, []))
    before = sorted(str(file) for file in path.rglob("*"))
    answer = await adopt(root, "bob/brought" if kind == "dropped" else "-/1000")
    assert (answer.status_code, reason in answer.text) == (422, True), answer.text
    assert str(world.folder) not in answer.text
    assert sorted(str(file) for file in path.rglob("*")) == before
    assert list((world.components.storage.root / "staging").iterdir()) == []
    assert len(await world.rows("repository")) == 1


async def test_flaws_of_old_histories_are_adopted(world, root, bob, work):
    path = await drop(world, work)
    repo = pygit2.Repository(str(path))
    tree = repo.odb.write(ObjectType.TREE, b"0100644 a\0" + repo.create_blob(b"a").raw)
    text = b"tree %b\nauthor a <a@b> 1 +51800\ncommitter a <a@b> 1 +51800\n\nx\n" % str(tree).encode()
    repo.references.create("refs/heads/old", repo.odb.write(ObjectType.COMMIT, text))
    assert (await adopt(root)).status_code == 204


async def test_a_name_that_is_taken_is_refused(world, root, bob, work):
    await bob.create("brought")
    path = await drop(world, work)
    answer = await adopt(root)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "taken")
    assert path.exists()


async def test_an_empty_folder_is_adopted_with_the_usual_branch(world, root, bob, tmp_path):
    await git("init", "-q", "--bare", str(dropped(world)), cwd=tmp_path)
    (dropped(world) / "HEAD").write_text("ref: refs/heads/strange..name\n")
    assert (await adopt(root)).status_code == 204
    shown = (await bob.get("/repos/bob/brought")).json()
    assert (shown["empty"], shown["default_branch"]) == (True, world.settings.default_branch)


async def test_folders_of_repositories_are_never_touched(world, base, root, ann, bob):
    """With a row, with a tombstone, while the fork is made, and while its files are about to be removed."""
    fork = (await bob.post("/repos/ann/app/forks")).json()
    await asyncio.to_thread(world.components.storage.fork, base, fork["id"])
    gone = await ann.create("gone")
    assert (await ann.call("DELETE", "/api/v1/repos/ann/gone")).status_code == 204
    for id_ in (base, fork["id"], gone["id"]):
        assert world.components.storage.exists(id_)
        assert (await adopt(root, f"-/{id_}")).status_code == 404
        assert (await remove(root, f"-/{id_}")).status_code == 404
    assert await listed(root) == []
    await world.confirm_deletion(gone["id"])
    assert (await world.rows("tombstone"), world.components.storage.exists(gone["id"])) == ([], True)
    assert await listed(root) == []
    assert (await remove(root, f"-/{gone['id']}")).status_code == 404


async def test_nothing_is_touched_where_most_folders_belong_to_no_repository(world, base, root, work):
    for id_ in (1000, 2000):
        await orphan(world, work, id_)
    assert await listed(root) == ["-/1000", "-/2000"]
    for change in (adopt, remove):
        answer = await change(root, "-/1000")
        assert (answer.status_code, "2 of 3 folders" in answer.json()["message"]) == (409, True)
    assert world.components.storage.exists(1000)


async def test_one_folder_is_changed_at_a_time(world, root, bob, work):
    path = await drop(world, work)
    async with alone(world.database, world.settings.shard):
        for change in (adopt, remove):
            assert (await change(root)).status_code == 409
    assert path.exists()
    answers = await asyncio.gather(*(adopt(root) for _ in range(4)), *(remove(root) for _ in range(4)))
    assert {answer.status_code for answer in answers} <= {204, 404, 409}
    assert [answer.status_code for answer in answers].count(204) == 1
    assert not path.exists()


async def test_a_repository_that_appears_at_the_same_time_is_never_listed_or_removed(
    world, base, root, ann, bob
):
    """Creations, forks and deletions run while every folder that could be an orphan is removed."""
    storage, done = world.components.storage, asyncio.Event()
    orphans_listed: list[str] = []

    async def sweep():
        while not done.is_set():
            orphans = await find_orphans(world.database, storage)
            orphans_listed.extend(f"-/{id_}" for id_ in orphans.orphaned)
            for id_ in [*storage.ids()]:
                answer = await remove(root, f"-/{id_}")
                assert answer.status_code == 404, answer.text

    async def change():
        for number in range(6):
            await ann.create(f"new{number}", auto_init=True)
            await bob.post(f"/repos/ann/new{number}/forks")
            while await world.components.workers.step():
                pass
            if number % 2:
                assert (await bob.call("DELETE", f"/api/v1/repos/bob/new{number}")).status_code == 204

    sweeping = asyncio.create_task(sweep())
    await change()
    done.set()
    await sweeping
    assert orphans_listed == []
    for row in await world.rows("repository"):
        assert storage.exists(row.id), row.name


@pytest.fixture
async def worlds(make_database, tmp_path):
    async with two_shards(make_database("repos", migrate), tmp_path / "shards") as (a, b, _urls):
        yield a, b


async def test_folders_of_all_shards_are_listed_and_adopted_where_they_are(worlds, work):
    a, b = worlds
    root = a.user(1, "ann").but(admin=True)
    a.user(2, "bob")
    await drop(b, work)
    assert await listed(root) == ["bob/brought"]
    assert (await adopt(root)).status_code == 204
    (row,) = await a.rows("repository")
    assert (row.shard, b.components.storage.exists(row.id)) == ("b", True)
    assert not a.components.storage.exists(row.id)
    await drop(b, work, name="other")
    assert (await remove(root, "bob/other")).status_code == 204
    assert (await remove(root, "bob/other")).status_code == 404


async def test_a_copy_that_a_move_makes_is_no_orphan(worlds):
    a, b = worlds
    ann = a.user(1, "ann")
    root = ann.but(admin=True)
    app = await ann.create("app", auto_init=True)
    await request_move(a, app["id"], "a", "b")
    b.components.storage.create(app["id"], "main")  # the copy of a move that has begun
    assert await listed(root) == []
    assert (await remove(root, f"-/{app['id']}")).status_code == 404
    assert b.components.storage.exists(app["id"])
