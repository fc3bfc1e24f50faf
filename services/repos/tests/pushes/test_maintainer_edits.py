"""Pushes to the head of a pull request by users who may only write to its base."""

from datetime import UTC, datetime

import pytest

from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.events import IssueDeleted, PullRequestChanged
from ingot_contracts.issues.pulls import PullRequest, PullRequestBranch
from ingot_contracts.repos.repositories import Repository

from ..ssh_world import Client, Key, ssh_before
from ..world import commit, git

PULL_ID = 60
ANN = User(id=1, login="ann")
MOMENT = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
async def upstream(world, ann, bob, base):
    """The id of bob/upstream, the base of a pull request of ann/app:topic. Carl may read both."""
    world.user(3, "carl")
    return (await bob.create("upstream", auto_init=True))["id"]


@pytest.fixture
def url(base, git_url):
    return f"{git_url}/ann/app.git"


@pytest.fixture
async def work(base, tmp_path):
    await git("checkout", "-q", "topic", cwd=tmp_path / "work")
    await commit(tmp_path / "work", "more.txt")
    return tmp_path / "work"


def changed(head_id, base_id, *, state="open", allow=True):
    def side(repository_id, name):
        return PullRequestBranch(label=name, ref=name, sha="a" * 40, repo_id=repository_id)

    pull = PullRequest(
        id=PULL_ID,
        url="http://forge/p",
        number=1,
        user=ANN,
        title="Fix",
        state=state,
        base=side(base_id, "main"),
        head=side(head_id, "topic"),
        allow_maintainer_edit=allow,
    )
    repository = Repository(
        id=base_id,
        owner=User(id=2, login="bob"),
        name="upstream",
        full_name="bob/upstream",
        created_at=MOMENT,
        updated_at=MOMENT,
    )
    return PullRequestChanged(action="edited", pull_request=pull, repository=repository, sender=ANN)


async def succeeds_to_push(url, work, person, *refs):
    """True if the push succeeds."""
    code, _ = await git("push", url, *refs, cwd=work, person=person, check=False)
    return code == 0


async def test_a_maintainer_of_the_base_pushes_to_the_head_while_it_is_open(
    world, ann, bob, base, upstream, url, work
):
    assert not await succeeds_to_push(url, work, bob, "HEAD:topic")
    await world.deliver(changed(base, upstream))
    assert await succeeds_to_push(url, work, bob, "HEAD:topic")
    closings = (
        changed(base, upstream, state="closed"),
        changed(base, upstream, allow=False),
        IssueDeleted(repository_id=1, number=1, pull_id=PULL_ID),
    )
    for number, closing in enumerate(closings):
        await world.deliver(closing)
        await commit(work, f"later-{number}.txt")
        assert not await succeeds_to_push(url, work, bob, "HEAD:topic")
        await world.deliver(changed(base, upstream))
    assert await succeeds_to_push(url, work, bob, "HEAD:topic")


@pytest.mark.parametrize("ref", ["HEAD:master", "HEAD:new", ":topic", "HEAD:refs/tags/v1"])
async def test_a_maintainer_moves_no_other_ref(world, bob, base, upstream, url, work, ref):
    await world.deliver(changed(base, upstream))
    assert not await succeeds_to_push(url, work, bob, ref)
    assert not await succeeds_to_push(url, work, bob, "--atomic", "HEAD:topic", ref)


async def test_who_may_not_write_to_the_base_pushes_nothing(world, bob, base, upstream, url, work):
    await world.deliver(changed(base, upstream))
    carl = world.user(3, "carl")
    for permission in (None, "read"):
        if permission:
            path = "/api/v1/repos/bob/upstream/collaborators/carl"
            await bob.call("PUT", path, {"permission": permission})
        assert not await succeeds_to_push(url, work, carl, "HEAD:topic")
    await bob.call("PUT", path, {"permission": "write"})
    assert not await succeeds_to_push(url, work, carl.but(restricted_to=[base]), "HEAD:topic")
    assert await succeeds_to_push(url, work, carl, "HEAD:topic")


async def test_a_protected_head_stays_protected(world, ann, bob, base, upstream, url, work):
    await world.deliver(changed(base, upstream))
    rule = {"rule_name": "topic", "enable_push": True}
    assert (await ann.post("/repos/ann/app/branch_protections", rule)).status_code == 201
    assert not await succeeds_to_push(url, work, bob, "HEAD:topic")
    assert await succeeds_to_push(url, work, ann, "HEAD:topic")


async def test_nothing_is_pushed_to_a_fork_that_the_maintainer_may_not_read(
    world, ann, bob, base, upstream, url, work
):
    await world.deliver(changed(base, upstream))
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert not await succeeds_to_push(url, work, bob, "HEAD:topic")


async def test_over_ssh_the_same_holds(world, ann, bob, base, upstream, work, tmp_path):
    key = Key(tmp_path, "bob")
    world.identity.ssh_keys[key.public.fingerprint] = (2, "laptop")
    async with ssh_before(world) as port:
        client = Client(tmp_path, port, key)
        remote = client.url("ann/app")
        code, said = await client.git("push", remote, "HEAD:topic", cwd=work)
        assert (code, "needs write access to the repository" in said) == (1, True), said
        await world.deliver(changed(base, upstream))
        code, said = await client.git("push", remote, "HEAD:master", cwd=work)
        assert (code, "needs write access to the repository" in said) == (1, True), said
        code, said = await client.git("push", remote, "HEAD:topic", cwd=work)
        assert code == 0, said


async def test_a_maintainer_updates_the_head_and_no_other_branch(world, ann, bob, base, upstream):
    branches = (await ann.get("/repos/ann/app/branches")).json()
    tips = {branch["name"]: branch["commit"]["id"] for branch in branches}

    def update(branch):
        return {
            "head_branch": branch,
            "head_sha": tips[branch],
            "base_repository_id": base,
            "base_branch": "master",
            "style": "merge",
        }

    path = f"{base}/update-branch"
    assert (await bob.internal("POST", path, update("topic"))).status_code == 403
    await world.deliver(changed(base, upstream))
    assert (await bob.internal("POST", path, update("master"))).status_code == 403
    assert (await bob.internal("POST", path, update("topic"))).status_code == 200
