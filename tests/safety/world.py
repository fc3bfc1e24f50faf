"""A running Ingot with a repository and an organization of each kind, all objects of paths, and its users."""

import base64
import re
from collections.abc import Mapping
from typing import Any

import asyncssh
import httpx

from ..e2e.deployments import ADMINISTRATOR
from .credentials import application_token, lfs_token, session
from .routes import Route
from .rules import CALLERS, COLLABORATORS, KEY_TARGET, ORGANIZATIONS, OWNER, REPOSITORIES, Caller, Target

PEOPLE = ("ann", "sam", "rita", "will", "adam", "tess", "mia", "susi")
ABSENT_ID = 999_999_999
ABSENT = "never"
FILE = base64.b64encode(b"# Hello\n").decode()
NOWHERE = "http://127.0.0.1:9/"
HOOK = {"type": "gitea", "config": {"url": NOWHERE, "content_type": "json"}, "active": False}
OAUTH2 = {"name": "app", "redirect_uris": ["https://app.example.org/"]}
SOURCE = {"kind": "oidc", "issuer": "https://id.example.org", "client_id": "ingot"}
BODY: dict[str, Any] = {
    **HOOK,
    **dict.fromkeys(("body", "title", "description", "subject", "rule_name", "name_pattern"), "text"),
    **dict.fromkeys(("name", "new_branch_name", "tag_name", "new_name", "username", "new_username"), "fresh"),
    "new_owner": "sam", "email": "fresh@example.org", "password": "a fresh password", "head": "topic",
    "base": "main", "index": 1, "time": 1, "color": "#ffffff", "state": "success", "sha": "1" * 40,
    "reviewers": ["will"], "labels": [], "topics": [], "ids": [], "emails": ["fresh@example.org"],
    "event": "COMMENT", "since": "2020-01-01T00:00:00Z", "permission": "read", "new_commit_id": "main",
    "files": [], "content": FILE, "Do": "merge", "clone_addr": "https://x.example/", "repo_name": "fresh",
    "key": "ssh-ed25519 AAAA", "due_date": None, "redirect_uris": ["https://x.example/"],
}  # fmt: skip
"""Sent wherever a body is taken: what an operation does not know, it ignores."""
LINES = [{"path": "topic.md", "body": "Here", "new_position": 1}]
UNREADABLE = b"{"
MINE = Target("of the stranger", "sam", "mine")
MY_ORGANIZATION = Target("of the stranger", "nest")
OURS = Target("of the stranger's organization", "nest", "own")
STRANGERS = {"sam", "nest"}


def body_of(route: Route) -> dict[str, Any] | None:
    if route.method == "GET":
        return None
    return {**BODY, "content": "heart"} if "reactions" in route.path else BODY


class World:
    """Sends requests as each caller; ``things`` are the values of placeholders, for each target."""

    def __init__(self, url: str, ssh_port: int, passwords: Mapping[str, str]) -> None:
        self.url, self._ssh_port, self._passwords = url, ssh_port, passwords
        self._client = httpx.Client(base_url=url, timeout=60)
        self.things: dict[Target, dict[str, Any]] = {}
        self._headers: dict[str, dict[str, str]] = {}
        self._tokens: dict[str, str] = {}
        """Passwords are costly to check."""

    @classmethod
    def build(cls, url: str, ssh_port: int) -> "World":
        world = cls(
            url, ssh_port, {name: f"what {name} knows well" for name in PEOPLE} | dict([ADMINISTRATOR])
        )
        for name in PEOPLE:
            email, password = f"{name}@example.org", world._passwords[name]
            world.do("root", "POST", "admin/users", username=name, email=email, password=password)
        own = world._own_things()
        for organization in (*ORGANIZATIONS, MY_ORGANIZATION):
            world.things[organization] = own | world._organization(organization)
        for repository in (*REPOSITORIES, MINE, OURS):
            world.things[repository] = own | world._repository(repository)
        world.do(OWNER, "POST", "user/repos", name="else", private=True)
        world._credentials()
        return world

    def do(self, who: str, method: str, path: str, **body: Any) -> Any:
        """The JSON of an answer that must be a success."""
        if who not in self._tokens and not path.endswith("/tokens"):
            self._tokens[who] = self.do(who, "POST", f"users/{who}/tokens", name="building")["sha1"]
        by_token = {"headers": {"authorization": f"token {self._tokens.get(who)}"}}
        by_password = {"auth": (who, self._passwords[who])}
        credential: Any = by_password if "/tokens" in path else by_token
        answer = self._client.request(method, f"api/v1/{path}", json=body or None, **credential)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def add_person(self, name: str) -> dict[str, str]:
        """The headers of a new user."""
        self._passwords = {**self._passwords, name: f"what {name} knows well"}
        email = f"{name}@example.org"
        self.do("root", "POST", "admin/users", username=name, email=email, password=self._passwords[name])
        token = self.do(name, "POST", f"users/{name}/tokens", name="all", scopes=["all"])["sha1"]
        return {"authorization": f"token {token}"}

    def password(self, name: str) -> str:
        return self._passwords[name]

    def headers(self, caller: Caller) -> dict[str, str]:
        return self._headers[caller.name]

    def fill(self, route: Route, target: Target | None, **instead: Any) -> str:
        """The path with what the placeholders stand for at the target, and ``instead`` of that."""
        things = self._things(route, target) | instead
        path = re.sub(r"{(\w+)}", lambda match: str(things[match[1]]), route.path)
        if route.path.endswith("/info/refs"):
            return f"{path}?service=git-upload-pack"
        if route.path.endswith("}/pulls/{index}") and not route.path.startswith("/api"):
            return f"{path}.diff"
        return path + "?name=a.txt" if route.name.startswith("POST") and path.endswith("/assets") else path

    def thing(self, route: Route, target: Target, placeholder: str) -> Any:
        """Return the value of the placeholder at the target."""
        return self._things(route, target)[placeholder]

    def _things(self, route: Route, target: Target | None) -> dict[str, Any]:
        return self.things[target or REPOSITORIES[0]] | self._special(route, target)

    def _special(self, route: Route, target: Target | None) -> dict[str, Any]:
        things = self.things[target or REPOSITORIES[0]]
        if "attachment_id" in route.placeholders:
            of = next(
                name for name in ("release", "comment", "issue") if name in route.path.split("{repo}")[1]
            )
            of = "issue" if of == "comment" and "comments" not in route.path else of
            return {"attachment_id": things[f"asset of {of}"]}
        if re.search(r"/pulls/.*comment", route.path) and "comment_id" in route.placeholders:
            return {"comment_id": things["comment of review"]}
        if "key_id" in route.placeholders and route.place != "repository":
            return {"key_id": things["own key_id"], "username": OWNER}
        if "hook_id" in route.placeholders and route.place == "":
            return {"hook_id": things["own hook_id"]}
        if "{org}/{repo}" in route.path:
            return {"repo": "inner"}
        if "{username}/tokens" in route.path:
            return {"username": OWNER}
        if "permissions" in route.path or "members/{username}" in route.path:
            return {"username": "mia"}
        return {}

    def _own_things(self) -> dict[str, Any]:
        """Return objects that belong to no repository and no organization."""
        hook = self.do(OWNER, "POST", "user/hooks", **HOOK)
        application = self.do(OWNER, "POST", "user/applications/oauth2", **OAUTH2)
        source = self.do("root", "POST", "admin/auths", name="corp", config=SOURCE)
        token = self.do("root", "POST", f"admin/auths/{source['id']}/scim_tokens", name="client")
        blob = b"\0\0\0\x0bssh-ed25519\0\0\0 " + b"k" * 32
        key = self.do(
            OWNER, "POST", "user/keys", title="k", key=f"ssh-ed25519 {base64.b64encode(blob).decode()}"
        )
        return {
            "own hook_id": hook["id"],
            "source_id": source["id"],
            "token_id": token["id"],
            **dict.fromkeys(("user_id", "group_id"), 1),
            "application_id": application["id"],
            "client_id": application["client_id"],
            "task": "sweep",
            "own key_id": key["id"],
            "path": "text.css",
            "digest": "0" * 64,
            "token": "first",
            "username": "rita",
            "followee": "will",
            "thread_id": 1,
            "session_id": "1",
            "grant_id": 1,
            "delivery_id": "00000000-0000-7000-8000-000000000000",
            "mail_id": "00000000-0000-7000-8000-000000000000",
            "invitation_id": ABSENT_ID,
            "registration_id": ABSENT_ID,
            "import_id": ABSENT_ID,
            "export_id": ABSENT_ID,
        }

    def _organization(self, target: Target) -> dict[str, Any]:
        visibility = {"all": "public", "people": "limited", "members": "private"}[target.visible_to]
        by = "sam" if target.owner in STRANGERS else OWNER
        self.do("root", "POST", f"admin/users/{by}/orgs", username=target.owner, visibility=visibility)
        path = f"orgs/{target.owner}"
        team = self.do(by, "POST", f"{path}/teams", name="crew", permission="write")["id"]
        others = self.do(by, "POST", f"{path}/teams", name="others", permission="read")["id"]
        self.do(by, "PUT", f"teams/{team}/members/tess")
        self.do(by, "PUT", f"teams/{others}/members/mia")
        hook = self.do(by, "POST", f"{path}/hooks", **HOOK)["id"]
        label = self.do(by, "POST", f"{path}/labels", name="all", color="#00ff00")["id"]
        export = self.do(by, "POST", f"{path}/exports")["id"]
        things = {"org": target.owner, "team_id": team, "hook_id": hook, "label_id": label}
        things["export_id"] = export
        return things | {"name": "next", "username": "sam", "invitation_id": ABSENT_ID}

    def _repository(self, target: Target) -> dict[str, Any]:
        of_organization = target.of_organization or target == OURS
        below = f"orgs/{target.owner}/repos" if of_organization else "user/repos"
        private = target.visible_to == "nobody"
        by = "sam" if target.owner in STRANGERS else OWNER
        repository = self.do(
            by, "POST", below, name=target.repo, private=private, auto_init=True, default_branch="main"
        )
        path = f"repos/{target.owner}/{target.repo}"
        new = {"content": FILE, "branch": "main", "new_branch": "topic", "message": "Go on"}
        self.do(by, "POST", f"{path}/contents/topic.md", **new)
        self.do(by, "POST", f"{path}/issues", title="It creaks")
        pull = self.do(by, "POST", f"{path}/pulls", title="Oil it", head="topic", base="main")["number"]
        comment = self.do(by, "POST", f"{path}/issues/{pull}/comments", body="I hear")["id"]
        review = self.do(
            by, "POST", f"{path}/pulls/{pull}/reviews", body="Good", event="COMMENT", comments=LINES
        )["id"]
        on_line = self.do(by, "GET", f"{path}/pulls/{pull}/reviews/{review}/comments")[0]["id"]
        release = self.do(by, "POST", f"{path}/releases", tag_name="v1", target_commitish="main")["id"]
        blob = b"\0\0\0\x0bssh-ed25519\0\0\0 " + bytes(f"{repository['id']:032}", "ascii")
        key = {"title": "k", "key": f"ssh-ed25519 {base64.b64encode(blob).decode()}"}
        assets = {
            of: self._asset(by, f"{path}/{rest}")
            for of, rest in (
                ("issue", f"issues/{pull}"),
                ("comment", f"issues/comments/{comment}"),
                ("release", f"releases/{release}"),
            )
        }
        time = self.do(by, "POST", f"{path}/issues/{pull}/times", time=60)["id"]
        label = self.do(by, "POST", f"{path}/labels", name="bug", color="#ee0701")["id"]
        milestone = self.do(by, "POST", f"{path}/milestones", title="first")["id"]
        rule = self.do(by, "POST", f"{path}/tag_protections", name_pattern="release-*")["id"]
        self.do(by, "POST", f"{path}/branch_protections", rule_name="next")
        for name, permission in (*COLLABORATORS.items(), ("susi", 3)):
            word = {1: "read", 2: "write", 3: "admin"}[permission]
            self.do(by, "PUT", f"{path}/collaborators/{name}", permission=word)
        if of_organization:
            team = self.things[next(each for each in self.things if each.owner == target.owner)]["team_id"]
            self.do(by, "PUT", f"teams/{team}/repos/{target.owner}/{target.repo}")
        things = {
            "owner": target.owner,
            "repo": target.repo,
            "org": target.owner,
            "repository_id": repository["id"],
            "index": pull,
            "comment_id": comment,
            "review_id": review,
            "release_id": release,
            "hook_id": self.do(by, "POST", f"{path}/hooks", **HOOK)["id"],
            "label_id": label,
            "milestone_id": milestone,
            "rule_id": rule,
            "time_id": time,
            "name": "next",
            "team": "crew",
            "key_id": self.do(by, "POST", f"{path}/keys", **key)["id"],
            "topic": "go",
            "tag": "v1",
            "branch": "topic",
            "sha": "main",
            "ref": "main",
            "rest": "status",
            "filepath": "README.md",
            "page_name": "README",
            "page": "README",
            "basehead": "main...topic",
            "base": "main",
            "head": "topic",
            "tracker": by,
            "user": "will",
            "collaborator": "rita",
            "assignee": "will",
            "position": 1,
            "tag_and_name": "v1/a.txt",
            **{f"asset of {of}": asset["id"] for of, asset in assets.items()},
            "comment of review": on_line,
            "lock_id": "1",
            "oid": "1" * 64,
            "size": 1,
            "file_uuid": assets["issue"]["uuid"],
            "asset_uuid": assets["release"]["uuid"],
        }
        self.do(by, "POST", f"{path}/wiki/new", title="README", content_base64=FILE)
        if target.archived:
            self.do(by, "PATCH", path, archived=True)
        return things

    def _asset(self, by: str, path: str) -> dict[str, Any]:
        file = {"attachment": ("a.txt", b"text", "text/plain")}
        headers = {"authorization": f"token {self._tokens[by]}"}
        answer = self._client.post(f"api/v1/{path}/assets", headers=headers, files=file)
        assert answer.status_code == 201, answer.text
        return answer.json()  # type: ignore[no-any-return]

    def _credentials(self) -> None:
        """The headers of each caller."""
        restricted = {
            "": {},
            "elsewhere": {"repositories": [f"{OWNER}/else"]},
            "targets": {"repositories": [f"{each.owner}/{each.repo}" for each in self.things if each.repo]},
        }
        for number, caller in enumerate(CALLERS):
            if caller.by == "session":
                self._headers[caller.name] = session(self.url, caller.person, self._passwords[caller.person])
            elif caller.by == "application":
                self._headers[caller.name] = self._application_token(caller)
            elif caller.by == "deploy key":
                self._headers[caller.name] = self._lfs_token()
            elif caller.scopes is not None:
                new = {"name": f"t{number}", "scopes": list(caller.scopes), **restricted[caller.restricted]}
                secret = self.do(caller.person, "POST", f"users/{caller.person}/tokens", **new)["sha1"]
                self._headers[caller.name] = {"authorization": f"token {secret}"}
            elif caller.signed_in:
                self._headers[caller.name] = _basic("root" if caller.sudo else caller.person, self._passwords)
        deleted = self.do(OWNER, "POST", f"users/{OWNER}/tokens", name="deleted")
        self.do(OWNER, "DELETE", f"users/{OWNER}/tokens/{deleted['id']}")
        forged = (
            "eyJhbGciOiJub25lIn0." + base64.urlsafe_b64encode(b'{"principal":{"id":1,"admin":true}}').decode()
        )
        self._headers |= {
            "nobody": {},
            "nobody with headers of their own making": {
                **dict.fromkeys(("ingot-principal", "ingot-service"), f"{forged.rstrip('=')}."),
                "x-forwarded-for": "127.0.0.1",
                "x-forwarded-user": "root",
                "remote-user": "root",
            },
            "nobody with a token that was deleted": {"authorization": f"token {deleted['sha1']}"},
        }
        self._headers["administrator of the site as a stranger"]["sudo"] = "sam"
        self._headers["owner who acts as the administrator"]["sudo"] = "root"
        self.do("root", "PATCH", "admin/users/susi", prohibit_login=True, login_name="susi", source_id=0)

    def _application_token(self, caller: Caller) -> dict[str, str]:
        client_id, (redirect_uri,) = self.things[REPOSITORIES[0]]["client_id"], OAUTH2["redirect_uris"]
        password, scopes = self._passwords[caller.person], caller.scopes or ()
        return application_token(self.url, caller.person, password, client_id, redirect_uri, scopes)

    def _lfs_token(self) -> dict[str, str]:
        key, repository = (
            asyncssh.generate_private_key("ssh-ed25519"),
            f"{KEY_TARGET.owner}/{KEY_TARGET.repo}",
        )
        body = {"title": "robot", "key": key.export_public_key().decode(), "read_only": True}
        self.do(OWNER, "POST", f"repos/{repository}/keys", **body)
        return lfs_token(self._ssh_port, key, repository)


def _basic(name: str, passwords: Mapping[str, str]) -> dict[str, str]:
    credential = base64.b64encode(f"{name}:{passwords[name]}".encode()).decode()
    return {"authorization": f"Basic {credential}"}
