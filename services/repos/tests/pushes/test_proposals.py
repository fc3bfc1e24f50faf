"""Pushes to refs/for/: what they propose, to whom it is open, and what git says."""

import asyncio
import hashlib
import struct
import zlib

import pytest

from ingot_git.process.errors import BodyRefused
from ingot_git.protocol.push_reports import PushReport
from ingot_git.protocol.push_requests import read_push_commands
from ingot_git.refs.refs import ZERO_OID, RefChange
from ingot_repos.catalog.store import repositories
from ingot_repos.protection.rules.decisions import Actor
from ingot_repos.pushes.rules.proposals import announce, plan, read_options, take_back
from ingot_testing.service import emitted_types

from ..ssh_world import Client, Key, ssh_before
from ..world import commit, git


@pytest.fixture
def settings():
    return {"proposal_wait_seconds": 0}


@pytest.fixture
async def url(base, git_url):
    return f"{git_url}/ann/app.git"


@pytest.fixture
async def work(base, tmp_path):
    await git("checkout", "-q", "-b", "mine", "master", cwd=tmp_path / "work")
    await commit(tmp_path / "work", "c.txt", message="Add c\n\nIt is needed.")
    return tmp_path / "work"


async def proposals(world):
    return await world.events("commits.proposed")


def facts(event):
    return event["base_branch"], event["head"], event["pusher"]["login"], event["title"], event["body"]


async def test_a_reader_proposes_commits_and_updates_them(world, ann, bob, base, url, work):
    tip = (await git("rev-parse", "HEAD", cwd=work)).strip()
    said = await git("push", url, "HEAD:refs/for/master/typo", cwd=work, person=bob)
    assert "[new reference]   HEAD -> refs/for/master/typo" in said
    assert "remote: The pull request will be among those at http://ingot.test/ann/app/pulls" in said
    [event] = await proposals(world)
    assert facts(event) == ("master", "typo:1", "bob", "", "")
    assert (event["after"], event["message"]) == (tip, "Add c\n\nIt is needed.\n")
    question = {
        "base_branch": "master",
        "head_repository_id": base,
        "head_branch": "typo:1",
        "number": 7,
    }
    compared = await bob.internal("POST", f"{base}/compare?unattended=true", question)
    assert (compared.json()["head_sha"], compared.json()["commits"]) == (tip, 1)
    refs = await git("ls-remote", url, cwd=work, person=ann)
    assert f"{tip}\trefs/pull/7/head" in refs
    assert "refs/scratch" not in refs
    # It is pushed again, now with texts.
    tip = await commit(work, "d.txt")
    options = ("-o", "title=Better", "-o", "description=And why", "-o", "ci.skip", "-o", "topic=typo")
    said = await git("push", *options, url, "HEAD:refs/for/master", cwd=work, person=bob)
    assert "remote: the option 'ci.skip' means nothing here" in said
    event = (await proposals(world))[-1]
    assert facts(event) == ("master", "typo:1", "bob", "Better", "And why")
    # Another history needs a word, and those of others are others.
    await git("commit", "-q", "--amend", "-m", "other", cwd=work)
    code, said = await git("push", url, "HEAD:refs/for/master/typo", cwd=work, person=bob, check=False)
    assert (code, "add -o force-push=true" in said) == (1, True), said
    force = ("-o", "force-push=true")
    await git("push", *force, url, "HEAD:refs/for/master/typo", cwd=work, person=bob)
    await git("push", url, "HEAD:refs/for/master/typo", cwd=work, person=ann)
    assert [facts(event)[1:3] for event in await proposals(world)][-2:] == [
        ("typo:1", "bob"),
        ("typo:2", "ann"),
    ]
    assert await git("fsck", "--full", "--no-dangling", cwd=world.components.storage.path(base)) == ""


async def test_the_push_waits_for_the_number_and_says_it(world, bob, base, url, work):
    world.settings.proposal_wait_seconds = 30
    pushing = asyncio.create_task(git("push", url, "HEAD:refs/for/master", cwd=work, person=bob))
    while not any("commits.proposed" in kind for kind in await emitted_types(world.database)):
        await asyncio.sleep(0.01)
    head = (await proposals(world))[0]["head"]
    question = {"base_branch": "master", "heads": [{"repository_id": base, "branch": head, "number": 9}]}
    await bob.internal("POST", f"{base}/comparisons?unattended=true", question)
    assert "remote: Pull request: http://ingot.test/ann/app/pulls/9" in await pushing


@pytest.mark.parametrize(
    ("ref", "reason"),
    [
        ("refs/for/nothing", "there is no branch 'nothing'"),
        ("refs/for/master/..", ""),
        (
            "refs/heads/mine",
            "remote: refs/heads/mine: needs write access to the repository; refs/for/<branch>",
        ),
        ("refs/scratch/proposals/1", ""),
    ],
)
async def test_what_a_reader_may_not_push(world, bob, base, url, work, ref, reason):
    code, said = await git("push", url, f"HEAD:{ref}", cwd=work, person=bob, check=False)
    assert (code != 0, reason in said) == (True, True), said
    assert await proposals(world) == []


async def test_several_refs_of_one_push(world, ann, base, url, work):
    """A writer pushes: one branch moves, one topic is proposed, one has no new commits, and one appears
    twice."""
    code, said = await git(
        *("push", url, "HEAD:mine", "HEAD:refs/for/master/a", "master:refs/for/master/b"),
        *("-o", "topic=a", "HEAD:refs/for/master"),
        cwd=work,
        person=ann,
        check=False,
    )
    assert code == 1
    assert "HEAD -> mine" in said
    assert "master -> refs/for/master/b (has no commits that master lacks)" in said
    assert "another ref of the push has the same topic" in said
    assert [facts(event)[:2] for event in await proposals(world)] == [("master", "a:1")]
    assert (await ann.get("/repos/ann/app/branches/mine")).status_code == 200
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"has_pull_requests": False})
    code, said = await git("push", url, "HEAD:refs/for/master/z", cwd=work, person=ann, check=False)
    assert (code, "takes no pull requests" in said) == (1, True), said


async def test_over_ssh_a_reader_proposes_and_pushes_nothing_else(world, bob, base, work, tmp_path):
    key = Key(tmp_path, "bob")
    world.identity.ssh_keys[key.public.fingerprint] = (2, "laptop")
    async with ssh_before(world) as port:
        client = Client(tmp_path, port, key)
        remote = client.url("ann/app")
        code, said = await client.git("push", "-o", "title=x", remote, "HEAD:refs/for/master", cwd=work)
        assert code == 0, said
        code, said = await client.git("push", remote, "HEAD:mine", cwd=work)
        assert (code, "needs write access to the repository" in said) == (1, True), said
    assert [facts(event) for event in await proposals(world)] == [("master", "master:1", "bob", "x", "")]


async def test_nobody_names_what_proposals_keep(world, ann, bob, base, url, work, tmp_path):
    """Writers and deploy keys cannot push their ids, alone or with a proposal, and no archive shows them."""
    robot, key = Key(tmp_path, "robot"), {"title": "robot", "read_only": False}
    await ann.post("/repos/ann/app/keys", key | {"key": robot.public.content})
    await git("push", url, "HEAD:refs/for/master", cwd=work, person=bob)
    tip = (await git("rev-parse", "HEAD", cwd=work)).strip()
    await commit(work, "d.txt")
    stored, own = "refs/scratch/proposals/1", "refs/scratch/proposals/2"
    async with ssh_before(world) as port:
        client = Client(tmp_path, port, robot)
        remote = client.url("ann/app")
        for refs in ([stored], [stored, "refs/for/master"], [own, "refs/for/master"]):
            changes = [f"+HEAD:{ref}" for ref in refs]
            code, said = await git("push", url, *changes, cwd=work, person=ann, check=False)
            assert code == 1, said
        code, said = await client.git("push", remote, f"+HEAD:{stored}", cwd=work)
        assert code == 1, said
        for name in (stored, stored.removeprefix("refs/")):
            code, said = await client.git("archive", f"--remote={remote}", "-o", "y.tar", name, cwd=work)
            assert code != 0, said
    path = world.components.storage.path(base)
    refs = await git("for-each-ref", "--format=%(refname) %(objectname)", "refs/scratch", cwd=path)
    assert refs.splitlines()[0] == f"{stored} {tip}"


async def test_strangers_and_the_blocked_propose_nothing(world, ann, bob, base, url, work):
    world.identity.blocks.add((1, 2))
    code, said = await git("push", url, "HEAD:refs/for/master", cwd=work, person=bob, check=False)
    assert (code, "has blocked you" in said) == (1, True), said
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    code, said = await git("push", url, "HEAD:refs/for/master", cwd=work, person=bob, check=False)
    assert (code, "not found" in said) == (128, True), said


async def test_hidden_objects_do_not_become_proposals(world, ann, bob, base, url, work):
    """They are rejected by id, below a new commit, and as a delta base. Public objects are accepted."""
    hidden = await commit(work, "secret.txt")
    empty = (await git("commit-tree", "-p", "master", "-m", "no changes", "master^{tree}", cwd=work)).strip()
    refs = ("HEAD:refs/for/master/x", f"{empty}:refs/for/master/y")
    await git("push", url, *refs, cwd=work, person=ann)
    visible, below, secret = (
        await git("rev-parse", "master^{tree}", "topic", "HEAD^{tree}", cwd=work)
    ).split()

    async def push_by_hand(tip, *entries):
        line = f"{ZERO_OID} {tip} refs/for/master/x\0report-status".encode()
        answer = await bob.call(
            "POST",
            "/ann/app.git/git-receive-pack",
            content=b"%04x%b0000" % (len(line) + 4, line) + pack(entries),
            headers={"content-type": "application/x-git-receive-pack-request"},
        )
        return answer.text

    size = int(await git("cat-file", "-s", empty, cwd=work))
    sizes = [part for one in (size, size + 1) for part in (one & 127 | 128, one >> 7)]
    delta = bytes([*sizes, 0xB0, size & 255, size >> 8, 1]) + b"x"  # all of the base, and one byte more
    entry = bytes([0x70 | len(delta)]) + bytes.fromhex(empty) + zlib.compress(delta)
    assert "ng refs/for/master/x" in await push_by_hand(empty, entry)
    assert "ng refs/for/master/x" in await push_by_hand(hidden)
    for tree, parent, expected in ((visible, hidden, "ng"), (secret, below, "ng"), (visible, below, "ok")):
        content = (
            f"tree {tree}\nparent {parent}\nauthor B <b> 1 +0000\ncommitter B <b> 1 +0000\n\nb\n".encode()
        )
        child = hashlib.sha1(b"commit %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        assert f"{expected} refs/for/master/x" in await push_by_hand(child, commit_entry(content))
    heads = [facts(event)[1:3] for event in await proposals(world)]
    assert heads == [("x:1", "ann"), ("y:2", "ann"), ("x:7", "bob")]
    code, said = await git("push", url, f"{hidden}:refs/for/master/y", cwd=work, person=bob, check=False)
    assert code == 0, said


def pack(entries):
    content = struct.pack(">4sII", b"PACK", 2, len(entries)) + b"".join(entries)
    return content + hashlib.sha1(content, usedforsecurity=False).digest()


def commit_entry(text):
    return bytes([0x90 | len(text) & 15, len(text) >> 4]) + zlib.compress(text)


@pytest.fixture
def refuse(base, bob, url, work):
    """A push of bob's that is refused; gives what git says."""

    async def refuse(*args):
        code, said = await git("push", url, *args, cwd=work, person=bob, check=False)
        assert code == 1, said
        return said

    return refuse


async def test_texts_and_numbers_are_bounded(world, refuse, monkeypatch):
    monkeypatch.setattr("ingot_repos.pushes.rules.proposals.MOST_IN_A_PUSH", 3)
    refs = (f"HEAD:refs/for/{'a/' * 300}a", "HEAD:refs/for/master/a\x9bb", "HEAD^{tree}:refs/for/master")
    said = await refuse(*refs)
    for reason in ("the name is too long", "the topic is not a valid name", "has no commits"):
        assert reason in said
    assert "at most 3 times" in await refuse(*refs, "HEAD:refs/for/master/b")
    assert "the title has control" in await refuse("-o", "title=a\x1b[2J", "HEAD:refs/for/master")
    assert await world.rows("proposal") == []


async def test_what_is_refused_leaves_nothing_behind(world, bob, base, url, work, refuse, monkeypatch):
    monkeypatch.setattr("ingot_repos.pushes.rules.proposals.MOST_PENDING", 1)
    path = world.components.storage.path(base)

    async def fail(*_, **__):
        raise RuntimeError

    with monkeypatch.context() as broken:
        broken.setattr("ingot_repos.pushes.rules.proposals.announce", fail)
        assert "was not announced" in await refuse("HEAD:refs/for/master/x")
    assert await git("for-each-ref", "refs/scratch", cwd=path) == ""
    assert await world.rows("proposal") == []
    await git("push", url, "HEAD:refs/for/master/x", cwd=work, person=bob)
    stored = await git("for-each-ref", "refs/scratch", cwd=path)
    force = ("-o", "force-push=true")
    said = await refuse(*force, "HEAD:refs/for/master/y", "HEAD^{tree}:refs/for/master/x")
    assert "1 others of your proposals" in said
    assert "has no commits" in said
    assert await git("for-each-ref", "refs/scratch", cwd=path) == stored
    assert [facts(event)[1] for event in await proposals(world)] == ["x:2"]


def test_options():
    sent = ["topic=a", "topic= b ", "title=x=y", "force-push", "ci.skip"]
    options = read_options(sent, [RefChange("refs/for/master", ZERO_OID, "1" * 40)])
    assert (options.topic, options.title, options.force) == ("b", "x=y", False)
    assert (options.for_hooks, options.remarks) == ((), ("the option 'ci.skip' means nothing here",))


async def test_a_push_of_a_branch_says_which_options_are_for_proposals_and_tells_hooks_the_others(
    world, ann, base, url, work
):
    options = ("-o", "title=Better", "-o", "ci.skip", "-o", "stage=test")
    said = await git("push", *options, url, "HEAD:refs/heads/mine", cwd=work, person=ann)
    assert "remote: the option 'title' means nothing here without refs/for/<branch>" in said
    assert "remote: the option 'ci.skip' goes to the hooks of this push" in said
    assert await proposals(world) == []
    assert [event["options"] for event in await world.events("push.received")][-1] == [
        "ci.skip",
        "stage=test",
    ]


def test_hooks_get_few_and_short_options():
    sent = [*map(str, range(30)), "x" * 201]
    options = read_options(sent, [RefChange("refs/heads/main", ZERO_OID, "1" * 40)])
    assert options.for_hooks == tuple(sent[:20])
    assert options.remarks[20:] == (
        *(f"the option '{number}' means nothing here" for number in range(20, 30)),
        f"the option '{'x' * 100}' means nothing here",
    )


@pytest.mark.parametrize("options", [["x"] * 101, ["x" * 60_000] * 5])
async def test_too_many_or_too_long_options_are_refused(options):
    lines = [f"{ZERO_OID} {ZERO_OID} refs/for/x\0push-options", *options]
    packets = [f"{len(line) + 4:04x}{line}" for line in lines]

    async def body():
        yield "".join([packets[0], "0000", *packets[1:], "0000"]).encode()

    with pytest.raises(BodyRefused, match="options in one push"):
        await read_push_commands(body())


async def test_a_report_without_side_band_is_rewritten_as_well():
    report = PushReport(has_side_band=False)

    async def answer():
        yield b"000eunpack ok\n0021ok refs/scratch/proposals/12\n"
        yield b"0000"

    assert [part async for part in report.texts_of(answer())] == []
    assert report.accepted() == {"refs/scratch/proposals/12"}
    said = report.packets({"refs/scratch/proposals/12": "refs/for/x"}, {}, ["unseen"])
    assert said == b"000eunpack ok\n0012ok refs/for/x\n0000"


async def test_pushes_to_one_topic_at_once_are_one_proposal(world, bob, base, url, work, tmp_path):
    """Git lets one of them move the ref; the others hear why not, or that theirs is no continuation."""
    works = []
    for number in range(3):
        await git("clone", "-q", "--shared", str(work), f"mine{number}", cwd=tmp_path)
        await commit(tmp_path / f"mine{number}", f"{number}.txt")
        works.append(tmp_path / f"mine{number}")
    pushes = [git("push", url, "HEAD:refs/for/master/t", cwd=one, person=bob, check=False) for one in works]
    answers = await asyncio.gather(*pushes)
    assert sorted(code for code, _ in answers) == [0, 1, 1], answers
    [event] = await proposals(world)
    assert event["head"] == "t:1"
    path = world.components.storage.path(base)
    stored = await git("for-each-ref", "--format=%(objectname) %(refname)", "refs/scratch", cwd=path)
    assert stored == f"{event['after']} refs/scratch/proposals/1\n"
    assert [row.topic for row in await world.rows("proposal")] == ["t"]


@pytest.mark.parametrize("is_announced", [False, True])
async def test_a_push_that_is_taken_back_takes_no_other_of_its_topic_along(
    world, ann, base, work, is_announced
):
    """Two pushes have the same topic. One proposes nothing, before or after the other is announced."""
    storage = world.components.storage
    tip = (await git("rev-parse", "HEAD", cwd=work)).strip()
    await git("push", "-q", str(storage.path(base)), "HEAD:refs/heads/mine", cwd=work)
    async with world.database.read() as db:
        row = await repositories.get_unfiltered(db, base)
    assert row is not None
    ref, actor = RefChange("refs/for/master/t", ZERO_OID, tip), Actor(1, level="owner")
    first, second = [
        (await plan(world.database, storage, row, actor, [ref], read_options([], []))).proposals
        for _ in range(2)
    ]
    assert first == second

    async def announce_second():
        options = read_options([], [])
        names = {"repository_id": base, "account_id": 1, "restricted": False}
        return await announce(world.database, storage, world.components.presenter, second, options, **names)

    if is_announced:
        assert await announce_second() == {}
    await take_back(world.database, storage, first, [], repository_id=base)
    if not is_announced:
        [reason] = (await announce_second()).values()
        assert reason == "was taken back with another push of its topic; push again"
    heads = [event["head"] for event in await proposals(world)]
    assert (heads, len(await world.rows("proposal"))) == ((["t:1"], 1) if is_announced else ([], 0))
