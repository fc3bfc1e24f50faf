"""The consumers of each event. `topology.CONSUMES` and checks in ``tests/arch`` are derived from them."""

from typing import get_args

import msgspec

from ingot_contracts.hooks import events as hooks
from ingot_contracts.hooks.webhooks import FAMILIES
from ingot_contracts.identity import events as identity
from ingot_contracts.identity.messages import MessageRequested
from ingot_contracts.issues import events as issues
from ingot_contracts.repos import events as repos

EVENTS: dict[str, tuple[type[msgspec.Struct], ...]] = {
    "identity": get_args(identity.Event),
    "repos": get_args(repos.Event),
    "issues": get_args(issues.Event),
    "hooks": get_args(hooks.Event),
}
"""The events of each emitter."""

_ANNOUNCED = {event for family in FAMILIES for event in family.events}
_CONSUMERS: dict[type[msgspec.Struct], tuple[str, ...]] = {
    identity.UserCreated: ("repos", "issues"),
    identity.UserEdited: ("repos", "issues", "hooks"),
    identity.UserDeleted: ("repos", "issues", "hooks", "mail"),
    identity.OrganizationCreated: ("repos", "issues"),
    identity.OrganizationEdited: ("repos", "issues"),
    identity.OrganizationDeleted: ("repos", "issues", "hooks"),
    identity.MembershipChanged: ("hooks",),
    identity.TeamEdited: ("issues",),
    identity.TeamDeleted: ("repos", "issues"),
    identity.PurgeRequested: ("repos",),
    identity.CredentialsRevoked: ("hooks",),
    identity.OwnershipForgotten: ("repos",),
    MessageRequested: ("mail",),
    repos.RepositoryCreated: ("identity", "issues"),
    repos.RepositoryEdited: ("identity", "issues", "hooks"),
    repos.RepositoryDeleted: ("identity", "issues"),
    repos.RepositoryAbandoned: ("identity",),
    repos.ForkRequested: (),  # wakes workers of repos, like the three below
    repos.ImportRequested: (),
    repos.MirrorSyncRequested: (),
    repos.MirrorPushRequested: (),
    repos.ImportFinished: ("mail",),
    repos.ReleaseChanged: ("mail",),
    repos.ImportFetched: ("issues",),
    repos.ImportReassigned: ("issues",),
    repos.ExportRequested: ("issues",),
    repos.OrganizationExportRequested: ("issues",),
    repos.RepositoryForked: ("issues",),
    repos.AccessChanged: ("identity", "issues", "hooks"),
    repos.PushReceived: ("issues",),
    repos.CommitsProposed: ("issues",),
    repos.StatusCreated: ("issues",),
    issues.OpenIssuesCounted: ("repos",),
    issues.IssueChanged: ("repos",),
    issues.PullRequestChanged: ("repos",),
    issues.CommentChanged: ("repos",),
    issues.ReviewChanged: ("repos",),
    issues.IssueDeleted: ("repos",),
    issues.LabelChanged: (),
    issues.MilestoneChanged: (),
    issues.TimeChanged: (),
    issues.IssuesForgotten: ("repos",),
    issues.PeopleNotified: ("mail",),
    issues.ChecksFailed: ("mail",),
    issues.MergeRequested: (),  # wakes workers of issues
    hooks.HooksForgotten: ("repos",),
    hooks.HookDeactivated: ("mail",),
    hooks.DeliveryRequested: (),  # wakes workers of hooks
}
"""Services that consume each event. hooks also consumes the events that `webhooks.FAMILIES` names.

The emitter is not listed, although repos consumes some of its own events for the table of activities.
"""


def consumers_of(event: type[msgspec.Struct]) -> set[str]:
    """Return the services that consume an event. Raises KeyError if the table lacks the event.

    The gateway is not included: it only listens, to drop cached responses.
    """
    if event in _ANNOUNCED:
        return {"hooks", *_CONSUMERS.get(event, ())}
    return set(_CONSUMERS[event])
