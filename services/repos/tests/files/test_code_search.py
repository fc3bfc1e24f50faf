"""Search in the files of a repository, by git-grep(1)."""

import contextlib
import threading

import pytest
from pygit2.enums import FileMode

from ingot_chassis.errors import Unavailable
from ingot_git.history import code_search
from ingot_git.process.cpu_time import CpuLimit
from ingot_git.testing.builders import commit, commit_of_tree, million_files, set_branches

from ..code_world import opened, repository_with_history

# Nothing here depends on the kind of database.
pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%b\nsize 5\n" % (b"ab" * 32)
FILES = {
    "a.py": b"import os\n\ndef find(a):\n    return FIND + find\n",
    "lib/b.py": b"find = 1\r\n",
    "lib/c.txt": "größer: find ü find\n".encode(),
    "lib[1]/d*.py": b"find\n",
    "library/e.py": b"find\n",
    "binary": b"find\0find\n",
    "lfs.bin": POINTER + b"\n",
    "line\nbreak": b"find\n",
}


async def searchable(world, person, files=FILES, **fields):
    """Create a repository `app` with these files on the branch `files`."""
    app = await repository_with_history(world, person, **fields)
    repo = opened(world, app["id"])
    set_branches(repo, files=commit(repo, files))
    return app


async def search(person, **query):
    query = {"ref": "files", **query}
    return await person.get("/repos/ann/app/code/search", params=query)


async def paths(person, **query):
    answer = await search(person, **query)
    assert answer.status_code == 200, answer.text
    return [file["path"] for file in answer.json()["files"]]


async def test_lines_are_shown_with_the_places_of_the_matches(world, ann):
    await searchable(world, ann)
    answer = (await search(ann, q="find", extension="py", path="a.py".removesuffix(".py"))).json()
    assert answer["files"] == []
    answer = (await search(ann, q="find", path="a.py")).json()
    (file,) = answer["files"]
    assert file["html_url"].endswith(f"/ann/app/src/commit/{answer['sha']}/a.py")
    assert file["lines"] == [
        {"number": 3, "text": "def find(a):", "matches": [[4, 8]]},
        {"number": 4, "text": "    return FIND + find", "matches": [[11, 15], [18, 22]]},
    ]
    assert (answer["total_count"], answer["incomplete_results"]) == (1, False)
    (file,) = (await search(ann, q="FIND", path="lib/c.txt")).json()["files"]
    assert file["lines"][0]["matches"] == [[8, 12], [15, 19]]
    (file,) = (await search(ann, q="find", path="lib/b.py")).json()["files"]
    assert file["lines"][0]["text"] == "find = 1"


async def test_text_is_literal_unless_it_is_a_regular_expression(world, ann):
    await searchable(world, ann)
    assert await paths(ann, q="f.nd") == []
    assert "a.py" in await paths(ann, q="^def f.nd", regexp=True)
    assert await paths(ann, q="FIND", case_sensitive=True) == ["a.py"]
    assert await paths(ann, q="-e find") == []
    assert await paths(ann, q="none of it") == []
    answer = await search(ann, q="(", regexp=True)
    assert (answer.status_code, "q" in answer.text) == (422, True)


async def test_the_output_of_git_is_read_in_a_thread(world, ann, monkeypatch):
    await searchable(world, ann)
    read, threads = code_search._records, set()

    def records(*arguments):
        threads.add(threading.current_thread())
        return read(*arguments)

    monkeypatch.setattr(code_search, "_records", records)
    assert await paths(ann, q="find", path="lib") == ["lib/b.py", "lib/c.txt"]
    assert len(threads) == 1
    assert threading.main_thread() not in threads


async def test_a_search_needs_a_slot_for_git(world, ann, git_log):
    app = await searchable(world, ann)
    admission = world.components.admission
    admission.wait_seconds = 0.01
    async with contextlib.AsyncExitStack() as stack:
        with contextlib.suppress(Unavailable):
            for _ in range(1_000):
                await stack.enter_async_context(admission.slot(app["id"], signed_in=True))
        assert (await search(ann, q="find")).status_code == 503
        assert not any("grep" in command for command in git_log)
    assert (await search(ann, q="find")).status_code == 200


async def test_paths_and_names_limit_the_search(world, ann):
    await searchable(world, ann)
    assert await paths(ann, q="find") == ["a.py", "lib/b.py", "lib/c.txt", "lib[1]/d*.py", "library/e.py"]
    assert await paths(ann, q="find", path="lib") == ["lib/b.py", "lib/c.txt"]
    assert await paths(ann, q="find", path="/lib/", extension=".py") == ["lib/b.py"]
    assert await paths(ann, q="find", path="lib[1]", extension="py") == ["lib[1]/d*.py"]
    assert await paths(ann, q="find", extension="txt") == ["lib/c.txt"]
    assert await paths(ann, q="find", path="*") == []
    assert await paths(ann, q="find", ref="master") == []


async def test_binary_files_and_pointers_of_lfs_are_not_shown(world, ann):
    await searchable(world, ann)
    assert await paths(ann, q="oid sha256") == []
    assert "binary" not in await paths(ann, q="find")


async def test_results_come_in_pages(world, ann):
    await searchable(world, ann)
    answer = await search(ann, q="find", limit=2, page=2)
    assert [file["path"] for file in answer.json()["files"]] == ["lib/c.txt", "lib[1]/d*.py"]
    assert answer.headers["x-total-count"] == "5"


async def test_invalid_questions_name_their_field(world, ann):
    await searchable(world, ann)
    for field, query in [
        ("q", {}), ("q", {"q": " "}), ("q", {"q": "a\nb"}), ("q", {"q": "a\x01"}), ("q", {"q": "x" * 201}),
        ("path", {"q": "a", "path": "../x"}), ("extension", {"q": "a", "extension": "*"}),
        ("regexp", {"q": "a", "regexp": "maybe"}),
    ]:  # fmt: skip
        answer = await search(ann, **query)
        assert answer.status_code in (400, 422), (query, answer.text)
        assert field in answer.text
    assert (await search(ann, q="find", ref="none")).status_code == 404
    await ann.create("void")
    assert (await ann.get("/repos/ann/void/code/search?q=x")).status_code == 404


async def test_only_readers_of_code_search(world, ann, bob):
    await searchable(world, ann)
    assert "a.py" in await paths(bob, q="find")
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert (await search(bob, q="find")).status_code == 404
    assert "a.py" in await paths(ann, q="find")


async def test_large_files_and_long_lines_are_cut(world, ann):
    large = b"find\n" * (code_search.LARGEST // 4)
    files = {"large": large, "many": b"find\n" * 50, "long": b"x" * 9000 + b"find" + b"y" * 9000}
    await searchable(world, ann, files)
    answer = (await search(ann, q="find")).json()
    assert answer["incomplete_results"]
    long, many = answer["files"]
    (line,) = long["lines"]
    ((start, end),) = line["matches"]
    assert (line["text"][start:end], len(line["text"])) == ("find", code_search.LONGEST_LINE)
    assert len(many["lines"]) == code_search.MOST_LINES


@pytest.mark.parametrize("limit", ["output", "cpu", "files"])
async def test_a_search_that_reaches_a_limit_says_so(world, ann, monkeypatch, limit):
    files = {f"{number:03}": b"find " * 200 + b"\n" for number in range(300)}
    await searchable(world, ann, files)
    assert not (await search(ann, q="find")).json()["incomplete_results"]
    if limit == "output":
        monkeypatch.setattr(code_search, "MOST_OUTPUT", 50_000)
    elif limit == "cpu":
        monkeypatch.setattr(code_search, "MAX_CPU", CpuLimit(0.0))
    else:
        monkeypatch.setattr(code_search, "MOST_FILES", 10)
    answer = (await search(ann, q="find")).json()
    assert answer["incomplete_results"]
    assert answer["total_count"] < 300


async def test_a_bomb_of_files_ends_in_time(world, ann):
    app = await repository_with_history(world, ann)
    repo = opened(world, app["id"])
    set_branches(repo, files=commit_of_tree(repo, million_files(repo, b"find it\n")))
    answer = (await search(ann, q="find")).json()
    assert answer["incomplete_results"]


async def test_links_and_submodules_are_not_read(world, ann):
    await searchable(world, ann, {"link": (FileMode.LINK, b"find"), "x": b"find\n"})
    assert "x" in await paths(ann, q="find")
