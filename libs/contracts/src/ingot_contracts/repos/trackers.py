"""Contract of repos: external trackers and wikis of a repository."""

import msgspec

from ingot_contracts.limits import Description, Name


class InternalTracker(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that issues applies. A field that a request omits becomes false."""

    enable_time_tracker: bool = False
    allow_only_contributors_to_track_time: bool = False
    enable_issue_dependencies: bool = False


DEFAULT_TRACKER = InternalTracker(
    enable_time_tracker=True, allow_only_contributors_to_track_time=True, enable_issue_dependencies=True
)
"""Settings of a repository without settings of its own."""


class ExternalTracker(msgspec.Struct, frozen=True, kw_only=True):
    external_tracker_url: Description = ""
    external_tracker_format: Description = ""
    external_tracker_style: Name = ""
    external_tracker_regexp_pattern: Name = ""


class ExternalWiki(msgspec.Struct, frozen=True, kw_only=True):
    external_wiki_url: Description = ""
