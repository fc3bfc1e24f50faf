"""git over SSH, from a key of a user to a pull request that a push opens, with the real git and ssh."""

import asyncio
import re
import secrets
import shlex
import shutil

import asyncssh
import httpx
import pytest

from .deployments import ADMINISTRATOR
from .history import ENVIRONMENT, commit_file, git

PASSWORD = "what they know"
needs_ssh = pytest.mark.skipif(not shutil.which("ssh"), reason="ssh is not installed")


@pytest.fixture
async def api(deployment):
    async with httpx.AsyncClient(base_url=f"{deployment.url}api/v1/", timeout=60) as http:
        yield http


async def person(api, folder, name):
    """A new user: the credential for requests, and how git calls ssh with a key of that user."""
    login = f"{name}-{secrets.token_hex(3)}"
    new = {"username": login, "email": f"{login}@example.org", "password": PASSWORD}
    assert (await api.post("admin/users", json=new, auth=ADMINISTRATOR)).status_code == 201
    key, file = asyncssh.generate_private_key("ssh-ed25519"), folder / login
    file.write_bytes(key.export_private_key())
    file.chmod(0o600)
    body = {"title": "laptop", "key": key.export_public_key().decode()}
    assert (await api.post("user/keys", json=body, auth=(login, PASSWORD))).status_code == 201
    options = ("-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=accept-new")
    # The SSH server of a cluster is about to start.
    hosts = ("-o", f"UserKnownHostsFile={folder}/hosts", "-o", "ConnectionAttempts=60")
    return (login, PASSWORD), shlex.join(["ssh", "-F", "none", "-i", str(file), *options, *hosts])


async def git_by_key(command, *arguments, cwd):
    """All that git prints."""
    process = await asyncio.create_subprocess_exec(
        "git", *map(str, arguments), cwd=cwd, env={**ENVIRONMENT, "GIT_SSH_COMMAND": command},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    return said.decode()


@needs_ssh
async def test_a_key_pushes_clones_and_proposes(deployment, api, tmp_path):
    deployment.serve_ssh()
    (ann, ann_key), (bob, bob_key) = [await person(api, tmp_path, name) for name in ("ann", "bob")]
    created = (await api.post("user/repos", json={"name": "app", "default_branch": "main"}, auth=ann)).json()
    work = tmp_path / "work"
    work.mkdir()
    await git("init", "-q", "-b", "main", cwd=work)
    await commit_file(work, "a.txt", b"one\n", "first")
    await git_by_key(ann_key, "push", "-q", created["ssh_url"], "main", cwd=work)
    await git_by_key(bob_key, "clone", "-q", created["ssh_url"], "clone", cwd=tmp_path)
    clone = tmp_path / "clone"
    await commit_file(clone, "b.txt", b"two\n", "Add b")
    said = await git_by_key(bob_key, "push", "origin", "HEAD:refs/for/main/more", cwd=clone)
    address = re.search(r"Pull request: (\S+)", said)
    assert address is not None, said
    assert address[1] == f"{deployment.url}{ann[0]}/app/pulls/1"
    await commit_file(clone, "c.txt", b"three\n", "Add c")
    options = ("-o", "title=Two files", "-o", "topic=more")
    assert address[0] in await git_by_key(
        bob_key, "push", *options, "origin", "HEAD:refs/for/main", cwd=clone
    )
    pull = (await api.get(f"repos/{ann[0]}/app/pulls/1", auth=ann)).json()
    assert (pull["title"], pull["user"]["login"]) == ("Two files", bob[0])
    assert pull["head"]["sha"] == (await git("rev-parse", "HEAD", cwd=clone)).strip()
    merged = await api.post(f"repos/{ann[0]}/app/pulls/1/merge", json={"Do": "merge"}, auth=ann)
    assert merged.status_code == 200, merged.text
    await git_by_key(ann_key, "pull", "-q", created["ssh_url"], "main", cwd=work)
    assert (work / "c.txt").read_text() == "three\n"
