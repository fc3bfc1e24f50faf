"""Releases in a repeated import: what changed since the last run, here and at the source."""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from ingot_remotes.interface.source import SourceAsset, SourceRelease
from ingot_repos.releases.store.assets import AssetRow
from ingot_repos.releases.store.releases import ReleaseRow

FIELDS: Mapping[str, tuple[str, ...]] = {
    "name": ("name",),
    "body": ("body",),
    "target_commitish": ("target_commitish",),
    "draft": ("draft", "published_at"),
    "prerelease": ("prerelease",),
}
"""Columns by field. The first one decides whether the field has changed."""
SHA256 = "sha256:"


class FileBase(msgspec.Struct, frozen=True):
    """A file at the last run. ``source`` is a digest of its data at the source.

    ``uuid`` is the id of the local file; empty if the file was deleted here.
    """

    source: str
    uuid: str = ""


class ReleaseBase(msgspec.Struct, frozen=True):
    """A release at the last run: digests of its fields, and its files.

    ``assets`` has the names of all files, which earlier releases of Ingot read. ``files`` has the files by
    the keys of ``keyed``. It is empty after imports of earlier releases of Ingot.
    """

    fields: dict[str, str] = {}
    assets: list[str] = []
    files: dict[str, FileBase] = {}


class MergedRelease(NamedTuple):
    """Columns to change, fields that changed on both sides, and the new digests."""

    columns: dict[str, Any]
    conflicts: list[str]
    fields: dict[str, str]


class FilePlan(NamedTuple):
    """The work of a run on a file of the source.

    ``is_new``: fetch the file, and delete ``replaced``. ``base``: record it without a request.
    ``is_conflict``: the file changed on both sides. Without any of these, the file is unchanged.
    """

    is_new: bool = False
    replaced: AssetRow | None = None
    base: FileBase | None = None
    is_conflict: bool = False


def read_base(text: str | None) -> ReleaseBase | None:
    return msgspec.json.decode(text, type=ReleaseBase) if text is not None else None


def digests(columns: Mapping[str, Any]) -> dict[str, str]:
    return {field: _digest(columns[names[0]]) for field, names in FIELDS.items()}


def _digest(value: Any) -> str:
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=6).hexdigest()


def merge_release(row: ReleaseRow, theirs: Mapping[str, Any], base: ReleaseBase | None) -> MergedRelease:
    """Merge a local release with its current columns at the source.

    Without a base, a difference counts as a change on both sides.
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


def was_deleted(release: SourceRelease, imported_at: datetime) -> bool:
    """Return whether a release that is missing here was imported before, and then deleted.

    This is for imports that recorded no bases. A release older than such an import counts as imported.
    """
    return max(release.created_at, release.published_at or release.created_at) < imported_at


def base_without_digests(release: SourceRelease, imported_at: datetime | None) -> ReleaseBase:
    """Return the base of a release whose import recorded none: the names of files older than the import.

    ``imported_at`` is None for a release that is new. Its base is empty.
    """
    if imported_at is None:
        return ReleaseBase()
    return ReleaseBase(assets=[one.name for one in release.assets if one.created_at < imported_at])


def keyed(assets: Sequence[SourceAsset]) -> list[tuple[str, SourceAsset]]:
    """Return files with unique keys: the name, and ``name/2`` and so on for repeated names."""
    numbers, pairs = Counter[str](), list[tuple[str, SourceAsset]]()
    for asset in assets:
        numbers[asset.name] += 1
        number = numbers[asset.name]
        pairs.append((asset.name if number == 1 else f"{asset.name}/{number}", asset))
    return pairs


def source_digest(asset: SourceAsset) -> str:
    """Return a digest that changes when the file is replaced at the source."""
    return _digest([asset.size, int(asset.created_at.timestamp()), asset.version])


def plan_file(
    key: str, asset: SourceAsset, base: ReleaseBase, here: Collection[AssetRow], *, is_repeat: bool
) -> FilePlan:
    """Compare a file of the source with the last run and with the files of the local release.

    A file that was replaced at the source is fetched. It is a conflict if it was renamed or deleted here.
    """
    old, new = base.files.get(key), source_digest(asset)
    if old is not None and old.source == new:
        return FilePlan()
    taken = {one.uuid for one in base.files.values()}
    twins = [one for one in here if one.name == asset.name and one.uuid not in taken]
    if old is None and is_repeat and asset.name in base.assets:
        return _plan_without_base(asset, new, twins)
    same = [one for one in twins if asset.size in (None, one.size) and _may_equal(asset, one)]
    if old is None:
        return FilePlan(base=FileBase(new, same[0].uuid)) if same else FilePlan(is_new=True)
    ours = [one for one in here if one.uuid == old.uuid and one.name == asset.name]
    if ours:
        return FilePlan(is_new=True, replaced=ours[0])
    if same and asset.version.startswith(SHA256):
        return FilePlan(base=FileBase(new, same[0].uuid))
    return FilePlan(is_conflict=True)


def _plan_without_base(asset: SourceAsset, new: str, twins: Sequence[AssetRow]) -> FilePlan:
    """Return the plan for a file of an earlier run that recorded only names.

    A difference counts as a change on both sides.
    """
    if not twins:
        return FilePlan(base=FileBase(new))  # it was deleted here
    same = [one for one in twins if asset.size in (None, one.size) and _may_equal(asset, one)]
    return FilePlan(base=FileBase(new, same[0].uuid)) if same else FilePlan(is_conflict=True)


def _may_equal(asset: SourceAsset, row: AssetRow) -> bool:
    """Return False if the source returns a SHA-256 that differs from the local file, otherwise True."""
    return not asset.version.startswith(SHA256) or asset.version == SHA256 + row.sha256
