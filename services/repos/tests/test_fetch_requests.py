"""What may be fetched: what a visible ref leads to, in every protocol and over both transports, and nothing else."""

import os
import shutil

import pytest

from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_repos.core.ssh_sessions import KEY_HEADER
from ingot_repos.git.errors import BodyRefused
from ingot_repos.git.fetch_requests import WantRefused, checked
from ingot_repos.git.refs import ZERO_OID, RefChange, update_refs
from ingot_repos.git.smart_http import pkt_line

from .ssh_world import Client, Key, ssh_before
from .world import REPOS_KEY, commit, git, work_tree

MEMORY = 512 * 1024 * 1024
LIMITED_GIT = """#!/bin/sh
# The limit is set once the process has started.
for _ in $(seq 500); do [ "$(ulimit -d)" = unlimited ] || break; sleep 0.01; done
[ "${{1#--git-dir}}" = "$1" ] && verb=$1 || verb=$2
echo "$verb $(ulimit -d)" >>{log}
exec {real} "$@"
"""


@pytest.fixture
async def history(world, ann, git_url, tmp_path):
    """ann/app with two commits on master, and one that was on a branch; ids by name, and the URL."""
    created = await ann.create("app")
    work = await work_tree(tmp_path)
    url = f"{git_url}/ann/app.git"
    ids = {"first": await commit(work, "a.txt", "one\n")}
    await commit(work, "a.txt", "two\n")
    await git("push", "-q", url, "master", cwd=work, person=ann)
    await git("checkout", "-q", "-b", "topic", cwd=work)
    ids["gone"] = await commit(work, "secret.txt", "secret\n")
    await git("push", "-q", url, "topic", cwd=work, person=ann)
    await git("push", "-q", url, ":topic", cwd=work, person=ann)
    for name, spec in {
        "old blob": "master~1:a.txt",
        "old tree": "master~1^{tree}",
        "new blob": "master:a.txt",
    }.items():
        ids[name] = (await git("rev-parse", spec, cwd=work)).strip()
    for name, spec in {"gone blob": "topic:secret.txt", "gone tree": "topic^{tree}"}.items():
        ids[name] = (await git("rev-parse", spec, cwd=work)).strip()
    return url, ids, world.components.storage.path(created["id"])


async def fetch(folder, url, oid, person, *, version=2, name="fetched"):
    """Exit code and output of a fetch of one object by its id, into an empty repository."""
    empty = folder / name
    if not empty.exists():
        await git("init", "-q", "--bare", str(empty), cwd=folder)
    protocol = ("-c", f"protocol.version={version}")
    return await git(*protocol, "fetch", "-q", url, oid, cwd=empty, person=person, check=False)


@pytest.mark.parametrize("version", [0, 2])
async def test_a_commit_of_a_deleted_branch_is_refused_until_a_pull_request_needs_it(
    history, ann, tmp_path, version
):
    url, ids, path = history
    code, said = await fetch(tmp_path, url, ids["gone"], ann, version=version)
    assert (code, ids["gone"] in said) == (128, True), said
    update_refs(path, [RefChange("refs/scratch/x", ZERO_OID, ids["gone"])])
    assert (await fetch(tmp_path, url, ids["gone"], ann, version=version))[0] == 128
    update_refs(path, [RefChange("refs/pull/1/head", ZERO_OID, ids["gone"])])
    code, said = await fetch(tmp_path, url, ids["gone"], ann, version=version)
    assert code == 0, said


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("settings", [{"max_git_memory_bytes": MEMORY}])
async def test_every_git_that_a_client_starts_has_a_limit_of_memory(
    world, history, ann, tmp_path, monkeypatch
):
    _, ids, _ = history
    log, real, folder = tmp_path / "limits", shutil.which("git"), tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(LIMITED_GIT.format(log=log, real=real))
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    key = Key(tmp_path, "ann").public.fingerprint
    world.identity.ssh_keys[key] = (1, "laptop")

    async def answer_of(method, path, *lines, **headers):
        body = b"".join(line if line in (b"0000", b"0001") else pkt_line(line) for line in lines)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await ann.call(method, path, content=body, headers=headers)
        assert answer.status_code < 300, answer.text
        return answer.content

    assert b"refs/heads/master" in await answer_of("GET", "/ann/app.git/info/refs?service=git-upload-pack")
    for name in ("first", "old blob"):
        want = b"want %b\n" % ids[name].encode()
        lines = (b"command=fetch", b"0001", want, b"done\n", b"0000")
        content_type = "application/x-git-upload-pack-request"
        target = "/ann/app.git/git-upload-pack"
        answer = await answer_of("POST", target, *lines, git_protocol="version=2", content_type=content_type)
        assert b"packfile" in answer
    signed = {SERVICE_HEADER.replace("-", "_"): ServiceIdentity("repos", REPOS_KEY).token("repos")}
    target, key_of = "/internal/ssh/ann/app/git-upload-archive", {KEY_HEADER.replace("-", "_"): key}
    answer = await answer_of("POST", target, b"argument master\n", b"0000", **signed, **key_of)
    assert b"a.txt" in answer
    limits = [line.split() for line in log.read_text().splitlines()]
    assert sorted(verb for verb, _ in limits) == ["rev-list"] * 2 + ["upload-archive"] + ["upload-pack"] * 3
    assert {int(limit) * 1024 for _, limit in limits} == {MEMORY}


@pytest.mark.parametrize("version", [0, 2])
async def test_it_is_refused_over_ssh_as_well(world, history, ann, tmp_path, version):
    _, ids, _ = history
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    await git("init", "-q", "--bare", "empty", cwd=tmp_path)
    async with ssh_before(world) as port:
        client = Client(tmp_path, port, key)
        url = client.url("ann/app")
        code, said = await client.git(
            "fetch", "-q", url, ids["gone"], cwd=tmp_path / "empty", protocol=version
        )
        assert (code != 0, ids["gone"] in said) == (True, True), said
        code, said = await client.git("fetch", "-q", url, "master", cwd=tmp_path / "empty", protocol=version)
        assert code == 0, said


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("prefix", ["", "combine:blob:none+"])
async def test_no_filter_reads_a_file(history, ann, tmp_path, prefix, version):
    """Its lines would be patterns of paths: which paths are sent would show what is in it."""
    url, ids, path = history
    update_refs(path, [RefChange("refs/scratch/x", ZERO_OID, ids["gone"])])
    for name in (ids["gone blob"], "refs/scratch/x:secret.txt", "refs/heads/master:a.txt"):
        options = ("-c", f"protocol.version={version}", "clone", "-q", "--bare")
        code, said = await git(
            *options,
            f"--filter={prefix}sparse:oid={name}",
            url,
            "part",
            cwd=tmp_path,
            person=ann,
            check=False,
        )
        assert (code, "filter 'sparse:oid' not supported" in said) == (128, True), said


@pytest.mark.parametrize("name", ["first", "old blob", "old tree", "new blob"])
async def test_what_a_branch_leads_to_is_fetched_by_its_id(history, ann, tmp_path, name):
    url, ids, _ = history
    code, said = await fetch(tmp_path, url, ids[name], ann)
    assert code == 0, said


@pytest.mark.parametrize("name", ["gone blob", "gone tree"])
async def test_files_of_a_deleted_branch_are_refused(history, ann, tmp_path, name):
    url, ids, _ = history
    code, said = await fetch(tmp_path, url, ids[name], ann)
    assert (code, f"not our ref {ids[name]}" in said) == (128, True), said
    code, said = await fetch(tmp_path, url, "0123456789" * 4, ann)
    assert (code, "not our ref" in said) == (128, True), said


async def test_a_clone_without_files_gets_them_when_they_are_needed(history, ann, tmp_path):
    url, _, _ = history
    await git("clone", "-q", "--filter=blob:none", url, "part", cwd=tmp_path, person=ann)
    assert (tmp_path / "part" / "a.txt").read_text() == "two\n"
    assert await git("show", "HEAD~1:a.txt", cwd=tmp_path / "part", person=ann) == "one\n"


ABSENT = "0123456789" * 4
UPLOAD_PACK = {"content-type": "application/x-git-upload-pack-request"}


def packets(*lines):
    return b"".join(
        line.encode() if line in ("0000", "0001") else pkt_line(f"{line}\n".encode()) for line in lines
    )


async def answer_of_git(person, version, body):
    """The status, the packets and the pack: git sends the latter in parts of any size."""
    headers = person.headers() | UPLOAD_PACK | {"git-protocol": f"version={version}"}
    answer = await person.world.http.post("/ann/app.git/git-upload-pack", content=body, headers=headers)
    lines, pack, rest = [], b"", answer.content
    while rest:
        size = max(4, int(rest[:4], 16))
        line, rest = rest[4:size], rest[size:]
        if line[:1] == b"\1":
            pack += line[1:]
        elif line[:1] != b"\2":
            lines.append(line)
    return answer.status_code, lines, pack


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_nothing_is_said_about_a_hidden_object(history, ann):
    _, ids, _ = history

    async def answer(oid):
        body = packets("command=object-info", "0001", "size", f"oid {oid}", "0000")
        status, lines, _ = await answer_of_git(ann, 2, body)
        return status, [line.replace(oid.encode(), b"") for line in lines]

    absent = await answer(ABSENT)
    for kind in ("gone", "gone blob", "gone tree"):
        assert await answer(ids[kind]) == absent, kind
    assert await answer(ids["new blob"]) != absent


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("behind", ["zz", "0", "_", " x", "\0x"])
async def test_no_spelling_of_a_want_passes_the_check(history, ann, behind):
    _, ids, _ = history
    for kind in ("gone", "gone blob", "gone tree"):
        body = packets("command=fetch", "0001", f"want {ids[kind]}{behind}", "done", "0000")
        status, lines, pack = await answer_of_git(ann, 2, body)
        assert (status, lines, pack) == (200, [f"ERR upload-pack: not our ref {ids[kind]}".encode()], b"")


@pytest.mark.parametrize(
    "protocol", ["version=2", "version=1:version=2", "version=2:x=y", "version=0:version=2"]
)
async def test_no_spelling_of_the_protocol_passes_the_check(world, history, ann, protocol):
    _, ids, _ = history
    lines = ["command=fetch", "0001", f"want {ids['gone']}\n", "done\n"]
    body = "".join(line if line == "0001" else f"{len(line) + 4:04x}{line}" for line in lines) + "0000"
    headers = {"git-protocol": protocol, "content-type": "application/x-git-upload-pack-request"}
    answer = await ann.world.http.post(
        "/ann/app.git/git-upload-pack", content=body, headers=ann.headers() | headers
    )
    assert b"not our ref" in answer.content
    assert b"packfile" not in answer.content


async def parts(*chunks):
    for chunk in chunks:
        yield chunk


WANT = b"0032want " + b"a" * 40 + b"\n"


async def test_requests_pass_unchanged_whatever_their_parts(history):
    request = b"0012command=fetch\n0001" + WANT + b"0000"
    wants = []

    async def note(oids):
        wants.append(oids)

    whole = request + request + b"0000"
    for size in (1, 7, len(whole)):
        chunks = [whole[start : start + size] for start in range(0, len(whole), size)]
        assert b"".join([part async for part in checked(parts(*chunks), note)]) == whole
    assert wants == [{"a" * 40}] * 6


@pytest.mark.parametrize("end", [b"", b"0000", b"0001"])
async def test_a_refused_request_never_reaches_git(end):
    async def refuse(oids):
        return oids.pop()

    with pytest.raises(WantRefused):
        await anext(checked(parts(WANT + end), refuse))


@pytest.mark.parametrize("body", [b"zzzz", b"0003", b"want x"])
async def test_what_is_no_packet_is_refused(body):
    async def nothing(_oids):
        return None

    with pytest.raises(BodyRefused):
        await anext(checked(parts(body), nothing))
