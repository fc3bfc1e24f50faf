"""GitHub as a source: pages by Link, limits, ETags, and answers that are wrong.

The shapes are those of GitHub's REST API, version 2022-11-28 (https://docs.github.com/rest). They have the
fields that its description marks as required, and null where it allows null.
"""

import json
import re
import time
from datetime import timedelta
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from ingot_remotes.forges.github import api_root
from ingot_repos.protection.rules.globs import matches
from ingot_repos.remotes.rules.reasons import REASON_TEXTS

from ..remote_world import Remote, bare_source, status
from ..world import commit, git
from .test_sources import progress, read, read_all

TIMES = {"created_at": "2020-01-02T03:04:05Z", "updated_at": "2020-01-05T03:04:05Z"}
ANN, EVE = {"id": 70, "login": "annie", "type": "User"}, {"id": 71, "login": "cat[bot]", "type": "Bot"}
NO_REACTIONS, ONE = {"total_count": 0, "+1": 0}, {"total_count": 1, "heart": 1}
LABEL = {"id": 5, "name": "bug", "color": "ee0701", "default": True, "description": None}
MILESTONE = {
    "id": 6, "number": 1, "title": "one", "state": "closed", "description": None, "due_on": None,
    "closed_at": TIMES["updated_at"], **TIMES,
}  # fmt: skip
SHA, OTHER = "a" * 40, "b" * 40
LINE = {
    "pull_request_review_id": 300, "path": "a.py", "user": ANN, "body": "why", "position": None,
    "original_position": 4, "line": None, "original_line": 7, "side": "LEFT", "commit_id": OTHER,
    "original_commit_id": SHA, "diff_hunk": "@@ -7 +7 @@", "reactions": NO_REACTIONS, **TIMES,
}  # fmt: skip
REACTION = {"id": 1, "user": ANN, "content": "heart", "created_at": TIMES["created_at"]}
ALL = {
    "issues": True, "labels": True, "milestones": True, "pull_requests": True, "releases": True,
    "service": "github", "auth_token": "t0ken",
}  # fmt: skip


def issue(number, **fields):
    return {
        "id": 100 + number, "number": number, "title": f"issue {number}", "user": EVE, "state": "open",
        "locked": False, "body": None, "labels": [], "milestone": None, "assignees": [], "closed_at": None,
        "comments": 0, "reactions": NO_REACTIONS, **TIMES, **fields,
    }  # fmt: skip


def pull(number, **fields):
    repo = {"id": 1, "full_name": "there/source"}
    values = {
        "base": {"ref": "trunk", "sha": SHA, "repo": repo},
        "head": {"ref": "fix", "sha": OTHER, "repo": repo},
        "merged_at": None, "merge_commit_sha": OTHER, "requested_reviewers": [], "comments": 0,
        "review_comments": 0, "merged_by": None, "maintainer_can_modify": True, "additions": 3,
        "deletions": 1, "changed_files": 2,
    }  # fmt: skip
    return issue(number, id=200 + number, **values | fields)


def comment(number, source_id, **fields):
    url = f"https://api.github.com/repos/there/source/issues/{number}"
    return {
        "id": source_id, "user": ANN, "body": "hm", "issue_url": url, "reactions": NO_REACTIONS,
        **TIMES, **fields,
    }  # fmt: skip


class GitHub(Remote):
    """A GitHub with one repository. ``first`` may answer a request before the lists do."""

    def __init__(self, folder):
        super().__init__(folder)
        self.first, self.page_size, self.answer = None, 2, self.answer_api
        self.etags, self.points = False, 0
        self.answers = {
            "labels": [LABEL],
            "milestones": [MILESTONE],
            "issues": [
                issue(1, user=ANN, labels=[LABEL], milestone=MILESTONE, assignees=[ANN, EVE], locked=True),
                issue(2, pull_request={"merged_at": None}),
                issue(3, state="closed", closed_at=TIMES["updated_at"], body="so"),
            ],
            "pulls": [pull(2)],
            "issues/comments": [comment(1, 9), comment(2, 10), comment(1, 11)],
            "releases": [],
            "branches": [],
            "/repos/there/source": {
                "topics": ["lamps"],
                "description": "of a lighthouse",
                "homepage": "javascript:alert(1)",
                "allow_merge_commit": False,
                "allow_squash_merge": True,
                "delete_branch_on_merge": True,
            },
            "issues/2/reactions": [],
            "pulls/2/reviews": [],
            "/users/annie": {**ANN, "email": "ANN@example.org"},
            "/users/cat[bot]": {**EVE, "email": None},
        }

    async def answer_api(self, method, target, headers, writer):
        parts = urlsplit(target)
        if not parts.path.startswith("/api/v3/"):
            return None
        if self.first is not None and (raw := await self.first(parts, headers)) is not None:
            return raw
        path = parts.path.removeprefix("/api/v3").replace("%5B", "[").replace("%5D", "]")
        path = path.removeprefix("/repos/there/source/")
        value = self.answers.get(path)
        number = path.rpartition("/")[2]
        if value is None and path == f"pulls/{number}":
            value = next((one for one in self.answers["pulls"] if str(one["number"]) == number), None)
        if value is None:
            return status("404 Not Found")
        if isinstance(value, dict):
            return self.json(value, headers)
        return self.page_of(parts, value, headers)

    def page_of(self, parts, items, headers):
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        size = min(self.page_size, int(query.get("per_page", "30")))
        number = int(query.get("page", "1"))
        last = -(-len(items) // size)
        links = {"next": number + 1, "last": last} if number < last else {}
        url = self.url(parts.path.lstrip("/"))
        link = ", ".join(
            f'<{url}?{urlencode({**query, "page": page})}>; rel="{name}"' for name, page in links.items()
        )
        body = items[(number - 1) * size : number * size]
        return self.json(body, headers, *((f"Link: {link}",) if link else ()))

    def json(self, value, sent, *headers):
        body = json.dumps(value).encode()
        etag = f'W/"{hash(body)}"'
        if self.etags and sent.get("if-none-match") == etag:
            return f"HTTP/1.1 304 Not Modified\r\nETag: {etag}\r\n\r\n".encode()
        self.points += 1
        more = (*headers, *((f"ETag: {etag}",) if self.etags else ()))
        lines = ("HTTP/1.1 200 OK", "Content-Type: application/json; charset=utf-8", *more)
        return "\r\n".join((*lines, f"Content-Length: {len(body)}", "", "")).encode() + body

    def api_calls(self):
        return [urlsplit(target) for _, target, _ in self.requests if target.startswith("/api/")]


@pytest.fixture
def settings():
    return {"allowed_remotes": ["127.0.0.1"]}


@pytest.fixture
async def copied(ann, bob):
    """Ann has an account here, which this service has copied."""
    await ann.create("mine")


@pytest.fixture
async def source(tmp_path):
    async with GitHub(tmp_path / "remote") as source:
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


async def test_issues_come_over_pages_with_their_people_and_without_pull_requests(world, copied, bob, source):
    objects = await read_all(bob, await migrate(world, bob.but(admin=True), source))
    assert [one["name"] for one in objects["labels"]] == ["bug"]
    assert [(one["title"], one["state"]) for one in objects["milestones"]] == [("one", "closed")]
    first, third = objects["issues"]
    assert (first["number"], third["number"], third["state"], third["body"]) == (1, 3, "closed", "so")
    assert first["author"] == {"account_id": 1, "name": "annie", "source_id": 70}
    assert (first["labels"], first["milestone"], first["is_locked"]) == ([5], 6, True)
    assert [person["account_id"] for person in first["assignees"]] == [1, -1]
    assert sorted(one["number"] for one in objects["comments"]) == [1, 1, 2]
    assert (await progress(bob))["counts"] == {
        "labels": {"done": 1, "total": 1},
        "milestones": {"done": 1, "total": 1},
        "issues": {"done": 3, "total": 3},
        "pulls": {"done": 1, "total": 1},
        "comments": {"done": 3, "total": 3},
        "times": {"done": 0, "total": 0},
        "dependencies": {"done": 3, "total": 3},
    }
    assert (await bob.get("/repos/bob/copy/topics")).json()["topics"] == ["lamps"]
    got = (await bob.get("/repos/bob/copy")).json()
    assert (got["description"], got["website"]) == ("of a lighthouse", "")
    assert (got["allow_merge_commits"], got["default_delete_branch_after_merge"]) == (False, True)
    assert got["default_merge_style"] != "merge"
    assert {call.path for call in source.api_calls() if "/users/" in call.path} == {
        "/api/v3/users/annie", "/api/v3/users/cat%5Bbot%5D",
    }  # fmt: skip
    sent = [headers for _, target, headers in source.requests if target.startswith("/api/")]
    assert {(one["authorization"], one["x-github-api-version"]) for one in sent} == {
        ("Bearer t0ken", "2022-11-28")
    }


async def test_a_pull_request_comes_with_reviews_comments_and_its_merge_base(world, copied, bob, source):
    base = (await git("rev-parse", "HEAD", cwd=source.work)).strip()
    await commit(source.work, "a.py", "one\n")
    head = (await git("rev-parse", "HEAD", cwd=source.work)).strip()
    await git("reset", "-q", "--hard", "HEAD~1", cwd=source.work)
    await commit(source.work, "b.py", "two\n")
    trunk = (await git("rev-parse", "HEAD", cwd=source.work)).strip()
    await git("push", "-q", "origin", "trunk", f"{head}:refs/pull/2/head", cwd=source.work)
    merged = {"state": "closed", "merged_at": TIMES["updated_at"], "merged_by": ANN}
    alone = {"pull_request_review_id": None, "id": 401, "line": 9, "side": "RIGHT"}
    repo = {"id": 1}
    source.answers |= {
        "pulls": [
            pull(
                2, comments=1, review_comments=3, requested_reviewers=[EVE],
                base={"ref": "trunk", "sha": trunk, "repo": repo},
                head={"ref": "fix", "sha": head, "repo": repo},
            ),
            pull(4, head={"ref": "trunk", "sha": OTHER, "repo": None}, **merged),
        ],
        "pulls/2/reviews": [
            {"id": 300, "user": ANN, "state": "CHANGES_REQUESTED", "body": "no", "commit_id": head,
             "submitted_at": TIMES["created_at"]},
            {"id": 301, "user": None, "state": "DISMISSED", "body": "", "commit_id": None,
             "submitted_at": TIMES["created_at"]},
            {"id": 302, "user": ANN, "state": "PENDING", "body": "draft", "commit_id": head},
        ],
        "pulls/2/comments": [
            {**LINE, "id": 400}, {**LINE, **alone}, {**LINE, "id": 402, "pull_request_review_id": 302},
        ],
        "pulls/4/reviews": [],
        "issues/2/comments": [comment(2, 10, reactions=ONE)],
        "issues/2/reactions": [REACTION],
        "issues/4/reactions": [],
        "issues/comments/10/reactions": [REACTION | {"content": "eyes"}],
    }  # fmt: skip
    objects = await read_all(bob, await migrate(world, bob.but(admin=True), source))
    opened, done = objects["pulls"]
    assert (opened["number"], opened["base_branch"], opened["head_branch"], opened["head_sha"]) == (
        2, "trunk", "fix", head,
    )  # fmt: skip
    assert (opened["merge_base"], opened["is_from_base"], opened["allow_maintainer_edit"]) == (
        base,
        True,
        True,
    )
    assert (opened["additions"], opened["deletions"], opened["changed_files"]) == (3, 1, 2)
    changes, dismissed, lone = opened["reviews"]
    assert (changes["state"], changes["commit_sha"], dismissed["state"], dismissed["dismissed"]) == (
        "REQUEST_CHANGES", head, "COMMENT", True,
    )  # fmt: skip
    [line] = changes["comments"]
    assert (line["path"], line["old_position"], line["new_position"], line["commit_sha"]) == (
        "a.py", 7, 0, SHA,
    )  # fmt: skip
    [line] = lone["comments"]
    assert (lone["source_id"], line["new_position"], line["commit_sha"]) == (-401, 9, OTHER)
    assert [one["reviewer"]["name"] for one in opened["requests"]] == ["cat[bot]"]
    assert [one["content"] for one in opened["reactions"]] == ["heart"]
    assert (done["merged"], done["merge_sha"], done["is_from_base"], done["merge_base"]) == (
        True, OTHER, False, SHA,
    )  # fmt: skip
    assert (done["merged_by"]["account_id"], done["merged_at"]) == (1, TIMES["updated_at"])
    texts = [one for one in objects["comments"] if one["source_id"] == 10]
    assert [one["content"] for one in texts[0]["reactions"]] == ["eyes"]


def protection(**fields):
    """The protection of a branch with what GitHub always answers."""
    off = {"enabled": False}
    return {
        "enforce_admins": {"url": "http://there", **off}, "required_linear_history": off, "lock_branch": off,
        "allow_force_pushes": off, "allow_deletions": off, "required_conversation_resolution": off, **fields,
    }  # fmt: skip


REVIEWED = {
    "required_pull_request_reviews": {
        "dismiss_stale_reviews": True, "require_code_owner_reviews": False,
        "required_approving_review_count": 2, "require_last_push_approval": False,
        "bypass_pull_request_allowances": {
            "users": [ANN, EVE], "teams": [{"id": 1, "slug": "crew"}], "apps": [],
        },
    },
}  # fmt: skip
CHECKED = {
    "required_status_checks": {
        "strict": True, "contexts": ["ci/build"], "checks": [{"context": "ci/build", "app_id": None}],
    },
    "enforce_admins": {"enabled": True},
    "required_signatures": {"enabled": True},
}  # fmt: skip
ONLY_ANN = {"restrictions": {"users": [ANN], "teams": [], "apps": []}}
FORCED = {"allow_force_pushes": {"enabled": True}}


async def test_protected_branches_come_with_the_people_who_are_here(world, copied, bob, source):
    source.answers |= {
        "branches": [
            {"name": name, "protected": True} for name in ("trunk", "hidden", "any", "locked", "by")
        ],
        "branches/trunk/protection": protection(**REVIEWED, **CHECKED, **FORCED),
        "branches/by/protection": protection(**REVIEWED, **FORCED),
        "branches/any/protection": protection(**FORCED),
        "branches/locked/protection": protection(lock_branch={"enabled": True}, **ONLY_ANN),
    }
    repository_id = await migrate(world, bob.but(admin=True), source)
    listed = (await bob.get("/repos/bob/copy/branch_protections")).json()
    rules = {one["rule_name"]: one for one in listed}
    assert set(rules) == {"trunk", "any", "locked", "by"}
    bypassed = rules["by"]
    assert (bypassed["enable_push"], bypassed["push_whitelist_usernames"]) == (True, ["ann"])
    assert (bypassed["enable_force_push"], bypassed["force_push_allowlist_usernames"]) == (True, ["ann"])
    trunk, free, locked = rules["trunk"], rules["any"], rules["locked"]
    assert (trunk["enable_push"], trunk["enable_force_push"]) == (False, False)  # without the checks
    assert (trunk["enable_merge_whitelist"], trunk["required_approvals"]) == (False, 2)
    assert (trunk["dismiss_stale_approvals"], trunk["block_on_rejected_reviews"]) == (True, True)
    assert (trunk["enable_status_check"], trunk["status_check_contexts"]) == (True, ["ci/build"])
    switches = ("block_on_outdated_branch", "require_signed_commits", "block_admin_merge_override")
    assert [trunk[name] for name in switches] == [True, True, True]
    assert (free["enable_push"], free["enable_push_whitelist"], free["enable_force_push"]) == (
        True, False, True,
    )  # fmt: skip
    assert (locked["enable_push"], locked["enable_merge_whitelist"]) == (False, True)
    assert locked["merge_whitelist_usernames"] == []
    reported = (await bob.get(f"/repos/migrate/{repository_id}")).json()["unmapped_rules"]
    assert [(one["pattern"], one["is_left_out"], one["logins"], one["teams"]) for one in reported] == [
        ("hidden", True, [], []), ("trunk", False, [], ["crew"]),
        ("by", False, ["cat[bot]"], ["crew"]),
    ]  # fmt: skip


async def test_only_people_whom_a_restriction_names_may_push_and_merge(world, copied, bob, source):
    source.answers |= {
        "branches": [{"name": "trunk", "protected": True}, {"name": "a/b", "protected": True}],
        "branches/trunk/protection": protection(**ONLY_ANN),
        "branches/a%2Fb/protection": protection(**REVIEWED, **ONLY_ANN),
    }
    await migrate(world, bob.but(admin=True), source)
    listed = (await bob.get("/repos/bob/copy/branch_protections")).json()
    assert len(listed) == 2
    for rule in listed:
        assert (rule["enable_push_whitelist"], rule["push_whitelist_usernames"]) == (True, ["ann"])
        assert (rule["enable_merge_whitelist"], rule["merge_whitelist_usernames"]) == (True, ["ann"])
        assert not rule["enable_force_push"]


async def test_names_are_no_patterns_and_demands_that_do_not_come_are_named(world, copied, bob, source):
    contexts = ["build [x]", 'os ({"a":1})', "back\\slash", "x" * 300]
    source.answers |= {
        "branches": [{"name": "feature/{a}", "protected": True}],
        "branches/feature%2F%7Ba%7D/protection": protection(
            required_status_checks={
                "strict": False, "contexts": contexts, "checks": [{"context": "lint", "app_id": 7}],
            },
            required_pull_request_reviews={
                "require_code_owner_reviews": True, "require_last_push_approval": True,
            },
        ) | {"required_linear_history": {"enabled": True}},
    }  # fmt: skip
    repository_id = await migrate(world, bob.but(admin=True), source)
    [rule] = (await bob.get("/repos/bob/copy/branch_protections")).json()
    assert matches(rule["rule_name"], "feature/{a}")
    assert not matches(rule["rule_name"], "feature/a")
    imported = rule["status_check_contexts"]
    names = [*contexts[:3], "lint"]
    assert [matches(pattern, name) for pattern, name in zip(imported, names, strict=True)] == [True] * 4
    [reported] = (await bob.get(f"/repos/migrate/{repository_id}")).json()["unmapped_rules"]
    assert [one[:20] for one in reported["missing"]] == [
        "reviews of code owne", "approval of the late", "checks of certain ap", "a linear history",
        "the check xxxxxxxxxx",
    ]  # fmt: skip


async def test_without_a_token_no_rule_is_requested(world, bob, source):
    source.answers["branches"] = [{"name": "trunk", "protected": True}]
    source.answers["branches/trunk/protection"] = protection(**ONLY_ANN)
    repository_id = await migrate(world, bob, source, auth_token="")
    assert (await bob.get("/repos/bob/copy/branch_protections")).json() == []
    [hidden] = (await bob.get(f"/repos/migrate/{repository_id}")).json()["unmapped_rules"]
    assert (hidden["pattern"], hidden["is_left_out"]) == ("trunk", True)


async def test_dependencies_of_the_repository_come(world, bob, source):
    here, other = (f"https://api.github.com/repos/{name}" for name in ("There/source", "there/other"))
    source.answers |= {
        "issues": [issue(1), issue(3, issue_dependencies_summary={"blocked_by": 0, "total_blocked_by": 2})],
        "issues/3/dependencies/blocked_by": [issue(1, repository_url=here), issue(2, repository_url=other)],
    }
    objects = await read_all(bob, await migrate(world, bob, source))
    assert objects["dependencies"] == [{"number": 3, "blocker": 1}]


async def test_a_release_brings_the_files_that_the_api_has(world, bob, source):
    await git("tag", "v1", cwd=source.work)
    await git("push", "-q", "origin", "v1", cwd=source.work)
    asset = {"name": "a.zip", "state": "uploaded", "size": 5, "created_at": TIMES["created_at"]}
    source.answers["releases"] = [
        {
            "id": 600, "tag_name": "v1", "target_commitish": "trunk", "name": None, "body": "first",
            "draft": False, "prerelease": True, "author": ANN, "created_at": TIMES["created_at"],
            "published_at": TIMES["updated_at"],
            "assets": [
                {**asset, "id": 1, "url": source.url("api/v3/repos/there/source/releases/assets/1")},
                {**asset, "id": 2, "url": "http://10.0.0.1/secret", "state": "starter"},
            ],
        }
    ]  # fmt: skip

    async def file(parts, headers):
        if not parts.path.endswith("/assets/1"):
            return None
        assert (headers["accept"], headers["authorization"]) == ("application/octet-stream", "Bearer t0ken")
        return b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbytes"

    source.first = file
    await migrate(world, bob, source)
    [release] = (await bob.get("/repos/bob/copy/releases")).json()
    assert (release["tag_name"], release["prerelease"], release["original_author"]) == ("v1", True, "annie")
    [asset] = release["assets"]
    assert (await bob.call("GET", urlsplit(asset["browser_download_url"]).path)).content == b"bytes"


@pytest.mark.parametrize(
    ("line", "headers", "seconds"),
    [
        ("403 Forbidden", ("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: {soon}"), range(80, 101)),
        ("429 Too Many Requests", ("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: {soon}"), range(80, 101)),
        ("403 Forbidden", ("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: never"), [60]),
        ("403 Forbidden", ("X-RateLimit-Remaining: 12", "Retry-After: 7"), [7]),
    ],
)
async def test_a_limit_is_a_pause(world, bob, source, line, headers, seconds):
    repository_id = await migrate(world, bob, source)
    soon = int(time.time()) + 100

    async def limited(_parts, _headers):
        return status(line, *(one.format(soon=soon) for one in headers))

    source.first = limited
    page = await read(bob, repository_id)
    assert (page["state"], int(page["seconds"]) in seconds) == ("wait", True), page
    assert (await progress(bob))["status"] == "running"
    source.first = None
    assert (await read(bob, repository_id))["state"] == "page"


async def test_a_limit_that_only_its_message_tells_is_a_pause(world, bob, source):
    repository_id = await migrate(world, bob, source)
    body = b'{"message": "You have exceeded a secondary rate limit."}'

    async def limited(_parts, _headers):
        return b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    source.first = limited
    page = await read(bob, repository_id)
    assert (page["state"], page["seconds"]) == ("wait", 60)


async def test_a_page_that_a_limit_ended_costs_fewer_points_the_second_time(world, bob, source):
    source.etags, source.page_size = True, 100
    source.answers |= {
        "issues": [issue(number, reactions=ONE) for number in range(1, 9)],
        **{f"issues/{number}/reactions": [REACTION] for number in range(1, 9)},
    }
    repository_id = await migrate(world, bob, source, labels=False, milestones=False)

    async def limited(parts, _headers):
        return status("429 Too Many Requests") if parts.path.endswith("/8/reactions") else None

    source.first = limited
    assert (await read(bob, repository_id))["state"] == "wait"
    source.first, source.points = None, 0
    page = await read(bob, repository_id)
    assert [len(one["reactions"]) for one in page["issues"]] == [1] * 8
    assert source.points < 8


async def answer_of(raw):
    return raw


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status("401 Unauthorized"), "unauthorized"),
        (status("403 Forbidden"), "unauthorized"),
        (status("404 Not Found"), "not-found"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>", "forge-answer"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n[{"id": "five"', "forge-answer"),
        (status("302 Found", "Location: http://10.0.0.1/api/v3/"), "address"),
        (status("301 Moved Permanently", "Location: file:///etc/passwd"), "redirect"),
        (status("304 Not Modified"), "forge-answer"),
    ],
)
async def test_a_wrong_answer_is_a_clear_error_and_the_import_goes_on_later(
    world, bob, source, answer, reason
):
    repository_id = await migrate(world, bob, source)
    source.first = lambda _parts, _headers: answer_of(answer)
    assert (await read(bob, repository_id))["state"] == "ended"
    state = await progress(bob)
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS[reason])
    source.first = None
    assert (await bob.post("/repos/bob/copy/migration", {"auth_token": "t0ken"})).status_code == 202
    assert [one["number"] for one in (await read_all(bob, repository_id))["issues"]] == [1, 3]


async def test_the_token_goes_to_no_other_host_and_a_link_leads_to_none(world, bob, source, tmp_path):
    async with GitHub(tmp_path / "other") as other:
        paths = []

        async def moved(parts, headers):
            paths.append(parts.path)
            if parts.path.endswith("/labels"):
                return status(
                    "301 Moved Permanently", f"Location: {other.url('api/v3/repos/there/source/labels')}"
                )
            if parts.path.endswith("/milestones"):
                link = f'Link: <{other.url("api/v3/repos/there/source/milestones")}?page=2>; rel="next"'
                return (
                    source.json([MILESTONE], headers, link)
                    if "page=2" not in parts.query
                    else source.json([], headers)
                )
            return None

        source.first = moved
        objects = await read_all(bob, await migrate(world, bob, source))
        assert [one["name"] for one in objects["labels"]] == ["bug"]
        assert [headers for _, _, headers in other.requests if "authorization" in headers] == []
        assert {urlsplit(target).path for _, target, _ in other.requests} == {
            "/api/v3/repos/there/source/labels"
        }
        assert paths.count("/api/v3/repos/there/source/milestones") == 3


async def test_a_source_that_repeats_a_page_or_lies_about_counts_comes_to_an_end(world, bob, source):
    async def again(parts, headers):
        if not parts.path.endswith("/labels"):
            return None
        link = (
            f'Link: <{source.url("api/v3/x")}?page=2>; rel="next", <{source.url("x")}?page=900>; rel="last"'
        )
        return source.json([LABEL], headers, link)

    source.first = again
    repository_id = await migrate(world, bob, source)
    page = await read(bob, repository_id)
    assert (await progress(bob))["counts"]["labels"] == {"done": 0, "total": 900}
    assert (await read(bob, repository_id, page["cursor"]))["state"] == "ended"
    assert (await progress(bob))["error"] == REASON_TEXTS["forge-answer"]


@pytest.mark.parametrize(
    ("site", "root"),
    [
        ("https://github.com", "https://api.github.com"),
        ("https://www.github.com", "https://api.github.com"),
        ("https://git.example.org", "https://git.example.org/api/v3"),
    ],
)
def test_the_api_of_github_com_has_a_host_of_its_own(site, root):
    assert api_root(site) == root


async def test_a_repeat_reads_what_changed_since_the_last_run(world, bob, source):
    repository_id = await migrate(world, bob, source, pull_requests=True)
    await read_all(bob, repository_id)
    started = (await world.rows("import_source"))[0].started_at

    async def repeated():
        source.requests.clear()
        answer = await bob.post(f"/repos/migrate/{repository_id}/again", {})
        assert answer.status_code == 202, answer.text
        assert await world.components.import_workers.step() == 1
        objects = await read_all(bob, repository_id, repeat=(await progress(bob))["repeat"])
        lists = ("/source/issues", "/source/issues/comments", "/source/pulls")
        queries = [(one.path, parse_qs(one.query)) for one in source.api_calls()]
        return objects, [(path, query.get("since")) for path, query in queries if path.endswith(lists)]

    objects, lists = await repeated()
    since = [(started - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")]
    assert {path.rpartition("/source/")[2] for path, _ in lists} == {"issues", "issues/comments"}
    assert [one for _, one in lists] == [since] * len(lists)
    assert [one["number"] for one in objects["pulls"]] == [2]

    conflict = {"kind": "issue", "number": 1, "name": "", "fields": ["title"]}
    before = (await world.rows("import_source"))[0]
    async with world.database.transaction() as tx:
        table = world.database.metadata.tables["import_conflict"]
        values = {**conflict, "repository_id": repository_id, "fields": '["title"]'}
        await tx.execute(table.insert().values(values))
    _, lists = await repeated()
    assert [one for _, one in lists] == [since] * len(lists)
    assert (await world.rows("import_source"))[0].since == before.since


def with_many(source, issues, comments, pulls):
    """Give the source issues, comments on them, and pull requests with a review of each."""
    numbers = range(1, issues + 1)
    pull_numbers = range(issues + 1, issues + pulls + 1)
    plain = [issue(number) for number in numbers]
    source.page_size = 100
    source.answers |= {
        "issues": plain + [issue(number, pull_request={"merged_at": None}) for number in pull_numbers],
        "pulls": [pull(number, comments=1, review_comments=1) for number in pull_numbers],
        "issues/comments": [
            *(comment(place % issues + 1, 10_000 + place) for place in range(comments - pulls)),
            *(comment(number, 90_000 + number) for number in pull_numbers),
        ],
    }
    for number in pull_numbers:
        review = {
            "id": 300 + number, "user": ANN, "state": "COMMENTED", "body": "hm", "commit_id": OTHER,
            "submitted_at": TIMES["created_at"],
        }  # fmt: skip
        source.answers |= {
            f"issues/{number}/reactions": [],
            f"issues/{number}/comments": [comment(number, 90_000 + number)],
            f"pulls/{number}/reviews": [review],
            f"pulls/{number}/comments": [
                {**LINE, "id": 500 + number, "pull_request_review_id": review["id"]}
            ],
        }


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_pull_request_takes_five_requests_and_all_else_pages(world, bob, source):
    issues, comments, pulls = 100, 500, 30  # a tenth of what ADR 55 measures
    with_many(source, issues, comments, pulls)
    objects = await read_all(bob, await migrate(world, bob, source))
    assert [len(objects[kind]) for kind in ("issues", "pulls")] == [issues, pulls]
    assert len(objects["comments"]) == comments + pulls  # those of pull requests come twice, and are known
    calls = [one.path for one in source.api_calls()]
    of_pulls = [path for path in calls if re.search(r"/[0-9]+(/|$)", path)]
    assert len(of_pulls) == 5 * pulls
    assert len(calls) - len(of_pulls) < 40
