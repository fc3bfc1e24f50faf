"""Payloads as receivers know them: the fields of the interface, their order and their types.

A type is str, int, bool or time, the name of a shape, one in brackets for a list; ``?`` may be null, ``~`` absent.
A payload may have more fields than these; ``status`` is younger than the interface.
"""

from datetime import datetime
from typing import Any

PAYLOADS = {
    "create": "secret:str sha:str ref:str ref_type:str repository:Repository sender:User",
    "push": "secret:str ref:str before:str after:str compare_url:str commits:[Commit] repository:Repository "
    "pusher:User sender:User",
    "delete": "secret:str ref:str ref_type:str pusher_type:str repository:Repository sender:User",
    "fork": "secret:str forkee:Repository repository:Repository sender:User",
    "repository": "secret:str action:str repository:Repository organization:User sender:User",
    "issues": "secret:str action:str number:int changes:Changes~ issue:Issue repository:Repository sender:User",
    "issue_comment": "secret:str action:str issue:Issue comment:Comment changes:Changes~ repository:Repository "
    "sender:User is_pull:bool",
    "pull_request": "secret:str action:str number:int changes:Changes~ pull_request:PullRequest "
    "repository:Repository sender:User",
    "release": "secret:str action:str release:Release repository:Repository sender:User",
    "status": "secret:str id:int sha:str state:str context:str description:str target_url:str created_at:time "
    "updated_at:time repository:Repository sender:User",
}

SHAPES = {
    "User": "id:int login:str full_name:str email:str avatar_url:str",
    "Permission": "admin:bool push:bool pull:bool",
    "Repository": "id:int owner:User name:str full_name:str description:str empty:bool private:bool fork:bool "
    "parent:Repository? mirror:bool size:int html_url:str ssh_url:str clone_url:str website:str stars_count:int "
    "forks_count:int watchers_count:int open_issues_count:int default_branch:str created_at:time "
    "updated_at:time permissions:Permission",
    "Label": "id:int name:str color:str url:str",
    "Milestone": "id:int title:str description:str state:str open_issues:int closed_issues:int closed_at:time? "
    "due_on:time?",
    "PullRequestMeta": "merged:bool merged_at:time?",
    "Issue": "id:int url:str number:int user:User title:str body:str labels:[Label] milestone:Milestone? "
    "assignee:User? state:str comments:int created_at:time updated_at:time pull_request:PullRequestMeta?",
    "Comment": "id:int html_url:str pull_request_url:str issue_url:str user:User body:str created_at:time "
    "updated_at:time",
    "PullRequestBranch": "label:str ref:str sha:str repo_id:int repo:Repository?",
    "PullRequest": "id:int url:str number:int user:User title:str body:str labels:[Label] milestone:Milestone? "
    "assignee:User? state:str comments:int html_url:str diff_url:str patch_url:str mergeable:bool merged:bool "
    "merged_at:time? merge_commit_sha:str? merged_by:User? base:PullRequestBranch head:PullRequestBranch "
    "merge_base:str created_at:time? updated_at:time?",
    "CommitUser": "name:str email:str username:str",
    "Verification": "verified:bool reason:str signature:str payload:str",
    "Commit": "id:str message:str url:str author:CommitUser committer:CommitUser verification:Verification? "
    "timestamp:time added:[str] removed:[str] modified:[str]",
    "Release": "id:int tag_name:str target_commitish:str name:str body:str url:str tarball_url:str "
    "zipball_url:str draft:bool prerelease:bool created_at:time published_at:time author:User",
    "Changes": "title:Former~ body:Former~",
    "Former": "from:str",
}

PLAIN = {"str": str, "int": int, "bool": bool, "time": str}


def differences(event: str, payload: Any) -> list[str]:
    """Where ``payload`` differs from the interface."""
    return _of_fields(PAYLOADS[event], payload, event)


def _of_fields(fields: str, value: Any, where: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where} is no object"]
    problems, present = [], []
    for name, type_ in (field.split(":") for field in fields.split()):
        if name in value:
            present.append(name)
            problems += _of_type(type_.rstrip("~"), value[name], f"{where}.{name}")
        elif not type_.endswith("~"):
            problems.append(f"{where}.{name} is missing")
    if [name for name in value if name in present] != present:
        problems.append(f"{where} has another order")
    return problems


def _of_type(type_: str, value: Any, where: str) -> list[str]:
    if value is None:
        return [] if type_.endswith("?") else [f"{where} is null"]
    type_ = type_.rstrip("?")
    if type_.startswith("["):
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [problem for item in value for problem in _of_type(type_[1:-1], item, f"{where}[]")]
    if type_ in SHAPES:
        return _of_fields(SHAPES[type_], value, where)
    if type(value) is not PLAIN[type_]:
        return [f"{where} is no {type_}"]
    if type_ == "time" and datetime.fromisoformat(value).tzinfo is None:
        return [f"{where} has no zone"]
    return []
