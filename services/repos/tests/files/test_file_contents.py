"""Contents of files and folders by the API."""

import base64
import json
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pygit2
import pytest
from pygit2.enums import ObjectType

from ingot_git.history import last_changes
from ingot_git.history.commits import whole
from ingot_git.history.file_contents import contents_at
from ingot_git.storage.read_cache import ReadCache
from ingot_git.testing.builders import commit, set_branches
from ingot_repos.files.api import file_contents
from ingot_testing.non_empty import non_empty
from ingot_testing.service import count_statements

from ..code_world import MODULES, opened, repository_with_history
from ..world import git

# Nothing here depends on the kind of database.
pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
C = "/repos/ann/app/contents"
NOT_THERE = [
    "none", "README.md/x", "link/x", "lib/x", "%2E%2E", "src/%2E%2E/README.md",
    "%00", "a/" * 300 + "x", "\u00ff", "%FF", "README.md?ref=none", "README.md?ref=--all",
    "README.md?ref=HEAD~1", "README.md?ref=refs/scratch/x", "README.md?ref=refs/heads/../master",
    "README.md?ref=master:src", "README.md?ref=" + "a" * 2000, "README.md?ref=refs/heads/none",
    "README.md?ref=" + "0" * 40,
]  # fmt: skip
BAD_REQUESTS = [
    (("GET", "file-contents?body=x"), 422),
    (("GET", "file-contents"), 422),
    (("GET", "file-contents?body=[1]"), 422),
    (("GET", 'file-contents?body={"x":' + "[" * 3000), 422),
    (("POST", "file-contents", {"files": ["x"] * 101}), 422),
    (("POST", "file-contents", {"files": [1]}), 422),
    (("POST", "file-contents?ref=none", {"files": []}), 404),
    (("GET", "contents-ext/x?includes=all"), 422),
]


@pytest.fixture
async def app(world, ann):
    return await repository_with_history(world, ann)


async def test_the_root_is_a_list_of_entries_without_contents(ann, app):
    answer = await ann.get(C)
    assert answer.status_code == 200, answer.text
    entries = {entry["name"]: entry for entry in answer.json()}
    assert {name: entry["type"] for name, entry in entries.items()} == {
        ".gitmodules": "file", "README.md": "file", "binary": "file", "lib": "submodule", "link": "symlink",
        "o\u00f6 b?.txt": "file", "run.sh": "file", "src": "dir",
    }  # fmt: skip
    readme = entries["README.md"]
    assert (readme["path"], readme["size"], readme["content"], readme["encoding"]) == (
        "README.md",
        12,
        None,
        None,
    )
    assert readme["last_commit_sha"] == app["third"]
    assert entries["run.sh"]["last_commit_sha"] == app["second"]
    assert entries["src"]["last_commit_sha"] == app["second"]
    assert entries["link"]["target"] == "src/main.py"
    assert entries["lib"]["submodule_git_url"] == "https://example.org/lib.git"
    assert entries["lib"]["git_url"] is None
    assert entries["src"]["git_url"].endswith(f"/git/trees/{entries['src']['sha']}")
    assert readme["last_committer_date"] == "2020-02-02T22:35:06Z"


async def test_a_file_has_its_content(ann, app):
    one = (await ann.get(f"{C}/src/main.py")).json()
    assert base64.b64decode(one["content"]) == b"print(2)\n"
    assert (one["encoding"], one["type"], one["size"], one["name"]) == ("base64", "file", 9, "main.py")
    assert one["last_commit_sha"] == app["second"]
    assert one["_links"] == {"self": one["url"], "git": one["git_url"], "html": one["html_url"]}
    assert one["url"] == "http://ingot.test/api/v1/repos/ann/app/contents/src/main.py?ref=master"
    assert (await ann.get(one["download_url"].removeprefix("http://ingot.test/api/v1"))).text == "print(2)\n"
    odd = await ann.get(f"{C}/o%C3%B6%20b%3F.txt")
    assert base64.b64decode(odd.json()["content"]) == b"odd"


async def test_the_ref_says_where(ann, app):
    for ref in ("light", "feature/side", "refs/heads/feature/side", "refs/tags/light", "tags/light"):
        one = (await ann.get(f"{C}/src/main.py?ref={ref}")).json()
        assert base64.b64decode(one["content"]) == b"print(1)\n"
        assert one["last_commit_sha"] == app["first"]


async def test_a_commit_is_named_by_its_id_or_the_start_of_it(ann, app):
    for name in (app["first"], app["first"][:10], app["first"].upper()):
        one = (await ann.get(f"{C}/README.md?ref={name}")).json()
        assert base64.b64decode(one["content"]) == b"# app\n"


async def test_a_folder_is_a_list_also_with_a_slash_behind_it(ann, app):
    for path in ("src", "src/"):
        names = [entry["path"] for entry in (await ann.get(f"{C}/{path}")).json()]
        assert names == ["src/deep", "src/main.py"]


async def test_what_is_not_there(ann, app):
    for path in NOT_THERE:
        answer = await ann.get(f"{C}/{path}")
        assert answer.status_code in (404, 400), (path, answer.text)


async def test_an_empty_repository(ann):
    await ann.create("app")
    assert (await ann.get(C)).json() == []
    assert (await ann.get(f"{C}?ref=master")).status_code == 404
    assert (await ann.get(f"{C}/x")).status_code == 404


async def test_who_may_not_read_gets_nothing(world, ann, bob):
    await repository_with_history(world, ann, private=True)
    nobody = world.user(0, "")
    for person, status in ((ann, 200), (bob, 404), (nobody, 404), (ann.but(restricted_to=[99]), 404)):
        for path in (C, f"{C}/README.md", "/repos/ann/app/contents-ext/README.md"):
            assert (await person.get(path)).status_code == status
        assert (await person.post("/repos/ann/app/file-contents", {"files": []})).status_code == status
    assert (await ann.but(scopes=["read:user"]).get(C)).status_code == 403


async def test_names_that_are_no_text_are_listed_and_cannot_be_named(world, ann, app):
    repo = opened(world, app["id"])
    tree = repo.odb.write(ObjectType.TREE, b"100644 \xff.txt\0" + repo.create_blob(b"1").raw)
    first = commit(repo, {"x": b"1"})
    who = repo[first].author
    oid = repo.create_commit(None, who, who, "m", tree, [first])
    set_branches(repo, bytes=str(oid))
    entries = (await ann.get(f"{C}?ref=bytes")).json()
    assert [entry["name"] for entry in entries] == ["\ufffd.txt"]
    assert "last_commit_sha" not in entries[0]
    assert (await ann.get(f"{C}/%EF%BF%BD.txt?ref=bytes")).status_code == 404


async def test_a_large_file_has_no_content(world, ann, app):
    repo = opened(world, app["id"])
    set_branches(repo, large=commit(repo, {"large": b"x" * (10 * 1024 * 1024 + 1)}))
    one = (await ann.get(f"{C}/large?ref=large")).json()
    assert (one["size"], one["content"], one["encoding"]) == (10 * 1024 * 1024 + 1, None, None)


async def test_last_changes_agree_with_git(world, ann, app, tmp_path):
    """Also across merges, and after commits that follow a remembered one."""
    repo = opened(world, app["id"])
    a = commit(repo, {"a": b"1", "b": b"1", "d/c": b"1"}, message="a")
    b = commit(repo, {"a": b"2", "b": b"1", "d/c": b"1"}, [a], "b")
    c = commit(repo, {"a": b"1", "b": b"2", "d/c": b"1"}, [a], "c")
    m = commit(repo, {"a": b"2", "b": b"2", "d/c": b"1"}, [b, c], "m")
    n = commit(repo, {"a": b"2", "b": b"2", "d/c": b"3", "e": b"1"}, [m], "n")
    for tip in (m, n, b, c):
        repo.references.create("refs/heads/walk", tip, force=True)
        for entry in non_empty((await ann.get(f"{C}?ref=walk")).json()):
            expected = await git("log", "-1", "--format=%H", "walk", "--", entry["path"], cwd=repo_path(repo))
            assert entry["last_commit_sha"] == expected.strip(), entry["path"]


def repo_path(repo):
    return Path(repo.path)


async def test_a_page_of_entries_is_a_fixed_number_of_statements_and_starts_no_git(world, ann, app, git_log):
    repo = opened(world, app["id"])
    set_branches(repo, many=commit(repo, {f"f{n}": b"%d" % n for n in range(300)}))
    await ann.get(f"{C}/lib")  # git reads .gitmodules once
    git_log.clear()
    for ref in ("master", "many"):
        with count_statements(world.database) as statements:
            assert (await ann.get(f"{C}?ref={ref}")).status_code == 200
        assert len(statements) == 1
    assert list(git_log) == []


async def test_several_files_at_once(ann, app):
    files = ["README.md", "none", "src", "link", "../x", "src/main.py"]
    answer = await ann.post("/repos/ann/app/file-contents", {"files": files})
    assert [one and one["type"] for one in answer.json()] == ["file", None, None, "symlink", None, "file"]
    by_get = await ann.get(f"/repos/ann/app/file-contents?body={quote(json.dumps({'files': files}))}")
    assert by_get.json() == answer.json()
    at = await ann.post("/repos/ann/app/file-contents?ref=light", {"files": ["src/main.py"]})
    assert base64.b64decode(at.json()[0]["content"]) == b"print(1)\n"


async def test_bad_requests_for_files(ann, app):
    for (method, path, *body), status in BAD_REQUESTS:
        answer = await ann.call(method, f"/api/v1/repos/ann/app/{path}", *body)
        assert answer.status_code == status, (path, answer.text)


async def test_the_extended_form_has_what_is_named(ann, app):
    extended = "/repos/ann/app/contents-ext"
    bare = (await ann.get(f"{extended}/README.md")).json()
    assert list(bare) == ["file_contents"]
    assert bare["file_contents"]["content"] is None
    assert "last_commit_sha" not in bare["file_contents"]
    full = (
        await ann.get(f"{extended}/README.md?includes=file_content,commit_metadata,commit_message")
    ).json()
    assert base64.b64decode(full["file_contents"]["content"]) == b"# app\n\nmore\n"
    assert full["file_contents"]["last_commit_message"] == "third\n"
    for path in (extended, f"{extended}/src"):
        assert list((await ann.get(path)).json()) == ["dir_contents"]


async def test_a_broken_list_of_submodules_does_no_harm(world, ann, app):
    repo = opened(world, app["id"])
    for text in (b"\xff[submodule\n path", MODULES * 9000, b"[submodule]\npath = lib", b"url = x"):
        tip = commit(repo, {".gitmodules": text, "lib": (0o160000, pygit2.Oid(hex="2" * 40))})
        repo.references.create("refs/heads/modules", tip, force=True)
        lib = (await ann.get(f"{C}/lib?ref=modules")).json()
        assert (lib["type"], lib["submodule_git_url"]) == ("submodule", None)


async def test_a_folder_comes_in_pages_with_folders_first(world, ann, monkeypatch):
    await repository_with_history(world, ann)
    monkeypatch.setattr(file_contents, "ENTRIES_OF_PAGE", 3)
    names = []
    for number in (1, 2, 3, 4):
        answer = await ann.get(f"/repos/ann/app/contents-ext?page={number}&includes=commit_metadata")
        assert answer.headers["x-total-count"] == "8"
        names += [one["name"] for one in answer.json()["dir_contents"]]
    assert names == sorted(names, key=lambda name: (name not in ("lib", "src"), name.lower()))
    assert len(names) == 8
    assert len((await ann.get("/repos/ann/app/contents-ext")).json()["dir_contents"]) == 8


async def test_a_change_that_is_too_far_back_is_looked_for_once_and_found_for_one_file(
    world, ann, monkeypatch
):
    app = await repository_with_history(world, ann)
    monkeypatch.setattr(last_changes, "MOST_COMMITS", 1)
    for _ in range(2):
        shown = (await ann.get("/repos/ann/app/contents-ext?includes=commit_metadata")).json()["dir_contents"]
        assert {
            one["name"]: one.get("last_commit_sha") for one in shown if one["name"] in ("README.md", "lib")
        } == {
            "README.md": app["third"],
            "lib": None,
        }
    assert (await ann.get("/repos/ann/app/contents/run.sh")).json()["last_commit_sha"] == app["second"]


async def test_a_folder_of_a_commit_is_read_once(world, app):
    repo = opened(world, app["id"])
    read = partial(contents_at, repo, path="", cache=ReadCache(), max_bytes=0, clip=whole)
    first = read(name="master")
    assert read(name="master").items is first.items
    assert len(read(name="master", part=slice(0, 3)).items) == 3
    assert {one.last_change for one in read(name="master", with_changes=False).items} == {None}
    set_branches(repo, master=commit(repo, {"new.txt": b"1"}, [app["third"]], "more\n"))
    later = read(name="master")
    assert [one.entry.name for one in later.items] == ["new.txt"]
