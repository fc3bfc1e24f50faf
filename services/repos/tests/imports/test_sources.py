"""Data next to git: pages of a source that behaves, and of sources that do not."""

import asyncio
import json
import re
from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from ingot_chassis.clock import now
from ingot_remotes.forges.families import FAMILIES
from ingot_remotes.interface.source import SOURCES
from ingot_repos.imports.rules.pages import MOST_FAILURES
from ingot_repos.remotes.rules.reasons import REASON_TEXTS

from ..remote_world import Remote, answering, bare_source, status
from ..world import commit, git

TIMES = {"created_at": "2020-01-02T03:04:05Z", "updated_at": "2020-01-05T03:04:05Z"}
ANN, EVE = {"id": 70, "login": "annie", "email": "ANN@example.org"}, {"id": 71, "login": "cat", "email": ""}
LABELS = [{"id": 5, "name": "bug", "color": "ee0701"}]
MILESTONES = [{"id": 6, "title": "one", "state": "closed", **TIMES}]
ISSUES = [
    {"id": 100 + number, "number": number, "title": f"issue {number}", "user": EVE, "state": "open", **TIMES}
    for number in range(1, 4)
]
ISSUES[0] |= {
    "user": ANN,
    "labels": LABELS,
    "milestone": MILESTONES[0],
    "assignees": [ANN, EVE],
    "body": "so",
}
ISSUES[1] |= {"pull_request": {"merged": False}}
ISSUES[2] |= {"original_author": "old", "original_author_id": 70, "pull_request": None}
SHA, OTHER = "a" * 40, "b" * 40
PULLS = [
    {
        "id": 200 + number, "number": 10 + number, "title": f"pull {number}", "user": EVE, "state": "open",
        "base": {"ref": "trunk", "sha": SHA, "repo_id": 1},
        "head": {"ref": "fix", "sha": OTHER, "repo_id": number},
        "merge_base": SHA, **TIMES,
    }
    for number in range(1, 3)
]  # fmt: skip
PULLS[1] |= {
    "state": "closed",
    "merged": True,
    "merged_by": ANN,
    "merge_commit_sha": OTHER,
    "merged_at": None,
}
COMMENTS = [{"id": 9, "user": ANN, "body": "hm", "issue_url": "http://there/x/y/issues/1", **TIMES}]
ALL = {"issues": True, "labels": True, "milestones": True, "service": "gitea"}
OF_SETTINGS = ("/repos/there/source", "/topics", "/branch_protections", "/tag_protections")
KINDS = ("labels", "milestones", "issues", "pulls", "comments", "times", "dependencies")
REACTION = {"user": ANN, "content": "heart", "created_at": TIMES["created_at"]}
REVIEWS = [
    {
        "id": 300,
        "user": ANN,
        "state": "REQUEST_CHANGES",
        "body": "no",
        "commit_id": OTHER,
        "dismissed": True,
        "comments_count": 1,
        "submitted_at": TIMES["created_at"],
        "updated_at": TIMES["updated_at"],
    },
    {"id": 301, "user": EVE, "state": "REQUEST_REVIEW", "commit_id": "", "submitted_at": TIMES["created_at"]},
    {"id": 302, "user": ANN, "state": "PENDING", "comments_count": 1, "submitted_at": TIMES["created_at"]},
]
LINES = [
    {
        "id": 400, "user": ANN, "resolver": EVE, "body": "why", "path": "a.py", "position": 0,
        "original_position": 7, "commit_id": OTHER, "diff_hunk": "@@ -7 +7 @@", **TIMES,
    }
]  # fmt: skip
TIME = {
    "id": 500,
    "created": TIMES["created_at"],
    "time": 60,
    "issue": ISSUES[0],
    "user_id": 70,
    "user_name": "annie",
}


@pytest.fixture
async def copied(ann, bob):
    """Ann has an account here, which this service has copied."""
    await ann.create("mine")


@pytest.fixture
def settings():
    return {"allowed_remotes": ["127.0.0.1"]}


class Source(Remote):
    """A Gitea with one repository. ``api`` may answer a request for its API in another way."""

    def __init__(self, folder):
        super().__init__(folder)
        self.api, self.page_size = None, 2
        self.lists = {
            "labels": LABELS,
            "milestones": MILESTONES,
            "issues": ISSUES,
            "pulls": PULLS,
            "issues/comments": COMMENTS,
        }
        self.answer = self.answer_api

    async def answer_api(self, method, target, headers, writer):
        parts = urlsplit(target)
        if not parts.path.startswith("/api/"):
            return None
        if self.api is not None:
            return await self.api(method, target, headers, writer)
        return self.page_of(parts)

    def page_of(self, parts):
        path = parts.path.removeprefix("/api/v1/repos/there/source/")
        items = self.lists.get(path)
        if items is None and (path == "issues/reactions" or path.startswith("/api/v1/users/")):
            return status("404 Not Found")
        if items is None:
            return answer_of(None)
        if isinstance(items, dict):
            return answer_of(items)
        start = (int(parse_qs(parts.query)["page"][0]) - 1) * self.page_size
        return answer_of(items[start : start + self.page_size], f"X-Total-Count: {len(items)}")

    def api_calls(self):
        """Return the requests for pages. Settings are fetched with git."""
        targets = [target for _, target, _ in self.requests if target.startswith("/api/")]
        return [target for target in targets if not target.endswith(OF_SETTINGS)]


def answer_of(value, *headers, kind="application/json", line="200 OK"):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    head = (f"HTTP/1.1 {line}", f"Content-Type: {kind}", *headers, f"Content-Length: {len(body)}", "", "")
    return "\r\n".join(head).encode() + body


@pytest.fixture
async def source(tmp_path):
    async with Source(tmp_path / "remote") as source:
        (source.folder / "there").mkdir()
        work = await bare_source(source.folder / "there", tmp_path)
        await commit(work, "README.md", "hello\n")
        await git("push", "-q", "origin", "trunk", cwd=work)
        source.work = work
        yield source


async def migrate(world, person, source, **more):
    """Import the git data of the source, and return the id of the repository."""
    form = {"clone_addr": source.url("there/source.git"), "repo_name": "copy", **ALL, **more}
    answer = await person.post("/repos/migrate", form)
    assert answer.status_code == 201, answer.text
    assert await world.components.import_workers.step() == 1
    return answer.json()["id"]


async def read(person, repository_id, cursor="", **more):
    body = {"cursor": cursor, **more}
    answer = await person.call("POST", f"/internal/imports/{repository_id}/pages", body, peer="issues")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def read_all(person, repository_id, **more):
    """Return the objects of all pages by kind."""
    objects, cursor = {kind: [] for kind in KINDS}, ""
    while (page := await read(person, repository_id, cursor, **more))["state"] == "page":
        for kind in KINDS:
            objects[kind] += page[kind]
        cursor = page["cursor"]
    assert page["state"] == "ended"
    return objects


async def progress(person, name="bob/copy"):
    return (await person.get(f"/repos/{name}/migration")).json()


async def test_all_pages_of_a_source_come_with_people_of_this_server(world, copied, bob, source):
    repository_id = await migrate(world, bob.but(admin=True), source)
    objects = await read_all(bob, repository_id)
    assert [label["name"] for label in objects["labels"]] == ["bug"]
    assert [(one["title"], one["state"]) for one in objects["milestones"]] == [("one", "closed")]
    first, third = objects["issues"]
    assert (first["number"], first["author"]["account_id"], first["author"]["name"]) == (1, 1, "annie")
    assert (first["labels"], first["milestone"], first["body"]) == ([5], 6, "so")
    assert [person["account_id"] for person in first["assignees"]] == [1, -1]
    assert third["author"] == {"account_id": -1, "name": "old", "source_id": 70}
    [text] = objects["comments"]
    assert (text["number"], text["body"], text["author"]["account_id"]) == (1, "hm", 1)


async def test_pull_requests_come_with_their_commits(world, copied, bob, source):
    tip = await git("rev-parse", "HEAD", cwd=source.work)
    await git("push", "-q", "origin", "HEAD:refs/pull/12/head", "HEAD:refs/pull/x/head", cwd=source.work)
    repository_id = await migrate(world, bob.but(admin=True), source, pull_requests=True)
    objects = await read_all(bob, repository_id)
    opened, merged = objects["pulls"]
    assert (opened["number"], opened["base_branch"], opened["head_branch"], opened["is_from_base"]) == (
        11, "trunk", "fix", True,
    )  # fmt: skip
    assert (opened["base_sha"], opened["head_sha"], opened["merge_base"]) == (SHA, OTHER, SHA)
    assert (opened["merged"], opened["merged_by"]) == (False, None)
    assert (merged["merged"], merged["merge_sha"], merged["is_from_base"]) == (True, OTHER, False)
    assert (merged["merged_at"], merged["merged_by"]["account_id"]) == ("2020-01-05T03:04:05Z", 1)
    path = world.components.storage.path(repository_id)
    refs = await git("for-each-ref", "--format=%(refname) %(objectname)", "refs/pull", cwd=path)
    assert refs.split() == ["refs/pull/12/head", tip.strip()]


async def test_reviews_come_with_their_comments_on_lines(world, copied, bob, source):
    source.lists |= {
        "pulls/11/reviews": REVIEWS,
        "pulls/11/reviews/300/comments": LINES,
        "issues/11/comments": [{**COMMENTS[0], "id": 10}],
        "issues/comments/10/reactions": [REACTION],
    }
    objects = await read_all(bob, await migrate(world, bob.but(admin=True), source, pull_requests=True))
    pull = objects["pulls"][0]
    [review] = pull["reviews"]
    assert (review["state"], review["body"], review["commit_sha"], review["dismissed"]) == (
        "REQUEST_CHANGES", "no", OTHER, True,
    )  # fmt: skip
    assert (review["author"]["account_id"], review["submitted_at"]) == (1, TIMES["created_at"])
    [line] = review["comments"]
    assert (line["path"], line["old_position"], line["new_position"], line["body"]) == ("a.py", 7, 0, "why")
    assert (line["author"]["account_id"], line["resolver"]["name"]) == (1, "cat")
    [request] = pull["requests"]
    assert (request["reviewer"]["name"], request["commit_sha"]) == ("cat", OTHER)
    texts = [one for one in objects["comments"] if one["number"] == 11]
    assert [(one["source_id"], one["reactions"][0]["content"]) for one in texts] == [(10, "heart")]
    assert not [target for target in source.api_calls() if "/reviews/302/" in target]


async def test_reactions_times_and_dependencies_come_along(world, copied, bob, source):
    here, other = ({"full_name": name} for name in ("There/source", "there/other"))
    source.lists |= {
        "issues/1/reactions": [REACTION],
        "issues/comments/9/reactions": [REACTION | {"content": "eyes"}],
        "times": [TIME],
        "/api/v1/users/annie": ANN,
        "issues/3/dependencies": [
            {**ISSUES[0], "repository": here},
            {**ISSUES[1], "repository": other},
        ],
    }
    objects = await read_all(bob, await migrate(world, bob.but(admin=True), source))
    [reaction] = objects["issues"][0]["reactions"]
    assert (reaction["content"], reaction["author"]["account_id"]) == ("heart", 1)
    assert [one["content"] for one in objects["comments"][0]["reactions"]] == ["eyes"]
    [time] = objects["times"]
    assert (time["number"], time["seconds"], time["author"]["account_id"]) == (1, 60, 1)
    assert objects["dependencies"] == [{"number": 3, "blocker": 1}]


async def test_a_source_with_a_list_of_reactions_is_asked_once_for_a_page(world, copied, bob, source):
    source.lists |= {
        "issues/11/comments": [{**COMMENTS[0], "id": 10}],
        "issues/comments": [*COMMENTS, {**COMMENTS[0], "id": 10, "issue_url": "", "pull_request_url": "/11"}],
        "issues/reactions": [
            {**REACTION, "number": 1, "comment_id": None},
            {**REACTION, "number": 11, "comment_id": 10},
        ],
    }
    objects = await read_all(bob, await migrate(world, bob.but(admin=True), source, pull_requests=True))
    assert [one["number"] for one in objects["issues"] if one.get("reactions")] == [1]
    assert {one["source_id"] for one in objects["comments"] if one.get("reactions")} == {10}
    calls = [urlsplit(target) for target in source.api_calls()]
    assert not [one for one in calls if re.search(r"/[0-9]+/reactions$", one.path)]
    filters = [parse_qs(one.query) for one in calls if one.path.endswith("/issues/reactions")]
    firsts = [(one.get("issues"), one.get("comments")) for one in filters if one["page"] == ["1"]]
    assert firsts == [(["1"], None), (["3"], None), (["11,12"], ["10"]), (None, ["9"])]


@pytest.mark.parametrize("line", ["400 Bad Request", "403 Forbidden", "404 Not Found"])
async def test_a_source_without_times_has_all_else(world, bob, source, line):
    async def without(_method, target, _headers, _writer):
        parts = urlsplit(target)
        return status(line) if parts.path.endswith(("/times", "/dependencies")) else source.page_of(parts)

    source.api = without
    objects = await read_all(bob, await migrate(world, bob, source))
    assert (len(objects["issues"]), objects["times"]) == (2, [])
    assert (await progress(bob))["status"] == "done"


@pytest.mark.parametrize(
    "answer", [status("429 Too Many Requests", "Retry-After: 7"), status("502 Bad Gateway")]
)
async def test_a_limit_within_a_page_pauses_the_import(world, bob, source, answer):
    async def limited(_method, target, _headers, _writer):
        parts = urlsplit(target)
        return answer if parts.path.endswith("/3/reactions") else source.page_of(parts)

    repository_id = await migrate(world, bob, source, labels=False, milestones=False)
    source.api, cursor = limited, (await read(bob, repository_id))["cursor"]
    assert (await read(bob, repository_id, cursor))["state"] == "wait"
    source.api = None
    assert [one["number"] for one in (await read(bob, repository_id, cursor))["issues"]] == [3]


FILE = b"bytes" * 1000
RELEASES = [
    {
        "id": 600, "tag_name": "v1", "name": "one", "body": "first", "author": ANN, "prerelease": True,
        "published_at": TIMES["updated_at"], **TIMES,
        "assets": [
            {"name": "a.zip", "size": len(FILE), "created_at": TIMES["created_at"]},
            {"name": "gone.zip", "size": 1, "created_at": TIMES["created_at"]},
        ],
    },
    {"id": 601, "tag_name": "v2", "name": "untagged", "author": EVE, **TIMES},
]  # fmt: skip


def with_releases(source):
    """Give the source releases, one of which has two files. The second is missing."""
    first, second = RELEASES
    for asset in first["assets"]:
        asset["browser_download_url"] = source.url(f"there/files/{asset['name']}")
    source.lists |= {"releases": [first, second], "topics": {"topics": ["lamps", "No Topic"]}}
    source.files = {"/there/files/a.zip": answer_of(FILE)}

    async def answer(method, target, headers, writer):
        path = urlsplit(target).path
        if path.startswith("/there/files/"):
            return source.files.get(path, status("404 Not Found"))
        return await source.answer_api(method, target, headers, writer)

    source.answer = answer


async def releases_of(person):
    return (await person.get("/repos/bob/copy/releases")).json()


async def test_releases_come_with_their_files(world, copied, bob, source):
    await git("tag", "v1", cwd=source.work)
    await git("push", "-q", "origin", "v1", cwd=source.work)
    with_releases(source)
    await migrate(world, bob.but(admin=True), source, releases=True, auth_token="t0ken")
    first, second = sorted(await releases_of(bob), key=lambda one: one["tag_name"])
    assert (first["name"], first["body"], first["prerelease"], first["draft"]) == (
        "one",
        "first",
        True,
        False,
    )
    assert (first["created_at"], first["published_at"]) == (TIMES["created_at"], TIMES["updated_at"])
    assert (first["author"]["login"], first["original_author"]) == ("ann", "annie")
    assert (second["draft"], second["author"]["id"], second["original_author"]) == (True, -1, "cat")
    [asset] = first["assets"]
    assert (asset["name"], asset["size"], asset["created_at"]) == ("a.zip", len(FILE), TIMES["created_at"])
    got = await bob.call("GET", urlsplit(asset["browser_download_url"]).path)
    assert got.content == FILE
    assert (await bob.get("/repos/bob/copy/topics")).json()["topics"] == ["lamps"]
    assert (await progress(bob))["counts"]["releases"] == {"done": 2, "total": 2}


async def test_releases_of_a_killed_worker_come_once(world, bob, source):
    await git("tag", "v1", cwd=source.work)
    await git("push", "-q", "origin", "v1", cwd=source.work)
    with_releases(source)
    whole, source.files["/there/files/a.zip"] = source.files["/there/files/a.zip"], b""
    form = {"clone_addr": source.url("there/source.git"), "repo_name": "copy", **ALL, "releases": True}
    await bob.post("/repos/migrate", form)
    await world.components.import_workers.step()
    assert (await progress(bob))["status"] == "running"
    source.files["/there/files/a.zip"] = whole
    table = world.database.metadata.tables["job"]
    async with world.database.transaction() as tx:
        await tx.execute(table.update().values(run_at=table.c.created_at))
    await world.components.import_workers.step()
    releases = await releases_of(bob)
    assert sorted(one["tag_name"] for one in releases) == ["v1", "v2"]
    assert [asset["name"] for one in releases for asset in one["assets"]] == ["a.zip"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status("302 Found", "Location: http://10.0.0.1/a.zip"), "address"),
        (status("302 Found", "Location: file:///etc/passwd"), "redirect"),
        (answer_of(b"x" * 20_000), "too-large"),
    ],
)
@pytest.mark.parametrize("settings", [{"allowed_remotes": ["127.0.0.1"], "max_asset_bytes": 10_000}])
async def test_a_file_that_may_not_be_fetched_fails_the_import(world, bob, source, answer, reason):
    with_releases(source)
    source.files["/there/files/a.zip"] = answer
    await migrate(world, bob, source, releases=True, auth_token="t0ken")
    state = await progress(bob)
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS[reason])


async def test_a_limit_before_releases_pauses_the_job(world, bob, source):
    async def limited(_method, _target, _headers, _writer):
        return status("429 Too Many Requests", "Retry-After: 7")

    source.api = limited
    await migrate(world, bob, source, releases=True)
    state = await progress(bob)
    assert (state["status"], state["error"]) == ("running", REASON_TEXTS["busy"])
    [job] = [row for row in await world.rows("job") if row.kind.startswith("migrate")]
    assert (job.state, job.run_at > now()) == ("waiting", True)


async def test_the_wiki_comes_along(world, bob, source, tmp_path):
    work = await bare_source(source.folder / "there", tmp_path, name="source.wiki.git")
    await commit(work, "Home.md", "welcome\n")
    await git("push", "-q", "origin", "trunk", cwd=work)
    await migrate(world, bob, source, wiki=True)
    page = (await bob.get("/repos/bob/copy/wiki/page/Home")).json()
    assert (page["title"], page["commit_count"]) == ("Home", 1)


async def test_a_source_without_a_wiki_has_all_else(world, bob, source):
    await migrate(world, bob, source, wiki=True)
    assert (await progress(bob))["status"] == "running"
    assert (await bob.get("/repos/bob/copy/wiki/pages")).status_code == 404


async def test_gogs_is_asked_for_nothing_that_it_does_not_have(world, bob, source):
    objects = await read_all(bob, await migrate(world, bob, source, service="gogs", pull_requests=True))
    assert len(objects["pulls"]) == 2
    paths = {
        urlsplit(target).path.removeprefix("/api/v1/repos/there/source") for target in source.api_calls()
    }
    assert paths == {"/labels", "/milestones", "/issues", "/pulls", "/issues/comments"}
    assert not [target for _, target, _ in source.requests if target.endswith(OF_SETTINGS[1:])]


async def test_heads_of_pull_requests_stay_with_the_source_unless_asked_for(world, bob, source):
    await git("push", "-q", "origin", "HEAD:refs/pull/12/head", cwd=source.work)
    path = world.components.storage.path(await migrate(world, bob, source))
    assert await git("for-each-ref", "refs/pull", cwd=path) == ""


async def test_issues_are_off_until_the_import_ends(world, bob, source):
    repository_id = await migrate(world, bob, source)
    got = (await bob.get("/repos/bob/copy")).json()
    assert (got["empty"], got["has_issues"], got["has_pull_requests"]) == (False, False, False)
    assert [event["repository"]["id"] for event in await world.events("import.fetched")] == [repository_id]
    assert await world.events("import.finished") == []
    assert (await progress(bob))["status"] == "running"
    await read_all(bob, repository_id)
    got = (await bob.get("/repos/bob/copy")).json()
    assert (got["has_issues"], got["has_pull_requests"]) == (True, True)
    state = await progress(bob)
    assert (state["status"], state["percent"], state["error"]) == ("done", 100, "")
    assert [event["reason"] for event in await world.events("import.finished")] == [""]
    assert state["counts"] == {
        "labels": {"done": 1, "total": 1},
        "milestones": {"done": 1, "total": 1},
        "issues": {"done": 3, "total": 3},
        "comments": {"done": 1, "total": 1},
        "times": {"done": 0, "total": 0},
        "dependencies": {"done": 3, "total": 3},
    }


async def test_only_what_the_form_asks_for_is_read(world, bob, source):
    repository_id = await migrate(world, bob, source, issues=False, milestones=False)
    await read_all(bob, repository_id)
    assert {urlsplit(target).path for target in source.api_calls()} == {"/api/v1/repos/there/source/labels"}


async def test_plain_git_needs_no_api(world, bob, source):
    repository_id = await migrate(world, bob, source, service="git")
    assert (await progress(bob))["status"] == "done"
    assert (await read(bob, repository_id))["state"] == "ended"
    assert source.api_calls() == []


@pytest.mark.parametrize(
    ("fields", "header"),
    [
        ({"auth_token": "t0ken"}, "token t0ken"),
        ({"auth_username": "bob", "auth_password": "pw"}, "Basic Ym9iOnB3"),
    ],
)
async def test_credentials_are_sent_and_forgotten_at_the_end(world, bob, source, fields, header):
    repository_id = await migrate(world, bob, source, **fields)
    (row,) = await world.rows("remote")
    assert b"t0ken" not in row.sealed
    await read_all(bob, repository_id)
    sent = {headers.get("authorization") for _, target, headers in source.requests if "/api/" in target}
    assert sent == {header}
    (row,) = await world.rows("remote")
    assert row.sealed is None


async def test_a_source_names_no_other_author_than_the_account_that_imports(world, copied, bob, source):
    """The source claims to show addresses of people here. Only an administrator trusts it."""
    source.lists["issues"] = [
        ISSUES[0] | {"assignees": [ANN]},
        ISSUES[0] | {"id": 1, "number": 2, "user": EVE | {"email": "Bob@example.org"}, "assignees": []},
    ]
    source.lists["pulls"] = [PULLS[1]]
    source.lists["pulls/12/reviews"] = [{**REVIEWS[0], "state": "APPROVED", "comments_count": 0}]
    repository_id = await migrate(world, bob, source, pull_requests=True)
    objects = await read_all(bob, repository_id)
    first, second = objects["issues"]
    assert (first["author"]["account_id"], first["author"]["name"]) == (-1, "annie")
    assert [one["account_id"] for one in first["assignees"]] == [-1]
    assert second["author"]["account_id"] == 2
    [pull] = objects["pulls"]
    assert [one["author"]["account_id"] for one in pull["reviews"]] == [-1]
    assert pull["merged_by"]["account_id"] == -1
    assert [one["author"]["account_id"] for one in objects["comments"]] == [-1]


async def test_a_release_of_a_source_has_no_other_author_than_the_account_that_imports(
    world, copied, bob, source
):
    await bob.create("mine")
    source.lists["releases"] = [
        {"id": 1, "tag_name": "v1", "name": "one", "author": ANN, **TIMES},
        {"id": 2, "tag_name": "v2", "name": "two", "author": EVE | {"email": "bob@example.org"}, **TIMES},
    ]
    await migrate(world, bob, source, releases=True)
    rows = {row.tag_name: row.author_id for row in await world.rows("release")}
    assert rows == {"v1": -1, "v2": 2}


async def test_logins_are_mapped_for_administrators_only(world, bob, source):
    await world.user(3, "cat").create("mine")
    form = {"clone_addr": source.url("there/source.git"), "repo_name": "copy", **ALL, "map_logins": True}
    assert (await bob.post("/repos/migrate", form)).status_code == 403
    repository_id = await migrate(world, bob.but(admin=True), source, map_logins=True)
    objects = await read_all(bob, repository_id)
    assert objects["issues"][0]["assignees"][1]["account_id"] == 3
    assert objects["issues"][1]["author"]["account_id"] == -1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status("401 Unauthorized"), "unauthorized"),
        (status("403 Forbidden"), "unauthorized"),
        (status("404 Not Found"), "not-found"),
        (answer_of(b"<html>Sign in</html>", kind="text/html"), "forge-answer"),
        (answer_of({"message": "no list"}), "forge-answer"),
        (answer_of([{"id": 2**70, "name": "x"}]), "forge-answer"),
        (answer_of([{"id": 1, "name": "\udc80"}]), "forge-answer"),
        (answer_of(b"[" * 100_000), "forge-answer"),
        (answer_of([{"id": number, "name": "x"} for number in range(2000)]), "forge-answer"),
        (status("302 Found", "Location: http://10.0.0.1/api/v1/x"), "address"),
        (status("302 Found", "Location: file:///etc/passwd"), "redirect"),
        (status("302 Found", "Location: /api/v1/again"), "redirect"),
        (status("302 Found"), "forge-answer"),
    ],
)
async def test_a_source_that_fails_ends_the_import_with_one_error(world, bob, source, answer, reason):
    repository_id = await migrate(world, bob, source)
    source.api = answering(answer)
    assert (await read(bob, repository_id))["state"] == "ended"
    state = await progress(bob)
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS[reason])
    assert [event["reason"] for event in await world.events("import.finished")] == [reason]
    assert (await bob.get("/repos/bob/copy/raw/README.md")).text == "hello\n"


async def test_a_failed_import_goes_on_where_it_was(world, bob, source):
    repository_id = await migrate(world, bob, source, auth_token="t0ken")
    page = await read(bob, repository_id)
    source.api = answering(status("401 Unauthorized"))
    assert (await read(bob, repository_id, page["cursor"]))["state"] == "ended"
    source.api = None
    assert (await read(bob, repository_id, page["cursor"]))["state"] == "ended"
    assert (await bob.post("/repos/bob/copy/migration", {"auth_token": "an0ther"})).status_code == 202
    assert len(await world.events("import.fetched")) == 2
    assert (await read(bob, repository_id, page["cursor"]))["state"] == "page"
    assert (await progress(bob))["status"] == "running"
    assert source.requests[-1][2]["authorization"] == "token an0ther"


@pytest.mark.parametrize("answer", [status("401 Unauthorized"), answer_of(b"<html>")])
async def test_the_credentials_of_a_failed_import_are_erased(world, bob, source, answer):
    repository_id = await migrate(world, bob, source, auth_token="t0ken")
    source.api = answering(answer)
    await read(bob, repository_id)
    (row,) = await world.rows("remote")
    assert row.sealed is None


async def test_the_credentials_of_a_cancelled_import_are_erased(world, bob, source):
    await migrate(world, bob, source, auth_token="t0ken")
    assert (await bob.call("DELETE", "/api/v1/repos/bob/copy/migration")).status_code == 204
    (row,) = await world.rows("remote")
    assert row.sealed is None


async def test_progress_has_counts_a_rate_and_an_estimate(world, bob, source):
    repository_id = await migrate(world, bob, source)
    path = f"/repos/migrate/{repository_id}"
    before = (await bob.get(path)).json()
    assert (before["rate"], before["remaining_seconds"], before["counts"]) == (None, None, {})
    page = await read(bob, repository_id)
    totals = {kind: count["total"] for kind, count in (await bob.get(path)).json()["counts"].items()}
    assert totals == {
        "labels": 1, "milestones": 1, "issues": 3, "comments": 1, "times": 0, "dependencies": 3
    }  # fmt: skip
    for _ in range(2):
        page = await read(bob, repository_id, page["cursor"])
    state = (await bob.get(path)).json()
    assert (state["id"], state["phase"], state["rate"] > 0) == (repository_id, "milestones", True)
    assert state["remaining_seconds"] >= 0
    assert state["counts"]["labels"] == {"done": 1, "total": 1}


async def test_an_import_that_is_undone_leaves_nothing(world, bob, source):
    repository_id = await migrate(world, bob, source, auth_token="t0ken")
    await read(bob, repository_id)
    path = f"/api/v1/repos/migrate/{repository_id}"
    assert (await bob.call("DELETE", path)).status_code == 204
    assert (await read(bob, repository_id))["state"] == "ended"
    for table in ("repository", "import_source", "migration", "remote"):
        assert await world.rows(table) == [], table
    assert [event["repository"]["id"] for event in await world.events("deleted")] == [repository_id]
    assert (await bob.call("DELETE", path)).status_code == 404


async def test_an_import_that_is_done_is_not_undone(world, bob, source):
    repository_id = await migrate(world, bob, source)
    await read_all(bob, repository_id)
    answer = await bob.call("DELETE", f"/api/v1/repos/migrate/{repository_id}")
    assert answer.status_code == 409
    assert (await bob.get("/repos/bob/copy/raw/README.md")).text == "hello\n"


async def test_others_see_and_touch_no_import(world, ann, bob, source):
    for private, code in ((True, 404), (False, 403)):
        repository_id = await migrate(world, bob, source, private=private, repo_name=f"copy{private}")
        for method in ("GET", "DELETE"):
            answer = await ann.call(method, f"/api/v1/repos/migrate/{repository_id}")
            assert answer.status_code == code
    assert (await bob.get("/repos/migrate/99")).status_code == 404


async def test_a_cancelled_import_ends_and_its_repository_stays(world, bob, source):
    repository_id = await migrate(world, bob, source)
    assert (await bob.call("DELETE", "/api/v1/repos/bob/copy/migration")).status_code == 204
    assert (await read(bob, repository_id))["state"] == "ended"
    assert source.api_calls() == []
    assert (await bob.get("/repos/bob/copy/raw/README.md")).text == "hello\n"


async def test_a_deleted_repository_ends_its_import(world, bob, source):
    repository_id = await migrate(world, bob, source)
    assert (await bob.call("DELETE", "/api/v1/repos/bob/copy")).status_code == 204
    assert (await read(bob, repository_id))["state"] == "ended"
    assert await world.rows("import_source") == []


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (status("429 Too Many Requests", "Retry-After: 7"), 7),
        (status("503 Service Unavailable", "Retry-After: 8"), 8),
        (status("429 Too Many Requests"), 60),
        (status("429 Too Many Requests", "Retry-After: 999999"), 3600),
        (status("429 Too Many Requests", "Retry-After: -5"), 1),
        (status("429 Too Many Requests", "Retry-After: soon"), 60),
    ],
)
async def test_a_source_that_asks_for_a_pause_gets_it(world, bob, source, answer, seconds):
    repository_id = await migrate(world, bob, source)
    source.api = answering(answer)
    page = await read(bob, repository_id)
    assert (page["state"], page["seconds"]) == ("wait", seconds)
    state = await progress(bob)
    assert (state["status"], state["error"]) == ("running", REASON_TEXTS["busy"])
    assert datetime.fromisoformat(state["paused_until"]) <= now() + timedelta(seconds=seconds)
    source.api = None
    await read(bob, repository_id)
    state = await progress(bob)
    assert (state["error"], state["paused_until"]) == ("", None)


@pytest.mark.parametrize(
    "answer", [status("502 Bad Gateway"), b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[{"]
)
async def test_a_source_that_breaks_off_is_asked_again_for_a_while(world, bob, source, answer):
    repository_id = await migrate(world, bob, source)
    source.api = answering(answer)
    pauses = []
    while (page := await read(bob, repository_id))["state"] == "wait":
        pauses.append(page["seconds"])
    assert pauses == [min(2**number, 300) for number in range(MOST_FAILURES)]
    assert (await progress(bob))["error"] == REASON_TEXTS["unreachable"]


async def test_a_page_after_an_outage_forgets_it(world, bob, source):
    repository_id = await migrate(world, bob, source)
    source.api = answering(status("502 Bad Gateway"))
    await read(bob, repository_id)
    source.api = None
    await read(bob, repository_id)
    source.api = answering(status("502 Bad Gateway"))
    assert (await read(bob, repository_id))["seconds"] == 1


async def test_a_source_that_gives_the_same_page_for_ever_fails(world, bob, source):
    repository_id = await migrate(world, bob, source)
    source.api = answering(answer_of(LABELS))
    page = await read(bob, repository_id)
    assert (await read(bob, repository_id, page["cursor"]))["state"] == "ended"
    assert (await progress(bob))["error"] == REASON_TEXTS["forge-answer"]


async def test_a_source_that_lies_about_its_counts_is_read_to_its_end(world, bob, source):
    async def lie(_method, target, _headers, _writer):
        answer = source.page_of(urlsplit(target))
        return answer.replace(b"X-Total-Count: 3", b"X-Total-Count: 99999999999999999999")

    source.api = lie
    repository_id = await migrate(world, bob, source)
    assert len((await read_all(bob, repository_id))["issues"]) == 2
    assert (await progress(bob))["counts"]["issues"] == {"done": 3, "total": None}


async def test_a_redirect_of_the_same_source_is_followed(world, bob, source):
    async def renamed(_method, target, headers, _writer):
        if "/there/" in target:
            return status("301 Moved Permanently", "Location: " + target.replace("/there/", "/renamed/"))
        assert headers["authorization"] == "token t0ken"
        return source.page_of(urlsplit(target.replace("/renamed/", "/there/")))

    repository_id = await migrate(world, bob, source, auth_token="t0ken")
    source.api = renamed
    assert [label["name"] for label in (await read(bob, repository_id))["labels"]] == ["bug"]


async def test_a_redirect_to_another_server_gets_no_credentials(world, bob, source, tmp_path):
    repository_id = await migrate(world, bob, source, auth_token="t0ken")
    async with Source(tmp_path / "other") as other:
        source.api = answering(status("302 Found", f"Location: {other.url('api/v1/labels')}"))
        other.api = answering(answer_of([]))
        assert (await read(bob, repository_id))["state"] == "page"
        assert other.requests
    assert all("authorization" not in headers for _, _, headers in other.requests)


async def test_a_page_that_issues_refuses_fails_the_import(world, bob, source):
    repository_id = await migrate(world, bob, source)
    assert (await read(bob, repository_id, is_refused=True))["state"] == "ended"
    assert (await progress(bob))["error"] == REASON_TEXTS["refused"]


@pytest.mark.parametrize("cursor", ["x", "{}", '["a"]', "[0,1,0,0,0]", "[0,99999999]", "[-1]"])
async def test_a_cursor_of_another_form_is_refused(world, bob, source, cursor):
    repository_id = await migrate(world, bob, source)
    body = {"cursor": cursor}
    answer = await bob.call("POST", f"/internal/imports/{repository_id}/pages", body, peer="issues")
    assert answer.status_code == 400
    assert source.api_calls() == []


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"service": "onedev"}, "issues"),
        (dict.fromkeys(ALL, False) | {"service": "onedev", "wiki": True}, "wiki"),
        (dict.fromkeys(ALL, False) | {"service": "gitbucket", "releases": True}, "releases"),
    ],
)
async def test_what_is_not_imported_is_refused(world, bob, source, fields, named):
    form = {"clone_addr": source.url("there/source.git"), "repo_name": "copy", **ALL, **fields}
    answer = await bob.post("/repos/migrate", form)
    assert answer.status_code == 422
    assert named in answer.json()["message"]


@pytest.mark.parametrize("settings", [{"allowed_remotes": ["127.0.0.1"], "migration_wait_seconds": 30}])
async def test_the_answer_waits_for_the_whole_import(world, bob, source):
    form = {"clone_addr": source.url("there/source.git"), "repo_name": "copy", **ALL}
    waiting = asyncio.create_task(bob.post("/repos/migrate", form))
    while not await world.components.import_workers.step():
        await asyncio.sleep(0.01)
    (row,) = await world.rows("import_source")
    assert not waiting.done()
    source.api = answering(status("401 Unauthorized"))
    await read(bob, row.repository_id)
    answer = await waiting
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "unauthorized")
    assert (await bob.get("/repos/bob/copy")).status_code == 404


def test_every_service_has_a_family():
    assert set(FAMILIES) == set(SOURCES)
