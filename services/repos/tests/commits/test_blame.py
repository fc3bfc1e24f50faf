"""The commit of each line of a file."""

from urllib.parse import quote

import pytest

from ingot_git.history import blame as git_blame
from ingot_git.history.blame import BlamedLines, parse
from ingot_git.process.cpu_time import CpuLimit
from ingot_git.testing.builders import commit, set_branches

from ..code_world import opened, repository_with_history

# Nothing here depends on the kind of database.
pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)


async def test_each_line_names_its_commit_and_what_was_there_before(world, ann, bob):
    app = await repository_with_history(world, ann)
    shown = (await ann.get("/repos/ann/app/blame/README.md")).json()
    assert shown["lines"] == [
        {"first": 1, "count": 1, "sha": app["first"]},
        {"first": 2, "count": 2, "sha": app["third"]},
    ]
    newest = next(one for one in shown["commits"] if one["sha"] == app["third"])
    assert (newest["title"], newest["path"], newest["previous_path"]) == ("third", "README.md", "README.md")
    assert newest["previous_sha"] == app["second"]
    assert newest["author_name"]
    assert (await ann.get("/repos/ann/app/blame/README.md")).json() == shown
    older = (await ann.get("/repos/ann/app/blame/README.md?ref=light")).json()
    assert older["lines"] == [{"first": 1, "count": 1, "sha": app["first"]}]
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert (await bob.get("/repos/ann/app/blame/README.md")).status_code == 404


async def test_what_is_no_text_or_too_large_is_refused(world, ann, monkeypatch):
    app = await repository_with_history(world, ann)
    repo = opened(world, app["id"])
    odd = {"-x": b"a\n", "--output=y": b"a\n", "a:b*": b"a\n", "long": b"a\n" * 4, "empty": b""}
    set_branches(repo, odd=commit(repo, odd))
    monkeypatch.setattr(git_blame, "MOST_LINES", 3)
    for path, status in [
        ("binary", 413), ("src", 404), ("none", 404), ("lib", 404), ("README.md%0A", 404), ("../app", 404),
        ("%00", 404),
        ("long?ref=odd", 413), ("-x?ref=odd", 200), ("--output=y?ref=odd", 200), ("a:b*?ref=odd", 200),
        ("empty?ref=odd", 200), ("README.md?ref=none", 404), ("README.md?ref=-x", 404),
    ]:  # fmt: skip
        answer = await ann.get(f"/repos/ann/app/blame/{path}")
        assert answer.status_code == status, (path, answer.text)
    await ann.create("void")
    assert (await ann.get("/repos/ann/void/blame/x")).status_code == 404


NAMES = (
    "\u00fcml\u00e4ut \ucf54\ub4dc.txt", 'a "quoted" name', '"', "back\\slash", "tab\there", "new\nline",
    "re\rturn", "bell\a\b\v\f\x7f\x01",
    "\\303\\274", '"a"', "ends\\", " spaces ", "-x", ":(glob)*", "*", "#", "a/\u00fc/\n",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
async def test_a_file_of_any_name_is_found_and_named(world, ann, name):
    app = await repository_with_history(world, ann)
    repo = opened(world, app["id"])
    first = commit(repo, {name: b"1\n2\n3\n4\n"}, [app["first"]])
    second = commit(repo, {f"{name}.new": b"1\n2\n3\n4\n5\n"}, [first])
    third = commit(repo, {f"{name}.new": b"1\n2\n3\n4\n6\n"}, [second])
    set_branches(repo, odd=third)
    shown = await ann.get(f"/repos/ann/app/blame/{quote(name + '.new')}?ref=odd")
    assert shown.status_code == 200, shown.text
    assert shown.json()["lines"] == [
        {"first": 1, "count": 4, "sha": first},
        {"first": 5, "count": 1, "sha": third},
    ]
    paths = {one["sha"]: (one["path"], one["previous_path"]) for one in shown.json()["commits"]}
    assert paths == {first: (name, ""), third: (f"{name}.new", f"{name}.new")}


async def test_a_history_that_takes_too_much_cpu_time_is_refused(world, ann, monkeypatch):
    await repository_with_history(world, ann)
    monkeypatch.setattr(git_blame, "MAX_CPU", CpuLimit(0.0))
    answer = await ann.get("/repos/ann/app/blame/README.md")
    assert (answer.status_code, "history" in answer.text) == (413, True), answer.text
    monkeypatch.undo()
    assert (await ann.get("/repos/ann/app/blame/README.md")).status_code == 200


def test_lines_between_two_commits_are_told_apart(database_backend):
    one, two = "1" * 40, "2" * 40
    head = "author A\nauthor-mail <a@x>\nauthor-time oops\nsummary s\nfilename f"
    text = f"{one} 1 1 1\n{head}\n\t{two} 1 1\n{two} 1 2 1\n{head}\n\tx\n{one} 2 3 2\n\ty\n{one} 3 4\n\tz\n"
    result = parse(text.encode())
    assert result.lines == (BlamedLines(1, 1, one), BlamedLines(2, 1, two), BlamedLines(3, 2, one))
    assert [commit.author_email for commit in result.commits] == ["a@x", "a@x"]
