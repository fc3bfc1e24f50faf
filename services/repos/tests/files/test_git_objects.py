"""Trees, blobs, refs and notes by the API."""

import base64

import pygit2
import pytest

from ingot_git.refs.refs import set_ref
from ingot_git.testing.builders import commit, set_branches
from ingot_testing.service import count_statements

from ..code_world import SECOND, opened, repository_with_history
from ..world import git

# Nothing here depends on the kind of database.
pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
G = "/repos/ann/app/git"


@pytest.fixture
async def app(world, ann):
    return await repository_with_history(world, ann)


async def test_a_tree_of_a_branch_tag_commit_or_tree(world, ann, app):
    root = str(opened(world, app["id"])[app["third"]].tree_id)
    for name in ("master", app["third"], root, "refs/heads/master"):
        tree = (await ann.get(f"{G}/trees/{name}")).json()
        assert [entry["path"] for entry in tree["tree"]] == [
            ".gitmodules", "README.md", "binary", "lib", "link", "o\u00f6 b?.txt", "run.sh", "src",
        ]  # fmt: skip
        assert (tree["truncated"], tree["total_count"], tree["page"]) == (False, 8, 1)
    entries = {entry["path"]: entry for entry in tree["tree"]}
    assert (entries["run.sh"]["mode"], entries["run.sh"]["type"], entries["run.sh"]["size"]) == (
        "100755",
        "blob",
        10,
    )
    assert (entries["src"]["mode"], entries["src"]["type"]) == ("040000", "tree")
    assert (entries["lib"]["mode"], entries["lib"]["type"], entries["lib"]["url"]) == ("160000", "commit", "")
    assert entries["link"]["mode"] == "120000"
    assert (await ann.get(entries["src"]["url"].removeprefix("http://ingot.test/api/v1"))).json()[
        "total_count"
    ] == 2
    assert (await ann.get(f"{G}/trees/HEAD")).json() == (await ann.get(f"{G}/trees/master")).json()
    side = (await ann.get(f"{G}/trees/feature/side")).json()
    assert "side.txt" in [entry["path"] for entry in side["tree"]]


async def test_files_of_a_tree_are_found_by_words_of_their_paths(world, ann):
    one = await repository_with_history(world, ann)
    files = dict.fromkeys(("a/main/x.py", "a/x_main.py", "main.py", "Main/b.PY", "a/py", "lib.txt"), b"")
    tip = commit(opened(world, one["id"]), files, [])
    for query, paths in (
        ("q=main+PY", ["main.py", "a/x_main.py", "Main/b.PY", "a/main/x.py"]),
        ("q=main%20py&per_page=1&page=2", ["a/x_main.py"]),
        ("q=Main/&recursive=1", ["Main/b.PY", "a/main/x.py"]),
        ("q=zz", []),
        (f"q={'b+B+' * 9}b+.py", ["Main/b.PY"]),
        ("q=m+ma+mai+main+a+ai+ain+i+in+n+zz", ["main.py", "a/x_main.py", "Main/b.PY", "a/main/x.py"]),
        ("q=m+ma+mai+main+a+ai+ain+i+in+zz", []),
        ("q=abpy", ["Main/b.PY"]),
        ("q=l.t", ["lib.txt"]),
        ("q=]^", []),
        ("q=%20", ["Main", "a", "lib.txt", "main.py"]),
    ):
        set_ref(opened(world, one["id"]), "refs/heads/found", tip)
        tree = (await ann.get(f"{G}/trees/found?{query}")).json()
        assert [entry["path"] for entry in tree["tree"]] == paths, query
        assert tree["truncated"] == ("per_page" in query)
    below = (await ann.get(f"{G}/trees/found:a?q=main")).json()
    assert [entry["path"] for entry in below["tree"]] == ["x_main.py", "main/x.py"]
    assert (await ann.get(f"{G}/trees/found?q={'x' * 201}")).status_code == 422


async def test_a_tree_with_its_folders_as_git_lists_it(world, ann, app):
    expected = await git("ls-tree", "-r", "-t", "--name-only", "-z", "master",
                         cwd=world.components.storage.path(app["id"]))  # fmt: skip
    for flag in ("1", "true"):
        tree = (await ann.get(f"{G}/trees/master?recursive={flag}")).json()
        assert [entry["path"] for entry in tree["tree"]] == expected.split("\0")[:-1]
    folder = (await ann.get(f"{G}/trees/master:src?recursive=1")).json()
    assert [entry["path"] for entry in folder["tree"]] == ["deep", "deep/x.txt", "main.py"]
    assert (await ann.get(f"{G}/trees/master%3Asrc%2Fdeep")).json()["total_count"] == 1
    paths, page, more = [], 1, True
    while more:
        tree = (await ann.get(f"{G}/trees/master?recursive=1&per_page=3&page={page}")).json()
        paths += [entry["path"] for entry in tree["tree"]]
        page, more = page + 1, tree["truncated"]
    assert paths == expected.split("\0")[:-1]
    assert (await ann.get(f"{G}/trees/master?page=99999999999&per_page=-1")).status_code == 200


async def test_trees_that_are_not_there(ann, app):
    blob = (await ann.get("/repos/ann/app/contents/README.md")).json()["sha"]
    for name in ("none", "0" * 40, blob, app["tag"][:7] + "x", "master:none", "master:README.md",
                 "master:src%2F..",
                 ":src", "--all", "master:src:x", "x" * 3000, "%FF"):  # fmt: skip
        assert (await ann.get(f"{G}/trees/{name}")).status_code == 404, name


async def test_a_tree_with_very_many_paths_is_cut(world, ann, app):
    """A few small objects stand for a million paths."""
    repo = opened(world, app["id"])
    builder = repo.TreeBuilder()
    for number in range(10):
        builder.insert(f"f{number}", repo.create_blob(b"x"), 0o100644)
    tree = builder.write()
    for _ in range(5):
        builder = repo.TreeBuilder()
        for number in range(10):
            builder.insert(f"d{number}", tree, 0o040000)
        tree = builder.write()
    who = repo[app["first"]].author
    set_branches(repo, bomb=str(repo.create_commit(None, who, who, "m", tree, [])))
    answer = (await ann.get(f"{G}/trees/bomb?recursive=1")).json()
    assert (len(answer["tree"]), answer["truncated"], answer["total_count"]) == (1000, True, 100_000)
    last = (await ann.get(f"{G}/trees/bomb?recursive=1&page=100")).json()
    assert (len(last["tree"]), last["truncated"]) == (1000, True)


async def test_a_blob_of_the_newest_tree_needs_no_git_and_an_old_one_is_searched(world, ann, app, git_log):
    repo = opened(world, app["id"])
    new = str(pygit2.hash(SECOND["src/main.py"]))
    git_log.clear()
    shown = (await ann.get(f"{G}/blobs/{new}")).json()
    assert (base64.b64decode(shown["content"]), shown["size"], shown["encoding"]) == (
        b"print(2)\n",
        9,
        "base64",
    )
    assert list(git_log) == []
    old = str(pygit2.hash(b"print(1)\n"))
    assert (await ann.get(f"{G}/blobs/{old}")).status_code == 200
    assert len(list(git_log)) == 1
    lost = str(repo.create_blob(b"secret"))
    lost_commit = commit(repo, {"secret/x": b"other secret"})
    lost_tree = str(repo[lost_commit].tree_id)
    for name in (
        lost,
        str(pygit2.hash(b"other secret")),
        app["first"],
        "0" * 40,
        "master",
        "--all",
        old[:10],
    ):
        assert (await ann.get(f"{G}/blobs/{name}")).status_code == 404, name
    assert (await ann.get(f"{G}/trees/{lost_tree}")).status_code == 404
    set_ref(repo, "refs/scratch/x", lost_commit)
    assert (await ann.get(f"{G}/trees/{lost_tree}")).status_code == 404
    set_ref(repo, "refs/pull/1/head", lost_commit)
    assert (await ann.get(f"{G}/trees/{lost_tree}")).status_code == 200


async def test_a_blob_that_is_too_large_has_no_content(world, ann, app):
    repo = opened(world, app["id"])
    set_branches(repo, large=commit(repo, {"large": b"x" * (10 * 1024 * 1024 + 1)}))
    oid = str(pygit2.hash(b"x" * (10 * 1024 * 1024 + 1)))
    shown = (await ann.get(f"{G}/blobs/{oid}")).json()
    assert (shown["content"], shown["encoding"], shown["size"]) == (None, None, 10 * 1024 * 1024 + 1)


async def test_refs_all_and_by_prefix(world, ann, app):
    set_ref(opened(world, app["id"]), "refs/scratch/x", app["first"])
    answer = await ann.get(f"{G}/refs")
    refs = {one["ref"]: one["object"] for one in answer.json()}
    assert list(refs) == ["refs/heads/feature/side", "refs/heads/master", "refs/tags/light", "refs/tags/v1.0"]
    assert answer.headers["x-total-count"] == "4"
    assert (refs["refs/tags/v1.0"]["type"], refs["refs/tags/v1.0"]["sha"]) == ("tag", app["tag"])
    assert (refs["refs/heads/master"]["type"], refs["refs/heads/master"]["sha"]) == ("commit", app["third"])
    for prefix, count in (("heads", 2), ("heads/master", 1), ("heads/feature", 1), ("tags/", 2), ("t", 2)):
        assert len((await ann.get(f"{G}/refs/{prefix}")).json()) == count, prefix
    for prefix in ("none", "scratch", "scratch/x", "heads/none", "--all", "%FF"):
        assert (await ann.get(f"{G}/refs/{prefix}")).status_code == 404, prefix
    paged = await ann.get(f"{G}/refs?limit=1&page=2")
    assert [one["ref"] for one in paged.json()] == ["refs/heads/master"]


async def test_the_note_of_a_commit(world, ann, app):
    repo = opened(world, app["id"])
    assert (await ann.get(f"{G}/notes/master")).status_code == 404
    who = repo[app["first"]].author
    repo.create_note("well done\n", who, who, app["second"], "refs/notes/commits")
    for name in (app["second"], "v1.0", app["second"][:8]):
        note = (await ann.get(f"{G}/notes/{name}?files=false")).json()
        assert (note["message"], note["commit"]["sha"]) == ("well done\n", app["second"])
    assert (await ann.get(f"{G}/notes/{app['first']}")).status_code == 404
    assert (await ann.get(f"{G}/notes/none")).status_code == 404


async def test_who_may_not_read_gets_nothing(world, ann, bob):
    await repository_with_history(world, ann, private=True)
    blob = str(pygit2.hash(SECOND["src/main.py"]))
    for person, status in (
        (ann, 200),
        (bob, 404),
        (world.user(0, ""), 404),
        (ann.but(restricted_to=[9]), 404),
    ):
        for path in ("trees/master", f"blobs/{blob}", "refs", "refs/heads"):
            assert (await person.get(f"{G}/{path}")).status_code == status


async def test_an_empty_repository(ann):
    await ann.create("app")
    for path in ("trees/master", f"blobs/{'1' * 40}", "refs", "refs/heads", "notes/master"):
        assert (await ann.get(f"{G}/{path}")).status_code == 404


async def test_a_tree_is_one_statement_and_no_git(world, ann, app, git_log):
    repo = opened(world, app["id"])
    set_branches(repo, many=commit(repo, {f"f{n:04}": b"%d" % n for n in range(1500)}))
    git_log.clear()
    with count_statements(world.database) as statements:
        tree = (await ann.get(f"{G}/trees/many?recursive=1")).json()
    assert (len(tree["tree"]), tree["truncated"], tree["total_count"]) == (1000, True, 1500)
    assert len(statements) == 1
    assert list(git_log) == []
