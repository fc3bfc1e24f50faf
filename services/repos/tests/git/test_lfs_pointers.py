"""Pointers of LFS: what is one, and what stands for it where files are read."""

import base64
import time

import pytest

from ingot_git.history.lfs_pointers import Pointer, pointers_between, read_pointer
from ingot_git.testing.builders import commit_of_tree, million_files

from ..lfs_client import FILE, ask, download, oid_of, path, pointer_of, put, upload
from ..world import commit, git, work_tree

OID = "a" * 64
HEAD = b"version https://git-lfs.github.com/spec/v1\n"
WHOLE = HEAD + b"oid sha256:" + OID.encode() + b"\nsize 12\n"


@pytest.mark.parametrize(
    "data",
    [
        WHOLE,
        WHOLE[:-1],
        WHOLE.replace(b"oid", b"ext-0-case sha256:b\noid"),
        WHOLE.replace(b"\n", b"\r\n"),
        b"\n" + WHOLE + b"\n \n",
        WHOLE.replace(b"aaaa", b"AAAA"),
        WHOLE.replace(b"https://git-lfs.github.com/spec/v1", b"http://git-media.io/v/2"),
    ],
)
def test_a_pointer_is_read_as_git_lfs_reads_it(data):
    assert read_pointer(data) == Pointer(OID, 12)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"text\n",
        HEAD,
        WHOLE.replace(b"size 12", b"size -1"),
        WHOLE.replace(b"size 12", b"size 1e3"),
        WHOLE.replace(b"size 12", b"size " + b"9" * 30),
        WHOLE.replace(b"aaaa", b"aaa", 1),
        WHOLE.replace(b"sha256", b"sha512"),
        WHOLE.replace(b"git-lfs.github.com", b"example.org"),
        WHOLE + b"more\n",
        WHOLE + b"\n" * 2000,
        b"\xff" * 500,
    ],
)
def test_another_file_is_no_pointer(data):
    assert read_pointer(data) is None


@pytest.fixture
async def app(ann, git_url, tmp_path):
    """ann/app with a pointer to FILE as large.txt, and one to a file that was never uploaded."""
    created = await ann.create("app", private=True)
    work = await work_tree(tmp_path)
    await commit(work, "plain.txt", "plain\n")
    await commit(work, "large.txt", pointer_of(FILE))
    await commit(work, "lost.txt", pointer_of(b"lost"))
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    await upload(ann)
    return created["id"]


@pytest.mark.parametrize("kind", ["raw", "media"])
async def test_a_pointer_gives_the_large_file(ann, app, kind):
    url = f"/repos/ann/app/{kind}/large.txt"
    answer = await ann.get(url)
    assert (answer.status_code, answer.content) == (200, FILE)
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["content-disposition"].startswith('inline; filename="large.txt"')
    assert answer.headers["cache-control"].startswith("private")
    part = await ann.call("GET", f"/api/v1{url}", headers={"Range": "bytes=5-9"})
    assert (part.status_code, part.content) == (206, FILE[5:10])
    unchanged = await ann.call("GET", f"/api/v1{url}", headers={"If-None-Match": answer.headers["etag"]})
    assert unchanged.status_code == 304
    assert (await ann.get(f"/repos/ann/app/{kind}/lost.txt")).text == pointer_of(b"lost")
    assert (await ann.get(f"/repos/ann/app/{kind}/plain.txt")).text == "plain\n"


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_without_lfs_a_pointer_is_a_file_like_others_and_nothing_is_served(world, ann, bob, app):
    world.settings.lfs_enabled = False
    assert (await ann.get("/repos/ann/app/media/large.txt")).text == pointer_of(FILE)
    for person in (ann, bob):
        refused = [
            await ask(person, "download", FILE),
            await ask(person, "upload", FILE),
            await download(person),
            await put(person, FILE),
            await person.call("POST", f"{path()}/locks/verify", {}),
        ]
        assert [answer.status_code for answer in refused] == [404] * 5
        assert "switched off" in refused[0].json()["message"]
    world.settings.lfs_enabled = True
    assert (await download(ann)).content == FILE


async def test_a_large_file_is_never_a_page(ann, app, git_url, tmp_path):
    page = b"\0<script>alert(1)</script>"
    await upload(ann, page)
    work = tmp_path / "work"
    await commit(work, "page.html", pointer_of(page))
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    answer = await ann.get("/repos/ann/app/media/page.html")
    assert (answer.content, answer.headers["content-type"]) == (page, "application/octet-stream")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["content-security-policy"]


async def test_contents_and_blobs_name_the_large_file(ann, app):
    large = {"lfs_oid": oid_of(FILE), "lfs_size": len(FILE)}
    shown = (await ann.get("/repos/ann/app/contents/large.txt")).json()
    assert shown.items() >= large.items()
    assert base64.b64decode(shown["content"]).decode() == pointer_of(FILE)
    blob = (await ann.get(f"/repos/ann/app/git/blobs/{shown['sha']}")).json()
    assert blob.items() >= large.items()
    extended = await ann.get("/repos/ann/app/contents-ext/large.txt?includes=lfs_metadata")
    file = extended.json()["file_contents"]
    assert file.items() >= large.items()
    assert file["content"] is None
    plain = (await ann.get("/repos/ann/app/contents/plain.txt")).json()
    assert not large.keys() & plain.keys()


async def test_the_pointers_of_new_commits_are_found(world, ann, app, tmp_path):
    work = tmp_path / "work"
    ids = (await git("rev-list", "--reverse", "master", cwd=work)).split()
    call = world.components.storage.call
    for base, expected in (
        ("", {FILE, b"lost"}),
        (ids[0], {FILE, b"lost"}),
        (ids[1], {b"lost"}),
        (ids[2], set()),
    ):
        oids = await call(app, pointers_between, base, ids[2], most_commits=100)
        assert oids == {oid_of(one) for one in expected}
    assert await call(app, pointers_between, "", ids[2], most_commits=1) == {oid_of(b"lost")}


async def test_a_few_objects_that_hold_a_million_files_are_read_once(world, app):
    repo = world.components.storage.open(app)
    base = commit_of_tree(repo, million_files(repo, b"before\n"))
    head = commit_of_tree(repo, million_files(repo, WHOLE), [base])
    began = time.thread_time()
    assert pointers_between(repo, base, head, most_commits=10) == {OID}
    assert time.thread_time() - began < 0.2
