"""Settings of a repository that are stored as JSON in the column ``inert_settings``.

Most have no effect, such as ``has_projects``. The service issues uses ``default_update_style``,
``allow_manual_merge``, ``autodetect_manual_merge`` and ``internal_tracker``. Merges use
``ignore_whitespace_conflicts``. Checks of signatures use ``trust_model``. The column has its name from an
earlier release, which used none of them.
"""

from typing import Literal

import msgspec

from ingot_contracts.limits import Name
from ingot_contracts.repos.trackers import DEFAULT_TRACKER, ExternalTracker, ExternalWiki, InternalTracker


class ExtraSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The settings in the column ``inert_settings`` that are fields of ``Repository``."""

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


TrustModel = Literal["default", "collaborator", "committer", "collaboratorcommitter"]
"""The signers whose signatures a repository trusts (see ``signatures``)."""


class TrustSetting(msgspec.Struct, frozen=True, omit_defaults=True):
    """The setting in the column ``inert_settings`` that is not a field of ``Repository``."""

    trust_model: TrustModel = "default"


NAMES = frozenset((*ExtraSettings.__struct_fields__, *TrustSetting.__struct_fields__))
read_extra_settings = msgspec.json.Decoder(ExtraSettings).decode
"""Decodes the column ``inert_settings``."""
read_trust_setting = msgspec.json.Decoder(TrustSetting).decode
