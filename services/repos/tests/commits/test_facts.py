"""Languages and licences of a repository."""

import pygit2
import pytest
from sqlalchemy import update

from ingot_git.history.languages import MOST_BYTES, language_of, languages_of
from ingot_git.history.licenses import license_of, licenses_column
from ingot_git.storage.read_cache import SharedCache
from ingot_git.testing.builders import commit, set_branches
from ingot_repos.catalog.store.tables import repository
from ingot_repos.repositories.rules.templates import LICENSES

from ..code_world import opened, repository_with_history
from ..world import commit as commit_file
from ..world import git, work_tree

# Nothing here depends on the kind of database.
pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)


async def test_languages_are_counted_in_bytes_the_largest_first(world, ann):
    app = await repository_with_history(world, ann)
    assert (await ann.get("/repos/ann/app/languages")).json() == {"Shell": 10, "Python": 9}
    repo = opened(world, app["id"])
    files = {"a.go": b"x" * 50, "web/app.tsx": b"x" * 70, "vendor/b.go": b"x" * 999, "c.min.js": b"x" * 999,
             "web/node_modules/a.js": b"x" * 999, "README.md": b"x" * 999, "data.json": b"x" * 999,
             "Dockerfile": b"x" * 5, "empty.rs": b""}  # fmt: skip
    repo.references.create("refs/heads/master", commit(repo, files), force=True)
    shown = (await ann.get("/repos/ann/app/languages")).json()
    assert list(shown.items()) == [("TypeScript", 70), ("Go", 50), ("Dockerfile", 5)]
    changed = {name: content for name, content in files.items() if name != "a.go"} | {"web/b/c.go": b"x" * 80}
    repo.references.create("refs/heads/master", commit(repo, changed), force=True)
    shown = (await ann.get("/repos/ann/app/languages")).json()
    assert list(shown.items()) == [("Go", 80), ("TypeScript", 70), ("Dockerfile", 5)]


async def test_what_a_push_has_counted_is_not_counted_again(world, ann, git_url, tmp_path):
    await ann.create("app")
    work = await work_tree(tmp_path)
    await commit_file(work, "dir/a.py", "x" * 7)
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    for name in ("master:", "master:dir"):
        tree = (await git("rev-parse", name, cwd=work)).strip()
        assert world.components.reads.languages.get(tree) == {"Python": 7}


def test_the_same_folder_in_many_places_counts_in_each_up_to_a_bound(database_backend, tmp_path):
    repo = pygit2.init_repository(tmp_path, bare=True)
    tree = repo.TreeBuilder()
    tree.insert("a.py", repo.create_blob(b"x" * 7), 0o100644)
    oid = tree.write()
    for depth in range(100):
        tree = repo.TreeBuilder()
        for number in range(10):
            tree.insert(f"d{number}", oid, 0o040000)
        oid = tree.write()
        if depth in (1, 99):
            person = pygit2.Signature("a", "a@example.org")
            repo.create_commit("refs/heads/main", person, person, "x", oid, [])
            expected = 700 if depth == 1 else MOST_BYTES
            assert languages_of(repo, "main", SharedCache()) == {"Python": expected}
            repo.references.delete("refs/heads/main")


async def test_a_repository_without_code_has_neither(world, ann, bob):
    await ann.create("app")
    assert (await ann.get("/repos/ann/app/languages")).json() == {}
    assert (await ann.get("/repos/ann/app/licenses")).json() == []
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    for path in ("languages", "licenses"):
        assert (await bob.get(f"/repos/ann/app/{path}")).status_code == 404


async def test_licences_are_named_by_their_keys(world, ann):
    for key in LICENSES:
        await ann.create(f"with-{key}", auto_init=True, license=key)
        assert (await ann.get(f"/repos/ann/with-{key}/licenses")).json() == [key]
    app = await repository_with_history(world, ann)
    repo = opened(world, app["id"])
    apache = b"Apache License\n  Version 2.0, January 2004\n"
    files = {"LICENSE-APACHE": apache, "LICENSE-MIT": LICENSES["MIT"].encode(),
             "LICENSE.txt": b"all rights reserved",
             "src/COPYING": apache, "licenser.py": apache}  # fmt: skip
    set_branches(repo, x=commit(repo, files))
    repo.references.create("refs/heads/master", str(repo.references["refs/heads/x"].target), force=True)
    assert (await ann.get("/repos/ann/app/licenses")).json() == ["Apache-2.0", "MIT"]


def test_names_of_files_and_their_languages(database_backend):
    for path, language in [
        ("a.py", "Python"), ("A.PY", "Python"), ("x/y.h", "C"), ("y.cpp", "C++"), ("Makefile", "Makefile"),
        ("a.d.ts", "TypeScript"), ("noext", ""), (".py", "Python"), ("a.txt", ""), ("b.blade.php", "Blade"),
        ("a.pb.go", ""), ("", ""), ("a.", ""), ("x.svg", ""),
    ]:  # fmt: skip
        assert language_of(path) == language, path


def test_texts_and_their_licences(database_backend):
    for text, key in [
        (
            (
                "GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007\n ... the GNU Lesser General Public "
                "License"
            ),
            "GPL-3.0",
        ),
        ("GNU LESSER GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007", "LGPL-3.0"),
        (
            "GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3, 19 November 2007\nGNU General Public License",
            "AGPL-3.0",
        ),
        ("GNU GENERAL PUBLIC LICENSE\nVersion 2, June 1991", "GPL-2.0"),
        ("", ""),
        ("\ufffd" * 1000, ""),
    ]:
        assert license_of(text) == key


async def test_a_repository_and_its_forks_show_the_language_of_most_bytes(ann, bob, git_url, tmp_path):
    await ann.create("app")
    work = await work_tree(tmp_path)
    await commit_file(work, "small.go", "package a\n")
    await commit_file(work, "large.py", "x = 1\n" * 100)
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    assert (await ann.get("/repos/ann/app")).json()["language"] == "Python"
    assert (await bob.post("/repos/ann/app/forks")).json()["language"] == "Python"


async def test_a_repository_shows_its_branches_and_licences(ann, bob, git_url, tmp_path):
    created = await ann.create("app", auto_init=True, license="MIT")
    assert (created["branch_count"], created["licenses"]) == (1, ["MIT"])
    work, url = tmp_path / "work", f"{git_url}/ann/app.git"
    await git("clone", "-q", url, str(work), cwd=tmp_path, person=ann)
    await git("push", "-q", url, "HEAD:a", "HEAD:b/c", "HEAD:refs/tags/v1", cwd=work, person=ann)
    shown = (await bob.get("/repos/ann/app")).json()
    assert (shown["branch_count"], shown["licenses"]) == (3, ["MIT"])
    forked = (await bob.post("/repos/ann/app/forks")).json()
    assert (forked["branch_count"], forked["licenses"], forked["parent"]["id"]) == (3, ["MIT"], created["id"])
    await git("push", "-q", url, ":a", cwd=work, person=ann)
    sha = (await ann.get("/repos/ann/app/contents/LICENSE")).json()["sha"]
    await ann.call("DELETE", "/api/v1/repos/ann/app/contents/LICENSE", {"sha": sha})
    (shown,) = (await ann.get("/users/ann/repos")).json()
    assert (shown["branch_count"], shown["licenses"]) == (2, [])


@pytest.fixture
async def licensed_work(tmp_path):
    """A working tree with a licence in its only commit."""
    work = await work_tree(tmp_path)
    await commit_file(work, "LICENSE", LICENSES["MIT"])
    return work


async def test_the_first_push_of_another_branch_brings_its_licences_and_language(ann, licensed_work, git_url):
    await ann.create("app", default_branch="main")
    await commit_file(licensed_work, "a.py", "x = 1\n")
    await git("push", "-q", f"{git_url}/ann/app.git", "master:trunk", cwd=licensed_work, person=ann)
    shown = (await ann.get("/repos/ann/app")).json()
    assert (shown["default_branch"], shown["licenses"], shown["language"]) == ("trunk", ["MIT"], "Python")


async def test_another_default_branch_has_its_own_licences(ann, licensed_work, git_url):
    await ann.create("app", auto_init=True)
    url = f"{git_url}/ann/app.git"
    await git("push", "-q", url, "master:free", cwd=licensed_work, person=ann)
    shown = []
    for branch in ("free", "master"):
        answer = await ann.call("PATCH", "/api/v1/repos/ann/app", {"default_branch": branch})
        shown.append(answer.json()["licenses"])
    assert shown == [["MIT"], []]


async def test_a_default_branch_that_is_renamed_has_its_licences_still(ann):
    created = await ann.create("app", auto_init=True, license="MIT")
    path = f"/api/v1/repos/ann/app/branches/{created['default_branch']}"
    assert (await ann.call("PATCH", path, {"name": "trunk"})).status_code == 204
    shown = (await ann.get("/repos/ann/app")).json()
    assert (shown["default_branch"], shown["licenses"]) == ("trunk", ["MIT"])


async def test_licences_are_read_again_only_when_their_files_change(world, ann, licensed_work, git_url):
    await ann.create("app")
    url = f"{git_url}/ann/app.git"
    await git("push", "-q", url, "master", cwd=licensed_work, person=ann)
    async with world.database.transaction() as tx:
        await tx.execute(update(repository).values(licenses='["as it was"]'))
    shown = []
    for file, text in (("a.txt", "a"), ("LICENSE", "Apache License\n  Version 2.0, January 2004\n")):
        await commit_file(licensed_work, file, text)
        await git("push", "-q", url, "master", cwd=licensed_work, person=ann)
        shown.append((await ann.get("/repos/ann/app")).json()["licenses"])
    assert shown == [["as it was"], ["Apache-2.0"]]


async def test_only_a_branch_that_is_new_or_removed_lets_branches_be_counted(
    world, ann, licensed_work, git_url
):
    await ann.create("app")
    url, counts = f"{git_url}/ann/app.git", []
    for refspec in ("master", "HEAD:refs/tags/v1", ":refs/tags/v1", "HEAD:x"):
        with world.count_statements() as statements:
            await git("push", "-q", url, refspec, cwd=licensed_work, person=ann)
        counts.append(sum("SET branch_count" in text for text, _ in statements))
    assert counts == [1, 0, 0, 1]


async def test_a_licence_that_cannot_be_read_is_none(world, ann):
    app = await ann.create("app", auto_init=True, license="MIT")
    path = world.components.storage.path(app["id"])
    blob = (await ann.get("/repos/ann/app/contents/LICENSE")).json()["sha"]
    (path / "objects" / blob[:2] / blob[2:]).unlink()
    assert licenses_column(pygit2.Repository(str(path)), app["default_branch"]) == "[]"


async def test_a_repository_shows_since_when_it_is_archived(ann):
    assert (await ann.create("app"))["archived_at"] is None
    times = []
    for archived in (True, True, False):
        answer = await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": archived, "description": "d"})
        times.append(answer.json()["archived_at"])
    assert times[0] == times[1] > "2020"
    assert times[2] is None
