"""A repository, an organization and an account that have one of everything that answers list."""

import base64
import subprocess
import tempfile
from typing import Any

import httpx

from .gitea import Operation
from .scene import (
    BY_TOKEN,
    CONTENT,
    FRIEND,
    HOOK,
    OWNER,
    PASSWORD,
    REPOSITORY,
    Body,
    Place,
    Scene,
    caller,
    default_place,
)

TEMPLATE = """name: Bug
about: Something creaks
title: ""
labels: [bug]
assignees: [bob]
ref: main
body:
  - type: input
    id: where
    attributes: {label: Where}
    validations: {required: true}
"""
CONFIG = """blank_issues_enabled: false
contact_links:
  - {name: Help, url: "https://example.org/", about: Ask}
"""


QUERIES = {
    "adminListHooks": "type=all",
    "notifyGetList": "all=true",
    "notifyGetRepoList": "all=true",
    "notifyReadList": "all=true",
    "notifyReadRepoList": "all=true",
    "repoGetContentsExt": "includes=file_content,commit_metadata,commit_message,lfs_metadata",
    "repoGetFileContents": 'body={"files":["README.md"]}',
    "repoListStatusesByRef": "page=1",
}


class Furnished:
    """Fills the repository, the organization and the account; ``place`` has what placeholders stand for."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._of_operations: dict[str, Place] = {}
        self._bodies: dict[str, Body] = {}
        self._defaults: Place = default_place(scene)
        for fill in (
            self._account,
            self._organization,
            self._code,
            self._texts,
            self._releases,
            self._settings,
        ):
            fill()

    def request(self, operation: Operation) -> httpx.Response:
        path = operation.path[1:].format(**self._defaults | self._of_operations.get(operation.id, {}))
        if operation.id in QUERIES:
            path += f"?{QUERIES[operation.id]}"
        who = (
            FRIEND
            if "/transfer/" in path or "/reparent/" in path
            else BY_TOKEN
            if path == "token"
            else caller(operation)
        )
        body = self._bodies.get(operation.id)
        return self._scene.request(operation.method, path, body, who=who, file=path.endswith("/assets"))

    def _on(self, place: Place, *operation_ids: str) -> None:
        for name in operation_ids:
            self._of_operations[name] = self._of_operations.get(name, {}) | place

    def _account(self) -> None:
        do, scene = self._scene.do, self._scene
        do("POST", f"admin/users/{OWNER}/badges", who="root", badge_slugs=["mentor"])
        do("PUT", f"user/following/{FRIEND}")
        do("PUT", f"user/following/{OWNER}", who=FRIEND)
        do("PUT", f"user/blocks/{scene.person()}")
        do("PUT", f"user/starred/{REPOSITORY.removeprefix('repos/')}")
        do("PUT", f"{REPOSITORY}/subscription")
        key = do("POST", "user/keys", title="laptop", key=scene.key())["id"]
        self._on({"id": key}, "userCurrentGetKey")
        armored = scene.openpgp_key()
        key = do("POST", "user/gpg_keys", armored_public_key=armored)
        self._on({"id": key["id"]}, "userCurrentGetGPGKey")
        proof = {"key_id": key["key_id"], "armored_signature": scene.openpgp_proof()}
        self._bodies["userVerifyGPGKey"] = proof
        new = {"name": scene.fresh(), "redirect_uris": ["https://app.example.org/"]}
        application = do("POST", "user/applications/oauth2", **new)["id"]
        self._on({"id": application}, "userGetOAuth2Application")
        self._on({"id": do("POST", "user/hooks", **HOOK)["id"]}, "userGetHook")
        self._on({"id": do("POST", "admin/hooks", who="root", **HOOK)["id"]}, "adminGetHook")
        for below in ("user", "orgs/club", REPOSITORY):
            do("POST", f"{below}/actions/variables/NAME", value="a", description="b")
            do("POST", f"{below}/actions/variables/OLD", value="a")
        self._defaults["variablename"] = "NAME"
        self._on({"variablename": "OLD"}, "deleteOrgVariable", "deleteRepoVariable")

    def _organization(self) -> None:
        do, scene = self._scene.do, self._scene
        do("PUT", f"orgs/club/blocks/{scene.person()}")
        do("PUT", f"teams/{scene.team}/members/{FRIEND}")
        do("PUT", f"orgs/club/public_members/{OWNER}")
        self._on({"id": do("POST", "orgs/club/hooks", **HOOK)["id"]}, "orgGetHook")
        label = do("POST", "orgs/club/labels", name="all", color="#00ff00")["id"]
        self._on({"id": label}, "orgGetLabel")
        self._on({"username": FRIEND}, "orgListTeamMember")
        self._defaults |= {"team": "crew", "collaborator": FRIEND, "user": OWNER}

    def _code(self) -> None:
        do, scene = self._scene.do, self._scene
        for path, text in (
            (".gitea/ISSUE_TEMPLATE/bug.yaml", TEMPLATE),
            (".gitea/ISSUE_TEMPLATE/config.yaml", CONFIG),
            ("app.py", "print(1)\n"),
        ):
            content = base64.b64encode(text.encode()).decode()
            do("POST", f"{REPOSITORY}/contents/{path}", content=content, branch="main")
        tree = do("GET", f"{REPOSITORY}/git/trees/main")
        blob = next(entry["sha"] for entry in tree["tree"] if entry["path"] == "README.md")
        self._on({"sha": blob}, "GetBlob")
        self._on({"sha": scene.commit}, "repoGetSingleCommit")
        do("POST", f"{REPOSITORY}/tags", tag_name="annotated", target="main", message="A tag")
        tag = do("GET", f"{REPOSITORY}/tags/annotated")["id"]
        self._on({"sha": tag}, "GetAnnotatedTag")
        self._on({"sha": "main"}, "GetTree")
        do(
            "POST",
            f"{REPOSITORY}/statuses/{scene.commit}",
            state="success",
            context="ci",
            target_url="https://x.io/",
        )
        branch = scene.branch()
        self._defaults |= {
            "branch": "main", "ref": "main", "filepath": "README.md", "tag": "annotated", "diffType": "diff",
            "basehead": f"main...{branch}",
        }  # fmt: skip
        self._on({"ref": scene.commit}, "repoGetCombinedStatusByRef", "repoListStatusesByRef")
        self._on({"ref": "heads/main"}, "repoListGitRefs")
        do("POST", f"{REPOSITORY}/forks", who=FRIEND)
        self._on({"sha": self._note()}, "repoGetNote")
        for title in ("Home", "Old"):
            do("POST", f"{REPOSITORY}/wiki/new", title=title, content_base64=CONTENT)
        self._defaults["pageName"] = "Home"
        self._on({"pageName": "Old"}, "repoDeleteWikiPage")

    def _note(self) -> str:
        """Push a git note, and return the commit that it is about."""
        url = self._scene.url.replace("://", f"://{OWNER}:{PASSWORD.replace(' ', '%20')}@")
        author = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        with tempfile.TemporaryDirectory() as folder:
            for arguments in (
                ("clone", "-q", f"{url}club/world.git", "."),
                (*author, "notes", "add", "-m", "Noted"),
                ("push", "-q", "origin", "refs/notes/commits"),
            ):
                subprocess.run(["git", *arguments], cwd=folder, check=True, timeout=60)
            head = ["git", "rev-parse", "HEAD"]
            return subprocess.run(head, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()

    def _texts(self) -> None:
        do, scene = self._scene.do, self._scene
        issue, other, pull = scene.issue(), scene.issue(), scene.pull(who=FRIEND)
        path = f"{REPOSITORY}/issues/{issue}"
        body = {"assignees": [FRIEND], "milestone": scene.milestone, "due_date": "2030-01-02T00:00:00Z"}
        do("PATCH", path, **body)
        do("PUT", f"{path}/labels", labels=[scene.label])
        comment = do("POST", f"{path}/comments", who=FRIEND, body=f"I hear @{OWNER}")["id"]
        for where in (path, f"{REPOSITORY}/issues/comments/{comment}"):
            do("POST", f"{where}/reactions", content="heart")
        meta = {"owner": "club", "repo": "world", "index": other}
        do("POST", f"{path}/dependencies", **meta)
        do("POST", f"{path}/blocks", **meta | {"index": scene.issue()})
        do("POST", f"{path}/times", time=60)
        do("POST", f"{path}/stopwatch/start")
        for number in (issue, pull):
            do("POST", f"{REPOSITORY}/issues/{number}/pin")
        files = {"index": issue, "attachment_id": scene.asset(f"issues/{issue}")}
        self._on(files, "issueGetIssueAttachment")
        files = {"id": comment, "attachment_id": scene.asset(f"issues/comments/{comment}")}
        self._on(files, "issueGetIssueCommentAttachment")
        on_comment = (
            *("issueGetComment", "issueListIssueCommentAttachments", "issueGetCommentReactions"),
            "issueCreateIssueCommentAttachment",
        )
        self._on({"id": comment}, *on_comment)
        self._defaults["index"] = issue
        do("POST", f"{REPOSITORY}/pulls/{pull}/requested_reviewers", team_reviewers=["crew"])
        review = scene.review(pull, "REQUEST_CHANGES", OWNER)
        head = scene.head(pull)
        do(
            "PATCH",
            f"{REPOSITORY}/pulls/{pull}",
            assignees=[FRIEND],
            milestone=scene.milestone,
            labels=[scene.label],
        )
        self._defaults |= {"base": "main", "head": head}
        self._on(
            {"index": pull, "id": review},
            *("repoGetPullRequest", "repoDownloadPullDiffOrPatch", "repoGetPullRequestCommits"),
            *(
                "repoGetPullRequestFiles",
                "repoListPullReviews",
                "repoGetPullReview",
                "repoGetPullReviewComments",
            ),
        )
        dismissed = scene.pull(who=FRIEND)
        refusal = scene.review(dismissed, "REQUEST_CHANGES", OWNER)
        do("POST", f"{REPOSITORY}/pulls/{dismissed}/reviews/{refusal}/dismissals", message="No")
        self._on({"index": dismissed, "id": refusal}, "repoUnDismissPullReview")
        merged = scene.pull()
        do("POST", f"{REPOSITORY}/pulls/{merged}/merge", Do="merge")
        commit = do("GET", f"{REPOSITORY}/pulls/{merged}")["merge_commit_sha"]
        self._on({"sha": commit}, "repoGetCommitPullRequest")

    def _releases(self) -> None:
        do, scene = self._scene.do, self._scene
        release = do("POST", f"{REPOSITORY}/releases", tag_name="v1", target_commitish="main", body="New")[
            "id"
        ]
        file = {"id": release, "attachment_id": scene.asset(f"releases/{release}")}
        self._on(file, "repoGetRelease", "repoListReleaseAttachments", "repoGetReleaseAttachment")
        self._on(file, "repoCreateReleaseAttachment")
        self._on({"tag": "v1"}, "repoGetReleaseByTag")

    def _settings(self) -> None:
        do, scene = self._scene.do, self._scene
        self._on({"id": do("POST", f"{REPOSITORY}/hooks", **HOOK)["id"]}, "repoGetHook")
        key = do("POST", f"{REPOSITORY}/keys", title="robot", key=scene.key())["id"]
        self._on({"id": key}, "repoGetKey")
        do("POST", f"{REPOSITORY}/branch_protections", rule_name="next", push_whitelist_usernames=[FRIEND])
        self._on({"name": "next"}, "repoGetBranchProtection")
        rule = do("POST", f"{REPOSITORY}/tag_protections", name_pattern="release-*")["id"]
        self._on({"id": rule}, "repoGetTagProtection")
        self._on({"id": scene.label}, "issueGetLabel")
        self._on({"id": scene.milestone}, "issueGetMilestone")
        do("PUT", f"{REPOSITORY}/topics", topics=["oil"])
        address = f"{scene.url}club/elsewhere.git"
        name = do("POST", f"{REPOSITORY}/push_mirrors", remote_address=address, interval="8h")["remote_name"]
        self._on({"name": name}, "repoGetPushMirrorByRemoteName")
        self._on({"id": do("GET", REPOSITORY)["id"]}, "repoGetByID")
        self._on({"repo": "world", "org": "club"}, "orgListTeamRepo")
        self._on({"name": "Python"}, "getGitignoreTemplateInfo")
        self._on({"name": "Default"}, "getLabelTemplateInfo")
        self._on({"name": "MIT"}, "getLicenseTemplateInfo")
        tracker = {"external_tracker_url": "https://example.org/", "external_tracker_style": "numeric"}
        wiki = {"external_wiki_url": "https://example.org/wiki"}
        do("PATCH", REPOSITORY, external_tracker=tracker, external_wiki=wiki)
        for operation_id in ("acceptRepoTransfer", "rejectRepoTransfer", "repoGet"):
            own = scene.repository()
            do("POST", f"repos/{own['owner']}/{own['repo']}/transfer", new_owner=FRIEND)
            self._on(own, operation_id)
        for operation_id in ("acceptRepoReparent", "rejectRepoReparent"):
            own = scene.repository()
            do("POST", f"repos/{own['owner']}/{own['repo']}/forks", who=FRIEND)
            do("POST", f"repos/{own['owner']}/{own['repo']}/reparent", new_owner=FRIEND)
            self._on(own, operation_id)
        threads: list[dict[str, Any]] = do("GET", "notifications?all=true")
        self._defaults["thread"] = threads[0]["id"]
        self._on({"id": threads[0]["id"]}, "notifyGetThread", "notifyReadThread")
