"""Fetches: every protocol version, parts of a history, whole repositories, archives, and nothing hidden."""

import re
import tarfile

import pytest
from tests.e2e.history import commit_file, git, refs


async def tip(folder, name="HEAD"):
    return (await git("rev-parse", name, cwd=folder)).strip()


async def count(folder):
    return int(await git("rev-list", "--count", "HEAD", cwd=folder))


async def test_every_version_of_the_protocol_clones_pushes_and_fetches(ann, app, tmp_path):
    for version in (0, 1, 2):
        protocol, copy = ("-c", f"protocol.version={version}"), tmp_path / f"copy{version}"
        output = await ann.git(*protocol, "clone", app.url, copy, cwd=tmp_path, GIT_TRACE_PACKET="1")
        answer = re.search(r"< version ([12])", output)
        assert int(answer[1] if answer else 0) == version
        new = await commit_file(copy, f"{version}.txt", b"more\n", "Add more")
        await ann.git(*protocol, "push", "-q", "origin", "main", cwd=copy)
        await ann.git(*protocol, "pull", "-q", "--ff-only", "origin", "main", cwd=app.work)
        assert await tip(app.work) == new
        await git("fsck", "--full", "--strict", cwd=copy)


async def test_a_shallow_clone_pushes_and_is_deepened(ann, app, tmp_path):
    copy = tmp_path / "copy"
    await ann.git("clone", "-q", "--depth=1", app.url, copy, cwd=tmp_path)
    assert await count(copy) == 1
    new = await commit_file(copy, "b.txt", b"new\n", "Add b")
    await ann.git("push", "-q", "origin", "HEAD:refs/heads/new", cwd=copy)
    assert await ann.refs(app.repository, "refs/heads/new") == {"refs/heads/new": new}
    await ann.git("fetch", "-q", "--deepen=1", cwd=copy)
    assert await count(copy) == 3
    await ann.git("fetch", "-q", "--unshallow", cwd=copy)
    assert await count(copy) == 4
    assert (await git("rev-parse", "--is-shallow-repository", cwd=copy)).strip() == "false"
    await git("fsck", "--full", cwd=copy)


async def test_a_partial_clone_fetches_files_when_they_are_needed(ann, app, tmp_path):
    copy = tmp_path / "copy"
    await ann.git("clone", "-q", "--filter=blob:none", "--no-checkout", app.url, copy, cwd=tmp_path)

    async def missing():
        listed = await git("rev-list", "--objects", "--missing=print", "HEAD", cwd=copy)
        return sum(line.startswith("?") for line in listed.splitlines())

    assert await missing() == 3
    await ann.git("checkout", "-q", "main", cwd=copy)
    assert ((copy / "a.txt").read_text(), await missing()) == ("2\n", 2)
    assert await ann.git("show", "HEAD~2:a.txt", cwd=copy) == "0\n"
    assert await missing() == 1


async def test_a_mirror_has_every_ref_and_makes_another_one_the_same(ann, app, tmp_path):
    for command in (
        ("tag", "v1"),
        ("tag", "-a", "v2", "-m", "two", "HEAD~1"),
        ("branch", "topic", "HEAD~1"),
        ("notes", "add", "-m", "a note"),
    ):
        await git(*command, cwd=app.work)
    await ann.git("push", "-q", "origin", "--tags", "topic", "refs/notes/*:refs/notes/*", cwd=app.work)
    copy = tmp_path / "copy.git"
    await ann.git("clone", "-q", "--mirror", app.url, copy, cwd=tmp_path)
    await git("fsck", "--full", "--strict", cwd=copy)
    expected = await refs(app.work)
    assert expected.keys() == {"refs/heads/main", "refs/heads/topic", "refs/tags/v1", "refs/tags/v2"}
    assert await refs(copy) == expected
    other = await ann.create("other")
    expected["refs/notes/commits"] = await tip(app.work, "refs/notes/commits")
    await ann.git("push", "-q", "--mirror", ann.url(other), cwd=copy)
    assert await ann.refs(other) == expected
    await git("branch", "-q", "-D", "topic", cwd=copy)
    del expected["refs/heads/topic"]
    await ann.git("push", "-q", "--mirror", ann.url(other), cwd=copy)
    assert await ann.refs(other) == expected


async def test_a_commit_of_a_deleted_branch_is_not_fetched_by_its_id(ann, app, tmp_path):
    hidden = await commit_file(app.work, "hidden.txt", b"a password\n", "Add a password")
    await ann.git("push", "-q", "origin", "HEAD:refs/heads/mistake", cwd=app.work)
    await ann.git("push", "-q", "origin", ":refs/heads/mistake", cwd=app.work)
    copy = tmp_path / "copy.git"
    await git("init", "-q", "--bare", copy)
    for version in (0, 1, 2):
        fetch = ("-c", f"protocol.version={version}", "fetch", "-q", app.url)
        assert hidden in await ann.refusal(*fetch, hidden, cwd=copy)
    await ann.git(*fetch, app.commits[0], cwd=copy)
    assert await tip(copy, "FETCH_HEAD") == app.commits[0]


async def test_a_former_name_leads_to_the_repository(ann, app, tmp_path):
    await ann.call("PATCH", app.path, {"name": "renamed"})
    copy = tmp_path / "copy"
    await ann.git("clone", "-q", app.url, copy, cwd=tmp_path)
    new = await commit_file(copy, "b.txt", b"new\n", "Add b")
    await ann.git("push", "-q", "origin", "main", cwd=copy)
    renamed = await ann.call("GET", f"repos/{ann.login}/renamed")
    assert ann.url(renamed) != app.url
    assert await ann.refs(renamed) == {"refs/heads/main": new}


@pytest.mark.parametrize("transport", ["ssh"], indirect=True)
async def test_an_archive_has_the_files_of_a_branch_or_tag_and_nothing_by_its_id(ann, app, tmp_path):
    await ann.git("push", "-q", "origin", "HEAD~1:refs/tags/v1", cwd=app.work)
    for name, text in (("main", "2\n"), ("v1", "1\n")):
        archive = tmp_path / f"{name}.tar"
        await ann.git("archive", f"--remote={app.url}", "--format=tar", "-o", archive, name, cwd=tmp_path)
        with tarfile.open(archive) as files:
            (member,) = files.getmembers()
            assert (member.name, files.extractfile(member).read().decode()) == ("a.txt", text)
    for name in (app.commits[0], "refs/scratch/x"):
        assert "no such ref" in await ann.refusal("archive", f"--remote={app.url}", name, cwd=tmp_path)
