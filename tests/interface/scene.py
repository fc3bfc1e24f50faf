"""A repository, an organization and people, and what each operation with a body is tried on."""

import base64
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import asyncssh
import httpx
from pysequoia import SignatureMode, Tsk, sign

from ..e2e.deployments import ADMINISTRATOR
from .gitea import TYPES, Field, Operation, inner

OWNER, FRIEND, PASSWORD = "ann", "bob", "correct horse battery"
BY_TOKEN = "ann by a token"
REPOSITORY = "repos/club/world"
MOMENT = "2020-01-02T03:04:05Z"
CONTENT = base64.b64encode(b"text\n").decode()
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
HOOK = {"type": "gitea", "config": {"url": "http://127.0.0.1:9/", "content_type": "json", "channel": "#dev"}}
PATCH = "--- /dev/null\n+++ b/{0}.txt\n@@ -0,0 +1 @@\n+text\n"

Body = dict[str, Any]
Place = dict[str, Any]


class Scene:
    """Makes what an operation is tried on, as often as it is needed."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._clients = {
            name: httpx.Client(base_url=f"{url}api/v1/", auth=(name, password), timeout=60)
            for name, password in (ADMINISTRATOR, (OWNER, PASSWORD), (FRIEND, PASSWORD))
        }
        self._numbers = itertools.count(1)
        for name in (OWNER, FRIEND):
            new = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
            self.do("POST", "admin/users", who="root", must_change_password=False, **new)
        token = self.do("POST", f"users/{OWNER}/tokens", name="own", scopes=["all"])["sha1"]
        headers = {"authorization": f"token {token}"}
        self._clients[BY_TOKEN] = httpx.Client(base_url=f"{url}api/v1/", headers=headers, timeout=60)
        self.do("POST", "orgs", username="club")
        self.team = self.do("POST", "orgs/club/teams", name="crew", permission="write", units=["repo.code"])[
            "id"
        ]
        new = {"name": "world", "auto_init": True, "default_branch": "main"}
        self.do("POST", "orgs/club/repos", **new)
        self.do("PATCH", REPOSITORY, template=True, allow_manual_merge=True)
        self.do("PUT", f"teams/{self.team}/repos/club/world")
        self.do("PUT", f"{REPOSITORY}/collaborators/{FRIEND}", permission="write")
        self.owner = self.do("GET", "user")["id"]
        self.label = self.do("POST", f"{REPOSITORY}/labels", name="bug", color="#ee0701")["id"]
        self.milestone = self.do("POST", f"{REPOSITORY}/milestones", title="first")["id"]
        self.commit = self.do("GET", f"{REPOSITORY}/branches/main")["commit"]["id"]

    def request(
        self, method: str, path: str, body: Any = None, *, who: str = OWNER, file: bool = False
    ) -> httpx.Response:
        """Send JSON, or the file of an attachment."""
        files = {"attachment": ("a.txt", b"text", "text/plain")} if file and method == "POST" else None
        return self._clients[who].request(method, path, json=body, files=files)

    def do(self, method: str, path: str, who: str = OWNER, **body: Any) -> Any:
        """Return the JSON of an answer that must be a success."""
        answer = self.request(method, path, body or None, who=who)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def fresh(self) -> str:
        return f"fresh{next(self._numbers)}"

    def branch(self) -> str:
        """Return the name of a new branch with a commit of its own."""
        name = self.fresh()
        new = {"content": CONTENT, "branch": "main", "new_branch": name, "message": "Go on"}
        self.do("POST", f"{REPOSITORY}/contents/{name}.md", **new)
        return name

    def repository(self) -> Place:
        """Return what the placeholders of a new repository of the owner stand for."""
        name = self.fresh()
        self.do("POST", "user/repos", name=name, auto_init=True, default_branch="main")
        return {"owner": OWNER, "repo": name}

    def forked(self) -> Place:
        """Return the place of a new repository that the organization club has forked."""
        place = self.repository()
        self.do("POST", f"repos/{OWNER}/{place['repo']}/forks", organization="club")
        return place

    def person(self) -> str:
        name = self.fresh()
        new = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
        self.do("POST", "admin/users", who="root", must_change_password=False, **new)
        return name

    def organization(self) -> str:
        return str(self.do("POST", "orgs", username=self.fresh())["username"])

    def issue(self) -> int:
        return int(self.do("POST", f"{REPOSITORY}/issues", title="It creaks")["number"])

    def pull(self, who: str = OWNER) -> int:
        new = {"title": "Oil it", "head": self.branch(), "base": "main"}
        return int(self.do("POST", f"{REPOSITORY}/pulls", who=who, **new)["number"])

    def comment(self) -> int:
        return int(self.do("POST", f"{REPOSITORY}/issues/{self.issue()}/comments", body="I hear")["id"])

    def review(self, pull: int, event: str, who: str = FRIEND) -> int:
        line = {"path": f"{self.head(pull)}.md", "body": "Here", "new_position": 1}
        body = {"event": event, "body": "Look", "comments": [line]}
        return int(self.do("POST", f"{REPOSITORY}/pulls/{pull}/reviews", who=who, **body)["id"])

    def head(self, pull: int) -> str:
        return str(self.do("GET", f"{REPOSITORY}/pulls/{pull}")["head"]["ref"])

    def file(self) -> tuple[str, str]:
        """Return the path of a new file, and its id."""
        path = f"{self.fresh()}.txt"
        answer = self.do("POST", f"{REPOSITORY}/contents/{path}", content=CONTENT, branch="main")
        return path, answer["content"]["sha"]

    def release(self) -> int:
        name = self.fresh()
        return int(self.do("POST", f"{REPOSITORY}/releases", tag_name=name, target_commitish="main")["id"])

    def asset(self, path: str) -> int:
        """Return the id of a file that is added there."""
        answer = self.request("POST", f"{REPOSITORY}/{path}/assets", file=True)
        assert answer.status_code == 201, answer.text
        return int(answer.json()["id"])

    def openpgp_key(self) -> str:
        self._openpgp = Tsk.generate(f"{OWNER}@example.org")
        return str(self._openpgp.extract_certificate())

    def openpgp_proof(self) -> str:
        """Sign a token with the latest key."""
        token = self.request("GET", "user/gpg_key_token").text
        return sign(self._openpgp.signer(), token.encode(), mode=SignatureMode.DETACHED).decode()

    def key(self) -> str:
        return asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()


Try = tuple[Place, Body]
"""Values of the placeholders of a path, and a body."""


def _renamed(scene: Scene) -> Try:
    path, sha = scene.file()
    body = {"sha": sha, "branch": "main", "content": CONTENT, "from_path": path}
    return {"filepath": f"{scene.fresh()}.txt"}, body


def _deleted(scene: Scene) -> Try:
    path, sha = scene.file()
    return {"filepath": path}, {"sha": sha, "branch": "main"}


def _reviewable(scene: Scene) -> Place:
    """A pull request of another person, and a review of its head."""
    pull = scene.pull(who=FRIEND)
    head = scene.do("GET", f"{REPOSITORY}/pulls/{pull}")["head"]["sha"]
    return {"index": pull}, {"event": "COMMENT", "body": "Good", "commit_id": head}


def _pending(scene: Scene) -> Try:
    pull = scene.pull(who=FRIEND)
    return {"index": pull, "id": scene.review(pull, "PENDING", OWNER)}, {"event": "COMMENT", "body": "Done"}


def _moved(scene: Scene) -> Try:
    """A branch that can go on to the head of another one."""
    start, goal = scene.fresh(), scene.branch()
    scene.do("POST", f"{REPOSITORY}/branches", new_branch_name=start, old_ref_name=scene.commit)
    goal_id = scene.do("GET", f"{REPOSITORY}/branches/{goal}")["commit"]["id"]
    return {"branch": start}, {"new_commit_id": goal_id}


def _mergeable(scene: Scene) -> Try:
    """A pull request, with a commit of the base branch for the style manually-merged."""
    pull = scene.pull()
    head = scene.do("GET", f"{REPOSITORY}/pulls/{pull}")["head"]["sha"]
    return {"index": pull}, {"do": "merge", "head_commit_id": head, "merge_commit_id": scene.commit}


def _rejected(scene: Scene) -> Try:
    pull = scene.pull()
    return {"index": pull, "id": scene.review(pull, "REQUEST_CHANGES")}, {"message": "It is fine"}


def _reply(scene: Scene) -> Try:
    pull = scene.pull()
    review = scene.review(pull, "COMMENT")
    comment = scene.do("GET", f"{REPOSITORY}/pulls/{pull}/reviews/{review}/comments")[0]["id"]
    return {"index": pull, "id": comment}, {"body": "Yes"}


def _linked(scene: Scene, below: str) -> Try:
    first, second = scene.issue(), scene.issue()
    meta = {"owner": "club", "repo": "world", "index": second}
    scene.do("POST", f"{REPOSITORY}/issues/{first}/{below}", **meta)
    return {"index": first}, meta


def _requested(scene: Scene) -> Try:
    pull = scene.pull()
    scene.do("POST", f"{REPOSITORY}/pulls/{pull}/requested_reviewers", reviewers=[FRIEND])
    return {"index": pull}, {"reviewers": [FRIEND]}


def _fork(scene: Scene) -> Try:
    organization = scene.organization()
    scene.do("POST", f"{REPOSITORY}/forks", organization=organization)
    return {"owner": organization, "repo": "world"}, {"branch": "main"}


def _variable(scene: Scene, below: str) -> Try:
    name = scene.fresh().upper()
    scene.do("POST", f"{below}/actions/variables/{name}", value="a")
    return {"variablename": name}, {"value": "b"}


def _hook(scene: Scene, below: str, who: str = OWNER) -> Try:
    return {"id": scene.do("POST", f"{below}/hooks", who=who, **HOOK)["id"]}, {}


def _reaction(scene: Scene, path: str, place: Place) -> Try:
    scene.do("POST", f"{REPOSITORY}/{path}/reactions", content="heart")
    return place, {"content": "heart"}


def _comment_reaction(scene: Scene) -> Try:
    comment = scene.comment()
    return _reaction(scene, f"issues/comments/{comment}", {"id": comment})


def _issue_reaction(scene: Scene) -> Try:
    issue = scene.issue()
    return _reaction(scene, f"issues/{issue}", {"index": issue})


def _comment_file(scene: Scene) -> Try:
    comment = scene.comment()
    return {"id": comment, "attachment_id": scene.asset(f"issues/comments/{comment}")}, {}


def _issue_file(scene: Scene) -> Try:
    issue = scene.issue()
    return {"index": issue, "attachment_id": scene.asset(f"issues/{issue}")}, {}


def _release_file(scene: Scene) -> Try:
    release = scene.release()
    return {"id": release, "attachment_id": scene.asset(f"releases/{release}")}, {}


def _branch_rule(scene: Scene) -> Try:
    name = scene.do("POST", f"{REPOSITORY}/branch_protections", rule_name=scene.fresh())["rule_name"]
    return {"name": name}, {}


def _email(scene: Scene) -> Try:
    address = f"{scene.fresh()}@example.org"
    scene.do("POST", "user/emails", emails=[address])
    return {}, {"emails": [address]}


def _wiki_page(scene: Scene) -> Try:
    title = scene.fresh()
    scene.do("POST", f"{REPOSITORY}/wiki/new", title=title, content_base64=CONTENT)
    return {"pageName": title}, {"title": title, "content_base64": CONTENT}


def _assigned(scene: Scene) -> Try:
    issue = scene.issue()
    scene.do("PATCH", f"{REPOSITORY}/issues/{issue}", assignees=[FRIEND])
    return {"index": issue}, {"assignees": [FRIEND]}


SCENES: dict[str, Callable[[Scene], Try]] = {
    "adminEditHook": lambda scene: _hook(scene, "admin", "root"),
    "adminEditUser": lambda scene: (
        {"username": (name := scene.person())},
        {"login_name": name, "source_id": 0},
    ),
    "adminRenameUser": lambda scene: ({"username": scene.person()}, {}),
    "orgEdit": lambda scene: ({"org": scene.organization()}, {}),
    "updateOrgVariable": lambda scene: _variable(scene, "orgs/club"),
    "orgEditHook": lambda scene: _hook(scene, "orgs/club"),
    "orgEditLabel": lambda scene: (
        {"id": scene.do("POST", "orgs/club/labels", name=scene.fresh(), color="#00ff00")["id"]},
        {},
    ),
    "renameOrg": lambda scene: ({"org": scene.organization()}, {}),
    "repoEdit": lambda scene: (scene.repository(), {}),
    "updateRepoVariable": lambda scene: _variable(scene, REPOSITORY),
    "repoUpdateBranchProtectionPriories": lambda scene: (scene.repository(), {"ids": []}),
    "repoEditBranchProtection": _branch_rule,
    "repoUpdateBranch": _moved,
    "repoRenameBranch": lambda scene: ({"branch": scene.branch()}, {}),
    "repoAddCollaborator": lambda scene: ({"collaborator": scene.person()}, {}),
    "repoChangeFiles": lambda scene: (
        {},
        {"files": [{"operation": "create", "path": f"{scene.fresh()}.txt", "content": CONTENT}]},
    ),
    "repoUpdateFile": _renamed,
    "repoCreateFile": lambda scene: ({"filepath": f"{scene.fresh()}.txt"}, {"content": CONTENT}),
    "repoDeleteFile": _deleted,
    "repoApplyDiffPatch": lambda scene: ({}, {"content": PATCH.format(scene.fresh()), "branch": "main"}),
    "repoGetFileContentsPost": lambda scene: ({}, {"files": ["README.md"]}),
    "createFork": lambda scene: ({}, {"name": scene.fresh(), "organization": scene.organization()}),
    "repoEditHook": lambda scene: _hook(scene, REPOSITORY),
    "issueEditComment": lambda scene: ({"id": scene.comment()}, {}),
    "issueEditCommentDeprecated": lambda scene: ({"id": scene.comment(), "index": 1}, {}),
    "issueEditIssueCommentAttachment": _comment_file,
    "issuePostCommentReaction": lambda scene: ({"id": scene.comment()}, {"content": "heart"}),
    "issueDeleteCommentReaction": _comment_reaction,
    "issueEditIssueAttachment": _issue_file,
    "issueRemoveAssignees": _assigned,
    "issueCreateIssueBlocking": lambda scene: (
        {"index": scene.issue()},
        {"owner": "club", "repo": "world", "index": scene.issue()},
    ),
    "issueRemoveIssueBlocking": lambda scene: _linked(scene, "blocks"),
    "issueCreateIssueDependencies": lambda scene: (
        {"index": scene.issue()},
        {"owner": "club", "repo": "world", "index": scene.issue()},
    ),
    "issueRemoveIssueDependencies": lambda scene: _linked(scene, "dependencies"),
    "issueDeleteIssueReaction": _issue_reaction,
    "issueAddTime": lambda scene: ({"index": scene.issue()}, {"time": 60}),
    "issueEditLabel": lambda scene: (
        {"id": scene.do("POST", f"{REPOSITORY}/labels", name=scene.fresh(), color="#00ff00")["id"]},
        {},
    ),
    "repoMergeUpstream": _fork,
    "issueEditMilestone": lambda scene: (
        {"id": scene.do("POST", f"{REPOSITORY}/milestones", title=scene.fresh())["id"]},
        {},
    ),
    "repoCreatePullRequest": lambda scene: ({}, {"head": scene.branch(), "base": "main", "title": "Oil it"}),
    "repoEditPullRequest": lambda scene: ({"index": scene.pull()}, {}),
    "repoCreatePullReviewCommentReply": _reply,
    "repoMergePullRequest": _mergeable,
    "repoCreatePullReviewRequests": lambda scene: ({"index": scene.pull()}, {}),
    "repoDeletePullReviewRequests": _requested,
    "repoCreatePullReview": _reviewable,
    "repoSubmitPullReview": _pending,
    "repoDismissPullReview": _rejected,
    "repoAddPushMirror": lambda scene: (
        scene.repository(),
        {"remote_address": f"http://127.0.0.1:9/{scene.fresh()}.git", "interval": "8h"},
    ),
    "repoEditRelease": lambda scene: ({"id": scene.release()}, {}),
    "repoEditReleaseAttachment": _release_file,
    "repoEditTagProtection": lambda scene: (
        {"id": scene.do("POST", f"{REPOSITORY}/tag_protections", name_pattern=scene.fresh())["id"]},
        {},
    ),
    "repoTransfer": lambda scene: (scene.repository(), {"new_owner": "club"}),
    "repoReparent": lambda scene: (scene.forked(), {"new_owner": "club"}),
    "generateRepo": lambda scene: (
        {},
        {"name": scene.fresh(), "owner": OWNER, "git_content": True, "topics": True},
    ),
    "orgEditTeam": lambda scene: (
        {
            "id": scene.do(
                "POST", "orgs/club/teams", name=scene.fresh(), permission="write", units=["repo.code"]
            )["id"]
        },
        {},
    ),
    "updateUserVariable": lambda scene: _variable(scene, "user"),
    "userUpdateOAuth2Application": lambda scene: (
        {
            "id": scene.do(
                "POST",
                "user/applications/oauth2",
                name=scene.fresh(),
                redirect_uris=["https://app.example.org/"],
            )["id"]
        },
        {"name": scene.fresh(), "redirect_uris": ["https://app.example.org/"]},
    ),
    "adminCreateUser": lambda scene: ({}, {"password": "a fresh password"}),
    "orgUpdateAvatar": lambda _: ({}, {"image": PIXEL}),
    "repoUpdateAvatar": lambda _: ({}, {"image": PIXEL}),
    "userUpdateAvatar": lambda _: ({}, {"image": PIXEL}),
    "userAddEmail": lambda scene: ({}, {"emails": [f"{scene.fresh()}@example.org"]}),
    "userCreateOAuth2Application": lambda scene: (
        {},
        {"name": scene.fresh(), "redirect_uris": ["https://app.example.org/"]},
    ),
    "repoCreateBranchProtection": lambda scene: ({}, {"rule_name": scene.fresh()}),
    "issueCreateMilestone": lambda scene: ({}, {"title": scene.fresh()}),
    "repoCreateStatus": lambda _: ({}, {"state": "success"}),
    "repoCreateTagProtection": lambda scene: ({}, {"name_pattern": scene.fresh()}),
    "issuePostIssueReaction": lambda _: ({}, {"content": "heart"}),
    "repoCreateWikiPage": lambda scene: ({}, {"title": scene.fresh(), "content_base64": CONTENT}),
    "repoEditWikiPage": _wiki_page,
    "userDeleteEmail": _email,
    "userEditHook": lambda scene: _hook(scene, "user"),
    "repoMigrate": lambda scene: (
        {},
        {"repo_name": scene.fresh(), "clone_addr": f"{scene.url}club/world.git"},
    ),
}
"""Values of placeholders and the least body, by operation. Other operations take defaults."""


PEOPLE = [FRIEND]
LISTS_OF_USERS = (
    *("approvals_whitelist_username", "bypass_allowlist_usernames", "force_push_allowlist_usernames"),
    *("merge_whitelist_usernames", "push_whitelist_usernames", "whitelist_usernames"),
)
LISTS_OF_TEAMS = (
    *("approvals_whitelist_teams", "bypass_allowlist_teams", "force_push_allowlist_teams"),
    *("merge_whitelist_teams", "push_whitelist_teams", "whitelist_teams", "team_reviewers"),
)
URL = "https://example.org/"
VALUES: dict[str, Any] = {
    "adminEditUser.source_id": 0,
    "adminCreateUser.source_id": 0,
    "password": "a fresh password",
    "website": URL,
    "orgCreate.email": "club@example.org",
    "email": lambda scene: f"{scene.fresh()}@example.org",
    "emails": lambda scene: [f"{scene.fresh()}@example.org"],
    "key": Scene.key,
    "image": PIXEL,
    "color": "#00ff00",
    "CreateHookOption.config": HOOK["config"],
    "EditHookOption.config": HOOK["config"],
    "events": ["push"],
    "MarkupOption.Mode": "gfm",
    "gitignores": "Python",
    "license": "MIT",
    "readme": "Default",
    "issue_labels": "Default",
    "object_format_name": "sha1",
    "units": ["repo.code"],
    "units_map": {"repo.code": "read"},
    "scopes": ["read:repository"],
    "default_branch": "main",
    "default_merge_style": "squash",
    "default_update_style": "rebase",
    "mirror_interval": "8h0m0s",
    "interval": "8h0m0s",
    "projects_mode": "repo",
    "external_tracker_url": URL,
    "external_tracker_format": URL + "{index}",
    "external_tracker_style": "numeric",
    "external_wiki_url": URL,
    "redirect_uris": [URL],
    "remote_address": lambda scene: f"{scene.url}{OWNER}/{scene.fresh()}.git",
    "service": "git",
    "uid": lambda scene: scene.owner,
    "MigrateRepoOptions.repo_owner": OWNER,
    "rule_name": Scene.fresh,
    "branch_name": Scene.fresh,
    "old_branch_name": "main",
    "old_ref_name": "main",
    "old_commit_id": lambda scene: scene.commit,
    "GenerateRepoOption.owner": OWNER,
    "permission": "write",
    "branch": "main",
    "content": CONTENT,
    "assignee": FRIEND,
    "assignees": PEOPLE,
    "reviewers": PEOPLE,
    "user_name": FRIEND,
    "labels": lambda scene: [scene.label],
    "milestone": lambda scene: scene.milestone,
    "IssueMeta.owner": "club",
    "IssueMeta.repo": "world",
    "IssueMeta.index": Scene.issue,
    "EditReactionOption.content": "heart",
    "CreatePullRequestOption.base": "main",
    "CreatePullRequestOption.head": Scene.branch,
    "EditPullRequestOption.base": Scene.branch,
    "commit_id": lambda scene: scene.commit,
    "target_commitish": "main",
    "CreateTagOption.target": "main",
    "target_url": URL,
    "TransferRepoOption.new_owner": "club",
    "ReparentRepoOption.new_owner": "club",
    "team_ids": lambda scene: [scene.team],
    "content_version": 0,
    "projects": [],
    "armored_public_key": Scene.openpgp_key,
    "armored_signature": Scene.openpgp_proof,
    **dict.fromkeys(LISTS_OF_USERS, PEOPLE),
    **{name: ["crew"] for name in LISTS_OF_TEAMS},
}
"""A value of a field that has to mean something: of an operation, a type, or wherever it occurs."""


def default_place(scene: Scene) -> Place:
    return {
        "owner": "club", "template_owner": "club", "repo": "world", "template_repo": "world", "org": "club",
        "username": OWNER, "index": scene.issue(), "sha": scene.commit, "variablename": scene.fresh().upper(),
        "id": scene.team,
    }  # fmt: skip


NAMES = {
    *("name", "username", "new_username", "new_name", "repo_name", "rule_name", "name_pattern", "tag_name"),
    *("new_branch_name", "new_branch", "title"),
}


def values(scene: Scene, operation: Operation, field: Field) -> Iterator[Any]:
    """Yield plain values of the field, all of an enumeration and both of a boolean."""
    for name in (f"{operation.id}.{field.name}", f"{operation.body}.{field.name}", field.name):
        if name in VALUES and field.kind != "boolean":
            value = VALUES[name]
            yield value(scene) if callable(value) else value
            return
    if field.name in NAMES:
        yield scene.fresh()
        return
    yield from plain(scene, operation, field)


def plain(scene: Scene, operation: Operation, field: Field) -> Iterator[Any]:
    kind = field.kind
    if kind == "boolean":
        yield from (True, False)
    elif kind == "integer":
        yield 1
    elif kind == "time":
        yield MOMENT
    elif kind == "email":
        yield f"{scene.fresh()}@example.org"
    elif kind[0] == "[":
        yield [next(values(scene, operation, Field(field.name, inner(kind), True)))]
    elif kind[0] == "{":
        yield {"key": "text"}
    elif kind in TYPES:
        yield {
            one.name: next(values(scene, operation._replace(body=kind), one)) for one in TYPES[kind].values()
        }
    elif "|" in kind:
        yield from kind.split("|")
    else:
        yield "text"


def caller(operation: Operation) -> str:
    return ADMINISTRATOR[0] if operation.path.startswith("/admin") else OWNER


def least(scene: Scene, operation: Operation) -> Try:
    """Return what the placeholders stand for, and the least body with which the operation succeeds."""
    place, body = SCENES.get(operation.id, lambda _: ({}, {}))(scene)
    for field in TYPES.get(operation.body, {}).values():
        if field.required and field.name not in body:
            body[field.name] = next(values(scene, operation, field))
    return default_place(scene) | place, body


def tries(scene: Scene, operation: Operation, field: Field) -> Iterator[Try]:
    """Yield a body with the field for each of its values, each for a thing of its own.

    What the operation needs anyway is sent as it is, unless the field has few values.
    """
    for number in itertools.count():
        place, body = least(scene, operation)
        of_few = field.kind == "boolean" or "|" in field.kind
        if field.name in body and not of_few:
            yield place, body
            return
        value = next(itertools.islice(values(scene, operation, field), number, None), None)
        if value is None:
            return
        yield place, body | {field.name: value}
