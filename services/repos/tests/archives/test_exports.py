"""Exports: pages of issues, the archive, who may, and its end. What comes out goes in again."""

import asyncio
import base64
import hashlib
import io
import zipfile
from datetime import timedelta

import msgspec
import pytest
import yaml

from ingot_chassis.clock import now
from ingot_chassis.errors import DatabaseUnavailable
from ingot_contracts.repos.exports import ExportFile, ExportPage, LeftOutFile, archived_file
from ingot_contracts.repos.imports import ImportedFile, ImportedPerson
from ingot_git.history.bundles import write_bundle
from ingot_remotes.archives import archive, gitea_layout
from ingot_remotes.archives.archive import verify
from ingot_remotes.archives.layout import MOST_KEY_CHARACTERS, MOST_PAGE_BYTES, ArchivedKey, Manifest
from ingot_remotes.interface.source import KINDS
from ingot_repos.archives import jobs, store
from ingot_repos.archives.jobs import TRIES
from ingot_repos.archives.rules import exports
from ingot_repos.archives.rules.exports import LONGEST, ExportPages, expire
from ingot_repos.remotes.rules.reasons import REASON_TEXTS

from ..access.test_deploy_keys import ed25519
from ..archive_builders import ASSET, AT, COMMENT, OBJECTS, write_archive
from ..lfs_client import FILE, download, oid_of, pointer_of, upload
from ..world import git
from .test_imports import archives, bundle, read_all, send  # noqa: F401 - a fixture


async def write(person, path, text):
    body = {"content": base64.b64encode(text.encode()).decode(), "message": f"add {path}"}
    answer = await person.post(f"/repos/ann/app/contents/{path}", body)
    assert answer.status_code == 201, answer.text


@pytest.fixture
async def app(world, ann):
    """A repository with commits, the head of a pull request, a release with a file, topics and LFS."""
    repository = await ann.create("app", description="what it is")
    await write(ann, "README.md", "hello\n")
    await write(ann, "large.bin", pointer_of(FILE))
    await upload(ann)
    path = world.components.storage.path(repository["id"])
    await git("update-ref", "refs/pull/2/head", "master", cwd=path)
    await ann.call("PUT", "/api/v1/repos/ann/app/topics", {"topics": ["forge"]})
    release = await ann.post("/repos/ann/app/releases", {"tag_name": "v1", "body": "notes"})
    assert release.status_code == 201, release.text
    url = f"/api/v1/repos/ann/app/releases/{release.json()['id']}/assets?name=a.txt"
    headers = ann.headers() | {"Content-Type": "application/octet-stream"}
    assert (await world.http.post(url, content=ASSET, headers=headers)).status_code == 201
    return repository


def objects_of(account_id):
    """Objects of each kind as issues sends them: annie is the account, and cat was imported."""

    def with_accounts(value):
        if isinstance(value, ImportedPerson):
            return ImportedPerson(account_id=account_id) if value.name == "annie" else value
        if isinstance(value, list):
            return [with_accounts(one) for one in value]
        if isinstance(value, msgspec.Struct):
            fields = {name: with_accounts(getattr(value, name)) for name in value.__struct_fields__}
            return msgspec.structs.replace(value, **fields)
        return value

    return {kind: with_accounts(objects) for kind, objects in OBJECTS.items() if kind in KINDS}


async def begin(person, query=""):
    """Begin an export, and return its name."""
    answer = await person.post(f"/repos/ann/app/export{query}")
    assert answer.status_code == 202, answer.text
    [*_, event] = await person.world.events("export.requested")
    return event["name"]


async def page(person, repository_id, sent):
    url = f"/internal/exports/{repository_id}/pages"
    answer = await person.call("POST", url, msgspec.to_builtins(sent), peer="issues")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def send_pages(person, repository_id, name, objects):
    """Send a page of each kind as issues does, and return the last state."""
    cursor, state = "", {}
    for number, (kind, some) in enumerate(objects.items(), 1):
        following = "" if number == len(objects) else str(number)
        sent = ExportPage(name=name, cursor=cursor, following=following, **{kind: some})
        state = await page(person, repository_id, sent)
        cursor = following
    return state


async def exported(world, person, repository_id, objects):
    """Export, and return the archive."""
    name = await begin(person)
    assert (await send_pages(person, repository_id, name, objects))["state"] == "ended"
    assert await world.components.import_workers.step() == 1
    answer = await person.get("/repos/ann/app/export/archive")
    assert answer.status_code == 200, answer.text
    return answer


FILE_OF_TEXT = b"a picture in a text"
UUID = "6f4cf8a5-2a4e-4f5f-9f6c-0d1b5a9c7e21"


async def send_file(person, repository_id, name, content=FILE_OF_TEXT, sha256=""):
    """Send a file of texts as issues does, and return the state of the export."""
    file = ExportFile(name=name, sha256=sha256 or hashlib.sha256(content).hexdigest(), content=content)
    url = f"/internal/exports/{repository_id}/exported-files"
    answer = await person.call("POST", url, msgspec.to_builtins(file), peer="issues")
    assert answer.status_code == 200, answer.text
    return answer.json()["state"]


async def test_files_of_texts_come_out_and_go_in_again(world, ann, app, tmp_path):
    address = archived_file(hashlib.sha256(FILE_OF_TEXT).hexdigest())
    file = ImportedFile(uuid=UUID, address=address, name="a.png", created_at=AT)
    absent = msgspec.structs.replace(file, address=archived_file("0" * 64))
    objects = objects_of(1)
    link = f"![](http://ingot.test/ann/app/attachments/{UUID})"
    objects["issues"] = [msgspec.structs.replace(objects["issues"][0], body=link, files=[file])]
    objects["comments"] = [msgspec.structs.replace(COMMENT, files=[absent])]
    name = await begin(ann)
    for _ in range(2):  # a killed job sends it again
        assert await send_file(ann, app["id"], name) == "running"
    assert await send_file(ann, app["id"], name, sha256="0" * 64) == "running"  # its hash is wrong
    assert await send_file(ann, app["id"], "another export") == "ended"
    assert (await send_pages(ann, app["id"], name, objects))["state"] == "ended"
    assert await world.components.import_workers.step() == 1
    content = (await ann.get("/repos/ann/app/export/archive")).content
    (tmp_path / "a.zip").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "a.zip") as files:
        assert files.read(address) == FILE_OF_TEXT
        assert f"files/{'0' * 64}" not in files.namelist()

    copy = (await send(ann, tmp_path / "a.zip", "?name=copy")).json()
    assert await world.components.import_workers.step() == 1
    cursor, came = "", []
    url = f"/internal/imports/{copy['id']}"
    request = {"with_files": True}
    while not came:
        read = (await ann.call("POST", f"{url}/pages", {"cursor": cursor, **request}, peer="issues")).json()
        cursor, came = read["cursor"], read["issues"]
    [[imported]] = [one["files"] for one in came]
    assert came[0]["body"] == f"![]({imported['local_url']})"
    assert imported["original_url"] == f"http://ingot.test/ann/app/attachments/{UUID}"
    request = {"address": imported["address"], "max_bytes": 1000}
    answer = (await ann.call("POST", f"{url}/imported-files", request, peer="issues")).json()
    assert base64.b64decode(answer["content"]) == FILE_OF_TEXT


async def test_the_layout_of_gitea_is_a_file_that_its_command_reads(world, ann, app, tmp_path, monkeypatch):
    name = await begin(ann, "?layout=gitea")
    assert (await send_pages(ann, app["id"], name, objects_of(1)))["state"] == "ended"
    assert await world.components.import_workers.step() == 1
    state = (await ann.get("/repos/ann/app/export")).json()
    assert (state["status"], state["layout"], state["left_out"]) == ("done", "gitea", [])
    answer = await ann.get("/repos/ann/app/export/archive")
    assert "app.gitea.zip" in answer.headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(answer.content)) as files:
        files.extractall(tmp_path / "layout")
    [issue] = yaml.safe_load((tmp_path / "layout/issue.yml").read_text())
    assert (issue["number"], issue["poster_name"]) == (1, "ann")
    assert await git("symbolic-ref", "HEAD", cwd=tmp_path / "layout/git") == "refs/heads/master\n"
    assert await git("cat-file", "-p", "master:README.md", cwd=tmp_path / "layout/git") == "hello\n"
    assert archives(world) == []


async def test_patches_without_room_are_named(world, ann, app, monkeypatch):
    monkeypatch.setattr(gitea_layout, "MOST_PATCH_BYTES", 10)
    path = world.components.storage.path(app["id"])
    head = (await git("rev-parse", "master", cwd=path)).strip()
    base = (await git("rev-parse", "master~1", cwd=path)).strip()
    objects = objects_of(1)
    objects["pulls"] = [msgspec.structs.replace(objects["pulls"][0], merge_base=base, head_sha=head)]
    name = await begin(ann, "?layout=gitea")
    await send_pages(ann, app["id"], name, objects)
    assert await world.components.import_workers.step() == 1
    state = (await ann.get("/repos/ann/app/export")).json()
    assert (state["status"], state["left_out"]) == ("done", [2])


@pytest.mark.parametrize("settings", [{"max_remote_bytes": 100_000}])
async def test_patches_get_the_room_that_all_else_leaves(world, ann, app):
    await write(ann, "large.txt", "a line\n" * 40_000)
    path = world.components.storage.path(app["id"])
    head = (await git("rev-parse", "master", cwd=path)).strip()
    base = (await git("rev-parse", "master~1", cwd=path)).strip()
    objects = objects_of(1)
    objects["pulls"] = [msgspec.structs.replace(objects["pulls"][0], merge_base=base, head_sha=head)]
    name = await begin(ann, "?layout=gitea")
    await send_pages(ann, app["id"], name, objects)
    assert await world.components.import_workers.step() == 1
    state = (await ann.get("/repos/ann/app/export")).json()
    assert (state["status"], state["left_out"]) == ("done", [2])


async def test_an_archive_that_no_import_takes_fails(world, ann, app, monkeypatch):
    monkeypatch.setattr(archive, "MOST_PAGES_BYTES", 100)
    name = await begin(ann)
    await send_pages(ann, app["id"], name, objects_of(1))
    await world.components.import_workers.step()
    assert (await state_of(ann)) == ("failed", REASON_TEXTS["too-large"])
    assert archives(world) == []


async def test_an_archive_that_cannot_be_laid_out_is_written_once(world, ann, app, monkeypatch):
    def fail(*_arguments, **_options):
        raise gitea_layout.LayoutFailed("no")

    monkeypatch.setattr(jobs, "write_layout", fail)
    name = await begin(ann, "?layout=gitea")
    await send_pages(ann, app["id"], name, objects_of(1))
    await world.components.import_workers.step()
    assert (await state_of(ann)) == ("failed", REASON_TEXTS["failed"])


async def test_another_layout_is_refused(ann, app):
    refused = await ann.post("/repos/ann/app/export?layout=tar")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "layout")
    assert (await ann.get("/repos/ann/app/export")).status_code == 404


async def test_files_of_texts_count_for_the_size_of_an_archive(world, ann, app):
    name = await begin(ann)
    parts = world.components
    pages = ExportPages(world.database, parts.jobs, parts.storage, max_bytes=30)
    one, other = (
        ExportFile(name=name, sha256=hashlib.sha256(text).hexdigest(), content=text)
        for text in (b"a" * 20, b"b" * 20)
    )
    assert (await pages.add_file(app["id"], one)).state == "running"
    assert (await pages.add_file(app["id"], other)).state == "ended"
    state = (await ann.get("/repos/ann/app/export")).json()
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["too-large"])


async def test_what_comes_out_goes_in_again(world, ann, app, tmp_path):
    answer = await exported(world, ann, app["id"], objects_of(1))
    assert answer.headers["content-type"] == "application/zip"
    state = (await ann.get("/repos/ann/app/export")).json()
    assert (state["status"], state["error"], state["size"]) == ("done", "", len(answer.content))
    assert state["counts"] == dict.fromkeys(objects_of(1), 1)
    (tmp_path / "a.zip").write_bytes(answer.content)
    manifest = verify(tmp_path / "a.zip", max_bytes=10**9)
    assert (manifest.url, manifest.topics, manifest.counts["releases"]) == (
        "http://ingot.test/ann/app", ["forge"], 1,
    )  # fmt: skip
    assert archives(world) == []

    copy = (await send(ann, tmp_path / "a.zip", "?name=copy")).json()
    assert await world.components.import_workers.step() == 1
    objects = await read_all(ann, copy["id"])
    assert {kind: len(some) for kind, some in objects.items()} == dict.fromkeys(KINDS, 1) | {"comments": 2}
    [issue] = objects["issues"]
    assert issue["author"] == {"account_id": 1, "name": "ann", "source_id": 1}
    expected = msgspec.to_builtins(OBJECTS["issues"][0])
    people = {"author", "assignees", "reactions"}
    assert {key: issue[key] for key in issue if key not in people} == {
        key: expected[key] for key in expected if key not in people
    }
    [pull] = objects["pulls"]
    assert pull["author"] == {"account_id": -1, "name": "cat", "source_id": 71}
    assert pull["reviews"][0]["comments"][0]["resolver"]["name"] == "cat"
    for kind in ("labels", "milestones", "dependencies"):
        assert objects[kind] == [msgspec.to_builtins(one) for one in OBJECTS[kind]]
    for path in ("branches", "git/refs", "topics", "contents/README.md"):
        was, here = (
            (await ann.get(f"/repos/ann/app/{path}")).json(),
            (await ann.get(f"/repos/ann/copy/{path}")).json(),
        )
        assert without_urls(here) == without_urls(was), path
    [release] = (await ann.get("/repos/ann/copy/releases")).json()
    assert (release["tag_name"], release["body"], release["author"]["login"]) == ("v1", "notes", "ann")
    assert (await ann.call("GET", "/ann/copy/releases/download/v1/a.txt")).content == ASSET
    assert (await download(ann, repo="ann/copy")).content == FILE


def without_urls(value):
    if isinstance(value, dict):
        return {
            name: without_urls(one) for name, one in value.items() if "url" not in name and name != "_links"
        }
    return [without_urls(one) for one in value] if isinstance(value, list) else value


async def test_people_show_their_addresses_only(world, ann, app):
    answer = await exported(world, ann, app["id"], objects_of(1))
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.read("people.jsonl") == b'{"source_id":1,"name":"ann","email":"ann@example.org"}\n'
        assert f"lfs/{oid_of(FILE)}" in archive.namelist()


async def test_an_empty_repository_goes_out_and_in(world, ann, tmp_path):
    repository = await ann.create("app")
    answer = await exported(world, ann, repository["id"], {"labels": []})
    (tmp_path / "a.zip").write_bytes(answer.content)
    assert (await send(ann, tmp_path / "a.zip", "?name=copy")).status_code == 201
    assert await world.components.import_workers.step() == 1
    await read_all(ann, repository["id"] + 1)
    assert (await ann.get("/repos/ann/copy")).json()["empty"] is True
    assert (await ann.get("/repos/ann/copy/migration")).json()["status"] == "done"


async def test_a_page_that_is_sent_twice_is_stored_once(world, ann, app):
    name, labels = await begin(ann), OBJECTS["labels"]
    first = ExportPage(name=name, cursor="", following="1", labels=labels)
    state = {"state": "running", "cursor": "1", "owner_id": 1}
    for _ in range(2):
        assert await page(ann, app["id"], first) == state
    url = f"/internal/exports/{app['id']}/state?name={name}"
    assert (await ann.call("GET", url, peer="issues")).json() == state
    assert (await ann.get("/repos/ann/app/export")).json()["counts"] == {"labels": 1}


async def test_files_that_an_archive_lacks_are_named(world, ann, app, monkeypatch):
    monkeypatch.setattr(exports, "MOST_LEFT_OUT", 2)
    name, labels = await begin(ann), OBJECTS["labels"]
    files = [
        LeftOutFile(number=number, name="film.mp4", size=50_000_000, reason="too-large")
        for number in (1, 2, 3)
    ]
    first = ExportPage(name=name, cursor="", following="1", labels=labels, left_out=files[:1])
    for _ in range(2):  # a killed job sends it again
        await page(ann, app["id"], first)
    await page(ann, app["id"], ExportPage(name=name, cursor="1", following="2", left_out=files[1:]))
    shown = (await ann.get("/repos/ann/app/export")).json()["left_out_files"]
    assert shown == [msgspec.to_builtins(one) for one in files[:2]]
    for scopes, count in ({"read:repository"}, 0), ({"read:repository", "read:issue"}, 2):
        token = ann.but(scopes=frozenset(scopes))
        assert len((await token.get("/repos/ann/app/export")).json()["left_out_files"]) == count


async def test_files_and_pages_do_not_list_the_folder_again_and_again(world, ann, app, monkeypatch):
    """Each file and each page reads the same number of files of the folder, however many there are."""
    name, listed = await begin(ann), []
    lists = exports.files_in

    def count(folder):
        listed.append(folder)
        return lists(folder)

    monkeypatch.setattr(exports, "files_in", count)
    for number in range(4):
        await send_file(ann, app["id"], name, f"file {number}".encode())
    await page(ann, app["id"], ExportPage(name=name, cursor="", following="1", labels=OBJECTS["labels"]))
    assert len(listed) == 1


async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("ending", ["delete", "stop"])
async def test_a_layout_that_is_written_ends_with_its_export(world, ann, app, monkeypatch, ending):
    """Deleted, it ends soon and leaves nothing. If its process stops, another one writes it."""
    monkeypatch.setattr(jobs, "WATCH_SECONDS", 0.01)
    objects, written, write = objects_of(1), [], gitea_layout._pull
    objects["pulls"] = [msgspec.structs.replace(objects["pulls"][0], number=one) for one in range(2, 500)]

    def count(archive, one, folder):
        written.append(one["number"])
        return write(archive, one, folder)

    monkeypatch.setattr(gitea_layout, "_pull", count)
    name = await begin(ann, "?layout=gitea")
    await send_pages(ann, app["id"], name, objects)
    work = asyncio.create_task(world.components.import_workers.step())
    await until(lambda: written)
    if ending == "delete":
        assert (await ann.call("DELETE", "/api/v1/repos/ann/app/export")).status_code == 204
        await work
        assert archives(world) == []
        assert [page async for page in world.components.objects.list("exports")] in ([], [[]])
    else:
        work.cancel()
        await asyncio.wait([work])
        assert (await state_of(ann))[0] == "running"
    ended = len(written)
    assert ended < len(objects["pulls"])
    await asyncio.sleep(0.1)
    assert len(written) == ended


@pytest.mark.parametrize("step", ["bundle", "upload"])
async def test_long_work_ends_with_its_export(world, ann, app, monkeypatch, step):
    monkeypatch.setattr(jobs, "WATCH_SECONDS", 0.01)
    began, ended = asyncio.Event(), asyncio.Event()

    async def work(*_arguments, **_options):
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    if step == "bundle":
        monkeypatch.setattr(jobs, "write_bundle", work)
    else:
        monkeypatch.setattr(world.components.objects, "put", work)
    name = await begin(ann)
    await send_pages(ann, app["id"], name, objects_of(1))
    running = asyncio.create_task(world.components.import_workers.step())
    await began.wait()
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app/export")).status_code == 204
    await running
    assert ended.is_set()
    assert archives(world) == []


async def test_long_work_outlasts_an_outage_of_the_database(world, ann, app, monkeypatch):
    """Each look at the export fails until the bundle is written, once and not from the beginning."""
    monkeypatch.setattr(jobs, "WATCH_SECONDS", 0.01)
    name, read, looks, bundles = await begin(ann), store.get_running, [], []
    await send_pages(ann, app["id"], name, objects_of(1))

    async def fail(*_arguments):
        looks.append(name)
        raise DatabaseUnavailable("it restarts")

    async def write_slowly(*arguments):
        bundles.append(name)
        monkeypatch.setattr(store, "get_running", fail)
        await until(lambda: len(looks) > 2)
        monkeypatch.setattr(store, "get_running", read)
        await write_bundle(*arguments)

    monkeypatch.setattr(jobs, "write_bundle", write_slowly)
    await world.components.import_workers.step()
    assert ((await state_of(ann))[0], len(bundles)) == ("done", 1)


async def test_an_export_that_was_replaced_gets_no_pages(world, ann, app):
    name = await begin(ann)
    assert (await ann.post("/repos/ann/app/export")).status_code == 409
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app/export")).status_code == 204
    assert await begin(ann) != name
    sent = ExportPage(name=name, cursor="", following="", labels=OBJECTS["labels"])
    assert (await page(ann, app["id"], sent))["state"] == "ended"
    assert (await ann.get("/repos/ann/app/export")).json()["counts"] == {}


async def test_a_deleted_export_is_not_written(world, ann, app):
    name = await begin(ann)
    await send_pages(ann, app["id"], name, objects_of(1))
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app/export")).status_code == 204
    await world.components.import_workers.step()
    assert (await ann.get("/repos/ann/app/export")).status_code == 404
    assert archives(world) == []


async def test_the_pages_of_a_deleted_export_are_removed(world, ann, app):
    name = await begin(ann)
    await page(ann, app["id"], ExportPage(name=name, cursor="", following="1", labels=OBJECTS["labels"]))
    assert len(archives(world)) == 1
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app/export")).status_code == 204
    await world.components.workers.step()
    assert archives(world) == []


async def test_a_page_that_comes_while_its_export_is_deleted_leaves_nothing(world, ann, app, monkeypatch):
    name = await begin(ann)
    accounts_of = ExportPages._accounts_of

    async def delete_first(*args):
        assert (await ann.call("DELETE", "/api/v1/repos/ann/app/export")).status_code == 204
        await world.components.workers.step()
        return await accounts_of(*args)

    monkeypatch.setattr(ExportPages, "_accounts_of", delete_first)
    sent = ExportPage(name=name, cursor="", following="1", labels=OBJECTS["labels"])
    assert (await page(ann, app["id"], sent))["state"] == "ended"
    assert archives(world) == []


async def test_an_export_that_is_deleted_while_it_is_written_ends(world, ann, app, monkeypatch):
    name = await begin(ann)
    await send_pages(ann, app["id"], name, objects_of(1))

    async def write_late(*args):
        await write_bundle(*args)
        assert (await ann.call("DELETE", "/api/v1/repos/ann/app/export")).status_code == 204

    monkeypatch.setattr(jobs, "write_bundle", write_late)
    read = []
    monkeypatch.setattr(world.components.objects, "read", lambda key, _: read.append(key))
    await world.components.import_workers.step()
    assert read == []
    assert archives(world) == []


async def test_an_export_that_is_deleted_while_it_is_stored_leaves_no_object(world, ann, app, monkeypatch):
    name = await begin(ann)
    await send_pages(ann, app["id"], name, objects_of(1))
    objects = world.components.objects
    put = objects.put

    async def put_late(*args, **options):
        assert (await ann.call("DELETE", "/api/v1/repos/ann/app/export")).status_code == 204
        await world.components.workers.step()
        return await put(*args, **options)

    monkeypatch.setattr(objects, "put", put_late)
    await world.components.import_workers.step()
    assert [page async for page in objects.list("exports")] in ([], [[]])
    assert archives(world) == []


async def test_an_archive_expires(world, ann, app):
    await exported(world, ann, app["id"], objects_of(1))
    await expire(world.database, world.components.jobs, "shard-0")
    assert (await ann.get("/repos/ann/app/export/archive")).status_code == 200
    table = world.database.metadata.tables["export"]
    async with world.database.transaction() as tx:
        await tx.execute(table.update().values(expires_at=now() - timedelta(seconds=1)))
    await expire(world.database, world.components.jobs, "another")
    assert (await ann.get("/repos/ann/app/export/archive")).status_code == 200
    await expire(world.database, world.components.jobs, "shard-0")
    assert (await ann.get("/repos/ann/app/export/archive")).status_code == 404
    await world.components.workers.step()
    assert [page async for page in world.components.objects.list("exports")] in ([], [[]])


@pytest.mark.parametrize("settings", [{"max_remote_bytes": 1000}])
async def test_an_archive_above_the_limit_fails(world, ann):
    repository = await ann.create("app")
    await write(ann, "a.txt", "".join(str(number) for number in range(5000)))
    name = await begin(ann)
    await send_pages(ann, repository["id"], name, {"labels": OBJECTS["labels"]})
    await world.components.import_workers.step()
    state = (await ann.get("/repos/ann/app/export")).json()
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["too-large"])
    assert archives(world) == []


async def test_an_export_with_an_object_that_no_import_takes_fails(world, ann, app):
    name = await begin(ann)
    large = msgspec.structs.replace(COMMENT, body="x" * MOST_PAGE_BYTES)
    sent = ExportPage(name=name, cursor="", following="1", comments=[large])
    assert (await page(ann, app["id"], sent))["state"] == "ended"
    await world.components.workers.step()
    assert (await state_of(ann)) == ("failed", REASON_TEXTS["too-large"])
    assert archives(world) == []


async def test_an_export_with_a_page_that_was_refused_fails(world, ann, app):
    name = await begin(ann)
    sent = ExportPage(name=name, cursor="", following="", is_too_large=True)
    assert (await page(ann, app["id"], sent))["state"] == "ended"
    assert (await state_of(ann)) == ("failed", REASON_TEXTS["too-large"])


async def test_an_export_that_takes_too_long_fails(world, ann, app):
    name = await begin(ann)
    sent = ExportPage(name=name, cursor="", following="1", labels=OBJECTS["labels"])
    await page(ann, app["id"], sent)
    await expire(world.database, world.components.jobs, "shard-0")
    assert (await state_of(ann))[0] == "running"
    table = world.database.metadata.tables["export"]
    async with world.database.transaction() as tx:
        await tx.execute(table.update().values(created_at=now() - LONGEST))
    await expire(world.database, world.components.jobs, "another")
    assert (await state_of(ann))[0] == "running"
    await expire(world.database, world.components.jobs, "shard-0")
    await world.components.workers.step()
    assert (await state_of(ann)) == ("failed", REASON_TEXTS["failed"])
    assert archives(world) == []


async def test_an_export_that_meets_an_unknown_error_fails(world, ann, app, monkeypatch):
    name = await begin(ann)
    await send_pages(ann, app["id"], name, objects_of(1))

    async def fail(*_):
        raise OSError("no reason that anybody knew")

    monkeypatch.setattr(jobs, "write_bundle", fail)
    await work_again(world)
    assert (await state_of(ann)) == ("failed", REASON_TEXTS["failed"])
    assert archives(world) == []


async def state_of(person):
    state = (await person.get("/repos/ann/app/export")).json()
    return state["status"], state["error"]


async def work_again(world):
    """Run the jobs of imports and exports as often as a failing one may run."""
    table = world.database.metadata.tables["job"]
    for _ in range(TRIES):
        async with world.database.transaction() as tx:
            await tx.execute(table.update().values(run_at=table.c.created_at))
        await world.components.import_workers.step()


async def test_an_export_whose_pages_are_lost_fails(world, ann, app):
    name = await begin(ann)
    await send_pages(ann, app["id"], name, objects_of(1))
    table = world.database.metadata.tables["job"]
    for _ in range(TRIES):
        world.components.storage.sweep(older_than=0)
        async with world.database.transaction() as tx:
            await tx.execute(table.update().values(run_at=table.c.created_at))
        await world.components.import_workers.step()
    state = (await ann.get("/repos/ann/app/export")).json()
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["failed"])


async def test_only_administrators_download(world, ann, bob, app):
    await exported(world, ann, app["id"], objects_of(1))
    await bob.create("mine")
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    for method, path in (
        ("GET", "export"), ("GET", "export/archive"), ("POST", "export"), ("DELETE", "export"),
    ):  # fmt: skip
        answer = await bob.call(method, f"/api/v1/repos/ann/app/{path}")
        assert answer.status_code == 403, path
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "admin"})
    assert (await bob.get("/repos/ann/app/export/archive")).status_code == 200


async def test_a_token_needs_the_scope_of_issues(world, ann, app):
    await exported(world, ann, app["id"], objects_of(1))
    code = ann.but(scopes=frozenset({"write:repository"}))
    assert (await code.get("/repos/ann/app/export/archive")).status_code == 403
    assert (await code.post("/repos/ann/app/export")).status_code == 403


async def test_settings_and_rules_come_out_and_go_in_again(world, ann, bob, app, tmp_path):
    await bob.create("mine")
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    settings = {
        "website": "https://lamps.example.org",
        "allow_rebase": False,
        "default_merge_style": "squash",
        "has_wiki": False,
        "default_delete_branch_after_merge": True,
        "ignore_whitespace_conflicts": True,
    }
    edited = await ann.call("PATCH", "/api/v1/repos/ann/app", settings)
    assert edited.status_code == 200, edited.text
    branch = {
        "rule_name": "release/*", "enable_push": True, "enable_push_whitelist": True,
        "push_whitelist_usernames": ["ann", "bob"], "required_approvals": 2,
        "enable_status_check": True, "status_check_contexts": ["ci/*"], "protected_file_patterns": "*.lock",
    }  # fmt: skip
    added = await ann.post("/repos/ann/app/branch_protections", branch)
    assert added.status_code == 201, added.text
    tag = {"name_pattern": "v*", "whitelist_usernames": ["ann"]}
    assert (await ann.post("/repos/ann/app/tag_protections", tag)).status_code == 201
    answer = await exported(world, ann, app["id"], objects_of(1))
    (tmp_path / "a.zip").write_bytes(answer.content)

    root = ann.but(admin=True)
    copied = await send(root, tmp_path / "a.zip", "?name=copy&map_logins=true")
    assert copied.status_code == 201, copied.text
    assert await world.components.import_workers.step() == 1
    await read_all(ann, copied.json()["id"])
    for path in ("branch_protections", "tag_protections"):
        [was] = (await ann.get(f"/repos/ann/app/{path}")).json()
        [copy] = (await ann.get(f"/repos/ann/copy/{path}")).json()
        others = {"id", "created_at", "updated_at"}
        assert {key: copy[key] for key in copy if key not in others} == {
            key: was[key] for key in was if key not in others
        }
    copy = (await ann.get("/repos/ann/copy")).json()
    assert {name: copy[name] for name in settings} == settings


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILm+TXJrmEuEDAMtyJGGs6SDwBFaPPm5DVzJTMKJnRN5 ci"


async def test_deploy_keys_are_offered_and_open_nothing(world, ann, app, tmp_path):
    added = await ann.post("/repos/ann/app/keys", {"title": "ci", "key": KEY, "read_only": False})
    assert added.status_code == 201, added.text
    answer = await exported(world, ann, app["id"], objects_of(1))
    (tmp_path / "a.zip").write_bytes(answer.content)
    copy = (await send(ann, tmp_path / "a.zip", "?name=copy")).json()
    await world.components.import_workers.step()
    await read_all(ann, copy["id"])
    assert (await ann.get("/repos/ann/copy/keys")).json() == []
    [offered] = (await ann.get("/repos/ann/copy/migration")).json()["deploy_keys"]
    assert offered == {
        "title": "ci",
        "key": KEY,
        "fingerprint": added.json()["fingerprint"],
        "read_only": False,
    }
    assert (await ann.post("/repos/ann/copy/keys", offered)).status_code == 201
    assert (await ann.get("/repos/ann/copy/migration")).json()["deploy_keys"] == []


async def test_a_deploy_key_with_a_long_comment_prevents_no_export(world, ann, app):
    """It is stored with its type, and so it is longer than the text that was sent."""
    sent = ed25519(7, "x" * MOST_KEY_CHARACTERS).removeprefix("ssh-ed25519 ")[:MOST_KEY_CHARACTERS]
    for title, key in (("long", sent), ("short", KEY)):
        added = await ann.post("/repos/ann/app/keys", {"title": title, "key": key})
        assert added.status_code == 201, added.text
    answer = await exported(world, ann, app["id"], objects_of(1))
    with zipfile.ZipFile(io.BytesIO(answer.content)) as file:
        manifest = msgspec.json.decode(file.read("manifest.json"), type=Manifest)
    assert [one.title for one in manifest.deploy_keys] == ["short"]


async def test_invalid_keys_of_a_stranger_are_not_offered(world, ann, bundle, tmp_path):  # noqa: F811
    wrong = ("no key", "ssh-dss AAAA x", KEY.replace("AAAAI", "AAAAJ"))
    keys = [ArchivedKey(title="x", key=key) for key in wrong] + [ArchivedKey(title=" ", key=KEY)]
    path = write_archive(tmp_path / "a.zip", bundle=bundle, deploy_keys=keys)
    assert (await send(ann, path, "?name=copy")).status_code == 201
    await world.components.import_workers.step()
    assert (await ann.get("/repos/ann/copy/migration")).json()["deploy_keys"] == []


async def test_an_archive_of_an_earlier_release_has_no_settings(world, ann, app, tmp_path):
    answer = await exported(world, ann, app["id"], objects_of(1))
    source = io.BytesIO(answer.content)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(tmp_path / "a.zip", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "manifest.json":
                manifest = msgspec.json.decode(content)
                for field in ("settings", "branch_rules", "tag_rules", "deploy_keys"):
                    del manifest[field]
                content = msgspec.json.encode(manifest)
            new.writestr(name, content)
    assert (await send(ann, tmp_path / "a.zip", "?name=copy")).status_code == 201
    await world.components.import_workers.step()
    assert (await ann.get("/repos/ann/copy/branch_protections")).json() == []
