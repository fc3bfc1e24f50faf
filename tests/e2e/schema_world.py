"""Objects that exist while inputs are made from the API description. So requests get past a 404."""

import asyncio
import re
from pathlib import Path
from typing import Any

import asyncssh
import httpx

from .deployments import ADMINISTRATOR, Deployment
from .history import commit_file, git
from .parts import PATIENCE

MAIN_PARAMETERS = """
[parameters]
"path.owner" = "{owner}"
"path.username" = "{owner}-friend"
"path.repo" = "world"
"path.org" = "{owner}-team"
"path.index" = 2
"path.repository_id" = {repository}
"path.team_id" = {team}
"path.comment_id" = {comment}
"path.hook_id" = {hook}
"path.label_id" = {label}
"path.milestone_id" = {milestone}
"path.collaborator" = "{owner}-friend"
"path.tracker" = "{owner}"
"path.branch" = "main"
"path.ref" = "main"
"path.sha" = "main"
"path.filepath" = "main/README.md"
"""
"""Values of parameters that name something. Number 2 is a pull request, and so an issue as well."""
OTHER_PARAMETERS = """
"path.followee" = "{owner}"
"path.team" = "crew"
"path.review_id" = {review}
"path.release_id" = {release}
"path.attachment_id" = {issue_file}
"path.rule_id" = {rule}
"path.time_id" = {time}
"path.key_id" = {deploy_key}
"path.application_id" = {application}
"path.assignee" = "{owner}-friend"
"path.user" = "{owner}"
"path.token" = "other"
"path.name" = "NAME"
"path.base" = "main"
"path.head" = "topic"
"path.basehead" = "main...topic"
"path.rest" = "status"
"path.tag" = "v1"
"path.topic" = "oil"
"""
ARCHIVES = """
[[operations]]
include-operation-id = "repoGetArchive"
parameters = { "path.filepath" = "main.zip" }
"""
OPERATIONS = """
[[operations]]
include-path-regex = "/contents(-ext)?/|/editorconfig/|/raw/|/media/|/blame/"
parameters = { "path.filepath" = "README.md" }

[[operations]]
include-path-regex = "/git/(blobs|trees|commits|notes)/"
parameters = { "path.sha" = "{commit}" }

[[operations]]
include-path-regex = "/branch_protections/"
parameters = { "path.name" = "next" }

[[operations]]
include-path-regex = "/pulls/(comments|.*/comments)/"
parameters = { "path.comment_id" = {line} }

[[operations]]
include-path-regex = "/issues/comments/.*/assets/"
parameters = { "path.attachment_id" = {comment_file} }

[[operations]]
include-path-regex = "/releases/.*/assets/"
parameters = { "path.attachment_id" = {release_file} }

[[operations]]
include-path-regex = "^/api/v1/orgs?/"
parameters = { "path.hook_id" = {organization_hook}, "path.label_id" = {organization_label} }

[[operations]]
include-path-regex = "^/api/v1/user/hooks"
parameters = { "path.hook_id" = {own_hook} }

[[operations]]
include-path-regex = "^/api/v1/user/keys"
parameters = { "path.key_id" = {own_key} }
"""
"""Parameters that stand for other objects than elsewhere."""
HOOK = {"type": "gitea", "config": {"url": "http://127.0.0.1:9/", "content_type": "json"}}


def create_user(server: Deployment, name: str, password: str) -> None:
    new = {"username": name, "email": f"{name}@example.org", "password": password}
    created = httpx.post(f"{server.url}api/v1/admin/users", auth=ADMINISTRATOR, json=new, timeout=PATIENCE)
    assert created.status_code == 201, created.text


class Creator:
    """Creates what paths name, as its owner."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def do(self, method: str, path: str, **body: Any) -> Any:
        return self._sent(method, path, json=body)

    def attach(self, path: str) -> Any:
        """The id of a file there."""
        return self._sent("POST", path, files={"attachment": ("a.txt", b"text", "text/plain")})["id"]

    def _sent(self, method: str, path: str, **options: Any) -> Any:
        answer = self._client.request(method, f"api/v1/{path}", **options)
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None


def create_world(
    server: Deployment, folder: Path, owner: tuple[str, str], *, names_all: bool = True
) -> tuple[str, str]:
    """Create an organization with a team, and a repository with one object of each kind, all owned by one
    user.

    Return the options with their names and ids for paths. Without ``names_all`` some parameters stay open, to
    generate more inputs.
    """
    name = owner[0]
    create_user(server, f"{name}-friend", "what friends know")
    token_path = f"{server.url}api/v1/users/{name}/tokens"
    answers = [
        httpx.post(token_path, auth=owner, json={"name": one}, timeout=PATIENCE) for one in ("all", "other")
    ]
    assert [answer.status_code for answer in answers] == [201, 201], answers[0].text
    token = answers[0].json()["sha1"]
    headers = {"Authorization": f"token {token}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=PATIENCE) as client:
        creator = Creator(client)
        things = {"owner": name}
        things |= _account(creator, f"{name}-team", f"{name}-friend")
        creator.do("POST", "user/repos", name="world")
        url = f"{server.url.replace('://', f'://{name}:{token}@')}{name}/world.git"
        (folder / "work").mkdir()
        asyncio.run(_push(folder / "work", url))
        things |= _repository(creator, f"repos/{name}/world", f"{name}-friend")
    settings = folder / "schemathesis.toml"
    text = (
        MAIN_PARAMETERS + OTHER_PARAMETERS + ARCHIVES + OPERATIONS
        if names_all
        else MAIN_PARAMETERS + ARCHIVES
    )
    settings.write_text(re.sub(r"{(\w+)}", lambda match: str(things[match[1]]), text))
    return "--config-file", str(settings)


def _account(creator: Creator, organization: str, friend: str) -> dict[str, Any]:
    """Create the objects of the owner and of an organization."""
    do, below = creator.do, f"orgs/{organization}"
    do("POST", "orgs", username=organization)
    team = do("POST", f"{below}/teams", name="crew", permission="write")["id"]
    do("PUT", f"teams/{team}/members/{friend}")
    do("POST", f"{below}/repos", name="world", auto_init=True)
    do("PUT", f"teams/{team}/repos/{organization}/world")
    do("PUT", f"user/following/{friend}")
    do("POST", "user/actions/variables/NAME", value="a")
    do("POST", f"{below}/actions/variables/NAME", value="a")
    return {
        "team": team,
        "organization_hook": do("POST", f"{below}/hooks", **HOOK)["id"],
        "organization_label": do("POST", f"{below}/labels", name="all", color="#00ff00")["id"],
        "own_hook": do("POST", "user/hooks", **HOOK)["id"],
        "own_key": do("POST", "user/keys", title="laptop", key=_key())["id"],
        "application": do(
            "POST", "user/applications/oauth2", name="app", redirect_uris=["https://app.example.org/"]
        )["id"],
    }


def _repository(creator: Creator, path: str, friend: str) -> dict[str, Any]:
    """Create the objects of the repository, whose branches were pushed."""
    do = creator.do
    do("PUT", f"{path}/collaborators/{friend}", permission="write")
    do("POST", f"{path}/issues", title="It creaks")
    do("POST", f"{path}/pulls", title="Oil it", head="topic", base="main")
    comment = do("POST", f"{path}/issues/2/comments", body="I hear")["id"]
    line = {"path": "topic.md", "body": "Here", "new_position": 1}
    review = do("POST", f"{path}/pulls/2/reviews", body="Good", event="COMMENT", comments=[line])["id"]
    release = do("POST", f"{path}/releases", tag_name="v1", target_commitish="main")["id"]
    do("POST", f"{path}/branch_protections", rule_name="next")
    do("POST", f"{path}/actions/variables/NAME", value="a")
    do("POST", f"{path}/statuses/main", state="success", context="ci")
    do("PUT", f"{path}/topics/oil")
    do("PUT", path.replace("repos/", "user/starred/"))
    do("PUT", f"{path}/subscription")
    return {
        "repository": do("GET", path)["id"],
        "commit": do("GET", f"{path}/branches/main")["commit"]["id"],
        "comment": comment,
        "review": review,
        "line": do("GET", f"{path}/pulls/2/reviews/{review}/comments")[0]["id"],
        "release": release,
        "label": do("POST", f"{path}/labels", name="bug", color="#ee0701")["id"],
        "milestone": do("POST", f"{path}/milestones", title="first")["id"],
        "hook": do("POST", f"{path}/hooks", **HOOK)["id"],
        "rule": do("POST", f"{path}/tag_protections", name_pattern="release-*")["id"],
        "time": do("POST", f"{path}/issues/2/times", time=60)["id"],
        "deploy_key": do("POST", f"{path}/keys", title="robot", key=_key())["id"],
        "issue_file": creator.attach(f"{path}/issues/2/assets"),
        "comment_file": creator.attach(f"{path}/issues/comments/{comment}/assets"),
        "release_file": creator.attach(f"{path}/releases/{release}/assets?name=a.txt"),
    }


def _key() -> str:
    return asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()


async def _push(work: Path, url: str) -> None:
    await git("init", "-q", "-b", "main", cwd=work)
    await commit_file(work, "README.md", b"# World\n", "Begin")
    await git("checkout", "-q", "-b", "topic", cwd=work)
    await commit_file(work, "topic.md", b"# Topic\n", "Go on")
    await git("push", "-q", url, "main", "topic", cwd=work)
