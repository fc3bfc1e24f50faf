"""A push that takes long: if its permission is revoked while it runs, it moves no ref, over HTTP and over
SSH."""

import asyncio
import subprocess
from functools import partial

import asyncssh
import msgspec
import pytest

from ingot_chassis.db.driver import as_sqlalchemy_error
from ingot_git.hooks.hook_questions import UNKNOWN
from ingot_repos.pushes.rules.rights import (
    BLOCKED,
    ENDED,
    NEEDS_WRITE,
    OTHER_RULES,
    refusal_of_late_push,
)

from ..ssh_world import Key, served
from ..world import commit, git, work_tree

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
WRITER = "/repos/ann/app/collaborators/bob"


@pytest.fixture
async def app(world, ann, bob, git_url, tmp_path):
    """Return the id of ann/app, which bob may write to, and bob's next push as git sends it."""
    created = await ann.create("app", private=True)
    assert (await ann.call("PUT", f"/api/v1{WRITER}", {"permission": "write"})).status_code == 204
    work = await work_tree(tmp_path)
    old = await commit(work, "a.txt")
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    new = await commit(work, "b.txt")
    return created["id"], pieces(work, old, new), old, new


def pieces(work, old, new, ref="refs/heads/master"):
    """The commands of a push, and its pack."""
    line = f"{old} {new} {ref}\0report-status side-band-64k".encode()
    pack = subprocess.run(
        ["git", "pack-objects", "--revs", "--stdout", "-q"],
        cwd=work, input=f"{new}\n^{old}\n".encode(), capture_output=True, check=True,
    ).stdout  # fmt: skip
    return b"%04x" % (len(line) + 4) + line + b"0000", pack


async def send(person, push, meanwhile):
    """The answer to a push whose pack comes when ``meanwhile`` is over."""
    commands, pack = push

    async def body():
        yield commands
        yield pack[:20]
        await meanwhile()
        yield pack[20:]

    path = "/ann/app.git/git-receive-pack"
    headers = person.headers() | {"content-type": "application/x-git-receive-pack-request"}
    return await person.world.http.post(path, content=body(), headers=headers)


async def dripped(person, push, meanwhile):
    """Return git's answer to it."""
    answer = await send(person, push, meanwhile)
    assert answer.status_code == 200, answer.text
    return answer.text


async def tip(world, repository_id, ref="refs/heads/master"):
    path = world.components.storage.path(repository_id)
    _, text = await git("rev-parse", ref, cwd=path, check=False)
    return text.strip()


async def remove(world, ann):
    assert (await ann.call("DELETE", f"/api/v1{WRITER}")).status_code == 204


async def lower(world, ann):
    assert (await ann.call("PUT", f"/api/v1{WRITER}", {"permission": "read"})).status_code == 204


async def archive(world, ann):
    assert (await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})).status_code == 200


async def protect(world, ann):
    rule = {"rule_name": "master", "enable_push": False}
    assert (await ann.post("/repos/ann/app/branch_protections", rule)).status_code == 201


async def demand_signatures(world, ann):
    rule = {"rule_name": "master", "enable_push": True, "require_signed_commits": True}
    assert (await ann.post("/repos/ann/app/branch_protections", rule)).status_code == 201


async def delete(world, ann):
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app")).status_code == 204


async def rename(world, ann):
    """Give the name to another repository, which only its owner may see."""
    assert (await ann.call("PATCH", "/api/v1/repos/ann/app", {"name": "old"})).status_code == 200
    await ann.create("app", private=True)


async def end_the_token(world, _ann):
    del world.identity.principals[2, "token:2"]


async def take_the_scope(world, _ann):
    world.identity.principals[2, "token:2"] = {"via": "token", "scopes": ["read:repository"]}


async def suspend(world, _ann):
    world.identity.accounts[2] = msgspec.structs.replace(world.identity.accounts[2], active=False)


async def lose_identity(world, _ann):
    world.identity.unavailable = True


CHANGES = {
    remove: ENDED,
    lower: "needs write access to the repository",
    archive: "the repository is archived",
    protect: "the rule 'master' protects the branch 'master': it changes by pull requests only",
    demand_signatures: OTHER_RULES,
    end_the_token: ENDED,
    take_the_scope: "the token lacks the scope for that",
    suspend: "this account may not sign in",
    lose_identity: UNKNOWN,
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_push_that_takes_long_moves_nothing_that_it_may_not_move_now(
    world, ann, bob, app, questions, change
):
    repository_id, push, old, _ = app
    questions.late_seconds = 0
    said = await dripped(bob, push, partial(change, world, ann))
    assert CHANGES[change] in said
    assert "ng refs/heads/master pre-receive hook declined" in said
    assert await tip(world, repository_id) == old
    assert await world.rows("push") == []


async def nothing():
    """Changes nothing."""


async def test_a_push_that_takes_long_and_may_go_on_does(world, bob, app, questions):
    repository_id, push, _, new = app
    questions.late_seconds = 0
    assert "ok refs/heads/master" in await dripped(bob, push, nothing)
    assert await tip(world, repository_id) == new


async def test_a_push_under_sudo_may_not_take_long(world, bob, app, questions):
    repository_id, push, old, new = app
    acting = bob.but(sudo_by="root", credential="")
    questions.late_seconds = 0
    assert "a push under sudo or by a session may not take this long" in await dripped(acting, push, nothing)
    assert await tip(world, repository_id) == old
    questions.late_seconds = 3600
    assert "ok refs/heads/master" in await dripped(acting, push, nothing)
    assert await tip(world, repository_id) == new


async def test_a_push_in_time_asks_nobody_and_runs_no_hook(world, bob, app, git_log):
    _, push, *_ = app
    world.identity.paths.clear()
    del world.identity.principals[2, "token:2"]
    assert "ok refs/heads/master" in await dripped(bob, push, nothing)
    assert world.identity.paths == []


async def test_what_was_refused_before_does_not_refuse_the_others_of_a_late_push(
    world, ann, bob, app, questions
):
    repository_id, (commands, pack), old, new = app
    await protect(world, ann)
    questions.late_seconds = 0
    line = f"{'0' * 40} {new} refs/heads/topic".encode()
    both = commands.removesuffix(b"0000") + b"%04x" % (len(line) + 4) + line + b"0000"
    said = await dripped(bob, (both, pack), nothing)
    assert "ng refs/heads/master" in said
    assert "ok refs/heads/topic" in said
    assert (await tip(world, repository_id), await tip(world, repository_id, "refs/heads/topic")) == (
        old,
        new,
    )


async def test_a_proposal_that_takes_long_is_refused_when_its_author_is_blocked(
    world, ann, bob, app, questions
):
    _, (_, pack), _, new = app
    await lower(world, ann)
    questions.late_seconds = 0
    line = f"{'0' * 40} {new} refs/for/master/x\0report-status side-band-64k".encode()

    async def block():
        world.identity.blocks.add((1, 2))

    said = await dripped(bob, (b"%04x" % (len(line) + 4) + line + b"0000", pack), block)
    assert BLOCKED in said
    assert await world.events("proposed") == []


async def test_a_push_that_nobody_can_be_asked_about_ends(world, bob, app, questions, tmp_path):
    """There can be no link, as on a full disk."""
    repository_id, push, old, _ = app
    questions.late_seconds = 0
    await questions.close()
    (tmp_path / "storage" / "questions").rmdir()
    (tmp_path / "storage" / "questions").write_text("in the way")
    with pytest.raises(asyncio.CancelledError):
        await dripped(bob, push, nothing)
    assert await tip(world, repository_id) == old


async def remove_the_key(world, _ann, fingerprint):
    del world.identity.ssh_keys[fingerprint]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (remove_the_key, ENDED),
        (lambda world, ann, _: remove(world, ann), ENDED),
        (lambda world, ann, _: protect(world, ann), CHANGES[protect]),
        (lambda world, ann, _: suspend(world, ann), "this account may not sign in"),
        (lambda world, ann, _: rename(world, ann), ""),
        (None, ""),
    ],
    ids=["key", "collaborator", "rule", "account", "name", "nothing"],
)
async def test_over_ssh_a_push_that_takes_long_is_asked_about_too(
    world, ann, app, questions, tmp_path, change, reason
):
    repository_id, (commands, pack), old, new = app
    questions.late_seconds = 0
    key = Key(tmp_path, "bob")
    world.identity.ssh_keys[key.public.fingerprint] = (2, "laptop")
    login = {"username": "git", "client_keys": [str(key.file)], "known_hosts": None, "encoding": None}
    async with (
        served(world) as (_, port),
        asyncssh.connect("127.0.0.1", port, config=None, **login) as connection,
    ):
        process = await connection.create_process("git-receive-pack 'ann/app'")
        await process.stdout.readuntil(b"0000")
        process.stdin.write(commands + pack[:20])
        async with asyncio.timeout(20):
            while not await world.rows("push"):
                await asyncio.sleep(0)
        if change is not None:
            await change(world, ann, key.public.fingerprint)
        process.stdin.write(pack[20:])
        said = (await process.stdout.read()).decode()
    if reason:
        assert reason in said
    assert ("ok refs/heads/master" in said) == (not reason), said
    assert await tip(world, repository_id) == (old if reason else new)


@pytest.mark.parametrize("settings", [{"git_concurrency": 2}])
async def test_a_push_that_moves_nothing_has_only_the_room_of_strangers(world, ann, bob, app, questions):
    _, push, _, _ = app
    await lower(world, ann)
    admission = world.components.admission
    admission.wait_seconds = 0.1
    async with admission.slot(app[0] + 1, signed_in=False):
        assert (await send(bob, push, nothing)).status_code == 503
        assert "ok refs/heads/master" in await dripped(ann, push, nothing)
    assert NEEDS_WRITE in await dripped(bob, push, nothing)


async def test_a_push_that_takes_long_is_refused_while_the_database_is_away(world):
    async def renew():
        raise as_sqlalchemy_error(ConnectionRefusedError())

    assert await refusal_of_late_push(world.database, world.components.identity, renew, [], []) == UNKNOWN
