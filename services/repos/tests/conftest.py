"""Fixtures: the world of one service, and the same behind a socket for the real git."""

import pytest

from ingot_git.testing.recording import GitLog
from ingot_testing.service import serve

from .world import World, arranged_world, commit, git, migrate, work_tree


@pytest.fixture
def settings():
    """Settings of the world that a file of tests needs otherwise than they are."""
    return {}


@pytest.fixture
def arrangement(request, settings):
    """Return the function with which `arranged_world` prepares the world before the test; None for no
    preparation.

    It also runs if settings differ from those of its world: a test file says when they are harmless.
    """
    if settings:
        return None
    arrangements = {"base": two_branches, "history": old_commits}
    return next((arrangements[name] for name in arrangements if name in request.fixturenames), None)


@pytest.fixture
async def world(make_database, tmp_path, tmp_path_factory, settings, arrangement):
    if arrangement is None:
        world = World(make_database("repos", migrate), tmp_path, **settings)
    else:
        world = arranged_world(make_database, tmp_path_factory.mktemp, tmp_path, arrangement, **settings)
    yield world
    await world.close()


@pytest.fixture
async def ann(world):
    return world.user(1, "ann", full_name="Ann")


@pytest.fixture
async def bob(world):
    return world.user(2, "bob")


@pytest.fixture
async def questions(world):
    """Those of the hooks are answered, as in a process that has started."""
    await world.components.questions.open()
    yield world.components.questions
    await world.components.questions.close()


@pytest.fixture
async def git_url(world, questions):
    """The URL under which the real git reaches the service."""
    async with serve(world.app) as url:
        yield url


async def two_branches(world, folder):
    """ann/app with master and a branch topic that is one commit ahead; gives its id."""
    ann = world.user(1, "ann", full_name="Ann")
    created = await ann.create("app")
    work = await work_tree(folder)
    await commit(work, "a.txt", "one\n")
    await git("branch", "topic", cwd=work)
    await git("checkout", "-q", "topic", cwd=work)
    await commit(work, "b.txt", "two\n", message="topic")
    async with serve(world.app) as url:
        for branch in ("master", "topic"):
            await git("push", "-q", f"{url}/ann/app.git", branch, cwd=work, person=ann)
    return created["id"]


@pytest.fixture
async def base(world, ann, tmp_path):
    """The id of ann/app; see `two_branches`."""
    return world.arranged or await two_branches(world, tmp_path)


@pytest.fixture
def git_log(tmp_path, monkeypatch):
    """Every command line that git is started with from here on, newest last; git itself still runs."""
    log = GitLog(tmp_path / "recording")
    monkeypatch.setenv("PATH", log.search_path)
    return log


async def old_commits(world, folder):
    """ann/app with two commits on master, one on a deleted branch. Return its id and object ids by name."""
    ann = world.user(1, "ann", full_name="Ann")
    created = await ann.create("app")
    work = await work_tree(folder)
    ids = {"first": await commit(work, "a.txt", "one\n")}
    await commit(work, "a.txt", "two\n")
    await git("checkout", "-q", "-b", "topic", cwd=work)
    ids["gone"] = await commit(work, "secret.txt", "secret\n")
    async with serve(world.app) as url:
        for branch in ("master", "topic", ":topic"):
            await git("push", "-q", f"{url}/ann/app.git", branch, cwd=work, person=ann)
    for name, spec in {
        "old blob": "master~1:a.txt",
        "old tree": "master~1^{tree}",
        "new blob": "master:a.txt",
    }.items():
        ids[name] = (await git("rev-parse", spec, cwd=work)).strip()
    for name, spec in {"gone blob": "topic:secret.txt", "gone tree": "topic^{tree}"}.items():
        ids[name] = (await git("rev-parse", spec, cwd=work)).strip()
    return created["id"], ids


@pytest.fixture
async def history(world, ann, git_url, tmp_path):
    """The URL of ann/app, ids of its objects by name, and where it is; see `old_commits`."""
    repository_id, ids = world.arranged or await old_commits(world, tmp_path)
    return f"{git_url}/ann/app.git", ids, world.components.storage.path(repository_id)
