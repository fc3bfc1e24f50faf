"""LFS through the gateway: its protocol over HTTP, and the real git-lfs, built by Go as ``git_lfs/go.mod``
pins it.

A cluster keeps the objects in S3-compatible storage.
"""

import hashlib
import os
import re
from pathlib import Path

import pytest
from tests.e2e.deployments import ADMINISTRATOR
from tests.e2e.go_modules import go, require_modules
from tests.e2e.history import ENVIRONMENT, git

from .people import PASSWORD

LARGE = bytes(range(256)) * 20_000
MEDIA_TYPE = "application/vnd.git-lfs+json"
FILTER = {
    "filter.lfs.smudge": "git-lfs smudge -- %f",
    "filter.lfs.process": "git-lfs filter-process",
    "filter.lfs.required": "true",
}
MODULE = Path(__file__).parent / "git_lfs"
PACKAGE = "github.com/git-lfs/git-lfs/v3"
TOOLS = Path(__file__).parents[3] / ".tools"
pytestmark = pytest.mark.both_deployments
over_http = pytest.mark.parametrize("transport", ["http"], indirect=True)


@pytest.fixture(scope="session")
def program():
    """git-lfs, which is built once for each version."""
    version = re.search(rf"{PACKAGE} (\S+)", (MODULE / "go.mod").read_text())[1]
    program = TOOLS / f"git-lfs-{version}" / "git-lfs"
    if not program.exists():
        require_modules(MODULE, "git-lfs")
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_name(f"{os.getpid()}")
        built = go(MODULE, "build", "-buildvcs=false", "-ldflags=-s -w", "-o", str(partial), PACKAGE)
        assert built.returncode == 0, built.stderr
        partial.rename(program)
    return program


@pytest.fixture
def git_lfs(program, monkeypatch):
    """git finds git-lfs."""
    monkeypatch.setitem(ENVIRONMENT, "PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


@over_http
async def test_an_object_comes_and_goes_by_the_protocol(deployment, people, ann):
    http, auth = people.http, (ann.login, PASSWORD)
    await ann.create("files", private=True)
    root = f"{deployment.url}{ann.login}/files.git/info/lfs"
    oid = hashlib.sha256(LARGE).hexdigest()
    body = {"operation": "upload", "objects": [{"oid": oid, "size": len(LARGE)}]}
    refused = await http.post(f"{root}/objects/batch", json=body)
    assert (refused.status_code, refused.headers["content-type"]) == (401, MEDIA_TYPE)
    assert refused.headers["lfs-authenticate"].startswith("Basic")
    answer = await http.post(f"{root}/objects/batch", json=body, auth=auth)
    actions = answer.json()["objects"][0]["actions"]
    # Their headers are enough: git-lfs would be refused once without them.
    upload, verify = actions["upload"], actions["verify"]
    only = {"Authorization": upload["header"]["Authorization"]}
    sent = await http.put(upload["href"], content=LARGE, headers=only)
    assert sent.status_code == 200, sent.text
    verified = await http.post(verify["href"], json=body["objects"][0], headers=verify["header"])
    assert verified.status_code == 200, verified.text
    body["operation"] = "download"
    answer = await http.post(f"{root}/objects/batch", json=body, auth=auth)
    href = answer.json()["objects"][0]["actions"]["download"]["href"]
    assert (await http.get(href, auth=auth)).content == LARGE
    part = await http.get(href, auth=auth, headers={"Range": "bytes=1000-"})
    assert (part.status_code, part.content) == (206, LARGE[1000:])
    assert (await http.get(href)).status_code == 401
    locked = await http.post(f"{root}/locks", json={"path": "a.bin"}, auth=auth)
    assert (locked.status_code, locked.headers["content-type"]) == (201, MEDIA_TYPE)


@pytest.mark.usefixtures("git_lfs")
async def test_git_lfs_pushes_clones_locks_and_migrates(ann, tmp_path):
    url = ann.url(await ann.create("files", private=True))
    work = await work_tree(tmp_path / "work", 3)
    await ann.git("push", "-q", url, "main", cwd=work)

    back = await clone(ann, url, tmp_path / "back")
    assert [(back / f"{n}.bin").read_bytes() for n in range(3)] == [LARGE + b"%d" % n for n in range(3)]
    await git("lfs", "fsck", cwd=back)

    await ann.git("lfs", "lock", "0.bin", cwd=back)
    assert "0.bin" in await ann.git("lfs", "locks", cwd=back)
    await ann.git("lfs", "unlock", "0.bin", cwd=back)
    assert "0.bin" not in await ann.git("lfs", "locks", cwd=back)

    (back / "old.dat").write_bytes(LARGE[::-1])
    await git("add", "old.dat", cwd=back)
    await git("commit", "-q", "-m", "a large file in git", cwd=back)
    await ann.git("push", "-q", "origin", "main", cwd=back)
    await ann.git("lfs", "migrate", "import", "--include=*.dat", "--yes", "--everything", cwd=back)
    await ann.git("push", "-q", "--force", "origin", "main", cwd=back)
    await ann.git("lfs", "push", "--all", url, cwd=back)
    migrated = await clone(ann, url, tmp_path / "migrated")
    assert (migrated / "old.dat").read_bytes() == LARGE[::-1]
    assert "old.dat" in await git("lfs", "ls-files", cwd=migrated)


@pytest.mark.usefixtures("git_lfs")
async def test_git_lfs_sends_each_object_once_and_asks_for_no_second_password(ann, tmp_path):
    url = ann.url(await ann.create("files", private=True))
    work, trace = await work_tree(tmp_path / "work", 3), tmp_path / "trace"
    await ann.git("push", "-q", url, "main", cwd=work, GIT_TRACE=str(trace))
    lines = re.findall(r"HTTP: (?:PUT \S+|\d+)|creds: git credential fill", trace.read_text())
    sent = [line for line in lines if line.startswith("HTTP: PUT ")]
    assert len(sent) == len(set(sent)) == 3
    assert "HTTP: 401" not in lines[lines.index(sent[0]) :]
    if ann.transport == "ssh":
        assert not {"HTTP: 401", "creds: git credential fill"} & set(lines)


@pytest.mark.usefixtures("git_lfs")
async def test_git_lfs_pushes_nothing_over_the_lock_of_another(ann, bob, tmp_path):
    repository = await ann.create("files", private=True)
    await ann.call("PUT", f"repos/{ann.login}/files/collaborators/{bob.login}", {"permission": "write"})
    work = await work_tree(tmp_path / "work", 1)
    await git("remote", "add", "origin", ann.url(repository), cwd=work)
    await ann.git("push", "-q", "origin", "main", cwd=work)
    await ann.git("lfs", "lock", "0.bin", cwd=work)

    other = await clone(bob, bob.url(repository), tmp_path / "other")
    await git("config", "lfs.locksverify", "true", cwd=other)
    (other / "0.bin").chmod(0o644)
    (other / "0.bin").write_bytes(b"mine")
    await git("commit", "-q", "-a", "-m", "over a lock", cwd=other)
    assert "Cannot update locked files" in await bob.refusal("push", "origin", "main", cwd=other)
    assert "has locked the file" in await bob.refusal("lfs", "unlock", "0.bin", cwd=other)
    await bob.git("lfs", "unlock", "--force", "0.bin", cwd=other)
    await bob.git("push", "-q", "origin", "main", cwd=other)


@pytest.mark.usefixtures("git_lfs")
async def test_a_reader_downloads_large_files_and_uploads_none(ann, bob, tmp_path):
    repository = await ann.create("files")
    work = await work_tree(tmp_path / "work", 1)
    await ann.git("push", "-q", ann.url(repository), "main", cwd=work)
    back = await clone(bob, bob.url(repository), tmp_path / "back")
    assert (back / "0.bin").read_bytes() == LARGE + b"0"
    (back / "1.bin").write_bytes(b"of a reader")
    await git("add", "1.bin", cwd=back)
    await git("commit", "-q", "-m", "a large file of a reader", cwd=back)
    assert "needs write access to the repository" in await bob.refusal("push", "origin", "main", cwd=back)


@over_http
@pytest.mark.usefixtures("git_lfs")
async def test_a_fork_and_a_transfer_have_the_large_files(people, ann, bob, tmp_path):
    repository = await ann.create("files")
    work = await work_tree(tmp_path / "work", 1)
    await ann.git("push", "-q", ann.url(repository), "main", cwd=work)
    fork = await bob.fork(f"repos/{ann.login}/files")
    carol = await people.add("carol")
    body = {"new_owner": carol.login}
    moved = await people.http.post(f"repos/{ann.login}/files/transfer", json=body, auth=ADMINISTRATOR)
    assert moved.is_success, moved.text
    copy = await clone(carol, carol.url(moved.json()), tmp_path / "moved")
    assert (copy / "0.bin").read_bytes() == LARGE + b"0"
    await carol.call("DELETE", f"repos/{carol.login}/files")
    copy = await clone(bob, bob.url(fork), tmp_path / "fork")
    assert (copy / "0.bin").read_bytes() == LARGE + b"0"


async def work_tree(folder, count):
    """A work tree with so many large files in its commit."""
    await git("init", "-q", "-b", "main", folder)
    await git("lfs", "install", "--local", cwd=folder)
    await git("lfs", "track", "--lockable", "*.bin", cwd=folder)
    for number in range(count):
        (folder / f"{number}.bin").write_bytes(LARGE + b"%d" % number)
    await git("add", ".", cwd=folder)
    await git("commit", "-q", "-m", "large files", cwd=folder)
    return folder


async def clone(person, url, folder):
    """A clone whose large files are fetched by git-lfs."""
    options = [part for key, value in FILTER.items() for part in ("-c", f"{key}={value}")]
    await person.git(*options, "clone", "-q", url, folder, cwd=folder.parent)
    await git("lfs", "install", "--local", cwd=folder)
    return folder
