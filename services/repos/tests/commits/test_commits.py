"""Commits by the API: lists with filters, single ones, and their texts."""

import itertools
from types import SimpleNamespace

import pytest
from pygit2.enums import FileMode

from ingot_git.history.commits import whole
from ingot_git.history.history import WALKED, HistoryFilter, history_page
from ingot_git.process.cpu_time import CpuLimit
from ingot_git.storage.read_cache import SharedCache
from ingot_git.testing.builders import commit, raw_commit, set_branches
from ingot_testing.service import count_statements

from ..code_world import opened, repository_with_history
from ..world import git

# Nothing here depends on the kind of database.
pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
L = "/repos/ann/app/commits"
ONE = "/repos/ann/app/git/commits"
FILTERS = [
    ("sha=light", ["first"]),
    ("sha=feature/side", ["side", "first"]),
    ("sha=refs/heads/feature/side&not=master", ["side"]),
    ("sha=master&not=light", ["third", "second"]),
    ("not=master", []),
    ("path=README.md", ["third", "first"]),
    ("path=src/main.py", ["second", "first"]),
    ("path=src", ["second", "first"]),
    ("path=src/&not=light", ["second"]),
    ("path=run.sh&sha=v1.0", ["second"]),
    ("since=2021-01-01T00:00:00Z", []),
    ("until=2020-02-03T04:05:06%2B05:30", ["third", "second", "first"]),
    ("until=2020-01-01T00:00:00Z", []),
    ("since=2020-01-01T00:00:00Z&until=2020-12-01T00:00:00Z&path=README.md", ["third", "first"]),
    ("author=AUTHOR@example", ["third", "second", "first"]),
    ("author=author@example.org&path=README.md", ["third", "first"]),
    ("author=somebody", []),
    ("author=somebody&path=README.md", []),
    ("limit=1&page=2", ["second"]),
    ("limit=2&page=2&path=README.md", []),
    ("page=99", []),
]
BAD_FILTERS = [
    ("sha=none", 404), ("not=none", 404), ("path=none", 404), ("path=../x", 404), ("path=a//b", 404),
    ("sha=--all", 404), ("sha=" + "1" * 40, 404), ("since=yesterday", 422), ("until=9999999999", 422),
    ("sha=" + "x" * 3000, 404), ("not=" + "x" * 3000, 404), ("path=" + "x/" * 3000, 404),
]  # fmt: skip


@pytest.fixture
async def app(world, ann):
    return await repository_with_history(world, ann)


def shas(answer):
    assert answer.status_code == 200, answer.text
    return [one["sha"] for one in answer.json()]


async def test_the_history_of_the_default_branch(ann, app):
    answer = await ann.get(L)
    assert shas(answer) == [app["third"], app["second"], app["first"]]
    assert answer.headers["x-total-count"] == answer.headers["x-total"] == "3"
    assert (answer.headers["x-hasmore"], answer.headers["x-pagecount"]) == ("false", "1")
    one = answer.json()[1]
    assert one["commit"]["message"] == "second\n\nwith a body\n"
    assert one["commit"]["author"] == {
        "name": "Author", "email": "author@example.org", "date": "2020-02-02T22:35:06Z",
    }  # fmt: skip
    assert one["author"] is None
    assert [parent["sha"] for parent in one["parents"]] == [app["first"]]
    assert one["commit"]["tree"]["url"].endswith(one["commit"]["tree"]["sha"])
    assert one["stats"] == {"total": 9, "additions": 8, "deletions": 1}
    assert {"filename": "src/main.py", "status": "modified"} in one["files"]
    assert {"filename": "run.sh", "status": "added"} in one["files"]
    assert one["commit"]["verification"]["verified"] is False
    assert one["created"] == "2020-02-02T22:35:06Z"


async def test_parts_are_left_out_on_request(ann, app, git_log):
    git_log.clear()
    one = (await ann.get(f"{L}?stat=false&files=0&verification=no")).json()[0]
    assert (one["stats"], one["files"], one["commit"]["verification"]) == (None, None, None)
    assert list(git_log) == []
    one = (await ann.get(f"{L}?stat=false")).json()[0]
    assert (one["stats"], one["files"]) == (None, [{"filename": "README.md", "status": "modified"}])


async def test_an_account_with_the_address_is_named(world, ann, app):
    repo = opened(world, app["id"])
    oid = raw_commit(repo, b"author A <Ann@Example.org> 1 +0000\ncommitter B <b@example.org> 2 +0000\n\nx")
    set_branches(repo, other=oid)
    one = (await ann.get(f"{L}?sha=other")).json()[0]
    assert (one["author"]["login"], one["committer"]) == ("ann", None)
    assert one["author"]["email"] == "ann@example.org"
    assert (await world.user(0, "").get(f"{L}?sha=other")).json()[0]["author"]["email"] == ""


@pytest.mark.parametrize("walked", [1, WALKED])
async def test_filters_of_the_history(ann, app, monkeypatch, walked):
    monkeypatch.setattr("ingot_git.history.history.WALKED", walked)
    for query, expected in FILTERS:
        assert shas(await ann.get(f"{L}?{query}")) == [app[name] for name in expected], query


async def test_bad_filters(ann, app):
    for query, status in BAD_FILTERS:
        answer = await ann.get(f"{L}?{query}")
        assert answer.status_code == status, (query, answer.text)


async def test_following_links_reads_every_commit_once(world, ann, app):
    repo = opened(world, app["id"])
    tip, count = app["third"], 120
    for number in range(count):
        tip = commit(repo, {"n": b"%d" % number}, [tip])
    set_branches(repo, long=tip)
    for path in ("", "&path=n"):
        url, listed = f"{L}?sha=long&limit=50&stat=false&files=false{path}", []
        while url:
            answer = await ann.get(url)
            listed += shas(answer)
            following = answer.links.get("next") if hasattr(answer, "links") else None
            assert answer.headers["x-hasmore"] == ("true" if following else "false")
            url = following["url"].removeprefix("http://ingot.test/api/v1") if following else None
        assert len(set(listed)) == len(listed) == (count if path else count + 3)


@pytest.mark.parametrize("walked", [1, WALKED])
async def test_paths_are_followed_as_git_follows_them(world, ann, app, monkeypatch, walked):
    monkeypatch.setattr("ingot_git.history.history.WALKED", walked)
    repo = opened(world, app["id"])
    a = commit(repo, {"a": b"1", "d/b": b"1"}, message="a")
    b = commit(repo, {"a": b"2", "d/b": b"1"}, [a], "b")
    c = commit(repo, {"a": b"1", "d/b": b"2"}, [a], "c")
    m = commit(repo, {"a": b"2", "d/b": b"2"}, [b, c], "m")
    e = commit(repo, {"a": b"3", "d/b": b"2"}, [m], "e")
    gone = commit(repo, {"d/b": b"2"}, [e], "gone")
    set_branches(repo, walk=gone)
    for path in ("a", "d", "d/b"):
        expected = await git("log", "--format=%H", "walk", "--", path, cwd=opened_path(world, app))
        assert sorted(shas(await ann.get(f"{L}?sha=walk&path={path}"))) == sorted(expected.split())


def opened_path(world, app):
    return world.components.storage.path(app["id"])


async def test_an_empty_repository_has_no_history(ann):
    await ann.create("app")
    assert (await ann.get(L)).status_code == 409
    assert (await ann.get(f"{ONE}/master")).status_code == 404


async def test_a_history_that_is_too_long_is_counted_as_far_as_one_looks(world, app, monkeypatch):
    monkeypatch.setattr("ingot_git.history.history.WALKED", 3)
    repo, totals = opened(world, app["id"]), SharedCache()
    tip = app["third"]
    for number in range(20):
        tip = commit(repo, {"n": b"%d" % number}, [tip])

    def page(offset, limit):
        listed = history_page(
            repo, tip, HistoryFilter(), offset=offset, limit=limit, totals=totals, clip=whole, counted=5
        )
        return len(listed.commits), listed.total, listed.more

    assert page(0, 2) == (2, 5, True)
    assert page(10, 2) == (2, 13, True)
    assert page(20, 10) == (3, 23, False)
    assert page(0, 2) == (2, 23, True)


@pytest.mark.parametrize("counted_here", [1, 4, 100])
async def test_every_page_is_the_same_whoever_lists_it(world, app, monkeypatch, counted_here):
    monkeypatch.setattr("ingot_git.history.history.WALKED", counted_here)
    repo, tip = opened(world, app["id"]), app["third"]
    hidden = commit(repo, {"n": b"hidden"}, [tip])
    merged = tip
    for number in range(10):
        tip = commit(repo, {"n": b"%d" % number}, [tip, merged] if number == 5 else [tip])
    set_branches(repo, long=tip)
    for without in (), (hidden,):
        revisions = "long", *(f"^{oid}" for oid in without)
        oids = (await git("rev-list", *revisions, cwd=opened_path(world, app))).split()
        totals, listed = SharedCache(), []
        for offset in range(0, len(oids) + 3, 3):
            page = history_page(
                repo,
                tip,
                HistoryFilter(hidden=without),
                offset=offset,
                limit=3,
                totals=totals,
                clip=whole,
                counted=8,
            )
            listed += [info.oid for info in page.commits]
            assert page.more == (offset + 3 < len(oids)), (offset, page.total, len(oids))
        assert (listed, page.total) == (oids, len(oids))


async def test_what_changed_a_path_is_found_by_git_where_the_history_is_long(
    world, app, monkeypatch, git_log
):
    monkeypatch.setattr("ingot_git.history.history.WALKED", 50)
    repo, tip = opened(world, app["id"]), app["third"]
    for number in range(60):
        tip = commit(repo, {"n": b"%d" % number, "rare": b"%d" % (number // 55)}, [tip])
    only_rare = HistoryFilter(path="rare")
    listed = history_page(repo, tip, only_rare, offset=1, limit=1, totals=SharedCache(), clip=whole)
    assert [info.message for info in listed.commits] == ["x\n"]
    assert (listed.total, listed.more, len(list(git_log))) == (2, False, 1)


async def test_a_history_of_a_path_ends_at_a_limit_of_cpu_time(world, ann, app, monkeypatch):
    repo, tip = opened(world, app["id"]), app["third"]
    for number in range(4):
        tip = commit(repo, {"often": b"%d" % number, "rare": b""}, [tip])
    set_branches(repo, master=tip)
    clock = SimpleNamespace(thread_time=itertools.count().__next__)
    monkeypatch.setattr("ingot_git.history.history.time", clock)
    monkeypatch.setattr("ingot_git.history.history.WALK_SECONDS", 5)

    filled = await ann.get(f"{L}?path=often&limit=2")
    assert (len(shas(filled)), filled.headers["x-total-count"]) == (2, "4")
    assert len(shas(await ann.get(f"{L}?path=rare&limit=2"))) == 1  # git answers
    monkeypatch.setattr("ingot_git.history.path_commits.READ", CpuLimit(-1.0))
    refused = await ann.get(f"{L}?path=rare&limit=3")
    assert (refused.status_code, refused.json()["message"]) == (
        413, "the history of this path is too long for one response"
    )  # fmt: skip


async def test_one_commit_by_branch_tag_or_id(ann, app):
    for name in (app["second"], app["second"][:8], "v1.0", "refs/tags/v1.0"):
        assert (await ann.get(f"{ONE}/{name}")).json()["sha"] == app["second"]
    assert (await ann.get(f"{ONE}/feature/side")).json()["sha"] == app["side"]
    for name in ("none", "0" * 40, "--all", "a/../b", "master~1", "%FF", "x" * 3000):
        assert (await ann.get(f"{ONE}/{name}")).status_code == 404, name


async def test_the_changes_of_a_commit_as_text(ann, app):
    diff = await ann.get(f"{ONE}/{app['third']}.diff")
    assert diff.headers["content-type"].startswith("text/plain")
    assert "+more" in diff.text
    assert diff.text.startswith("diff --git")
    patch = await ann.get(f"{ONE}/{app['second'][:9]}.patch")
    assert "Subject: [PATCH] second" in patch.text
    assert "+# app" in (await ann.get(f"{ONE}/{app['first']}.diff")).text
    assert "Subject: [PATCH] first" in (await ann.get(f"{ONE}/{app['first']}.patch")).text
    assert (await ann.get(f"{ONE}/{'1' * 40}.diff")).status_code == 404


async def test_a_patch_with_a_date_that_no_mail_can_have_is_refused_with_the_reason(world, ann, app):
    who = b" A <a@example.org> 1 -0330\n"
    text = f"parent {app['third']}\n".encode() + b"author" + who + b"committer" + who + b"\nold\n"
    repo = opened(world, app["id"])
    old = raw_commit(repo, text)
    set_branches(repo, old=old)
    texts = (f"{ONE}/{old}.patch", f"/repos/ann/app/compare/{app['third']}...{old}?output=patch")
    for answer in [await ann.get(text) for text in texts]:
        assert (answer.status_code, "date" in answer.json()["message"]) == (422, True)
    assert (await ann.get(f"{ONE}/{old}.diff")).status_code == 200


async def test_a_ref_that_ends_like_a_text_is_a_ref_and_else_the_text_is_meant(world, ann, app):
    repo = opened(world, app["id"])
    set_branches(
        repo,
        **{
            "x": app["second"],
            "y": app["third"],
            "y.patch": app["first"],
            f"{app['third']}.diff": app["first"],
        },
    )
    for name in (
        "x.diff",
        "refs/heads/x.diff",
        "heads/x.diff",
        "refs/heads/feature/side.diff",
        f"{app['third'][:9]}.diff",
    ):
        answer = await ann.get(f"{ONE}/{name}")
        assert (answer.status_code, answer.text[:10]) == (200, "diff --git"), name
    for name in ("y.patch", "refs/heads/y.patch"):
        assert (await ann.get(f"{ONE}/{name}")).json()["sha"] == app["first"], name
    assert "+more" in (await ann.get(f"{ONE}/{app['third']}.diff")).text
    assert "diff --git" in (await ann.get(f"{ONE}/y.patch.diff")).text
    for name in (".diff", "none.diff", "refs/heads/none.patch", "refs/heads/.diff"):
        assert (await ann.get(f"{ONE}/{name}")).status_code == 404, name


async def test_a_signature_that_cannot_be_read_is_shown(world, ann, app):
    repo = opened(world, app["id"])
    tip = repo[app["third"]]
    text = tip.read_raw().decode()
    signed = repo.create_commit_with_signature(text, "-----BEGIN SSH SIGNATURE-----\nx\n-----END-----")
    set_branches(repo, signed=str(signed))
    shown = (await ann.get(f"{ONE}/signed")).json()["commit"]["verification"]
    assert (shown["verified"], shown["reason"]) == (False, "gpg.error.extract_sign")
    assert shown["signature"].startswith("-----BEGIN SSH")
    assert shown["payload"] == text


async def test_a_commit_that_no_ref_reaches_is_not_there(world, ann, app):
    lost = commit(opened(world, app["id"]), {"secret": b"1"})
    for path in (
        f"{ONE}/{lost}",
        f"{ONE}/{lost}.diff",
        f"{L}?sha={lost}",
        f"{L}?not={lost}",
        f"{ONE}/{lost[:9]}",
    ):
        assert (await ann.get(path)).status_code == 404, path


async def test_who_may_not_read_gets_nothing(world, ann, bob):
    await repository_with_history(world, ann, private=True)
    for person, status in ((ann, 200), (bob, 404), (world.user(0, ""), 404)):
        for path in (L, f"{ONE}/master", f"{ONE}/master.diff"):
            assert (await person.get(path)).status_code == status


async def test_a_page_of_commits_is_a_fixed_number_of_statements_and_git_runs_once(world, ann, app, git_log):
    repo = opened(world, app["id"])
    tip = app["third"]
    for number in range(60):
        tip = commit(repo, {"n": b"%d" % number}, [tip])
    set_branches(repo, long=tip)
    git_log.clear()
    for _ in range(2):
        with count_statements(world.database) as statements:
            assert len((await ann.get(f"{L}?sha=long&limit=50")).json()) == 50
        assert len(statements) == 2
    assert len(list(git_log)) == 1


async def test_files_of_a_merge_are_those_against_its_first_parent(world, ann, app):
    repo = opened(world, app["id"])
    merge = commit(
        repo, {"README.md": b"# app\n\nmore\n", "side.txt": b"side\n"}, [app["third"], app["side"]]
    )
    set_branches(repo, merged=merge)
    files = {one["filename"]: one["status"] for one in (await ann.get(f"{ONE}/merged")).json()["files"]}
    assert files["side.txt"] == "added"
    assert files["src/main.py"] == "removed"
    empty = commit(repo, {"a": b"1"}, [commit(repo, {"a": b"1"})])
    set_branches(repo, same=empty)
    one = (await ann.get(f"{ONE}/same")).json()
    assert (one["files"], one["stats"]["total"]) == ([], 0)


async def test_a_commit_of_very_many_files_is_listed_without_them(world, ann, app):
    repo = opened(world, app["id"])
    entry, mode = repo.create_blob(b"boom\n"), FileMode.BLOB
    for _ in range(10):
        folder = repo.TreeBuilder()
        for name in "abcdefghij":
            folder.insert(name, entry, mode)
        entry, mode = folder.write(), FileMode.TREE
    who = repo[app["third"]].author
    boom = str(repo.create_commit(None, who, who, "boom\n", entry, [app["third"]]))
    calm = commit(repo, {"a": b"1\n"}, [boom], "calm\n")
    last = commit(repo, {"a": b"2\n"}, [calm], "last\n")
    set_branches(repo, boom=last)
    for _ in range(2):
        commits = (await ann.get(f"{L}?sha=boom")).json()
        shown = {one["sha"]: (one["files"], one["stats"]) for one in commits}
        assert shown[boom] == shown[calm] == (None, None)
        assert shown[last][0] == [{"filename": "a", "status": "modified"}]
        assert shown[app["third"]][1] == {"total": 2, "additions": 2, "deletions": 0}
    assert (await ann.get(f"{ONE}/{boom}")).json()["files"] is None
