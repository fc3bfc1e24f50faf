"""Hidden objects and refs get the same answers as missing ones, for anything that a client claims to have."""

import itertools

import pytest

from ingot_git.protocol import fetch_requests
from ingot_git.protocol.smart_http import pkt_line
from ingot_git.refs.refs import ZERO_OID, RefChange, update_refs
from ingot_repos.transport.rules import fetches as git_fetches

from ..ssh_world import Client, Key, ssh_before
from ..world import commit, git
from .test_fetch_requests import NOWHERE, session, upload_pack

NEGOTIATIONS = {
    "have": ((), ("have {oid}",)),
    "have, done": ((), ("have {oid}", "done")),
    "have with more behind it": ((), ("have {oid}zz", "done")),
    "have in capitals": ((), ("have {OID}", "done")),
    "among others": ((), ("have {first}", "have {oid}")),
    "before others, done": ((), ("have {oid}", "have {first}", "done")),
    "after an answer": ((), ("have {first}", "0000", "have {oid}", "done")),
    "shallow": (("shallow {oid}",), ("done",)),
    "shallow and have": (("shallow {oid}",), ("have {oid}", "done")),
    "shallow, deepen": (("shallow {oid}", "deepen 1"), ("have {first}", "done")),
    "shallow, deepen all": (("shallow {oid}", "deepen 9"), ("have {first}", "done")),
}
"""The claims of a client about its history, before and after the first flush of protocol 0."""
CAPABILITIES = "multi_ack_detailed side-band-64k ofs-delta no-progress shallow deepen-not agent=git/2"
BOTH_BACKENDS_READ_ALIKE = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
PROTOCOLS = pytest.mark.parametrize("version", [0, 1, 2])


def packets(*lines):
    return b"".join(
        line.encode() if line in ("0000", "0001") else pkt_line(f"{line}\n".encode()) for line in lines
    )


async def answer_of_git(send, person, version, body):
    """The status, the packets and the pack: git sends the latter in parts of any size."""
    answer = await send(person, body, protocol=f"version={version}")
    lines, pack, rest = [], b"", answer.content
    while rest and answer.status_code == 200:
        size = max(4, int(rest[:4], 16))
        line, rest = rest[4:size], rest[size:]
        if line[:1] == b"\1":
            pack += line[1:]
        elif line[:1] != b"\2":
            lines.append(line)
    return answer.status_code, lines, pack


async def ask(send, person, version, tip, before, behind):
    """Return git's answer to a client that wants the tip."""
    if version == 2:
        lines = [line for line in (*before, *behind) if line != "0000"]
        body = packets("command=fetch", "0001", f"want {tip}", "no-progress", *lines, "0000")
    else:
        end = () if behind[-1] == "done" else ("0000", "done")
        body = packets(f"want {tip} {CAPABILITIES}", *before, "0000", *behind, *end)
    return await answer_of_git(send, person, version, body)


@pytest.fixture
async def tip(history, tmp_path):
    return (await git("rev-parse", "master", cwd=tmp_path / "work")).strip()


async def commit_of_lost_history(path, ids, message):
    """Add a hidden commit with a missing parent."""
    text = await git("cat-file", "commit", ids["gone"], cwd=path)
    file = path.parent / "lost"
    file.write_text(text.replace("parent ", f"parent {NOWHERE}\nparent ", 1) + message)
    options = ("-t", "commit", "-w", "--literally", str(file))
    return (await git("hash-object", *options, cwd=path)).strip()


@BOTH_BACKENDS_READ_ALIKE
@PROTOCOLS
@pytest.mark.parametrize("send", [upload_pack, session])
async def test_what_is_hidden_is_answered_like_what_is_not_there(history, ann, tip, send, version):
    _, ids, path = history
    update_refs(path, [RefChange("refs/scratch/x", ZERO_OID, ids["gone"])])
    hidden = [ids["gone"], ids["gone blob"], ids["gone tree"]]

    async def negotiate(parts, oid):
        names = {"oid": oid, "OID": oid.upper(), "first": ids["first"]}
        return await ask(
            send, ann, version, tip, *([line.format(**names) for line in part] for part in parts)
        )

    for form, parts in NEGOTIATIONS.items():
        absent = await negotiate(parts, NOWHERE)
        assert (absent[0], bool(absent[1])) == (200, True), form
        for oid in (*hidden, await commit_of_lost_history(path, ids, form)):
            assert await negotiate(parts, oid) == absent, form
        if form.startswith("have"):
            assert await negotiate(parts, ids["first"]) != absent, form


@BOTH_BACKENDS_READ_ALIKE
@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("send", [upload_pack, session])
async def test_hidden_refs_are_like_those_that_are_not_there(history, ann, tip, send, version):
    _, ids, path = history
    update_refs(path, [RefChange("refs/scratch/x", ZERO_OID, ids["first"])])

    async def answer(line):
        return await ask(send, ann, version, tip, (line,), ("done",))

    for line in ("deepen-not refs/{}/x", "deepen-not {}/x", "deepen-not main-worktree/refs/{}/x"):
        assert await answer(line.format("scratch")) == await answer(line.format("nowhere")), line
    update_refs(path, [RefChange("refs/heads/scratch/x", ZERO_OID, ids["first"])])
    _, lines, pack = await answer("deepen-not scratch/x")  # the branch
    assert (any(line.startswith(b"shallow ") for line in lines), bool(pack)) == (True, True), lines


@BOTH_BACKENDS_READ_ALIKE
@PROTOCOLS
@pytest.mark.parametrize("settings", [{"git_concurrency": 1}])
async def test_thousands_of_haves_are_looked_for_at_once_in_the_room_of_git(
    world, history, ann, tip, version, git_log
):
    _, ids, path = history
    await git("commit-graph", "write", "--reachable", cwd=path)
    absent = [f"have {number:040x}" for number in range(1, 3000)]
    behind = [f"have {ids['first']}", f"have {ids['gone']}", *absent, "done"]

    def walks():
        return sum("rev-list" in line for line in git_log)

    world.components.admission.wait_seconds = 0.1
    async with world.components.admission.slot(99, signed_in=True):
        status, _, _ = await ask(upload_pack, ann, version, tip, (), behind)
        assert (status, walks()) == (503, 0)
    status, lines, pack = await ask(upload_pack, ann, version, tip, (), behind)
    assert (status, bool(pack), walks()) == (200, True, 1)
    if version != 2:
        assert any(ids["first"].encode() in line for line in lines)


@BOTH_BACKENDS_READ_ALIKE
@PROTOCOLS
@pytest.mark.parametrize("send", [upload_pack, session])
async def test_more_haves_than_are_looked_at_take_nothing_from_the_pack(
    history, ann, tip, send, version, monkeypatch
):
    _, ids, _ = history
    nobody = await ask(send, ann, version, tip, (), (f"have {NOWHERE}", "done"))
    have = f"have {ids['first']}"
    assert await ask(send, ann, version, tip, (), (f"have {NOWHERE}", have, "done")) != nobody
    monkeypatch.setattr(fetch_requests, "MOST_HAVES", 1)
    absent = f"have {NOWHERE[::-1]}"  # another request, so no answer is shared
    assert await ask(send, ann, version, tip, (), (absent, have, "done")) == nobody


@BOTH_BACKENDS_READ_ALIKE
async def test_a_long_session_goes_on_without_what_the_client_has(history, ann, tip, monkeypatch):
    _, ids, _ = history
    behind = (f"have {NOWHERE}", "0000", f"have {NOWHERE}", "0000", f"have {ids['first']}", "done")
    counts = []
    for most in (4, 3):
        monkeypatch.setattr(git_fetches, "MOST_REQUESTS", most)
        status, lines, pack = await ask(session, ann, 0, tip, (), behind)
        counts.append((status, int.from_bytes(pack[8:12])))
        assert any(ids["first"].encode() in line for line in lines) == (most == 4)
    assert counts == [(200, 3), (200, 6)]


class Fetcher:
    """The real git as the client, over one transport and with one protocol."""

    def __init__(self, world, person, url, port, folder, version):
        self._person, self._url, self._folder, self._version = person, url, folder, version
        self._client = None
        if port is not None:
            key = Key(folder, "ann")
            world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
            self._client = Client(folder, port, key)
            self._url = self._client.url("ann/app")

    async def git(self, *args, cwd):
        if self._client is None:
            options = ("-c", f"protocol.version={self._version}")
            return await git(*options, *args, cwd=cwd, person=self._person)
        code, said = await self._client.git(*args, cwd=cwd, protocol=self._version)
        assert code == 0, said
        return said

    async def clone(self, *options):
        await self.git("clone", "-q", *options, self._url, "clone", cwd=self._folder)
        return self._folder / "clone"

    async def fetch(self, clone, *options):
        """Return the number of received objects."""
        await git("config", "fetch.unpackLimit", "1", cwd=clone)
        before = await objects_in_packs(clone)
        await self.git("fetch", "-q", *options, "origin", "master", cwd=clone)
        return await objects_in_packs(clone) - before


async def objects_in_packs(clone):
    lines = (await git("count-objects", "-v", cwd=clone)).splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("in-pack:"))


@pytest.fixture(params=itertools.product(["http", "ssh"], [0, 1, 2]), ids=str)
async def fetcher(request, world, history, ann, tmp_path):
    transport, version = request.param
    if transport == "http":
        yield Fetcher(world, ann, history[0], None, tmp_path, version)
        return
    async with ssh_before(world) as port:
        yield Fetcher(world, ann, history[0], port, tmp_path, version)


async def push_another(history, person, tmp_path, text):
    """A new commit of master: three objects."""
    work = tmp_path / "work"
    await git("checkout", "-q", "master", cwd=work)
    oid = await commit(work, "a.txt", text)
    await git("push", "-q", history[0], "master", cwd=work, person=person)
    return oid


async def commit_alone(clone, count):
    for number in range(count):
        await git("commit", "-q", "--allow-empty", "-m", f"{number}", cwd=clone)


@BOTH_BACKENDS_READ_ALIKE
async def test_somebody_with_hidden_commits_and_own_ones_gets_only_what_is_new(
    history, ann, tmp_path, fetcher
):
    """After a forced push, for example: they have a commit without a branch, and commits of their own."""
    _, ids, path = history
    update_refs(path, [RefChange("refs/heads/topic", ZERO_OID, ids["gone"])])
    clone = await fetcher.clone()
    update_refs(path, [RefChange("refs/heads/topic", ids["gone"], ZERO_OID)])
    await commit_alone(clone, 40)
    await push_another(history, ann, tmp_path, "three\n")
    new = await push_another(history, ann, tmp_path, "four\n")
    assert await fetcher.fetch(clone) == 6
    assert (await git("rev-parse", "FETCH_HEAD", cwd=clone)).strip() == new


@BOTH_BACKENDS_READ_ALIKE
async def test_a_shallow_clone_with_own_commits_is_deepened(history, ann, tmp_path, fetcher):
    clone = await fetcher.clone("--depth=1", "--no-local")
    await commit_alone(clone, 20)
    new = await push_another(history, ann, tmp_path, "three\n")
    assert await fetcher.fetch(clone) == 3
    assert (await git("rev-list", "--count", "FETCH_HEAD", cwd=clone)).strip() == "2"
    assert await fetcher.fetch(clone, "--deepen=1") == 3
    assert (await git("rev-list", "--count", "FETCH_HEAD", cwd=clone)).strip() == "3"
    assert (await git("rev-parse", "FETCH_HEAD", cwd=clone)).strip() == new
    await git("fsck", "--strict", cwd=clone)
