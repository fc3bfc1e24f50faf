"""Bundles of a history, and files by `media` and with the ref in the query."""

import pytest

from ..code_world import repository_with_history
from ..world import git

# Nothing here depends on the kind of database.
pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)


@pytest.fixture
async def app(world, ann):
    return await repository_with_history(world, ann)


async def test_a_bundle_can_be_cloned_and_comes_from_the_cache_the_next_time(ann, app, tmp_path, git_log):
    answer = await ann.get("/repos/ann/app/archive/feature/side.bundle")
    assert answer.status_code == 200, answer.text
    assert 'filename="app-feature-side.bundle"' in answer.headers["content-disposition"]
    (tmp_path / "app.bundle").write_bytes(answer.content)
    await git("clone", "-q", "-b", "bundle", "app.bundle", "cloned", cwd=tmp_path)
    assert (tmp_path / "cloned/side.txt").read_text() == "side\n"
    assert app["third"] not in await git("log", "--format=%H", cwd=tmp_path / "cloned")
    git_log.clear()
    assert (await ann.get(f"/repos/ann/app/archive/{app['side']}.bundle")).content == answer.content
    assert list(git_log) == []
    for name in ("none.bundle", ".bundle", f"{'1' * 40}.bundle", "--all.bundle"):
        assert (await ann.get(f"/repos/ann/app/archive/{name}")).status_code == 404, name


async def test_a_file_by_its_path_and_the_ref_in_the_query(ann, app):
    for kind in ("raw", "media"):
        assert (await ann.get(f"/repos/ann/app/{kind}/src/main.py")).text == "print(2)\n"
        assert (await ann.get(f"/repos/ann/app/{kind}/light/src/main.py")).text == "print(1)\n"
        assert (await ann.get(f"/repos/ann/app/{kind}/src/main.py?ref=light")).text == "print(1)\n"
        assert (
            await ann.get(f"/repos/ann/app/{kind}/src/main.py?ref=refs/heads/feature/side")
        ).text == "print(1)\n"
        for path in ("src/main.py?ref=none", "src?ref=light", "none?ref=light", "src/main.py?ref=--all"):
            assert (await ann.get(f"/repos/ann/app/{kind}/{path}")).status_code == 404, path
