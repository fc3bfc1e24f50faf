"""Packs of clones without upload-pack: they have the same objects, and clients see the same progress."""

import asyncio
import subprocess

import pygit2
import pytest

from ingot_git.process.command import GitArgs, run_git
from ingot_git.process.errors import GitError, GitFailed
from ingot_git.protocol import clone_packs
from ingot_git.protocol.clone_packs import clone_options, stream_clone
from ingot_git.protocol.fetch_requests import RequestReader, WantRefused
from ingot_git.protocol.sideband import DATA, FATAL, PROGRESS
from ingot_git.protocol.smart_http import pkt_line, serve
from ingot_git.testing.builders import LINES, commit, set_branches

from .test_smart_http import git_children

TIP = "ab" * 20
ALIVE = b"0005\x01"
FETCH = (b"command=fetch", b"agent=git/2.39.5", b"object-format=sha1")
CLONE = (b"thin-pack", b"include-tag", b"ofs-delta", b"want " + TIP.encode(), b"done")


@pytest.fixture
def repo(tmp_path):
    """A bare repository with ten commits on main and a tag; what was on a branch is still there."""
    repo = pygit2.init_repository(str(tmp_path / "of ann.git"), bare=True, initial_head="main")
    tip: list[str] = []
    for number in range(10):
        tip = [commit(repo, {"a": LINES + b"%d\n" % number, f"b{number}": b"x\n"}, tip)]
    set_branches(repo, main=tip[0])
    commit(repo, {"secret": b"gone\n"}, tip)
    author = pygit2.Signature("me", "me@example.org", 1_700_000_000, 60)
    repo.create_tag("v1", tip[0], pygit2.enums.ObjectType.COMMIT, author, "one\n")
    return repo


async def request_of(*arguments, capabilities=FETCH, end=b"0000"):
    body = b"".join(map(pkt_line, capabilities)) + b"0001" + b"".join(map(pkt_line, arguments)) + end

    async def once():
        yield body

    return await RequestReader(once()).next()


def packets_of(answer):
    """Its packets behind the first one: (band, content), None for a flush."""
    packets, position = [], 0
    while position < len(answer):
        length = int(answer[position : position + 4], 16)
        content = answer[position + 4 : position + max(length, 4)]
        packets.append((content[0], content[1:]) if length else None)
        position += max(length, 4)
    assert packets.pop(0) == (ord("p"), b"ackfile\n")
    return packets


def band(number, packets):
    return b"".join(one[1] for one in packets if one is not None and one[0] == number)


def objects_of(pack, folder):
    """The ids in a pack, which is whole."""
    subprocess.run(["git", "init", "-q", "--bare", "into"], cwd=folder, check=True)
    index = ["git", "index-pack", "--stdin", "--strict"]
    name = subprocess.run(index, cwd=folder / "into", input=pack, check=True, capture_output=True).stdout
    index_file = f"objects/pack/pack-{name.decode().split()[-1]}.idx"
    shown = subprocess.run(
        ["git", "verify-pack", "-v", index_file], cwd=folder / "into", check=True, capture_output=True
    )
    return {
        line[:40]
        for line in shown.stdout.splitlines()
        if line[41:47].strip() in (b"commit", b"tree", b"blob", b"tag")
    }


async def wants_of(*oids):
    for oid in oids:
        yield oid.encode() + b"\n"


async def collected(stream):
    return b"".join([part async for part in stream])


async def answer_and_error(stream):
    parts: list[bytes] = []
    try:
        async for part in stream:
            parts.append(part)  # noqa: PERF401 - what came before the error counts
    except (GitError, OSError) as error:
        return b"".join(parts), error
    return b"".join(parts), None


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (CLONE, ("--thin", "--delta-base-offset", "--include-tag", "--progress")),
        ((*CLONE, b"no-progress"), ("--thin", "--delta-base-offset", "--include-tag", "--quiet")),
        ((b"want " + TIP.encode() + b"\n", b"done\n"), ("--progress",)),
        (CLONE[:-1], None),
        (CLONE[-1:], None),
        ((*CLONE, b"have " + TIP.encode()), None),
        ((*CLONE, b"shallow " + TIP.encode()), None),
        ((*CLONE, b"deepen 1"), None),
        ((*CLONE, b"filter blob:none"), None),
        ((*CLONE, b"want-ref refs/heads/main"), None),
        ((*CLONE, b"want " + TIP.encode() + b" and more"), None),
        ((*CLONE, b"packfile-uris https"), None),
    ],
)  # fmt: skip
async def test_a_request_for_all_that_its_wants_lead_to_needs_no_upload_pack(tmp_path, arguments, options):
    assert clone_options(await request_of(*arguments), tmp_path) == options


@pytest.mark.parametrize(
    "capabilities",
    [
        (b"command=ls-refs",),
        (),
        (*FETCH, b"command=fetch"),
        (*FETCH, b"object-format=sha256"),
        (*FETCH, b"server-option=x"),
        (*FETCH, b"session-id=x"),
    ],
)
async def test_a_request_with_what_is_not_known_here_needs_upload_pack(tmp_path, capabilities):
    assert clone_options(await request_of(*CLONE, capabilities=capabilities), tmp_path) is None


async def test_so_does_one_without_an_end_and_one_for_a_repository_whose_history_is_cut_off(tmp_path):
    assert clone_options(await request_of(*CLONE, end=b""), tmp_path) is None
    (tmp_path / "shallow").write_text(f"{TIP}\n")
    assert clone_options(await request_of(*CLONE), tmp_path) is None


@pytest.mark.parametrize("arguments", [(), (b"thin-pack", b"ofs-delta", b"include-tag"), (b"no-progress",)])
async def test_a_client_gets_the_objects_that_upload_pack_gives(repo, tmp_path, arguments):
    tip = repo.branches["main"].target
    request = await request_of(*arguments, b"want %b" % str(tip).encode(), b"done")
    options = clone_options(request, tmp_path)
    packets = packets_of(await collected(stream_clone(tmp_path / "of ann.git", options, wants_of(str(tip)))))

    async def body():
        yield request.text

    answer = await collected(serve(tmp_path / "of ann.git", "git-upload-pack", "version=2", body()))
    (tmp_path / "theirs").mkdir()
    theirs = objects_of(band(DATA, packets_of(answer)), tmp_path / "theirs")
    assert objects_of(band(DATA, packets), tmp_path) == theirs
    assert len(theirs) == 10 * 3 + 1 + (b"include-tag" in arguments)
    assert packets[-1] is None
    assert (b"Enumerating objects" in band(PROGRESS, packets)) == (b"no-progress" not in arguments)


async def test_a_silent_client_hears_that_the_pack_is_being_made(repo, tmp_path, monkeypatch):
    monkeypatch.setattr(clone_packs, "ALIVE_SECONDS", 0.01)
    goes_on = asyncio.Event()
    tip = str(repo.branches["main"].target)

    async def wants():
        yield tip.encode() + b"\n"
        await goes_on.wait()

    stream = stream_clone(tmp_path / "of ann.git", ("--quiet",), wants())
    parts = [await anext(stream), await anext(stream), await anext(stream)]
    assert parts == [pkt_line(b"packfile\n"), ALIVE, ALIVE]
    goes_on.set()
    packets = packets_of(b"".join(parts) + await collected(stream))
    assert len(objects_of(band(DATA, packets), tmp_path)) == 31


async def test_who_leaves_while_the_pack_is_being_made_ends_git(repo, tmp_path, monkeypatch):
    monkeypatch.setattr(clone_packs, "ALIVE_SECONDS", 0.01)

    async def wants():
        yield str(repo.branches["main"].target).encode() + b"\n"
        await asyncio.Event().wait()

    stream = stream_clone(tmp_path / "of ann.git", ("--quiet",), wants())
    async for _ in stream:
        if git_children():
            break
    assert len(git_children()) == 1
    await stream.aclose()
    assert not git_children()


async def test_nothing_is_said_to_who_wants_what_is_not_visible(repo, tmp_path):
    async def wants():
        raise WantRefused(TIP)
        yield b""

    with pytest.raises(WantRefused):
        await anext(stream_clone(tmp_path / "of ann.git", (), wants()))


async def test_a_damaged_repository_is_told_of_without_its_path(repo, tmp_path):
    path = tmp_path / "of ann.git"
    run_git(GitArgs("repack", ("-adq",)), git_dir=path)
    (pack,) = path.glob("objects/pack/*.pack")
    content = bytearray(pack.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    pack.chmod(0o600)
    pack.write_bytes(content)
    stream = stream_clone(path, ("--progress",), wants_of(str(repo.branches["main"].target)))
    answer, error = await answer_and_error(stream)
    assert packets_of(answer)[-1][0] == FATAL
    assert (str(tmp_path).encode() in answer, type(error)) == (False, GitFailed)


async def test_a_client_hears_that_git_could_not_be_started(repo, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    tip = str(repo.branches["main"].target)
    answer, error = await answer_and_error(stream_clone(tmp_path / "of ann.git", (), wants_of(tip)))
    assert packets_of(answer) == [(FATAL, b"the pack could not be made\n")]
    assert isinstance(error, FileNotFoundError)
