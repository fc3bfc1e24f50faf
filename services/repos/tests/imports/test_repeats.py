"""Imports that are repeated: refs, releases and the wiki follow the source where they did not change here."""

import copy
import os
import time

import pytest

from ingot_git.refs.ref_locks import OLD_SECONDS

from ..remote_world import bare_source
from ..world import commit, git
from .test_sources import (  # noqa: F401 - fixtures
    FILE,
    answer_of,
    copied,
    migrate,
    progress,
    read,
    read_all,
    releases_of,
    settings,
    source,
    with_releases,
)


async def repeat(world, person, repository_id, status=202, **body):
    """Repeat an import, and fetch what repos stores."""
    answer = await person.post(f"/repos/migrate/{repository_id}/again", body)
    assert answer.status_code == status, answer.text
    if status == 202:
        assert await world.components.import_workers.step() == 1
    return answer.json()


async def conflicts(person, repository_id):
    listed = await person.get(f"/repos/migrate/{repository_id}/conflicts")
    assert listed.headers["x-total-count"] == str(len(listed.json()))
    return [(one["kind"], one["name"], one["fields"]) for one in listed.json()]


async def tips(world, repository_id):
    path = world.components.storage.path(repository_id)
    lines = await git("for-each-ref", "--format=%(refname) %(objectname)", cwd=path)
    return dict(line.split() for line in lines.splitlines())


async def set_ref(world, repository_id, name, oid, message="ours"):
    """Move a ref here, with or without a new commit on top of ``oid``."""
    path = world.components.storage.path(repository_id)
    tree = (await git("rev-parse", f"{oid}^{{tree}}", cwd=path)).strip()
    new = (await git("commit-tree", "-p", oid, "-m", message, tree, cwd=path)).strip()
    await git("update-ref", name, new, cwd=path)
    return new


async def done(world, person, repository_id):
    state = await progress(person)
    await read_all(person, repository_id, repeat=state["repeat"])
    assert (await progress(person))["status"] == "done"


async def test_new_commits_come_and_what_moved_here_stays(world, bob, source):  # noqa: F811
    work = source.work
    first = (await git("rev-parse", "HEAD", cwd=work)).strip()
    names = ("both", "here", "there", "deleted", "forced")
    for name in names:
        await git("push", "-q", "origin", f"HEAD:refs/heads/{name}", cwd=work)
    await git("push", "-q", "origin", "HEAD:refs/pull/11/head", cwd=work)
    repository_id = await migrate(world, bob, source, pull_requests=True)
    await done(world, bob, repository_id)
    both = await set_ref(world, repository_id, "refs/heads/both", first)
    here = await set_ref(world, repository_id, "refs/heads/here", first)
    mine = await set_ref(world, repository_id, "refs/heads/mine", first)
    path = world.components.storage.path(repository_id)
    await git("update-ref", "-d", "refs/heads/deleted", cwd=path)
    await git("update-ref", "refs/pull/12/head", mine, cwd=path)
    new = await commit(work, "more.txt")
    targets = ("trunk", "both", "there", "new", "deleted", "mine/below")
    await git("push", "-q", "origin", *(f"HEAD:refs/heads/{name}" for name in targets), cwd=work)
    await git("push", "-q", "origin", "HEAD:refs/pull/11/head", "HEAD:refs/pull/12/head", cwd=work)
    await git("commit", "-q", "--amend", "-m", "forced", cwd=work)
    await git("checkout", "-q", "--orphan", "other", cwd=work)
    await git("commit", "-q", "-m", "forced", cwd=work)
    await git("push", "-q", "-f", "origin", "HEAD:refs/heads/forced", cwd=work)
    forced = (await git("rev-parse", "HEAD", cwd=work)).strip()

    state = await repeat(world, bob, repository_id)
    assert (state["status"], state["repeat"]) == ("waiting", 1)
    await done(world, bob, repository_id)
    refs = await tips(world, repository_id)
    assert refs == {
        "refs/heads/trunk": new,
        "refs/heads/there": new,
        "refs/heads/new": new,
        "refs/heads/both": both,
        "refs/heads/here": here,
        "refs/heads/mine": mine,
        "refs/heads/forced": forced,
        "refs/pull/11/head": new,
        "refs/pull/12/head": mine,
    }
    assert await conflicts(bob, repository_id) == [
        ("branch", "both", ["commits"]),
        ("branch", "deleted", ["deleted"]),
        ("branch", "mine/below", ["name"]),
        ("pull", "refs/pull/12/head", ["commits"]),
    ]
    assert (await progress(bob))["conflicts"] == 4
    pushes = [event["ref"] for event in await world.events("push.received") if event["imported"]]
    assert sorted(pushes) == [f"refs/heads/{name}" for name in ("forced", "new", "there", "trunk")]
    assert (await bob.get("/repos/bob/copy/branches/new")).status_code == 200


async def test_files_of_running_pushes_stay(world, bob, source):  # noqa: F811
    repository_id = await migrate(world, bob, source)
    await done(world, bob, repository_id)
    path = world.components.storage.path(repository_id)
    running = ("objects/pack/tmp_pack_new", "objects/pack/pack-new.keep", "refs/heads/new.lock")
    for name in running:
        (path / name).write_text("")
    os.utime(path / running[2], times=(time.time() - 2 * OLD_SECONDS,) * 2)
    stale = path / "objects/pack/tmp_pack_old"
    stale.write_text("")
    os.utime(stale, times=(0, 0))
    await repeat(world, bob, repository_id)
    await done(world, bob, repository_id)
    assert [name for name in running if not (path / name).exists()] == []
    assert not stale.exists()


async def test_a_branch_that_was_moved_back_here_stays(world, bob, source):  # noqa: F811
    first = (await git("rev-parse", "HEAD", cwd=source.work)).strip()
    await commit(source.work, "secret.txt")
    await git("push", "-q", "origin", "HEAD:refs/heads/trunk", cwd=source.work)
    repository_id = await migrate(world, bob, source)
    await done(world, bob, repository_id)
    path = world.components.storage.path(repository_id)
    await git("update-ref", "refs/heads/trunk", first, cwd=path)
    await commit(source.work, "more.txt")
    await git("push", "-q", "origin", "HEAD:refs/heads/trunk", cwd=source.work)
    await repeat(world, bob, repository_id)
    await done(world, bob, repository_id)
    assert (await tips(world, repository_id))["refs/heads/trunk"] == first
    assert await conflicts(bob, repository_id) == [("branch", "trunk", ["commits"])]


async def test_a_repeat_without_changes_changes_nothing(world, bob, source):  # noqa: F811
    repository_id = await migrate(world, bob, source)
    await done(world, bob, repository_id)
    before = await tips(world, repository_id)
    for number in (1, 2):
        await repeat(world, bob, repository_id)
        await done(world, bob, repository_id)
        assert (await progress(bob))["repeat"] == number
    assert await tips(world, repository_id) == before
    assert await conflicts(bob, repository_id) == []
    events = [event["repeat"] for event in await world.events("import.fetched")]
    assert events == [0, 1, 2]
    [remote] = await world.rows("remote")
    assert remote.sealed is None


async def test_issues_that_were_turned_off_here_stay_off(world, bob, source):  # noqa: F811
    repository_id = await migrate(world, bob, source)
    await done(world, bob, repository_id)
    await bob.call("PATCH", "/api/v1/repos/bob/copy", {"has_issues": False, "description": "ours"})
    await repeat(world, bob, repository_id)
    await done(world, bob, repository_id)
    got = (await bob.get("/repos/bob/copy")).json()
    assert (got["has_issues"], got["description"]) == (False, "ours")


async def test_releases_follow_the_source_unless_they_changed_here(world, copied, bob, source):  # noqa: F811
    for name in ("v1", "v3"):
        await git("tag", name, cwd=source.work)
    await git("push", "-q", "origin", "v1", cwd=source.work)
    with_releases(source)
    repository_id = await migrate(world, bob, source, releases=True)
    await done(world, bob, repository_id)
    by_tag = {one["tag_name"]: one for one in await releases_of(bob)}
    await bob.call("PATCH", f"/api/v1/repos/bob/copy/releases/{by_tag['v1']['id']}", {"name": "ours"})
    [asset] = by_tag["v1"]["assets"]
    url = f"/api/v1/repos/bob/copy/releases/{by_tag['v1']['id']}/assets/{asset['id']}"
    assert (await bob.call("DELETE", url)).status_code == 204
    await bob.call("DELETE", f"/api/v1/repos/bob/copy/releases/{by_tag['v2']['id']}")

    first, second = copy.deepcopy(source.lists["releases"])
    first |= {"name": "theirs", "body": "better"}
    first["assets"].append(
        {**first["assets"][0], "name": "b.zip", "browser_download_url": source.url("there/files/b.zip")}
    )
    second["body"] = "changed"
    source.lists["releases"] = [first, second, {**second, "id": 602, "tag_name": "v3", "name": "three"}]
    source.files["/there/files/b.zip"] = answer_of(FILE)
    await git("push", "-q", "origin", "v3", cwd=source.work)
    for _ in range(2):
        await repeat(world, bob, repository_id)
        await done(world, bob, repository_id)
        now = {one["tag_name"]: one for one in await releases_of(bob)}
        assert sorted(now) == ["v1", "v3"]
        assert (now["v1"]["name"], now["v1"]["body"]) == ("ours", "better")
        assert [one["name"] for one in now["v1"]["assets"]] == ["b.zip"]
        assert now["v3"]["draft"] is False
        assert await conflicts(bob, repository_id) == [
            ("release", "v1", ["name"]),
            ("release", "v2", ["deleted"]),
        ]


async def test_the_wiki_follows_the_source(world, bob, source, tmp_path):  # noqa: F811
    work = await bare_source(source.folder / "there", tmp_path, name="source.wiki.git")
    await commit(work, "Home.md", "first\n")
    await git("push", "-q", "origin", "HEAD", cwd=work)
    repository_id = await migrate(world, bob, source, wiki=True)
    await done(world, bob, repository_id)
    await commit(work, "Home.md", "second\n")
    await git("push", "-q", "origin", "HEAD", cwd=work)
    await repeat(world, bob, repository_id)
    await done(world, bob, repository_id)
    page = (await bob.get("/repos/bob/copy/wiki/page/Home")).json()
    assert page["commit_count"] == 2
    assert await conflicts(bob, repository_id) == []


async def test_plain_git_is_repeated_too(world, bob, source):  # noqa: F811
    form = {"clone_addr": source.url("there/source.git"), "repo_name": "copy"}
    repository_id = (await bob.post("/repos/migrate", form)).json()["id"]
    await repeat(world, bob, repository_id, status=409)
    await world.components.import_workers.step()
    new = await commit(source.work, "more.txt")
    await git("push", "-q", "origin", "trunk", cwd=source.work)
    await repeat(world, bob, repository_id)
    state = await progress(bob)
    assert (state["status"], state["repeat"]) == ("done", 1)
    assert await tips(world, repository_id) == {"refs/heads/trunk": new}
    assert [event["reason"] for event in await world.events("import.finished")] == ["", ""]


async def test_a_failed_repeat_leaves_the_repository_in_use(world, bob, source):  # noqa: F811
    repository_id = await migrate(world, bob, source)
    await done(world, bob, repository_id)
    folder, away = source.folder / "there", source.folder / "away"
    folder.rename(away)
    await repeat(world, bob, repository_id)
    state = await progress(bob)
    assert state["status"] == "failed"
    assert (await bob.get("/repos/bob/copy/branches")).status_code == 200
    refused = await bob.call("DELETE", f"/api/v1/repos/migrate/{repository_id}")
    assert refused.status_code == 409
    away.rename(folder)
    new = await commit(source.work, "more.txt")
    await git("push", "-q", "origin", "trunk", cwd=source.work)
    assert (await bob.post("/repos/bob/copy/migration")).status_code == 202
    assert await world.components.import_workers.step() == 1
    await done(world, bob, repository_id)
    assert (await tips(world, repository_id))["refs/heads/trunk"] == new


async def test_a_cancelled_repeat_leaves_the_repository_in_use(world, bob, source):  # noqa: F811
    repository_id = await migrate(world, bob, source)
    await done(world, bob, repository_id)
    await bob.post(f"/repos/migrate/{repository_id}/again", {})
    assert (await bob.call("DELETE", "/api/v1/repos/bob/copy/migration")).status_code == 204
    await world.components.import_workers.step()
    assert (await progress(bob))["status"] == "cancelled"
    assert (await bob.get("/repos/bob/copy/branches")).status_code == 200


async def test_conflicts_of_issues_are_recorded_once(world, bob, source):  # noqa: F811
    repository_id = await migrate(world, bob, source)
    await done(world, bob, repository_id)
    await repeat(world, bob, repository_id)
    cursor = (await read(bob, repository_id, repeat=1))["cursor"]
    conflict = {"kind": "issue", "number": 3, "name": "", "fields": ["title"]}
    for fields in (["title"], ["title", "body"]):
        await read(bob, repository_id, cursor, repeat=1, conflicts=[{**conflict, "fields": fields}])
    assert await conflicts(bob, repository_id) == [("issue", "", ["title", "body"])]
    await done(world, bob, repository_id)
    await repeat(world, bob, repository_id)
    assert await conflicts(bob, repository_id) == []


async def test_only_administrators_of_the_repository_repeat_an_import(world, ann, bob, source):  # noqa: F811
    repository_id = await migrate(world, bob, source)
    await done(world, bob, repository_id)
    await repeat(world, ann, repository_id, status=403)
    assert (await ann.get(f"/repos/migrate/{repository_id}/conflicts")).status_code == 403
    await repeat(world, bob, repository_id, status=403, map_logins=True)
    await repeat(world, bob, repository_id, status=403, people={"annie": "ann"})
    await repeat(world, bob, repository_id + 1, status=404)


@pytest.mark.parametrize("kind", ["mirror", "archived"])
async def test_what_cannot_be_repeated_is_refused(world, bob, source, kind):  # noqa: F811
    form = {"clone_addr": source.url("there/source.git"), "repo_name": "copy", "mirror": kind == "mirror"}
    repository_id = (await bob.post("/repos/migrate", form)).json()["id"]
    await world.components.import_workers.step()
    if kind == "archived":
        await bob.call("PATCH", "/api/v1/repos/bob/copy", {"archived": True})
    await repeat(world, bob, repository_id, status=409)


async def test_issues_of_an_older_release_neither_reads_nor_ends_a_repeat(world, bob, source):  # noqa: F811
    repository_id = await migrate(world, bob, source)
    first = await read(bob, repository_id)
    await done(world, bob, repository_id)
    await repeat(world, bob, repository_id)
    for cursor in ("", first["cursor"]):
        assert (await read(bob, repository_id, cursor))["state"] == "ended"
    assert (await progress(bob))["status"] != "done"
    await done(world, bob, repository_id)


async def test_workers_of_an_older_release_do_not_claim_repeats(world, bob, source):  # noqa: F811
    repository_id = await migrate(world, bob, source)
    await done(world, bob, repository_id)
    assert (await bob.post(f"/repos/migrate/{repository_id}/again", {})).status_code == 202
    kinds = {row.kind for row in await world.rows("job") if row.state == "waiting"}
    assert [kind for kind in kinds if kind.startswith("migrate")] == []
    assert [kind for kind in kinds if kind.startswith("repeat_import")] != []


async def failed_repeat(world, person, source, repository_id, **body):  # noqa: F811
    folder, away = source.folder / "there", source.folder / "away"
    folder.rename(away)
    await repeat(world, person, repository_id, **body)
    assert (await progress(person))["status"] == "failed"
    away.rename(folder)


async def test_a_restarted_repeat_is_that_of_the_person_who_restarts(world, ann, bob, source):  # noqa: F811
    repository_id = await migrate(world, bob, source)
    await done(world, bob, repository_id)
    await failed_repeat(world, ann.but(admin=True), source, repository_id, map_logins=True)
    [remote], [row] = await world.rows("remote"), await world.rows("import_source")
    assert (remote.user_id, row.maps_people, row.map_logins) == (1, True, True)
    assert (await bob.post("/repos/bob/copy/migration")).status_code == 202
    [remote], [row] = await world.rows("remote"), await world.rows("import_source")
    assert (remote.user_id, row.maps_people, row.map_logins) == (2, False, False)


async def test_a_repeat_of_a_repository_that_was_archived_ends(world, bob, source):  # noqa: F811
    repository_id = await migrate(world, bob, source)
    await done(world, bob, repository_id)
    new = await commit(source.work, "more.txt")
    await git("push", "-q", "origin", "trunk", cwd=source.work)
    assert (await bob.post(f"/repos/migrate/{repository_id}/again", {})).status_code == 202
    await bob.call("PATCH", "/api/v1/repos/bob/copy", {"archived": True})
    assert await world.components.import_workers.step() == 1
    state = await progress(bob)
    assert (state["status"], state["error"]) == ("failed", "the repository is archived")
    assert new not in (await tips(world, repository_id)).values()
    assert (await bob.post("/repos/bob/copy/migration")).status_code == 409


async def with_files(world, bob, source, *names):  # noqa: F811
    """Import a release with files, and return the id of the repository."""
    await git("tag", "v1", cwd=source.work)
    await git("push", "-q", "origin", "v1", cwd=source.work)
    with_releases(source)
    set_files(source, **dict.fromkeys(names, FILE))
    repository_id = await migrate(world, bob, source, releases=True)
    await done(world, bob, repository_id)
    return repository_id


def set_files(source, *, version="", **files):  # noqa: F811
    """Give the release of the source these files. ``version`` is that of all of them."""
    [first] = source.lists["releases"] = copy.deepcopy(source.lists["releases"][:1])
    first["assets"] = []
    for name, content in files.items():
        path = f"/there/files/{name}.zip"
        source.files[path] = answer_of(content)
        first["assets"].append(
            {
                "name": f"{name}.zip",
                "size": len(content),
                "uuid": f"{name} {version}",
                "created_at": first["created_at"],
                "browser_download_url": source.url(path[1:]),
            }
        )


async def files_of(bob):
    """Return the contents of the files of the release here, by name."""
    [release] = await releases_of(bob)
    contents = {}
    for asset in release["assets"]:
        assert asset["name"] not in contents
        url = f"/bob/copy/releases/download/v1/{asset['name']}"
        contents[asset["name"]] = (await bob.call("GET", url)).content
    return contents


async def rename_or_delete(bob, name, change):
    """Rename or delete a file of the release here, or leave it as it is."""
    [release] = await releases_of(bob)
    [asset_id] = [one["id"] for one in release["assets"] if one["name"] == name]
    url = f"/api/v1/repos/bob/copy/releases/{release['id']}/assets/{asset_id}"
    if change is not None:
        answer = await bob.call(*change[:1], url, *change[1:])
        assert answer.status_code in (201, 204), answer.text


RENAMED = ("PATCH", {"name": "ours.zip"})
OTHER_FILE = bytes(reversed(FILE))


@pytest.mark.parametrize("length", [len(FILE), 7])
async def test_a_file_that_was_replaced_at_the_source_comes(world, bob, source, length):  # noqa: F811
    repository_id = await with_files(world, bob, source, "a", "b")
    set_files(source, version="new", a=OTHER_FILE[:length], b=FILE)
    for _ in range(2):
        source.requests.clear()
        await repeat(world, bob, repository_id)
        await done(world, bob, repository_id)
        assert await files_of(bob) == {"a.zip": OTHER_FILE[:length], "b.zip": FILE}
        assert await conflicts(bob, repository_id) == []
    assert not [target for _, target, _ in source.requests if target.startswith("/there/files/")]
    await world.components.workers.step()
    assert len(list(await world.rows("release_asset"))) == 2


@pytest.mark.parametrize(("change", "names"), [(RENAMED, ["ours.zip"]), (("DELETE",), [])])
async def test_a_replaced_file_that_changed_here_is_reported(world, bob, source, change, names):  # noqa: F811
    repository_id = await with_files(world, bob, source, "a")
    await rename_or_delete(bob, "a.zip", change)
    await repeat(world, bob, repository_id)
    await done(world, bob, repository_id)
    assert await conflicts(bob, repository_id) == []
    set_files(source, version="new", a=OTHER_FILE)
    for _ in range(2):
        await repeat(world, bob, repository_id)
        await done(world, bob, repository_id)
        assert sorted(await files_of(bob)) == names
        assert await conflicts(bob, repository_id) == [("release", "v1", ["file a.zip"])]


async def test_a_file_that_is_deleted_while_its_successor_comes_is_reported(world, bob, source):  # noqa: F811
    repository_id = await with_files(world, bob, source, "a")
    set_files(source, version="new", a=OTHER_FILE)
    inner = source.answer

    async def delete_first(method, target, headers, writer):
        if target.startswith("/there/files/") and (await files_of(bob)):
            await rename_or_delete(bob, "a.zip", ("DELETE",))
        return await inner(method, target, headers, writer)

    source.answer = delete_first
    await repeat(world, bob, repository_id)
    await done(world, bob, repository_id)
    assert await files_of(bob) == {}
    assert await conflicts(bob, repository_id) == [("release", "v1", ["file a.zip"])]


async def test_a_file_that_the_source_did_not_give_comes_later(world, bob, source):  # noqa: F811
    repository_id = await with_files(world, bob, source, "a")
    set_files(source, a=FILE, b=FILE)
    content = source.files.pop("/there/files/b.zip")
    for answers in ({}, {"/there/files/b.zip": content}):
        source.files |= answers
        await repeat(world, bob, repository_id)
        await done(world, bob, repository_id)
        assert ("b.zip" in await files_of(bob)) is bool(answers)


async def forget_bases(world, base=None):
    """Make an import one of an earlier release: without bases of releases, or with those of its time."""
    table, row = (world.database.metadata.tables[name] for name in ("import_base", "import_source"))
    async with world.database.transaction() as tx:
        of_releases = table.c.kind == "release"
        if base is None:
            await tx.execute(table.delete().where(of_releases))
            await tx.execute(row.update().values(started_at=None))
        else:
            await tx.execute(table.update().where(of_releases).values(value=base))


async def test_files_of_an_earlier_release_of_ingot_are_compared(world, bob, source):  # noqa: F811
    repository_id = await with_files(world, bob, source, "a", "b", "c")
    await rename_or_delete(bob, "c.zip", ("DELETE",))
    await forget_bases(world, '{"fields": {}, "assets": ["a.zip", "b.zip", "c.zip"]}')
    set_files(source, a=FILE, b=FILE[:7], c=FILE)
    await repeat(world, bob, repository_id)
    await done(world, bob, repository_id)
    assert await files_of(bob) == {"a.zip": FILE, "b.zip": FILE}
    assert await conflicts(bob, repository_id) == [("release", "v1", ["file b.zip"])]
    set_files(source, version="new", a=OTHER_FILE, b=FILE, c=FILE)
    await repeat(world, bob, repository_id)
    await done(world, bob, repository_id)
    assert (await files_of(bob))["a.zip"] == OTHER_FILE
    assert await conflicts(bob, repository_id) == [("release", "v1", ["file c.zip"])]


@pytest.mark.parametrize("is_new", [False, True])
async def test_a_deleted_release_without_a_base_stays_deleted(world, bob, source, is_new):  # noqa: F811
    repository_id = await with_files(world, bob, source, "a")
    [release] = await releases_of(bob)
    await bob.call("DELETE", f"/api/v1/repos/bob/copy/releases/{release['id']}")
    await forget_bases(world)
    if is_new:
        source.lists["releases"][0]["published_at"] = "2999-01-02T03:04:05Z"
    for number in range(2):
        await repeat(world, bob, repository_id)
        await done(world, bob, repository_id)
        assert len(await releases_of(bob)) == int(is_new)
        reported = [] if is_new or number else [("release", "v1", ["deleted"])]
        assert await conflicts(bob, repository_id) == reported


async def test_a_deleted_file_without_a_base_stays_deleted(world, bob, source):  # noqa: F811
    repository_id = await with_files(world, bob, source, "a", "b")
    await rename_or_delete(bob, "a.zip", ("DELETE",))
    await forget_bases(world)
    await repeat(world, bob, repository_id)
    await done(world, bob, repository_id)
    assert await files_of(bob) == {"b.zip": FILE}


def delete_during_files(bob, source, tag):  # noqa: F811
    """Delete the release of a tag as soon as the import requests a file."""
    inner = source.answer

    async def delete_first(method, target, headers, writer):
        if target.startswith("/there/files/"):
            for one in await releases_of(bob):
                if one["tag_name"] == tag:
                    await bob.call("DELETE", f"/api/v1/repos/bob/copy/releases/{one['id']}")
        return await inner(method, target, headers, writer)

    source.answer = delete_first


@pytest.mark.parametrize("successor", [False, True])
async def test_a_release_deleted_while_files_come_is_reported(world, bob, source, successor):  # noqa: F811
    """Neither a new file nor one that replaces another ends the import; the next release comes."""
    repository_id = await with_files(world, bob, source, "a")
    set_files(source, version="new" if successor else "", a=OTHER_FILE if successor else FILE, b=FILE, c=FILE)
    first = source.lists["releases"][0]
    source.lists["releases"].append(first | {"id": 602, "tag_name": "v2", "name": "two"})
    delete_during_files(bob, source, "v1")
    for reported in ([("release", "v1", ["deleted"])], []):
        await repeat(world, bob, repository_id)
        await done(world, bob, repository_id)
        [release] = await releases_of(bob)
        assert (release["tag_name"], len(release["assets"])) == ("v2", 3)
        assert await conflicts(bob, repository_id) == reported


async def test_a_new_release_deleted_while_its_files_come_stays_deleted(world, bob, source):  # noqa: F811
    repository_id = await with_files(world, bob, source, "a")
    first = source.lists["releases"][0]
    source.lists["releases"].append(first | {"id": 602, "tag_name": "v2", "name": "two"})
    inner = source.answer
    delete_during_files(bob, source, "v2")
    for reported in ([("release", "v2", ["deleted"])], []):
        await repeat(world, bob, repository_id)
        await done(world, bob, repository_id)
        source.answer = inner
        assert [one["tag_name"] for one in await releases_of(bob)] == ["v1"]
        assert await conflicts(bob, repository_id) == reported


@pytest.mark.parametrize("moment", ["before", "during"])
async def test_a_release_deleted_at_the_source_stays(world, bob, source, moment):  # noqa: F811
    repository_id = await with_files(world, bob, source, "a")
    if moment == "before":
        source.lists["releases"] = []
    else:
        set_files(source, version="new", a=OTHER_FILE, b=FILE)
        source.files.clear()
    await repeat(world, bob, repository_id)
    await done(world, bob, repository_id)
    source.lists["releases"] = []
    for _ in range(2):
        await repeat(world, bob, repository_id)
        await done(world, bob, repository_id)
        assert await files_of(bob) == {"a.zip": FILE}
        assert await conflicts(bob, repository_id) == [("release", "v1", ["gone"])]


async def test_a_draft_that_a_weaker_token_does_not_see_is_not_reported(world, bob, source):  # noqa: F811
    await git("tag", "V1", cwd=source.work)
    await git("push", "-q", "origin", "V1", cwd=source.work)
    with_releases(source)
    first = source.lists["releases"][0] | {"tag_name": "V1", "assets": []}
    source.lists["releases"] = [first, first | {"id": 602, "tag_name": "next", "draft": True}]
    repository_id = await migrate(world, bob, source, releases=True)
    await done(world, bob, repository_id)
    assert sorted(one["draft"] for one in await releases_of(bob)) == [False, True]
    for listed, reported in (([first], []), ([], [("release", "V1", ["gone"])])):
        source.lists["releases"] = listed
        await repeat(world, bob, repository_id)
        await done(world, bob, repository_id)
        assert await conflicts(bob, repository_id) == reported
