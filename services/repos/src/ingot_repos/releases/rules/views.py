"""Conversion of releases and assets for responses and events."""

from collections.abc import Sequence
from urllib.parse import quote

from ingot_chassis.db.rows import field_copier
from ingot_contracts.attachments import Attachment
from ingot_contracts.repos.releases import Release
from ingot_repos.presentation.rules.presenter import Presenter
from ingot_repos.releases.store.assets import AssetRow
from ingot_repos.releases.store.releases import ReleaseRow

_RELEASE_FIELDS = field_copier(ReleaseRow, Release, without=("created_at", "published_at"))
_ASSET_FIELDS = field_copier(AssetRow, Attachment, without=("created_at",))


def release_view(
    presenter: Presenter, full_name: str, row: ReleaseRow, assets: Sequence[AssetRow]
) -> Release:
    """Return a release of the repository ``full_name`` with these assets."""
    page, api = f"{presenter.root}{full_name}", f"{presenter.root}api/v1/repos/{full_name}"
    tag = quote(row.tag_name)
    return Release(
        **_RELEASE_FIELDS(row),
        url=f"{api}/releases/{row.id}",
        html_url=f"{page}/releases/tag/{tag}",
        tarball_url=f"{page}/archive/{tag}.tar.gz",
        zipball_url=f"{page}/archive/{tag}.zip",
        created_at=row.created_at.replace(microsecond=0),
        published_at=(row.published_at or row.created_at).replace(microsecond=0),
        author=presenter.joined_user(row.author_id, row),
        upload_url=f"{api}/releases/{row.id}/assets",
        assets=[asset_view(presenter, full_name, asset) for asset in assets],
    )


def asset_view(presenter: Presenter, full_name: str, row: AssetRow) -> Attachment:
    """Return an asset of the repository ``full_name``.

    Its URL has the file name if the name is unique in the release, else the uuid.
    """
    page = f"{presenter.root}{full_name}/releases"
    named = f"{page}/download/{quote(row.tag_name)}/{quote(row.name)}"
    return Attachment(
        **_ASSET_FIELDS(row),
        created_at=row.created_at.replace(microsecond=0),
        browser_download_url=f"{page}/assets/{row.uuid}" if row.shares_name else named,
        digest=f"sha256:{row.sha256}",
    )
