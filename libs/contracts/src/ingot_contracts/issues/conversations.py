"""The conversation of an issue, for the page that shows it."""

import msgspec

from ingot_contracts.issues.issues import Issue
from ingot_contracts.issues.merges import ScheduledMerge
from ingot_contracts.issues.timelines import TimelineComment

MOST_RELATED = 200
"""Maximum number of issues in each list of related ones."""


class ReactionCount(msgspec.Struct):
    """The count of a reaction. ``comment_id`` is null for the issue.

    ``own``: the caller has this reaction.
    """

    comment_id: int | None
    content: str
    count: int
    own: bool


class IssueConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a timeline: GET /internal/repos/{owner}/{repo}/issues/{index}/conversation.

    ``total`` is the length of the timeline. ``reactions`` are the reactions to the issue and to all its
    comments. ``blockers`` are the issues that block the issue; none if dependencies are switched off.
    ``blocks`` are the issues that it blocks. ``scheduled_merge`` is set only for a pull request.
    """

    timeline: list[TimelineComment] = []
    total: int = 0
    reactions: list[ReactionCount] = []
    blockers: list[Issue] = []
    blocks: list[Issue] = []
    scheduled_merge: ScheduledMerge | None = None
