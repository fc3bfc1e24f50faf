"""Releases of an import that is repeated: what changed since the last run, here and at the source."""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from ingot_repos.releases.store.releases import ReleaseRow

FIELDS: Mapping[str, tuple[str, ...]] = {
    "name": ("name",),
    "body": ("body",),
    "target_commitish": ("target_commitish",),
    "draft": ("draft", "published_at"),
    "prerelease": ("prerelease",),
}
"""Columns by field. The first one decides whether the field has changed."""


class ReleaseBase(msgspec.Struct, frozen=True):
    """Digests of a release at the last run by field, and the names of its files."""

    fields: dict[str, str] = {}
    assets: list[str] = []


class MergedRelease(NamedTuple):
    """Columns to change, fields that changed on both sides, and the new digests."""

    columns: dict[str, Any]
    conflicts: list[str]
    fields: dict[str, str]


def read_base(text: str | None) -> ReleaseBase | None:
    return msgspec.json.decode(text, type=ReleaseBase) if text is not None else None


def digests(columns: Mapping[str, Any]) -> dict[str, str]:
    return {
        field: hashlib.blake2b(msgspec.json.encode(columns[names[0]]), digest_size=6).hexdigest()
        for field, names in FIELDS.items()
    }


def merge_release(row: ReleaseRow, theirs: Mapping[str, Any], base: ReleaseBase | None) -> MergedRelease:
    """Compare a release here with the columns that the source now gives it.

    Without a base a difference counts as a change on both sides.
    """
    ours = digests({names[0]: getattr(row, names[0]) for names in FIELDS.values()})
    fields = dict(base.fields) if base is not None else {}
    columns, conflicts = dict[str, Any](), list[str]()
    for field, new in digests(theirs).items():
        old = fields.get(field)
        if new == old:
            continue
        if new != ours[field] and (old is None or ours[field] != old):
            conflicts.append(field)
            continue
        if new != ours[field]:
            columns |= {name: theirs[name] for name in FIELDS[field]}
        fields[field] = new
    return MergedRelease(columns, conflicts, fields)
