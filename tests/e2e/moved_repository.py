"""A repository with every kind of object, made through the API of one Ingot."""

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import asyncssh
import httpx

from .deployments import ADMINISTRATOR

COUNT = 60
"""Issues: more than one page."""
FILE = b"some bytes " * 10_000
PICTURE = b"\x89PNG\r\n\x1a\n" + b"\0" * 100
LARGE = b"a file of LFS " * 1_000
POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    f"oid sha256:{hashlib.sha256(LARGE).hexdigest()}\nsize {len(LARGE)}\n"
)


class People:
    """The API of one Ingot, as one person or another."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def __call__(self, who: str, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        answer = await self._http.request(method, path, json=body, auth=_login(who))
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    async def add(self, *names: str) -> None:
        for name in names:
            new = {"username": name, "email": f"{name}@example.org", "password": f"what {name} knows"}
            await self(ADMINISTRATOR[0], "POST", "admin/users", new, 201)

    async def upload(self, who: str, path: str, file: bytes, name: str = "a.bin") -> dict[str, Any]:
        answer = await self._http.post(path, files={"attachment": (name, file)}, auth=_login(who))
        assert answer.status_code == 201, answer.text
        added: dict[str, Any] = answer.json()
        return added

    async def bytes_at(self, who: str, url: str) -> bytes:
        answer = await self._http.get(url, auth=_login(who))
        assert answer.status_code == 200, f"{url}: {answer.text}"
        return answer.content

    async def store_lfs(self, who: str, repository: str, file: bytes) -> None:
        """Upload an object of LFS."""
        path = f"../../{repository}.git/info/lfs/objects/{hashlib.sha256(file).hexdigest()}/{len(file)}"
        answer = await self._http.put(path, content=file, auth=_login(who))
        assert answer.status_code == 200, answer.text

    async def all(self, who: str, path: str) -> list[dict[str, Any]]:
        """Return the objects of all pages."""
        objects: list[dict[str, Any]] = []
        separator = "&" if "?" in path else "?"
        while page := await self(who, "GET", f"{path}{separator}limit=50&page={len(objects) // 50 + 1}"):
            objects += page
            if len(page) < 50:
                break
        return objects


class Owners(NamedTuple):
    """Two people at the source; ``ann`` owns the repository, and is also here."""

    ann: str
    eve: str


def _login(who: str) -> tuple[str, str]:
    return ADMINISTRATOR if who == ADMINISTRATOR[0] else (who, f"what {who} knows")


def base64_of(file: bytes) -> str:
    return base64.b64encode(file).decode()


async def fill(there: People, owners: Owners) -> None:
    """Make the repository ``app`` of ann with objects of every kind in every state."""
    ann, eve = owners
    root = f"repos/{ann}/app"
    new = {"name": "app", "auto_init": True, "private": True, "description": "lamps"}
    await there(ann, "POST", "user/repos", new, 201)
    await there(ann, "PUT", f"{root}/collaborators/{eve}", {"permission": "write"}, 204)
    labels = await _add_issues(there, owners, root)
    await _add_pulls(there, owners, root, labels[0]["id"])
    await _add_reactions(there, owners, root)
    await _add_releases(there, owners, root)
    await _add_files(there, owners, root)
    await _add_settings(there, owners, root)


async def _add_issues(there: People, owners: Owners, root: str) -> list[dict[str, Any]]:
    """Add labels, a milestone and issues with comments. Return the labels."""
    ann, eve = owners
    labels = [
        await there(ann, "POST", f"{root}/labels", fields, 201)
        for fields in (
            {"name": "bug", "color": "#ee0701", "description": "bad"},
            {"name": "kind/a", "color": "00ff00", "exclusive": True},
            {"name": "old", "color": "0000ff", "is_archived": True},
        )
    ]
    fields = {"title": "one", "description": "first", "due_on": "2030-01-02T03:04:05Z"}
    milestone = await there(ann, "POST", f"{root}/milestones", fields, 201)
    for number in range(1, COUNT + 1):
        new: dict[str, Any] = {"title": f"issue {number}", "body": f"see #{number - 1}, @{ann}"}
        if number % 3 == 0:
            new |= {"labels": [label["id"] for label in labels[:2]], "milestone": milestone["id"]}
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
    await there(ann, "PATCH", f"{root}/milestones/{milestone['id']}", {"state": "closed"})
    return labels


async def _add_pulls(there: People, owners: Owners, root: str, label: int) -> None:
    """Add pull requests: a merged, a closed, an open and a draft one, and one of a fork."""
    ann, eve = owners
    for number in range(1, 5):
        file = {"content": base64_of(b"a drop\n"), "branch": "main", "new_branch": f"fix-{number}"}
        await there(eve, "POST", f"{root}/contents/oil-{number}.txt", file, 201)
        title = f"WIP: fix {number}" if number == 4 else f"fix {number}"
        new = {"title": title, "head": f"fix-{number}", "base": "main", "labels": [label]}
        pull = await there(eve, "POST", f"{root}/pulls", new, 201)
        text = {"body": "looks good"}
        await there(ann, "POST", f"{root}/issues/{pull['number']}/comments", text, 201)
    first, last = COUNT + 1, COUNT + 3
    review = {
        "event": "REQUEST_CHANGES",
        "body": "not yet",
        "comments": [
            {"path": "oil-1.txt", "new_position": 1, "body": "a drop of what?"},
        ],
    }
    added = await there(ann, "POST", f"{root}/pulls/{first}/reviews", review)
    [line] = await there(ann, "GET", f"{root}/pulls/{first}/reviews/{added['id']}/comments")
    await there(eve, "POST", f"{root}/pulls/{first}/comments/{line['id']}/replies", {"body": "of oil"}, 201)
    await there(eve, "POST", f"{root}/pulls/comments/{line['id']}/resolve", None, 204)
    await there(eve, "POST", f"{root}/issues/{first}/comments", {"body": "of oil"}, 201)
    await there(ann, "POST", f"{root}/pulls/{first}/reviews", {"event": "APPROVED", "body": "now"})
    await there(eve, "POST", f"{root}/pulls/{last}/requested_reviewers", {"reviewers": [ann]}, 201)
    await there(eve, "POST", f"repos/{owners.ann}/app/forks", {"name": "app"}, 202)
    file = {"content": base64_of(b"a fork\n"), "branch": "main", "new_branch": "of-fork"}
    await there(eve, "POST", f"repos/{eve}/app/contents/fork.txt", file, 201)
    new = {"title": "of a fork", "head": f"{eve}:of-fork", "base": "main"}
    await there(eve, "POST", f"{root}/pulls", new, 201)
    await there(ann, "POST", f"{root}/pulls/{first}/merge", {"Do": "merge"})
    await there(ann, "PATCH", f"{root}/pulls/{COUNT + 2}", {"state": "closed"}, 201)


async def _add_reactions(there: People, owners: Owners, root: str) -> None:
    """Add reactions, a tracked time, a dependency and attachments."""
    ann, eve = owners
    for who in owners:
        await there(who, "POST", f"{root}/issues/3/reactions", {"content": "heart"}, 201)
        await there(who, "POST", f"{root}/issues/3/times", {"time": 90})
    [text, *_] = await there(ann, "GET", f"{root}/issues/4/comments")
    await there(eve, "POST", f"{root}/issues/comments/{text['id']}/reactions", {"content": "+1"}, 201)
    blocker = {"owner": ann, "repo": "app", "index": 5}
    await there(ann, "POST", f"{root}/issues/3/dependencies", blocker, 201)
    log = await there.upload(ann, f"{root}/issues/4/assets", FILE, "log.txt")
    body = {"body": f"see [the log]({log['browser_download_url']})"}
    await there(ann, "PATCH", f"{root}/issues/4", body, 201)
    await there.upload(ann, f"{root}/issues/comments/{text['id']}/assets", PICTURE, "lamp.png")


async def _add_releases(there: People, owners: Owners, root: str) -> None:
    release = {"tag_name": "v1", "name": "one", "body": "first", "target_commitish": "main"}
    one = await there(owners.ann, "POST", f"{root}/releases", release, 201)
    await there.upload(owners.ann, f"{root}/releases/{one['id']}/assets?name=a.bin", FILE)
    draft = {"tag_name": "v2", "name": "two", "draft": True, "target_commitish": "main"}
    await there(owners.ann, "POST", f"{root}/releases", draft, 201)
    early = {"tag_name": "v0.9", "prerelease": True, "target_commitish": "main"}
    await there(owners.eve, "POST", f"{root}/releases", early, 201)


async def _add_files(there: People, owners: Owners, root: str) -> None:
    """Add an object of LFS and a wiki."""
    ann = owners.ann
    await there.store_lfs(ann, f"{ann}/app", LARGE)
    file = {"content": base64_of(POINTER.encode()), "branch": "main"}
    await there(ann, "POST", f"{root}/contents/large.bin", file, 201)
    for title in ("Home", "Lamps"):
        page = {"title": title, "content_base64": base64_of(b"welcome")}
        await there(ann, "POST", f"{root}/wiki/new", page, 201)


async def _add_settings(there: People, owners: Owners, root: str) -> None:
    """Add what owners set up: rules, hooks, keys and switches."""
    ann, eve = owners
    await there(ann, "PUT", f"{root}/topics", {"topics": ["lamps", "oil"]}, 204)
    rules: list[Mapping[str, Any]] = [
        {"rule_name": "release/*", "enable_push": True, "enable_push_whitelist": True,
         "push_whitelist_usernames": [ann, eve], "enable_status_check": True,
         "status_check_contexts": ["ci/*"], "protected_file_patterns": "*.key"},
        {"rule_name": "stable", "required_approvals": 2, "block_on_rejected_reviews": True,
         "dismiss_stale_approvals": True, "require_signed_commits": True},
    ]  # fmt: skip
    for rule in rules:
        await there(ann, "POST", f"{root}/branch_protections", rule, 201)
    rule = {"name_pattern": "v*", "whitelist_usernames": [ann, eve]}
    await there(ann, "POST", f"{root}/tag_protections", rule, 201)
    key = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    await there(ann, "POST", f"{root}/keys", {"title": "mirror", "key": key}, 201)
    hook = {
        "type": "gitea",
        "config": {"url": "http://127.0.0.1:9/", "content_type": "json", "secret": "hidden"},
        "events": ["push"],
    }
    await there(ann, "POST", f"{root}/hooks", hook, 201)
    status = {"state": "success", "context": "ci/lint", "description": "clean"}
    head = (await there(ann, "GET", f"{root}/branches/main"))["commit"]["id"]
    await there(ann, "POST", f"{root}/statuses/{head}", status, 201)
    edit = {
        "website": "https://example.org/lamps",
        "allow_rebase": False,
        "default_merge_style": "squash",
        "default_delete_branch_after_merge": True,
    }
    await there(ann, "PATCH", root, edit)
