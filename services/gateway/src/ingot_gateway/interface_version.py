"""The version of the API: the highest version whose operations are all served.

Clients use the version to decide which operations to call: the official Go SDK checks for a version in 130 of
its functions. So the version is derived from the served operations (`served_operations.py`). It rises when
all operations of the next version are served.
"""

from collections.abc import Set as AbstractSet

LOWEST = "1.11.0"
"""The lowest version. Clients reject a lower one. All its operations are always served."""

_OPERATIONS = {
    "1.12.0": """
        issueSearchIssues issueListIssues issueGetIssue issueGetComment issueCheckSubscription
        issueCreateLabel notifyGetList notifyReadList notifyGetRepoList notifyReadRepoList
        notifyGetThread notifyReadThread notifyNewAvailable userCreateOAuth2Application
        userGetOAuth2Application userGetOauth2Application userUpdateOAuth2Application
        userDeleteOAuth2Application repoListPullReviews repoGetPullReview repoGetPullReviewComments
        repoCreatePullReview repoSubmitPullReview repoDeletePullReview repoListBranchProtection
        repoGetBranchProtection repoCreateBranchProtection repoEditBranchProtection
        repoDeleteBranchProtection repoSearch repoTransfer repoDeleteBranch
    """,
    "1.13.0": """
        adminCronList adminCronRun issueGetMilestone issueEditMilestone issueDeleteMilestone
        repoMigrate repoGetReleaseByTag repoCreateBranch userDeleteAccessToken getGeneralUISettings
        getGeneralRepositorySettings getGeneralAPISettings getGeneralAttachmentSettings
    """,
    # One operation gives a pull request, its diff and its patch.
    "1.14.0": """
        repoListPullRequests repoGetPullRequest repoCreatePullReviewRequests
        repoDeletePullReviewRequests repoDismissPullReview repoUnDismissPullReview
        repoDeleteReleaseByTag repoDeleteTag
    """,
    "1.15.0": """
        repoGetReviewers repoGetAssignees repoGetTag GetAnnotatedTag repoCreateTag repoListTeams
        repoAddTeam repoDeleteTeam repoCheckTeam getUserSettings updateUserSettings
    """,
    # One operation gives a commit, its diff and its patch.
    "1.16.0": "repoGetSingleCommit acceptRepoTransfer rejectRepoTransfer",
    "1.17.0": "repoGetRawFileOrLFS",
    "1.18.0": "repoCancelScheduledAutoMerge",
    # Nothing in 1.19 and 1.20. In 1.21, and in 1.22 except for these two, only secrets and variables of
    # Actions.
    "1.22.0": "repoGetPullRequestByBaseHead repoCompareDiff",
    "1.23.0": """
        repoListTagProtection repoGetTagProtection repoCreateTagProtection repoEditTagProtection
        repoDeleteTagProtection
    """,
    "1.24.0": "repoRenameBranch",
    "1.25.0": "ActionsListRepositoryWorkflows getRepoRunners getArtifacts",
    "1.26.0": "getWorkflowRuns listWorkflowJobs",
}
GATES: tuple[tuple[str, frozenset[str]], ...] = tuple(
    (version, frozenset(operations.split())) for version, operations in _OPERATIONS.items()
)
"""Each version with the operations that clients call from it on, in rising order."""


def served_version(operations: AbstractSet[str]) -> str:
    """Return the version that a server with these operations may report."""
    version = LOWEST
    for gate, needed in GATES:
        if not needed <= operations:
            break
        version = gate
    return version


def next_operations(operations: AbstractSet[str]) -> list[str]:
    """Return the operations of the next version that no service has, by name.

    The list is empty if the highest version is served.
    """
    return next((sorted(needed - operations) for _, needed in GATES if not needed <= operations), [])
