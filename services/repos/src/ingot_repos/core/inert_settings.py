"""Settings that are stored together, as a client sent them. Most have no effect, such as those of a wiki.

These have one: issues obeys ``default_update_style``, ``allow_manual_merge``, ``autodetect_manual_merge`` and
``internal_tracker``, merges obey ``ignore_whitespace_conflicts``. A former release stored them without effect, so they
are where its rows have them.
"""

from typing import Literal

import msgspec

from ingot_contracts.limits import Name
from ingot_contracts.trackers import DEFAULT_TRACKER, ExternalTracker, ExternalWiki, InternalTracker


class InertSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Each is a field of ``Repository``."""

    has_wiki: bool = False
    has_projects: bool = False
    has_packages: bool = False
    has_actions: bool = False
    projects_mode: Name = ""
    allow_manual_merge: bool = False
    autodetect_manual_merge: bool = True
    default_allow_maintainer_edit: bool = False
    default_update_style: Literal["merge", "rebase"] = "merge"
    ignore_whitespace_conflicts: bool = False
    internal_tracker: InternalTracker = DEFAULT_TRACKER
    external_tracker: ExternalTracker | None = None
    external_wiki: ExternalWiki | None = None


NAMES = frozenset(InertSettings.__struct_fields__)
read_inert_settings = msgspec.json.Decoder(InertSettings).decode
"""The settings of a column ``inert_settings``."""
