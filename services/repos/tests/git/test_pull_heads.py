"""The heads of pull requests: one that was closed without a merge is shown, but not fetched until it is
reopened."""

import pytest

from ingot_git.history.visible_objects import missing_from_history
from ingot_git.refs.pull_heads import changes_of_state, head_ref
from ingot_git.refs.refs import ZERO_OID, RefChange, delete_ref, list_refs, set_ref
from ingot_git.storage.generation import read_generation

from ..code_world import opened
from ..world import commit, git
from .test_fetch_requests import fetch

VISIBLE, HIDDEN = "refs/pull/1/head", "refs/pull/closed/1/head"


async def set_state(world, repository_id, state, *, number=1, status=204):
    answer = await world.user(0, "").internal("PUT", f"{repository_id}/pull-heads/{number}", {"state": state})
    assert answer.status_code == status, answer.text


async def compared(person, base_id):
    body = {"base_branch": "master", "head_repository_id": base_id, "head_branch": "topic", "number": 1}
    answer = await person.internal("POST", f"{base_id}/compare?unattended=true", body)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
async def pull(ann, base, git_url, tmp_path):
    """A pull request whose branch is deleted: its commit, and the URL of the repository."""
    url = f"{git_url}/ann/app.git"
    tip = (await compared(ann, base))["head_sha"]
    await git("push", "-q", url, ":topic", cwd=tmp_path / "work", person=ann)
    return tip, url


@pytest.mark.parametrize("version", [0, 2])
async def test_what_was_closed_is_not_fetched_until_it_is_open_again(
    world, ann, base, pull, tmp_path, version
):
    tip, url = pull
    for state in ("visible", "hidden", "hidden", "visible", "gone"):
        await set_state(world, base, state)
        listed = await git("ls-remote", url, cwd=tmp_path, person=ann)
        is_visible = state == "visible"
        assert ("refs/pull" in listed, tip in listed) == (is_visible, is_visible), state
        for name in (tip, VISIBLE, HIDDEN):
            code, said = await fetch(tmp_path, url, name, ann, version=version, name=f"{state}-{len(name)}")
            assert (code == 0) == (is_visible and name in (tip, VISIBLE)), (state, name, said)
    assert list_refs(opened(world, base), ("refs/pull/",)) == {}


async def test_what_was_closed_is_shown(world, ann, base, pull):
    tip, _ = pull
    await set_state(world, base, "hidden")
    since = (await ann.internal("GET", f"{base}/branches/master")).json()["sha"]
    for path in ("commits", "files", "diff"):
        answer = await ann.internal("GET", f"{base}/{path}?base={since}&head={tip}")
        assert answer.status_code == 200, (path, answer.text)
    blob = str(opened(world, base).get(tip).tree["b.txt"].id)
    for path in (
        f"git/commits/{tip}",
        f"commits/{VISIBLE}/status",
        f"git/blobs/{blob}",
        f"raw/b.txt?ref={tip}",
    ):
        answer = await ann.get(f"/repos/ann/app/{path}")
        assert answer.status_code == 200, (path, answer.text)
    assert [ref["ref"] for ref in (await ann.get("/repos/ann/app/git/refs")).json()] == ["refs/heads/master"]
    path = world.components.storage.path(base)
    assert await missing_from_history(path, {blob}) == set()
    assert await missing_from_history(path, {blob}, tips=[]) == {blob}, (
        "no fetch finds it where nothing else is left"
    )


async def test_comparing_does_not_bring_a_hidden_head_back(world, ann, base, git_url, tmp_path):
    url, work = f"{git_url}/ann/app.git", tmp_path / "work"
    await compared(ann, base)
    await set_state(world, base, "hidden")
    new = await commit(work, "c.txt")
    await git("push", "-q", url, "topic", cwd=work, person=ann)
    assert (await compared(ann, base))["head_sha"] == new
    assert list_refs(opened(world, base), ("refs/pull/",)) == {HIDDEN: new}
    await git("push", "-q", url, ":topic", cwd=work, person=ann)
    assert (await compared(ann, base))["head_sha"] == new
    await set_state(world, base, "visible")
    assert list_refs(opened(world, base), ("refs/pull/",)) == {VISIBLE: new}


async def test_what_is_open_again_is_merged_also_before_it_is_visible(world, ann, base, pull):
    tip, _ = pull
    await set_state(world, base, "hidden")
    body = {"number": 1, "base_branch": "master", "head_sha": tip}
    answer = await ann.internal("POST", f"{base}/merge", body)
    assert answer.status_code == 200, answer.text


async def test_a_head_that_is_not_kept_has_no_state(world, base):
    for state in ("hidden", "visible", "gone"):
        await set_state(world, base, state, number=9)
        await set_state(world, 999, state, status=404)
    assert list_refs(opened(world, base), ("refs/pull/",)) == {}


async def test_a_change_that_was_interrupted_is_made_whole(world, base):
    repo = opened(world, base)
    tip = list_refs(repo)["refs/heads/topic"]
    assert (head_ref(repo, 1), changes_of_state(repo, 1, "hidden")) == (VISIBLE, [])
    for name in (VISIBLE, HIDDEN):
        set_ref(repo, name, tip)
    assert head_ref(repo, 1) == HIDDEN
    assert changes_of_state(repo, 1, "hidden") == [RefChange(VISIBLE, tip, ZERO_OID)]
    assert changes_of_state(repo, 1, "gone") == [
        RefChange(VISIBLE, tip, ZERO_OID),
        RefChange(HIDDEN, tip, ZERO_OID),
    ]
    delete_ref(repo, VISIBLE)
    assert changes_of_state(repo, 1, "hidden") == []


async def test_of_both_refs_the_visible_one_is_the_later_one(world, base):
    repo = opened(world, base)
    refs = list_refs(repo)
    old, new = refs["refs/heads/master"], refs["refs/heads/topic"]
    set_ref(repo, VISIBLE, new)
    set_ref(repo, HIDDEN, old)
    await set_state(world, base, "hidden")
    assert list_refs(repo, ("refs/pull/",)) == {HIDDEN: new}
    set_ref(repo, VISIBLE, new)
    set_ref(repo, HIDDEN, old)
    await set_state(world, base, "visible")
    assert list_refs(repo, ("refs/pull/",)) == {VISIBLE: new}


async def test_a_head_that_nobody_fetches_makes_no_new_generation(world, base):
    repo = opened(world, base)
    before, tip = read_generation(repo), list_refs(repo)["refs/heads/topic"]
    set_ref(repo, HIDDEN, tip)
    assert read_generation(repo) == before
    set_ref(repo, VISIBLE, tip)
    assert read_generation(repo) != before
