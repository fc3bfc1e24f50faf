"""Jobs are stored, and read by an older or newer release during an update.

Kinds and fields keep their names.
"""

import msgspec
import pytest

from ingot_issues.closing.rules import commits, effects
from ingot_issues.imports.rules import pages as imports
from ingot_issues.imports.rules import placeholders
from ingot_issues.merges.rules import recording as merges
from ingot_issues.pull_heads import rules as pull_heads
from ingot_issues.pulls.rules import mergeability
from ingot_issues.references import rules as references
from ingot_issues.references.rules import Action, AddReference, Reference, Source

CHECK = {
    "repository_id": 7, "base_branch": "main", "issue_ids": [1], "pushed": "d" * 40, "pusher_id": 2,
    "confined": True,
    "side": "base", "reopened": True,
}  # fmt: skip
MESSAGES = {
    "repository_id": 7, "before": "", "after": "d" * 40, "pusher_id": 2, "closing": True, "confined": True,
    "among": ["e" * 40], "proposer_id": 3,
}  # fmt: skip
CLOSING = {
    "repository_id": 7, "pusher_id": 2, "restricted": True,
    "commits": [{"sha": "e" * 40, "references": [{"full_name": "", "number": 3, "action": "closes"}]}],
}  # fmt: skip
HEAD = {"issue_id": 1, "repository_id": 7, "number": 3, "actor_id": 2, "restricted": True}
BRANCH = {"issue_id": 1, "repository_id": 7, "actor_id": 2}
REFERENCE = {
    "source": {"repository_id": 7, "issue_id": 1, "comment_id": 0, "is_pull": False, "sha": ""},
    "reference": {"full_name": "ann/lib", "number": 3, "action": "closes"},
    "actor_id": 2,
    "act": True,
    "authors": [3],
}


@pytest.mark.parametrize(
    ("job", "stored"),
    [
        (mergeability.CheckMergeability, CHECK),
        (commits.ReadMessages, MESSAGES),
        (effects.CloseIssues, CLOSING),
        (merges.DeleteHeadBranch, BRANCH),
        (pull_heads.SetPullHead, HEAD),
        (references.AddReference, REFERENCE),
        (imports.ReadPages, {"repository_id": 7}),
        (placeholders.ReassignPeople, {"repository_id": 7, "accounts": {"eve": 3}}),
    ],
)
def test_stored_jobs_keep_their_fields(job, stored):
    decoded = msgspec.convert(stored, job)
    assert msgspec.json.decode(msgspec.json.encode(decoded)) == stored
    if job is mergeability.CheckMergeability:
        assert (decoded.sha, decoded.restricted) == ("d" * 40, True)


def test_an_action_is_stored_as_its_word():
    reference = Reference(full_name="", number=1, action=Action.REOPENS)
    job = AddReference(source=Source(repository_id=7), reference=reference, actor_id=1)
    assert b'"action":"reopens"' in msgspec.json.encode(job)


def test_kinds_keep_their_names():
    kinds = [
        mergeability.CHECK,
        merges.DELETE_HEAD_BRANCH,
        references.ADD_REFERENCE,
        commits.READ_MESSAGES,
        effects.CLOSE_ISSUES,
        pull_heads.SET_HEAD,
    ]
    assert kinds == [
        "pulls.check",
        "pull.take-branch",
        "issue.refer",
        "push.read",
        "push.close",
        "pulls.head",
    ]
