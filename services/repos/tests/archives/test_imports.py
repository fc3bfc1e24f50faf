"""Imports of archives: everything is here afterwards, and nothing is of an archive that is refused."""

import hashlib
import json
from threading import get_ident

import msgspec
import pytest

from ingot_remotes.archives.archive import Archive
from ingot_remotes.archives.layout import ARCHIVED_KINDS, BUNDLE, WIKI_BUNDLE, lfs_path
from ingot_remotes.interface.source import KINDS
from ingot_repos.imports.rules.openings import ARCHIVE
from ingot_repos.remotes.rules.reasons import REASON_TEXTS

from ..archive_builders import ASSET, OBJECTS, write_archive, zip_of
from ..world import commit, git, work_tree


@pytest.fixture
async def bundle(tmp_path):
    """Git data: a branch, a tag and the head of a pull request."""
    work = await work_tree(tmp_path, branch="trunk")
    tip = await commit(work, "README.md", "hello\n")
    await git("branch", "other", cwd=work)
    await git("tag", "v1", cwd=work)
    await git("update-ref", "refs/pull/2/head", tip, cwd=work)
    return await bundle_of(work)


async def bundle_of(work):
    path = work.parent / f"{work.name}.bundle"
    await git("bundle", "create", "-q", str(path), "--all", cwd=work)
    return path


async def send(person, path, query=""):
    data = path if isinstance(path, bytes) else path.read_bytes()
    headers = person.headers() | {"Content-Type": "application/zip"}
    url = f"/api/v1/repos/migrate/archive{query}"
    return await person.world.http.post(url, content=data, headers=headers)


async def send_one(person, path, name="copy"):
    """Import an archive as far as its commits, and return the id of the repository."""
    answer = await send(person, path, f"?name={name}")
    assert answer.status_code == 201, answer.text
    assert await person.world.components.import_workers.step() == 1
    return answer.json()["id"]


async def read_all(person, repository_id):
    """Return the objects of all pages for issues, by kind."""
    objects, cursor = {kind: [] for kind in KINDS}, ""
    url = f"/internal/imports/{repository_id}/pages"
    while (page := (await person.call("POST", url, {"cursor": cursor}, peer="issues")).json())[
        "state"
    ] == "page":
        for kind in KINDS:
            objects[kind] += page[kind]
        cursor = page["cursor"]
    return objects


def archives(world):
    return [*(world.components.storage.root / "staging").glob("archive-*")]


def plain(objects):
    return [msgspec.to_builtins(one) for one in objects]


async def test_a_repository_comes_out_of_its_archive(world, ann, bob, bundle, tmp_path):
    await ann.create("mine")  # her account is copied
    root = bob.but(admin=True)
    path = write_archive(tmp_path / "a.zip", bundle=bundle, default_branch="trunk", description="a copy")
    answer = await send(root, path, "?name=copy")
    assert answer.status_code == 201, answer.text
    copy = answer.json()
    assert (copy["full_name"], copy["private"], copy["description"]) == ("bob/copy", True, "a copy")
    assert await world.components.import_workers.step() == 1
    state = (await bob.get("/repos/bob/copy/migration")).json()
    assert (state["status"], state["original_url"]) == ("running", "https://git.example.org/there/source")
    objects = await read_all(bob, copy["id"])
    state = (await bob.get("/repos/bob/copy/migration")).json()
    assert (state["status"], state["error"]) == ("done", "")
    assert {kind: one["done"] for kind, one in state["counts"].items()} == dict.fromkeys(ARCHIVED_KINDS, 1)
    for kind in KINDS:
        if kind not in ("pulls", "comments"):
            assert objects[kind] == [with_ann(one) for one in plain(OBJECTS[kind])], kind
    [pull] = objects["pulls"]
    assert (pull["number"], pull["head_sha"], len(pull["reviews"]), len(pull["requests"])) == (
        2,
        "b" * 40,
        1,
        1,
    )
    assert [text["body"] for text in objects["comments"]] == ["on a pull request", "hm"]
    here = (await bob.get("/repos/bob/copy")).json()
    assert (here["default_branch"], here["topics"], here["empty"]) == ("trunk", ["forge"], False)
    branches = [one["name"] for one in (await bob.get("/repos/bob/copy/branches")).json()]
    assert branches == ["other", "trunk"]
    refs = await git(
        "for-each-ref", "--format=%(refname)", "refs/pull", cwd=world.components.storage.path(copy["id"])
    )
    assert refs.split() == ["refs/pull/2/head"]
    [release] = (await bob.get("/repos/bob/copy/releases")).json()
    assert (release["tag_name"], release["body"], release["author"]["login"]) == ("v1", "notes", "ann")
    file = await bob.call("GET", "/bob/copy/releases/download/v1/a.txt")
    assert file.content == ASSET
    assert archives(world) == []


def with_ann(value):
    """The object as issues gets it: annie shows the address of ann, whose account has the id 1."""
    if isinstance(value, dict):
        changed = {name: with_ann(one) for name, one in value.items()}
        return changed | ({"account_id": 1} if changed.get("name") == "annie" else {})
    return [with_ann(one) for one in value] if isinstance(value, list) else value


async def test_an_archive_cannot_name_accounts(world, ann, bob, bundle, tmp_path):
    await ann.create("mine")
    page = write_archive(tmp_path / "good.zip", bundle=bundle)
    line = json.loads(msgspec.json.encode(OBJECTS["issues"][0]))
    line["author"] = {"name": "x", "source_id": 1, "account_id": 1}
    text = json.dumps(line).encode() + b"\n"
    files = [(BUNDLE, bundle.read_bytes()), ("issues/00001.jsonl", text)]
    answer = await send(bob.but(admin=True), zip_of(page, files))
    await world.components.import_workers.step()
    [issue] = (await read_all(bob, answer.json()["id"]))["issues"]
    assert issue["author"]["account_id"] == -1


async def test_objects_of_lfs_come_out_of_an_archive(world, bob, tmp_path, monkeypatch):
    work, data, openings = await work_tree(tmp_path), b"a large file", []
    oid, other = hashlib.sha256(data).hexdigest(), hashlib.sha256(b"other").hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(data)}\n"
    await commit(work, "large.bin", pointer)
    files = [
        (BUNDLE, (await bundle_of(work)).read_bytes()),
        (lfs_path(oid), data),
        (lfs_path(other), b"other"),
    ]
    repository = (await send(bob, zip_of(tmp_path / "a.zip", files))).json()
    init = Archive.__init__
    monkeypatch.setattr(Archive, "__init__", lambda *args: openings.append(get_ident()) or init(*args))
    await world.components.import_workers.step()
    monkeypatch.undo()
    # For the bundle, for all objects, and for the settings.
    assert len(openings) == 3
    assert get_ident() not in openings
    await read_all(bob, repository["id"])
    assert (await bob.get("/repos/bob/source/migration")).json()["status"] == "done"
    assert (await bob.get("/repos/bob/source/media/large.bin")).content == data


async def test_a_wiki_comes_out_of_an_archive(world, bob, bundle, tmp_path):
    wiki = await work_tree(tmp_path, "wiki")
    await commit(wiki, "Home.md", "# Welcome\n")
    files = [(BUNDLE, bundle.read_bytes()), ("git/wiki.bundle", (await bundle_of(wiki)).read_bytes())]
    repository = (await send(bob, zip_of(tmp_path / "a.zip", files))).json()
    await world.components.import_workers.step()
    await read_all(bob, repository["id"])
    page = (await bob.get("/repos/bob/source/wiki/page/Home")).json()
    assert page["title"] == "Home"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 7}, "the archive has version 7"),
        ({"url": "ext::sh -c id"}, "manifest.json: url"),
        ({"url": "/etc"}, "manifest.json: url"),
        ({"url": "https://bob:secret@git.example.org/a/b"}, "manifest.json: url"),
        ({"url": "https://git.example.org/"}, "manifest.json: url"),
        ({"url": "https://git.example.org/a/"}, "manifest.json: url"),
        ({"url": "https://git.example.org/a//b"}, "manifest.json: url"),
        ({"url": "https://git.example.org/a/", "service": "gitlab"}, "manifest.json: url"),
        ({"url": "https://[git.example.org/a/b"}, "manifest.json: url"),
        ({"url": "https://git.example.org/a/\0b"}, "manifest.json: url"),
        ({"default_branch": "../x"}, "manifest.json: default_branch"),
        ({"default_branch": "--upload-pack=x"}, "manifest.json: default_branch"),
    ],
)
async def test_a_refused_archive_leaves_nothing(world, bob, bundle, tmp_path, changes, message):
    path = zip_of(tmp_path / "a.zip", [(BUNDLE, bundle.read_bytes())], **changes)
    answer = await send(bob, path)
    error = answer.json()["errors"][0]
    assert (answer.status_code, error["field"], error["code"]) == (422, "attachment", "archive")
    assert message in error["message"]
    assert (await bob.get("/repos/bob/source")).status_code == 404
    assert (archives(world), await world.events()) == ([], [])


async def test_a_name_that_is_not_valid_is_refused(world, bob, bundle, tmp_path):
    path = zip_of(tmp_path / "a.zip", [(BUNDLE, bundle.read_bytes())], name="../x")
    assert (await send(bob, path)).status_code == 422
    assert archives(world) == []


@pytest.mark.parametrize("settings", [{"max_remote_bytes": 1000}])
async def test_an_upload_above_the_limit_is_refused(world, bob):
    answer = await send(bob, bytes(1001))
    assert (answer.status_code, archives(world)) == (413, [])


async def test_a_name_that_is_taken_is_refused(world, bob, bundle, tmp_path):
    await bob.create("source")
    answer = await send(bob, zip_of(tmp_path / "a.zip", [(BUNDLE, bundle.read_bytes())]))
    assert (answer.status_code, archives(world)) == (409, [])


async def test_git_data_that_is_damaged_fails_the_import(world, bob, bundle, tmp_path):
    data = bundle.read_bytes()
    files = [(BUNDLE, data[:-30])]
    assert (await send(bob, zip_of(tmp_path / "a.zip", files))).status_code == 201
    for _ in range(3):
        await world.components.import_workers.step()
        table = world.database.metadata.tables["job"]
        async with world.database.transaction() as tx:
            await tx.execute(table.update().values(run_at=table.c.created_at))
    state = (await bob.get("/repos/bob/source/migration")).json()
    assert state["status"] == "failed"
    assert (await bob.get("/repos/bob/source/branches")).status_code == 404


@pytest.fixture
async def link(world, ann, bob):
    """A file that leads git from an unpacked archive to a private repository of another user."""
    secret = await ann.create("secret", private=True, auto_init=True)
    await bob.create("mine")
    storage = world.components.storage
    return f"gitdir: ../../{storage.path(secret['id']).relative_to(storage.root)}\n"


@pytest.mark.parametrize("path", [BUNDLE, WIKI_BUNDLE])
async def test_a_link_to_another_repository_is_refused(world, bob, bundle, tmp_path, link, path):
    files = {BUNDLE: bundle.read_bytes()} | {path: link.encode()}
    answer = await send(bob, zip_of(tmp_path / "a.zip", files.items()))
    assert answer.json()["errors"][0]["message"] == f"{path} is not a bundle of git"
    assert (await bob.get("/repos/bob/source")).status_code == 404


@pytest.mark.parametrize("path", [BUNDLE, WIKI_BUNDLE])
async def test_git_follows_no_link_of_an_archive(world, bob, bundle, tmp_path, link, path):
    files = {BUNDLE: bundle.read_bytes()}
    await send(bob, zip_of(tmp_path / "a.zip", [*files.items(), (WIKI_BUNDLE, bundle.read_bytes())]))
    [folder] = archives(world)
    # The link is one that git follows.
    (folder / "x").write_text(link)
    assert "refs/heads/master" in await git("ls-remote", str(folder / "x"), cwd=tmp_path)
    zip_of(folder / ARCHIVE, (files | {path: link.encode()}).items())
    await world.components.import_workers.step()
    if path == WIKI_BUNDLE:
        await read_all(bob, (await bob.get("/repos/bob/source")).json()["id"])
    state = (await bob.get("/repos/bob/source/migration")).json()
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["archive"])
    assert not (folder / path.rpartition("/")[2]).exists()


async def test_objects_that_a_push_may_not_bring_are_refused(world, bob, tmp_path):
    work = await work_tree(tmp_path)
    await commit(work, ".gitmodules", '[submodule "x"]\n\tpath = x\n\turl = --upload-pack=evil\n')
    files = [(BUNDLE, (await bundle_of(work)).read_bytes())]
    await send(bob, zip_of(tmp_path / "a.zip", files))
    await world.components.import_workers.step()
    state = (await bob.get("/repos/bob/source/migration")).json()
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["unsafe"])
    await world.components.workers.step()
    assert archives(world) == []


async def test_an_archive_that_was_swept_fails_the_import(world, bob, bundle, tmp_path):
    await send(bob, zip_of(tmp_path / "a.zip", [(BUNDLE, bundle.read_bytes())]))
    world.components.storage.sweep(older_than=0)
    assert archives(world) == []
    await world.components.import_workers.step()
    state = (await bob.get("/repos/bob/source/migration")).json()
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["archive"])


async def test_only_administrators_map_logins(bob):
    assert (await send(bob, b"", "?map_logins=true")).status_code == 403


async def test_a_stranger_imports_nothing_for_another_user(world, ann, bob, bundle, tmp_path):
    await ann.create("mine")
    path = zip_of(tmp_path / "a.zip", [(BUNDLE, bundle.read_bytes())])
    assert (await send(bob, path, "?owner=ann")).status_code == 403
    assert archives(world) == []


@pytest.mark.parametrize("path", ["repos/bob/copy/migration", "repos/migrate/{}"])
async def test_a_cancelled_import_leaves_no_archive(world, bob, bundle, tmp_path, path):
    repository_id = await send_one(bob, write_archive(tmp_path / "a.zip", bundle=bundle))
    assert len(archives(world)) == 1
    answer = await bob.call("DELETE", f"/api/v1/{path.format(repository_id)}")
    assert answer.status_code == 204, answer.text
    await world.components.workers.step()
    assert archives(world) == []


async def test_an_import_whose_data_does_not_fit_leaves_no_archive(world, bob, bundle, tmp_path):
    repository_id = await send_one(bob, write_archive(tmp_path / "a.zip", bundle=bundle))
    body = {"cursor": "", "is_refused": True}
    answer = await bob.call("POST", f"/internal/imports/{repository_id}/pages", body, peer="issues")
    assert answer.json()["state"] == "ended"
    assert archives(world) == []
