"""GitLab as a source: groups, numbers of merge requests, discussions, approvals, and what stays there.

The shapes are those of the documentation of GitLab's REST API, version 4, of GitLab 18
(https://docs.gitlab.com/api/rest/). Its pages have Link and X-Total, its limits RateLimit-* and Retry-After.
"""

import json
import time
from datetime import timedelta
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import pytest

from ingot_remotes.forges.gitlab import offset_above
from ingot_repos.remotes.rules.reasons import REASON_TEXTS

from ..remote_world import Remote, bare_source, status
from ..world import commit, git
from .test_sources import progress, read, read_all

TIMES = {"created_at": "2020-01-02T03:04:05.678Z", "updated_at": "2020-01-05T03:04:05.678Z"}
ANN, EVE = (
    {
        "id": number,
        "username": name,
        "name": name.title(),
        "state": "active",
        "web_url": f"http://there/{name}",
    }
    for number, name in ((70, "annie"), (71, "cat"))
)
LABEL = {"id": 5, "name": "priority::high", "color": "#ee0701", "description": None, "priority": None}
MILESTONE = {
    "id": 6, "iid": 1, "title": "one", "description": "", "state": "closed", "due_date": "2020-02-03",
    "start_date": None, **TIMES,
}  # fmt: skip
BASE, HEAD = "a" * 40, "b" * 40
AWARD = {"id": 1, "name": "thumbsup", "user": ANN, **TIMES}
POSITION = {
    "base_sha": BASE, "start_sha": BASE, "head_sha": HEAD, "old_path": "a.py", "new_path": "b.py",
    "position_type": "text", "old_line": None, "new_line": 7,
}  # fmt: skip
ALL = {
    "issues": True, "labels": True, "milestones": True, "pull_requests": True, "releases": True,
    "service": "gitlab", "auth_token": "t0ken",
}  # fmt: skip
PROJECT = "projects/group/sub/proj"


def issue(iid, **fields):
    return {
        "id": 100 + iid, "iid": iid, "project_id": 1, "title": f"issue {iid}", "description": None,
        "state": "opened", "author": EVE, "labels": [], "milestone": None, "assignees": [],
        "closed_at": None, "due_date": None, "confidential": False, "discussion_locked": None,
        "user_notes_count": 0, "time_stats": {"time_estimate": 0, "total_time_spent": 0}, **TIMES, **fields,
    }  # fmt: skip


def merge(iid, **fields):
    values = {
        "target_branch": "trunk", "source_branch": "fix", "source_project_id": 1, "target_project_id": 1,
        "sha": HEAD, "merge_commit_sha": None, "squash_commit_sha": None, "merged_at": None,
        "merge_user": None, "merged_by": None, "reviewers": [], "draft": False,
    }  # fmt: skip
    return {**issue(iid), "title": f"merge {iid}", **values, **fields}


def note(number, **fields):
    return {
        "id": number, "type": None, "body": f"note {number}", "author": ANN, "system": False,
        "resolvable": False, "internal": False, "confidential": False, **TIMES, **fields,
    }  # fmt: skip


class GitLab(Remote):
    """A GitLab with one project. ``first`` may answer a request before the lists do."""

    def __init__(self, folder):
        super().__init__(folder)
        self.first, self.page_size, self.answer = None, 2, self.answer_api
        self.answers = {
            PROJECT: {"id": 1, "topics": ["lamps"], "description": "of a lighthouse"},
            "labels": [LABEL],
            "milestones": [MILESTONE],
            "issues": [issue(1, labels=[LABEL], milestone=MILESTONE, assignees=[ANN]), issue(3)],
            "merge_requests": [merge(2)],
            "merge_requests/2": {
                **merge(2),
                "diff_refs": {"base_sha": BASE, "head_sha": HEAD, "start_sha": BASE},
            },
            "merge_requests/2/approvals": {"approved_by": []},
            "releases": [],
            "users/70": {**ANN, "public_email": "ANN@example.org"},
            "users/71": {**EVE, "public_email": None},
        }

    async def answer_api(self, _method, target, headers, _writer):
        parts = urlsplit(target)
        if not parts.path.startswith("/api/v4/"):
            return None
        if self.first is not None and (raw := await self.first(parts, headers)) is not None:
            return raw
        path = unquote(parts.path).removeprefix("/api/v4/").removeprefix(f"{PROJECT}/")
        value = self.answers.get(
            path, [] if path.endswith(("/award_emoji", "/notes", "/discussions")) else None
        )
        if value is None:
            return status("404 Not Found")
        return self.json(value) if isinstance(value, dict) else self.page_of(parts, value)

    def page_of(self, parts, items):
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        size, number = min(self.page_size, int(query.get("per_page", "20"))), int(query.get("page", "1"))
        headers = [f"X-Total: {len(items)}"]
        if number * size < len(items):
            url = f"{self.url(parts.path.lstrip('/'))}?{urlencode({**query, 'page': number + 1})}"
            headers.append(f'Link: <{url}>; rel="next"')
        return self.json(items[(number - 1) * size : number * size], *headers)

    def json(self, value, *headers):
        body = json.dumps(value).encode()
        lines = ("HTTP/1.1 200 OK", "Content-Type: application/json", *headers)
        return "\r\n".join((*lines, f"Content-Length: {len(body)}", "", "")).encode() + body


@pytest.fixture
def settings():
    return {"allowed_remotes": ["127.0.0.1"]}


@pytest.fixture
async def copied(ann, bob):
    """Ann has an account here, which this service has copied."""
    await ann.create("mine")


@pytest.fixture
async def source(tmp_path):
    async with GitLab(tmp_path / "remote") as source:
        folder = source.folder / "group" / "sub"
        folder.mkdir(parents=True)
        work = await bare_source(folder, tmp_path, name="proj.git")
        await commit(work, "README.md", "hello\n")
        await git("push", "-q", "origin", "trunk", cwd=work)
        source.work = work
        yield source


async def migrate(world, person, source, **more):
    """Import the git data of the source, and return the id of the repository."""
    form = {"clone_addr": source.url("group/sub/proj.git"), "repo_name": "copy", **ALL, **more}
    answer = await person.post("/repos/migrate", form)
    assert answer.status_code == 201, answer.text
    assert await world.components.import_workers.step() == 1
    return answer.json()["id"]


async def test_issues_keep_their_numbers_and_bring_notes_and_times(world, copied, bob, source):
    source.answers |= {
        "issues": [
            issue(
                1, labels=[LABEL], milestone=MILESTONE, assignees=[ANN], due_date="2020-02-03",
                discussion_locked=True, user_notes_count=3, description="see !2 and #3, @annie",
                time_stats={"total_time_spent": 90},
            ),
            issue(3, state="closed", closed_at=TIMES["updated_at"]),
        ],
        "issues/1/award_emoji": [AWARD, AWARD | {"name": "microphone"}],
        "issues/1/notes": [
            note(9), note(10, system=True), note(11, internal=True), note(12, confidential=True), note(13),
        ],
        "issues/1/notes/13/award_emoji": [AWARD | {"name": "tada"}],
    }  # fmt: skip
    objects = await read_all(bob, await migrate(world, bob.but(admin=True), source))
    assert [(one["name"], one["exclusive"]) for one in objects["labels"]] == [("priority/high", True)]
    [milestone] = objects["milestones"]
    assert (milestone["state"], milestone["due_on"]) == ("closed", "2020-02-03T23:59:59Z")
    first, third = objects["issues"]
    assert (first["number"], first["labels"], first["milestone"], first["is_locked"]) == (1, [5], 6, True)
    assert (first["body"], first["due_date"]) == ("see #1002 and #3, @ann", "2020-02-03T23:59:59Z")
    assert [person["account_id"] for person in first["assignees"]] == [1]
    assert [one["content"] for one in first["reactions"]] == ["+1"]
    assert (third["number"], third["state"], third["author"]["name"]) == (3, "closed", "cat")
    texts = [(one["source_id"], one["number"], len(one["reactions"])) for one in objects["comments"]]
    assert texts == [(9, 1, 0), (13, 1, 1)]
    assert [(one["number"], one["seconds"]) for one in objects["times"]] == [(1, 90)]
    assert (await progress(bob))["counts"]["issues"] == {"done": 2, "total": 2}
    sent = [headers["authorization"] for _, target, headers in source.requests if target.startswith("/api/")]
    assert set(sent) == {"Bearer t0ken"}
    assert (await bob.get("/repos/bob/copy/topics")).json()["topics"] == ["lamps"]
    assert (await bob.get("/repos/bob/copy")).json()["description"] == "of a lighthouse"


async def test_confidential_issues_stay_at_the_source(world, bob, source):
    source.answers["issues"] = [issue(1), issue(2, confidential=True)]
    objects = await read_all(bob, await migrate(world, bob, source))
    assert [one["number"] for one in objects["issues"]] == [1]
    lists = [target for _, target, _ in source.requests if target.partition("?")[0].endswith("/issues")]
    assert [target for target in lists if "confidential=false" in target]


async def test_a_merge_request_has_a_number_above_those_of_issues(world, copied, bob, source):
    tip = (await git("rev-parse", "HEAD", cwd=source.work)).strip()
    await git("push", "-q", "origin", "HEAD:refs/merge-requests/2/head", cwd=source.work)
    merged = {
        "state": "merged",
        "merged_at": TIMES["updated_at"],
        "merge_user": ANN,
        "merge_commit_sha": HEAD,
    }
    commits = {"diff_refs": {"base_sha": BASE, "head_sha": HEAD, "start_sha": "c" * 40}}
    source.answers |= {
        "issues": [issue(1), issue(999)],
        "merge_requests": [merge(2, reviewers=[ANN, EVE]), merge(4, source_project_id=9, **merged)],
        "merge_requests/2": commits,
        "merge_requests/4": {"diff_refs": None},
        "merge_requests/2/approvals": {"approved_by": [{"user": ANN}]},
        "merge_requests/4/approvals": {"approved_by": []},
        "merge_requests/2/discussions": [
            {"id": "x", "individual_note": False, "notes": [
                note(20, type="DiffNote", position=POSITION, resolved_by=EVE),
                note(21, type="DiffNote", position=POSITION, author=EVE),
            ]},
            {"id": "y", "individual_note": False, "notes": [
                note(22, type="DiffNote", position=POSITION | {"old_line": 5, "new_line": None}),
            ]},
            {"id": "z", "individual_note": True, "notes": [note(23, body="see !4")]},
            {"id": "s", "individual_note": True, "notes": [note(24, system=True)]},
        ],
    }  # fmt: skip
    repository_id = await migrate(world, bob.but(admin=True), source)
    objects = await read_all(bob, repository_id)
    opened, done = objects["pulls"]
    assert (opened["number"], opened["base_branch"], opened["head_branch"]) == (10_002, "trunk", "fix")
    assert (opened["merge_base"], opened["base_sha"], opened["head_sha"]) == (BASE, "c" * 40, HEAD)
    thread, removed, approval = opened["reviews"]
    assert [(one["path"], one["new_position"], one["commit_sha"]) for one in thread["comments"]] == [
        ("b.py", 7, HEAD), ("b.py", 7, HEAD),
    ]  # fmt: skip
    assert [one["author"]["name"] for one in thread["comments"]] == ["annie", "cat"]
    assert thread["comments"][0]["resolver"]["name"] == "cat"
    [line] = removed["comments"]
    assert (line["path"], line["old_position"], line["new_position"]) == ("a.py", 5, 0)
    assert (approval["state"], approval["author"]["account_id"]) == ("APPROVED", 1)
    assert [one["reviewer"]["name"] for one in opened["requests"]] == ["cat"]
    assert [(one["source_id"], one["number"], one["body"]) for one in objects["comments"]] == [
        (23, 10_002, "see #10004")
    ]
    assert (done["number"], done["merged"], done["merge_sha"], done["is_from_base"]) == (
        10_004, True, HEAD, False,
    )  # fmt: skip
    assert (done["state"], done["merged_by"]["account_id"]) == ("closed", 1)
    path = world.components.storage.path(repository_id)
    refs = await git("for-each-ref", "--format=%(refname) %(objectname)", "refs/pull", cwd=path)
    assert refs.split() == ["refs/pull/10002/head", tip]


async def test_an_issue_that_is_opened_during_the_import_takes_no_number_of_a_merge_request(
    world, bob, source
):
    repository_id = await migrate(world, bob, source)
    source.answers["issues"] = [issue(1), issue(1002)]
    objects = await read_all(bob, repository_id)
    assert ([one["number"] for one in objects["issues"]], objects["pulls"][0]["number"]) == ([1], 1002)


async def test_links_of_a_release_are_files_if_the_api_has_them(world, bob, source):
    await git("tag", "v1", cwd=source.work)
    await git("push", "-q", "origin", "v1", cwd=source.work)
    package = source.url("api/v4/projects/1/packages/generic/a/1/a.zip")
    source.answers["releases"] = [
        {
            "tag_name": "v1", "name": "one", "description": "first", "author": ANN,
            "created_at": TIMES["created_at"], "released_at": TIMES["updated_at"],
            "assets": {"count": 3, "sources": [], "links": [
                {"id": 1, "name": "a.zip", "url": package, "link_type": "package"},
                {"id": 2, "name": "the [docs]", "url": "https://example.org/docs", "link_type": "other"},
                {"id": 3, "name": "bad", "url": "file:///etc/passwd", "link_type": "other"},
            ]},
        }
    ]  # fmt: skip

    async def file(parts, _headers):
        if not parts.path.endswith("/a.zip"):
            return None
        return b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbytes"

    source.first = file
    await migrate(world, bob, source)
    [release] = (await bob.get("/repos/bob/copy/releases")).json()
    assert release["body"] == "first\n\n- [the \\[docs\\]](<https://example.org/docs>)"
    assert [(one["name"], one["size"]) for one in release["assets"]] == [("a.zip", 5)]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        (("Retry-After: 7", "RateLimit-Remaining: 0"), [7]),
        (("RateLimit-Remaining: 0", "RateLimit-Reset: {soon}"), range(80, 101)),
    ],
)
async def test_a_limit_is_a_pause(world, bob, source, headers, seconds):
    repository_id = await migrate(world, bob, source)
    soon = int(time.time()) + 100

    async def limited(_parts, _headers):
        return status("429 Too Many Requests", *(one.format(soon=soon) for one in headers))

    source.first = limited
    page = await read(bob, repository_id)
    assert (page["state"], int(page["seconds"]) in seconds) == ("wait", True), page


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status("401 Unauthorized"), "unauthorized"),
        (status("302 Found", "Location: http://10.0.0.1/users/sign_in"), "address"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>", "forge-answer"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[{"id": 5', "forge-answer"),
    ],
)
async def test_a_wrong_answer_is_a_clear_error_and_the_import_goes_on_later(
    world, bob, source, answer, reason
):
    repository_id = await migrate(world, bob, source)

    async def wrong(_parts, _headers):
        return answer

    source.first = wrong
    assert (await read(bob, repository_id))["state"] == "ended"
    state = await progress(bob)
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS[reason])
    source.first = None
    assert (await bob.post("/repos/bob/copy/migration", {"auth_token": "t0ken"})).status_code == 202
    assert [one["number"] for one in (await read_all(bob, repository_id))["issues"]] == [1, 3]


@pytest.mark.parametrize(
    ("highest", "offset"), [(0, 1_000), (900, 1_000), (950, 10_000), (9_000, 10_000), (9_999, 100_000)]
)
def test_numbers_of_merge_requests_leave_room_for_issues(highest, offset):
    assert offset_above(highest) == offset


async def test_a_dry_run_reports_and_creates_nothing(world, copied, bob, source):
    form = {"clone_addr": source.url("group/sub/proj.git"), "repo_name": "copy", "dry_run": True, **ALL}
    answer = await bob.but(admin=True).post("/repos/migrate", form)
    assert answer.status_code == 200, answer.text
    report = answer.json()
    assert report["counts"] == {
        "labels": 1, "milestones": 1, "issues": 2, "pulls": 1, "comments": 0, "times": 0,
        "dependencies": 0, "releases": 0,
    }  # fmt: skip
    assert (report["people"], report["unmapped"], report["pull_offset"]) == (2, ["cat"], 1000)
    assert 10 < report["requests"] < 30
    assert (await bob.get("/repos/bob/copy")).status_code == 404
    assert await world.rows("migration") == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status("401 Unauthorized"), "unauthorized"),
        (status("429 Too Many Requests"), "busy"),
        (status("302 Found", "Location: http://10.0.0.1/"), "address"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "forge-answer"),
    ],
)
async def test_a_dry_run_of_a_source_that_fails_is_refused(bob, source, answer, reason):
    async def wrong(_parts, _headers):
        return answer

    source.first = wrong
    form = {"clone_addr": source.url("group/sub/proj.git"), "repo_name": "copy", "dry_run": True, **ALL}
    refused = await bob.post("/repos/migrate", form)
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, reason)


async def test_a_dry_run_is_about_data_next_to_git(bob, source):
    form = {"clone_addr": source.url("group/sub/proj.git"), "repo_name": "copy", "dry_run": True}
    refused = await bob.post("/repos/migrate", form)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "dry_run")


async def test_a_repeat_reads_what_changed_since_the_last_run(world, bob, source):
    repository_id = await migrate(world, bob, source)
    await read_all(bob, repository_id)
    started = (await world.rows("import_source"))[0].started_at
    source.requests.clear()
    assert (await bob.post(f"/repos/migrate/{repository_id}/again", {})).status_code == 202
    assert await world.components.import_workers.step() == 1
    await read_all(bob, repository_id, repeat=1)
    since = [(started - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")]
    targets = [urlsplit(target) for _, target, _ in source.requests]
    issues = [parse_qs(one.query) for one in targets if one.path.endswith("/issues")]
    assert issues
    assert [one.get("updated_after") for one in issues] == [since] * len(issues)
