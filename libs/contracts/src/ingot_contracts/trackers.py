"""Owned by repos: trackers and wikis that a repository names."""

import msgspec

from ingot_contracts.limits import Description, Name


class InternalTracker(msgspec.Struct, frozen=True, kw_only=True):
    """What issues obey. A request that leaves one out switches it off."""

    enable_time_tracker: bool = False
    allow_only_contributors_to_track_time: bool = False
    enable_issue_dependencies: bool = False


DEFAULT_TRACKER = InternalTracker(
    enable_time_tracker=True, allow_only_contributors_to_track_time=True, enable_issue_dependencies=True
)
"""That of a repository for which nobody has said anything."""


class ExternalTracker(msgspec.Struct, frozen=True, kw_only=True):
    external_tracker_url: Description = ""
    external_tracker_format: Description = ""
    external_tracker_style: Name = ""
    external_tracker_regexp_pattern: Name = ""


class ExternalWiki(msgspec.Struct, frozen=True, kw_only=True):
    external_wiki_url: Description = ""
