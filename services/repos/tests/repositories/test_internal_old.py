"""The former spellings of internal routes answer as the present ones do."""

import pytest

from ..world import commit, git, work_tree

SEGMENTS = (
    "access", "branches", "commits", "compare", "comparisons", "diff", "files", "level", "merge", "by-id",
)  # fmt: skip


async def test_access_and_level_are_found_by_both_spellings(ann):
    id_ = (await ann.create("app"))["id"]
    for former, present in (
        ("ann/app/access", "by-name/ann/app/access"),
        ("ann/app/access?user=1", "by-name/ann/app/access?user=1"),
        ("ann/nothing/access", "by-name/ann/nothing/access"),
        (f"by-id/{id_}/access", f"{id_}/access"),
        (f"by-id/{id_}/access?user=1", f"{id_}/access?user=1"),
        (f"by-id/{id_}/level?user=1", f"{id_}/level?user=1"),
        ("by-id/999/access", "999/access"),
    ):
        old, new = [await ann.internal("GET", path) for path in (former, present)]
        assert (old.status_code, old.json()) == (new.status_code, new.json())


@pytest.mark.parametrize("name", SEGMENTS)
async def test_a_repository_may_be_called_like_a_segment(ann, name):
    created = await ann.create(name)
    answer = await ann.internal("GET", f"ann/{name}/access")
    assert answer.json()["repository"]["id"] == created["id"]


async def test_a_branch_may_be_called_access(ann, git_url, tmp_path):
    id_ = (await ann.create("app"))["id"]
    work = await work_tree(tmp_path)
    tip = await commit(work)
    await git("push", "-q", f"{git_url}/ann/app.git", "master", "master:access", cwd=work, person=ann)
    path = f"{id_}/branches/access"
    assert (await ann.internal("GET", path)).json() == {"name": "access", "sha": tip}
    assert (await ann.internal("DELETE", f"{path}?tip={tip}")).status_code == 204


async def test_readable_repositories_were_called_seen(ann):
    id_ = (await ann.create("app"))["id"]
    answer = await ann.call("POST", "/internal/seen", {"ids": [id_, 999]}, peer="issues")
    assert answer.json() == {"ids": [id_]}
