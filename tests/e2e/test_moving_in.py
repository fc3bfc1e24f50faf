"""A repository of another Ingot moves in with its issues, and every object of it is compared."""

import asyncio
import base64
import secrets
from collections.abc import Iterable, Iterator
from typing import Any

import httpx
import pytest

from .conftest import VARIABLES
from .deployments import ADMINISTRATOR, Standalone, running

COUNT = 60
"""Issues: more than one page."""
ISSUE = [
    "number",
    "title",
    "body",
    "state",
    "is_locked",
    "ref",
    "created_at",
    "updated_at",
    "closed_at",
    "due_date",
    "comments",
    "pin_order",
]
PULL = ["merged", "merged_at", "merge_commit_sha", "merge_base", "draft"]
COMMENT = ["body", "created_at", "updated_at"]
RELEASE = ["tag_name", "name", "body", "draft", "prerelease", "created_at", "published_at"]
ASSET = ["name", "size", "created_at", "digest"]
FILE = b"some bytes " * 10_000
REVIEW = ["state", "body", "commit_id", "dismissed", "comments_count", "submitted_at"]
LINE = ["body", "path", "position", "original_position", "commit_id", "diff_hunk", "created_at", "updated_at"]
LABEL = ["name", "color", "description", "exclusive", "is_archived"]
MILESTONE = [
    "title",
    "description",
    "state",
    "due_on",
    "closed_at",
    "open_issues",
    "closed_issues",
    "created_at",
    "updated_at",
]


class People:
    """The API of one Ingot, as one person or another."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def __call__(self, who: str, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        auth = ADMINISTRATOR if who == ADMINISTRATOR[0] else (who, f"what {who} knows")
        answer = await self._http.request(method, path, json=body, auth=auth)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    async def add(self, *names: str) -> None:
        for name in names:
            new = {"username": name, "email": f"{name}@example.org", "password": f"what {name} knows"}
            await self(ADMINISTRATOR[0], "POST", "admin/users", new, 201)

    async def upload(self, who: str, path: str, file: bytes) -> None:
        auth = (who, f"what {who} knows")
        answer = await self._http.post(path, files={"attachment": ("a.bin", file)}, auth=auth)
        assert answer.status_code == 201, answer.text

    async def all(self, who: str, path: str) -> list[dict[str, Any]]:
        """Return the objects of all pages."""
        objects: list[dict[str, Any]] = []
        while page := await self(
            who, "GET", f"{path}{'&' if '?' in path else '?'}limit=50&page={len(objects) // 50 + 1}"
        ):
            objects += page
            if len(page) < 50:
                break
        return objects


def only(names: list[str], one: dict[str, Any]) -> dict[str, Any]:
    return {name: one[name] for name in names}


def issue_of(one: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an issue that an import keeps."""
    milestone = one["milestone"]
    return only(ISSUE, one) | {
        "labels": sorted(label["name"] for label in one["labels"]),
        "milestone": milestone["title"] if milestone else None,
        "assignees": [person["login"] for person in one["assignees"] or []],
    }


def pull_of(one: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a pull request that an import keeps."""
    names = [*PULL, *(name for name in ISSUE if name != "ref")]
    return only(names, one) | {
        "base": only(["ref", "sha"], one["base"]),
        "head": only(["ref", "sha", "label"], one["head"]),
        "merged_by": one["merged_by"]["login"] if one["merged_by"] else None,
        "labels": [label["name"] for label in one["labels"]],
    }


def release_of(one: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a release that an import keeps."""
    return only(RELEASE, one) | {"assets": [only(ASSET, asset) for asset in one["assets"]]}


def by_time(objects: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort objects: comments of pull requests have smaller ids than those of issues here."""
    return sorted(objects, key=lambda one: (one.get("created_at", ""), one.get("body", "")))


def authors(objects: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the author here of each object, and the one at the source."""
    return [(one["user"]["login"], one["original_author"]) for one in objects]


async def reviews_of(people: People, who: str, root: str, number: int) -> list[Any]:
    """Return the reviews of a pull request with their comments on lines, and the requests."""
    reviews = await people.all(who, f"{root}/pulls/{number}/reviews")
    texts = [
        await people(who, "GET", f"{root}/pulls/{number}/reviews/{one['id']}/comments") for one in reviews
    ]
    shown = [
        [only(REVIEW, one), [only(LINE, text) for text in group]]
        for one, group in zip(reviews, texts, strict=True)
    ]
    return sorted(shown, key=lambda pair: (pair[0]["state"] == "REQUEST_REVIEW", pair[0]["submitted_at"]))


async def reactions_of(people: People, who: str, path: str) -> list[tuple[str, str]]:
    """Return the contents and times of reactions."""
    rows = await people(who, "GET", f"{path}/reactions")
    return sorted((one["content"], one["created_at"]) for one in rows or [])


async def timeline_of(people: People, who: str, root: str, number: int) -> list[tuple[str, str, str]]:
    """Return times, types and texts of comments and reviews, which must be in order."""
    rows = await people.all(who, f"{root}/issues/{number}/timeline")
    shown = [one for one in rows if one["type"] in ("comment", "review")]
    moments = [one["created_at"] for one in shown]
    assert moments == sorted(moments)
    return sorted((one["created_at"], one["type"], one["body"]) for one in shown)


@pytest.fixture
def source(tmp_path: Any) -> Iterator[Standalone]:
    source = Standalone(tmp_path, VARIABLES)
    with running(source):
        yield source


async def fill(there: People, ann: str, eve: str) -> None:
    """Make a repository with labels, milestones, and issues in every state."""
    await there(ann, "POST", "user/repos", {"name": "app", "auto_init": True, "private": True}, 201)
    root = f"repos/{ann}/app"
    await there(ann, "PUT", f"{root}/collaborators/{eve}", {"permission": "write"}, 204)
    labels = [
        await there(ann, "POST", f"{root}/labels", fields, 201)
        for fields in (
            {"name": "bug", "color": "#ee0701", "description": "bad"},
            {"name": "kind/a", "color": "00ff00", "exclusive": True},
        )
    ]
    fields = {"title": "one", "description": "first", "due_on": "2030-01-02T03:04:05Z"}
    milestone = await there(ann, "POST", f"{root}/milestones", fields, 201)
    for number in range(1, COUNT + 1):
        new: dict[str, Any] = {"title": f"issue {number}", "body": f"see #{number - 1}, @{ann}"}
        if number % 3 == 0:
            new |= {"labels": [label["id"] for label in labels], "milestone": milestone["id"]}
            new |= {"assignees": [ann, eve], "due_date": "2031-02-03T04:05:06Z", "ref": "main"}
        await there(eve if number % 2 else ann, "POST", f"{root}/issues", new, 201)
        if number % 4 == 0:
            for author in (ann, eve):
                text = {"body": f"{author} says: me too"}
                await there(author, "POST", f"{root}/issues/{number}/comments", text, 201)
            await there(ann, "PATCH", f"{root}/issues/{number}", {"state": "closed"}, 201)
    await there(ann, "PUT", f"{root}/issues/7/lock", {}, 204)
    await there(ann, "POST", f"{root}/issues/5/pin", None, 204)
    await there(ann, "DELETE", f"{root}/issues/9", None, 204)
    for number in range(1, 4):
        file = {"content": "YSBkcm9wCg==", "branch": "main", "new_branch": f"fix-{number}"}
        await there(eve, "POST", f"{root}/contents/oil-{number}.txt", file, 201)
        new = {"title": f"fix {number}", "head": f"fix-{number}", "base": "main", "labels": [labels[0]["id"]]}
        pull = await there(eve, "POST", f"{root}/pulls", new, 201)
        text = {"body": "looks good"}
        await there(ann, "POST", f"{root}/issues/{pull['number']}/comments", text, 201)
    review = {
        "event": "REQUEST_CHANGES",
        "body": "not yet",
        "comments": [{"path": "oil-1.txt", "new_position": 1, "body": "a drop of what?"}],
    }
    await there(ann, "POST", f"{root}/pulls/{COUNT + 1}/reviews", review)
    await there(eve, "POST", f"{root}/issues/{COUNT + 1}/comments", {"body": "of oil"}, 201)
    await there(ann, "POST", f"{root}/pulls/{COUNT + 1}/reviews", {"event": "APPROVED", "body": "now"})
    await there(eve, "POST", f"{root}/pulls/{COUNT + 3}/requested_reviewers", {"reviewers": [ann]}, 201)
    for who in (ann, eve):
        await there(who, "POST", f"{root}/issues/3/reactions", {"content": "heart"}, 201)
    [text, *_] = await there(ann, "GET", f"{root}/issues/4/comments")
    await there(eve, "POST", f"{root}/issues/comments/{text['id']}/reactions", {"content": "+1"}, 201)
    await there(ann, "POST", f"{root}/issues/3/times", {"time": 90})
    blocker = {"owner": ann, "repo": "app", "index": 5}
    await there(ann, "POST", f"{root}/issues/3/dependencies", blocker, 201)
    await there(ann, "PUT", f"{root}/topics", {"topics": ["lamps", "oil"]}, 204)
    release = {"tag_name": "v1", "name": "one", "body": "first", "target_commitish": "main"}
    release = await there(ann, "POST", f"{root}/releases", release, 201)
    await there.upload(ann, f"{root}/releases/{release['id']}/assets?name=a.bin", FILE)
    page = {"title": "Home", "content_base64": base64.b64encode(b"welcome").decode()}
    await there(ann, "POST", f"{root}/wiki/new", page, 201)
    await there(ann, "POST", f"{root}/pulls/{COUNT + 1}/merge", {"Do": "merge"})
    await there(ann, "PATCH", f"{root}/pulls/{COUNT + 2}", {"state": "closed"}, 201)
    await there(ann, "PATCH", f"{root}/milestones/{milestone['id']}", {"state": "closed"})


async def test_a_repository_of_another_ingot_moves_in_object_by_object(
    deployment: Any, source: Standalone
) -> None:
    mark = secrets.token_hex(3)
    ann, eve = f"ann-{mark}", f"eve-{mark}"
    async with (
        httpx.AsyncClient(base_url=f"{source.url}api/v1/", timeout=60) as far,
        httpx.AsyncClient(base_url=f"{deployment.url}api/v1/", timeout=60) as near,
    ):
        there, here = People(far), People(near)
        await there.add(ann, eve)
        await here.add(ann)
        await fill(there, ann, eve)
        form = {
            "clone_addr": f"{source.url}{ann}/app.git",
            "repo_name": "moved",
            "service": "gitea",
            "auth_username": ann,
            "auth_password": f"what {ann} knows",
            "private": True,
            "labels": True,
            "milestones": True,
            "issues": True,
            "pull_requests": True,
            "releases": True,
            "wiki": True,
        }
        await here(ann, "POST", "repos/migrate", form, 201)
        async with asyncio.timeout(120):
            while (state := await here(ann, "GET", f"repos/{ann}/moved/migration"))["status"] != "done":
                assert state["status"] in ("waiting", "running"), state
                await asyncio.sleep(0.1)
        assert state["counts"]["issues"] == {"done": COUNT - 1, "total": COUNT - 1}

        old, new = f"repos/{ann}/app", f"repos/{ann}/moved"
        for path, names in (
            ("labels", LABEL),
            ("milestones?state=all", MILESTONE),
            ("issues/comments", COMMENT),
        ):
            was, is_now = await there.all(ann, f"{old}/{path}"), await here.all(ann, f"{new}/{path}")
            assert by_time(only(names, one) for one in is_now) == by_time(only(names, one) for one in was)
        query = "issues?state=all&type=issues&sort=oldest"
        was, is_now = await there.all(ann, f"{old}/{query}"), await here.all(ann, f"{new}/{query}")
        expected = [issue_of(one) for one in was]
        for one in expected:
            one["assignees"] = [login for login in one["assignees"] if login == ann]
        assert [issue_of(one) for one in is_now] == expected
        open_issues = sum(one["state"] == "open" for one in was) + 1
        expected_authors = {ann: (ann, ann), eve: ("Ghost", eve)}
        assert authors(is_now) == [expected_authors[one["user"]["login"]] for one in was]
        query = "pulls?state=all&sort=oldest"
        was, is_now = await there.all(ann, f"{old}/{query}"), await here.all(ann, f"{new}/{query}")
        assert [pull_of(one) for one in is_now] == [pull_of(one) for one in was]
        assert [one["merged"] for one in is_now] == [True, False, False]
        assert (await here(ann, "GET", f"{new}/topics")) == {"topics": ["lamps", "oil"]}
        releases = [await people.all(ann, f"{root}/releases") for people, root in ((there, old), (here, new))]
        was, is_now = ([release_of(one) for one in group] for group in releases)
        assert is_now == was
        [asset] = releases[1][0]["assets"]
        assert (
            await near.get(asset["browser_download_url"], auth=(ann, f"what {ann} knows"))
        ).content == FILE
        pages = [
            await people(ann, "GET", f"{root}/wiki/page/Home") for people, root in ((there, old), (here, new))
        ]
        wiki = ["title", "content_base64", "commit_count", "last_commit"]
        assert only(wiki, pages[1]) == only(wiki, pages[0])
        for number in (COUNT + 1, COUNT + 2, COUNT + 3):
            was = await reviews_of(there, ann, old, number)
            assert await reviews_of(here, ann, new, number) == was
            timeline = await timeline_of(there, ann, old, number)
            assert await timeline_of(here, ann, new, number) == timeline
        texts = [
            (await people(ann, "GET", f"{root}/issues/4/comments"))[0]
            for people, root in ((there, old), (here, new))
        ]
        paths = [("issues/3", "issues/3"), tuple(f"issues/comments/{text['id']}" for text in texts)]
        for was_at, now_at in paths:
            reactions = await reactions_of(there, ann, f"{old}/{was_at}")
            assert reactions
            assert await reactions_of(here, ann, f"{new}/{now_at}") == reactions
        times = await there(ann, "GET", f"{old}/times")
        assert [
            (one["time"], one["created"], one["user_name"]) for one in await here(ann, "GET", f"{new}/times")
        ] == [(one["time"], one["created"], one["user_name"]) for one in times]
        blockers = await here(ann, "GET", f"{new}/issues/3/dependencies")
        assert [one["number"] for one in blockers] == [5]
        for number in (COUNT + 1, COUNT + 3):
            diffs = [
                await people(ann, "GET", f"{root}/pulls/{number}/files")
                for people, root in ((there, old), (here, new))
            ]
            assert [[one["filename"] for one in files] for files in diffs] == [
                [f"oil-{number - COUNT}.txt"]
            ] * 2
        async with asyncio.timeout(60):
            while not (await here(ann, "GET", f"{new}/pulls/{COUNT + 3}"))["mergeable"]:
                await asyncio.sleep(0.05)
        await here(ann, "POST", f"{new}/pulls/{COUNT + 3}/merge", {"Do": "merge"})
        next_issue = await here(ann, "POST", f"{new}/issues", {"title": "the next"}, 201)
        assert next_issue["number"] == COUNT + 4
        assert await here(ann, "GET", "notifications") == []
        async with asyncio.timeout(60):
            while (await here(ann, "GET", new))["open_issues_count"] != open_issues:
                await asyncio.sleep(0.05)
