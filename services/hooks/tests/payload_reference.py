"""Payloads as receivers expect them: the fields of the interface, their order and their types.

A type is str, int, bool, time or map, or the name of a shape. Brackets make a list. ``?`` allows null, and
``~`` allows absence. A payload may have more fields than these.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

PAYLOADS = {
    "create": "secret:str sha:str ref:str ref_type:str repository:Repository sender:User",
    "push": "secret:str ref:str before:str after:str compare_url:str commits:[Commit] repository:Repository "
    "pusher:User sender:User",
    "delete": "secret:str ref:str ref_type:str pusher_type:str repository:Repository sender:User",
    "fork": "secret:str forkee:Repository repository:Repository sender:User",
    "repository": "secret:str action:str repository:Repository organization:User sender:User",
    "issues": (
        "secret:str action:str number:int changes:Changes~ issue:Issue repository:Repository sender:User"
    ),
    "issue_comment": "secret:str action:str issue:Issue comment:Comment changes:Changes~ "
    "repository:Repository sender:User is_pull:bool",
    "pull_request": "secret:str action:str number:int changes:Changes~ pull_request:PullRequest "
    "repository:Repository sender:User",
    "release": "secret:str action:str release:Release repository:Repository sender:User",
    "wiki": "secret:str action:str repository:Repository sender:User page:str comment:str",
    "import": "secret:str action:str reason:str repeat:int repository:Repository sender:User",
    "status": "secret:str id:int sha:str state:str context:str description:str target_url:str "
    "created_at:time updated_at:time repository:Repository sender:User",
}

SHAPES = {
    "User": "id:int login:str full_name:str email:str avatar_url:str",
    "Permission": "admin:bool push:bool pull:bool",
    "Repository": "id:int owner:User name:str full_name:str description:str empty:bool private:bool "
    "fork:bool parent:Repository? mirror:bool size:int html_url:str ssh_url:str clone_url:str website:str "
    "stars_count:int forks_count:int watchers_count:int open_issues_count:int default_branch:str "
    "created_at:time updated_at:time permissions:Permission",
    "Label": "id:int name:str color:str url:str",
    "Milestone": "id:int title:str description:str state:str open_issues:int closed_issues:int "
    "closed_at:time? due_on:time?",
    "PullRequestMeta": "merged:bool merged_at:time?",
    "Issue": "id:int url:str number:int user:User title:str body:str labels:[Label] milestone:Milestone? "
    "assignee:User? state:str comments:int created_at:time updated_at:time pull_request:PullRequestMeta?",
    "Comment": "id:int html_url:str pull_request_url:str issue_url:str user:User body:str created_at:time "
    "updated_at:time",
    "PullRequestBranch": "label:str ref:str sha:str repo_id:int repo:Repository?",
    "PullRequest": "id:int url:str number:int user:User title:str body:str labels:[Label] "
    "milestone:Milestone? assignee:User? state:str comments:int html_url:str diff_url:str patch_url:str "
    "mergeable:bool merged:bool merged_at:time? merge_commit_sha:str? merged_by:User? base:PullRequestBranch "
    "head:PullRequestBranch merge_base:str created_at:time? updated_at:time?",
    "CommitUser": "name:str email:str username:str",
    "Verification": "verified:bool reason:str signature:str payload:str",
    "Commit": "id:str message:str url:str author:CommitUser committer:CommitUser verification:Verification? "
    "timestamp:time added:[str] removed:[str] modified:[str]",
    "Release": "id:int tag_name:str target_commitish:str name:str body:str url:str tarball_url:str "
    "zipball_url:str draft:bool prerelease:bool created_at:time published_at:time author:User",
    "Changes": "title:Former~ body:Former~",
    "Former": "from:str",
}

LATER = {
    "push": "total_commits:int head_commit:Commit?",
    "status": "commit:Commit",
    "issues": "commit_id:str",
    "issue_comment": "pull_request:PullRequest~",
    "pull_request": "requested_reviewer:User? commit_id:str review:Review?",
    "User": "username:str html_url:str created:time visibility:str description:str website:str location:str "
    "restricted:bool is_admin:bool active:bool prohibit_login:bool language:str login_name:str source_id:int "
    "last_login:time followers_count:int following_count:int starred_repos_count:int",
    "Repository": "allow_fast_forward_only_merge:bool allow_manual_merge:bool allow_merge_commits:bool "
    "allow_merge_update:bool allow_rebase:bool allow_rebase_explicit:bool allow_rebase_update:bool "
    "allow_squash_merge:bool archived:bool archived_at:time? autodetect_manual_merge:bool avatar_url:str "
    "branch_count:int default_allow_maintainer_edit:bool default_delete_branch_after_merge:bool "
    "default_merge_style:str default_target_branch:str default_update_style:str "
    "external_tracker:ExternalTracker? external_wiki:ExternalWiki? has_actions:bool has_code:bool "
    "has_issues:bool has_packages:bool has_projects:bool has_pull_requests:bool has_releases:bool "
    "has_wiki:bool "
    "ignore_whitespace_conflicts:bool internal:bool internal_tracker:InternalTracker? language:str "
    "languages_url:str licenses:[str] link:str mirror_interval:str mirror_last_sync_at:time? "
    "mirror_updated:time? object_format_name:str open_pr_counter:int original_url:str projects_mode:str "
    "release_counter:int repo_transfer:RepositoryTransfer? template:bool topics:[str] url:str",
    "Label": "description:str exclusive:bool is_archived:bool",
    "Milestone": "created_at:time? updated_at:time?",
    "PullRequestMeta": "draft:bool html_url:str",
    "Issue": "assets:[Attachment] assignees:[User] closed_at:time? content_version:int due_date:time? "
    "html_url:str is_locked:bool original_author:str original_author_id:int pin_order:int projects:[int] "
    "ref:str "
    "repository:RepositoryMeta? time_estimate:int",
    "Comment": "assets:[Attachment] original_author:str original_author_id:int",
    "PullRequest": "additions:int? allow_maintainer_edit:bool assignees:[User] changed_files:int? "
    "closed_at:time? content_version:int deletions:int? draft:bool due_date:time? is_locked:bool "
    "pin_order:int "
    "requested_reviewers:[User] requested_reviewers_teams:[Team] review_comments:int",
    "Verification": "signer:CommitUser?",
    "Release": "assets:[Attachment] html_url:str upload_url:str",
    "Changes": "ref:Former~ added_labels:[Label] removed_labels:[Label]",
    "Attachment": "id:int name:str size:int download_count:int created_at:time uuid:str "
    "browser_download_url:str",
    "RepositoryMeta": "id:int name:str owner:str full_name:str",
    "Review": "type:str content:str",
    "Team": "id:int name:str description:str organization:Organization? includes_all_repositories:bool "
    "permission:str units:[str] units_map:map can_create_org_repo:bool visibility:str",
    "Organization": "id:int name:str username:str full_name:str email:str avatar_url:str description:str "
    "website:str location:str visibility:str repo_admin_change_team_access:bool",
    "InternalTracker": "enable_time_tracker:bool allow_only_contributors_to_track_time:bool "
    "enable_issue_dependencies:bool",
    "ExternalTracker": "external_tracker_url:str external_tracker_format:str external_tracker_style:str "
    "external_tracker_regexp_pattern:str",
    "ExternalWiki": "external_wiki_url:str",
    "RepositoryTransfer": "doer:User recipient:User teams:[Team]",
}
"""Fields that Gitea 1.27.1 has in addition, in no order."""

SHAPES |= {shape: "" for shape in LATER if shape not in {*SHAPES, *PAYLOADS}}

NEVER_SENT = {
    "Organization": "the team of a pull request has no organization in Gitea either",
    "Verification": "events leave it out, as in Gitea",
    "RepositoryTransfer": "events leave it out: it is for the two owners",
}
"""Shapes that no payload has, and why."""

MISSING = {
    ("User", "followers_count"): "changes by what others do, so each copy of the account would soon be wrong",
    ("User", "following_count"): "as followers_count; GET /users/{username} has both",
    ("User", "starred_repos_count"): "no answer has it: stars are in the database of repos, not of accounts",
    ("Repository", "default_target_branch"): "no answer has it: pull requests are for the default branch",
}
"""Fields that payloads do not have, and why."""

PLAIN = {"str": str, "int": int, "bool": bool, "time": str, "map": dict}


def differences(
    event: str, payload: Any, later: Mapping[str, str] = LATER, shapes: set[str] | None = None
) -> list[str]:
    """Return the differences of ``payload`` from the interface. Adds the names of compared shapes to
    ``shapes``."""
    return _Comparison(later, set() if shapes is None else shapes).of_fields(
        event, PAYLOADS[event], payload, event
    )


class _Comparison:
    def __init__(self, later: Mapping[str, str], shapes: set[str]) -> None:
        self._later, self._shapes = later, shapes

    def of_fields(self, shape: str, fields: str, value: Any, where: str) -> list[str]:
        if not isinstance(value, dict):
            return [f"{where} is no object"]
        self._shapes.add(shape)
        problems = self._of_later(shape, value, where)
        present = []
        for name, type_ in _split(fields):
            if name in value:
                present.append(name)
                problems += self._of_type(type_.rstrip("~"), value[name], f"{where}.{name}")
            elif not type_.endswith("~"):
                problems.append(f"{where}.{name} is missing")
        if [name for name in value if name in present] != present:
            problems.append(f"{where} has another order")
        return problems

    def _of_later(self, shape: str, value: dict[str, Any], where: str) -> list[str]:
        problems = []
        for name, type_ in _split(self._later.get(shape, "")):
            if (shape, name) in MISSING:
                problems += [f"{where}.{name} is there, and MISSING says why not"] if name in value else []
            elif name in value:
                problems += self._of_type(type_.rstrip("~"), value[name], f"{where}.{name}")
            elif not type_.endswith("~"):
                problems.append(f"{where}.{name} is missing")
        return problems

    def _of_type(self, type_: str, value: Any, where: str) -> list[str]:
        if value is None:
            return [] if type_.endswith("?") else [f"{where} is null"]
        type_ = type_.rstrip("?")
        if type_.startswith("["):
            if not isinstance(value, list):
                return [f"{where} is no list"]
            return [problem for item in value for problem in self._of_type(type_[1:-1], item, f"{where}[]")]
        if type_ in SHAPES:
            return self.of_fields(type_, SHAPES[type_], value, where)
        if type(value) is not PLAIN[type_]:
            return [f"{where} is no {type_}"]
        if type_ == "time" and datetime.fromisoformat(value).tzinfo is None:
            return [f"{where} has no zone"]
        return []


def _split(fields: str) -> list[tuple[str, str]]:
    return [(name, type_) for name, _, type_ in (field.partition(":") for field in fields.split())]
