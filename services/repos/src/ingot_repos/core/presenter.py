"""Turns rows into the structs of answers and events."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from ingot_chassis.security.principal import Principal
from ingot_contracts.attachments import Attachment
from ingot_contracts.identity import GHOST, User
from ingot_contracts.repos import (
    Commit,
    CommitAuthor,
    CommitStatus,
    Level,
    Release,
    Repository,
    Verification,
    permission_of,
)
from ingot_repos.core import access
from ingot_repos.core.inert_settings import read_inert_settings
from ingot_repos.core.intervals import write_interval
from ingot_repos.git.commits import CommitInfo, Person
from ingot_repos.store.mirrors import MirrorWithUrlRow
from ingot_repos.store.related import RelatedRows
from ingot_repos.store.release_assets import AssetRow
from ingot_repos.store.releases import ReleaseRow
from ingot_repos.store.repositories import RepositoryRow
from ingot_repos.store.stars_and_watches import UserRow
from ingot_repos.store.states import AccountKind, Visibility
from ingot_repos.store.statuses import StatusRow


class RepositoryAnswer(Repository, frozen=True, kw_only=True):
    """A repository in answers, with what events do not carry. ``licenses`` are SPDX keys."""

    archived_at: datetime | None
    branch_count: int
    licenses: list[str]


class Presenter:
    """Presents things as users who are signed in see them; ``without_emails`` as everybody else does."""

    def __init__(
        self, public_url: str, *, ssh_user: str, ssh_host: str, ssh_port: int, show_email: bool = True
    ) -> None:
        self.root, self._show_email = public_url, show_email
        self._ssh = ""
        if ssh_host:
            host = f"[{ssh_host}]" if ":" in ssh_host and ssh_host[0] != "[" else ssh_host
            self._ssh = f"{ssh_user}@{host}:" if ssh_port == 22 else f"ssh://{ssh_user}@{host}:{ssh_port}/"
        self.without_emails = self
        if show_email:
            self.without_emails = Presenter(
                public_url, ssh_user=ssh_user, ssh_host=ssh_host, ssh_port=ssh_port, show_email=False
            )

    def user(self, row: UserRow) -> User:
        """An account as the API shows it."""
        return msgspec.structs.replace(as_user(row), email=self._email(row.email))

    def repository(
        self,
        row: RepositoryRow,
        level: Level = "none",
        *,
        parent: Repository | None = None,
        mirror: MirrorWithUrlRow | None = None,
    ) -> Repository:
        """A repository as the caller at ``level`` sees it; at "none" without permissions, as in events."""
        return Repository(**self._fields(row, level), **_related(parent, mirror))

    def answer(
        self,
        row: RepositoryRow,
        level: Level,
        *,
        parent: Repository | None = None,
        mirror: MirrorWithUrlRow | None = None,
    ) -> RepositoryAnswer:
        """The same as an answer has it."""
        return RepositoryAnswer(
            **self._fields(row, level),
            **_related(parent, mirror),
            archived_at=_whole_seconds(row.archived_at),
            branch_count=row.branch_count,
            licenses=msgspec.json.decode(row.licenses, type=list[str]),
        )

    def _fields(self, row: RepositoryRow, level: Level) -> dict[str, Any]:
        full_name = f"{row.owner_login}/{row.name}"
        return dict(
            id=row.id,
            owner=User(
                id=row.owner_id,
                login=row.owner_login,
                full_name=row.owner_full_name,
                email=self._email(row.owner_email),
                avatar_url=row.owner_avatar_url,
            ),
            name=row.name,
            full_name=full_name,
            description=row.description,
            empty=row.empty,
            private=row.private,
            fork=row.fork_of is not None,
            mirror=row.mirror,
            size=row.size // 1024,
            html_url=self.root + full_name,
            ssh_url=f"{self._ssh}{full_name}.git" if self._ssh else "",
            clone_url=f"{self.root}{full_name}.git",
            website=row.website,
            stars_count=row.stars_count,
            forks_count=row.forks_count,
            watchers_count=row.watchers_count,
            open_issues_count=row.open_issues_count,
            default_branch=row.default_branch,
            archived=row.archived,
            created_at=row.created_at.replace(microsecond=0),
            updated_at=row.updated_at.replace(microsecond=0),
            permissions=permission_of(level),
            has_issues=row.issues_enabled,
            has_pull_requests=row.pulls_enabled and not row.mirror,
            has_releases=row.releases_enabled,
            template=row.template,
            internal=not row.private and row.owner_visibility == Visibility.PRIVATE,
            topics=msgspec.json.decode(row.topics, type=list[str]),
            language=row.language,
            url=f"{self.root}api/v1/repos/{full_name}",
            languages_url=f"{self.root}api/v1/repos/{full_name}/languages",
            release_counter=row.releases_count,
            open_pr_counter=row.open_pulls_count,
            allow_merge_commits=row.allow_merge_commits,
            allow_rebase=row.allow_rebase,
            allow_rebase_explicit=row.allow_rebase_explicit,
            allow_squash_merge=row.allow_squash_merge,
            allow_fast_forward_only_merge=row.allow_fast_forward_only_merge,
            allow_merge_update=row.allow_merge_update,
            allow_rebase_update=row.allow_rebase_update,
            default_merge_style=row.default_merge_style,
            default_delete_branch_after_merge=row.default_delete_branch_after_merge,
            **msgspec.structs.asdict(read_inert_settings(row.inert_settings)),
        )

    def repositories(
        self, rows: Sequence[RepositoryRow], related: RelatedRows, principal: Principal
    ) -> list[RepositoryAnswer]:
        """Repositories as ``principal`` sees them; ``related`` are those of ``rows``."""
        return [
            self.related_repository(row, access.level(row, principal), related, principal) for row in rows
        ]

    def related_repository(
        self, row: RepositoryRow, level: Level, related: RelatedRows, principal: Principal
    ) -> RepositoryAnswer:
        """A repository with its parent and its remote, as ``principal`` at ``level`` sees it."""
        return self.answer(
            row, level, parent=self._parent(row, related, principal), mirror=related.mirrors.get(row.id)
        )

    def repository_for_peer(
        self, row: RepositoryRow, level: Level, related: RelatedRows, principal: Principal
    ) -> Repository:
        """The same without what only answers have."""
        return self.repository(
            row, level, parent=self._parent(row, related, principal), mirror=related.mirrors.get(row.id)
        )

    def _parent(self, row: RepositoryRow, related: RelatedRows, principal: Principal) -> Repository | None:
        parent = related.parents.get(row.fork_of or 0)
        return self.repository(parent, access.level(parent, principal)) if parent is not None else None

    def commit(
        self,
        full_name: str,
        info: CommitInfo,
        logins: Mapping[str, str],
        *,
        verification: Verification | None = None,
        **paths: list[str],
    ) -> Commit:
        """A commit of the repository ``full_name``; ``logins`` maps addresses to accounts."""
        return Commit(
            id=info.oid,
            message=info.message,
            url=f"{self.root}{full_name}/commit/{info.oid}",
            author=_commit_author(info.author, logins),
            committer=_commit_author(info.committer, logins),
            verification=verification,
            timestamp=info.author.when,
            **paths,
        )

    def status(self, full_name: str, row: StatusRow) -> CommitStatus:
        """A status of a commit of the repository ``full_name``."""
        at = row.created_at.replace(microsecond=0)
        return CommitStatus(
            id=row.number,
            status=row.state,
            target_url=row.target_url,
            description=row.description,
            url=f"{self.root}api/v1/repos/{full_name}/statuses/{row.sha}",
            context=row.context,
            creator=self._joined_user(row.creator_id, row),
            created_at=at,
            updated_at=at,
        )

    def release(self, full_name: str, row: ReleaseRow, assets: Sequence[AssetRow]) -> Release:
        """A release of the repository ``full_name``, with all of its files."""
        page, api = f"{self.root}{full_name}", f"{self.root}api/v1/repos/{full_name}"
        tag = quote(row.tag_name)
        return Release(
            id=row.id,
            tag_name=row.tag_name,
            target_commitish=row.target_commitish,
            name=row.name,
            body=row.body,
            url=f"{api}/releases/{row.id}",
            html_url=f"{page}/releases/tag/{tag}",
            tarball_url=f"{page}/archive/{tag}.tar.gz",
            zipball_url=f"{page}/archive/{tag}.zip",
            draft=row.draft,
            prerelease=row.prerelease,
            created_at=row.created_at.replace(microsecond=0),
            published_at=(row.published_at or row.created_at).replace(microsecond=0),
            author=self._joined_user(row.author_id, row),
            upload_url=f"{api}/releases/{row.id}/assets",
            assets=[self.asset(full_name, asset) for asset in assets],
        )

    def asset(self, full_name: str, row: AssetRow) -> Attachment:
        """A file of a release of the repository ``full_name``; its URL has its name if no other file has that."""
        page = f"{self.root}{full_name}/releases"
        named = f"{page}/download/{quote(row.tag_name)}/{quote(row.name)}"
        return Attachment(
            id=row.id,
            uuid=row.uuid,
            name=row.name,
            size=row.size,
            download_count=row.download_count,
            created_at=row.created_at.replace(microsecond=0),
            browser_download_url=f"{page}/assets/{row.uuid}" if row.shares_name else named,
            digest=f"sha256:{row.sha256}",
        )

    def _joined_user(self, account_id: int, row: StatusRow | ReleaseRow) -> User:
        """The account whose columns stand beside those of ``row``; GHOST without one."""
        if row.login is None:
            return GHOST
        return User(
            id=account_id,
            login=row.login,
            full_name=row.full_name or "",
            email=self._email(row.email or ""),
            avatar_url=row.avatar_url or "",
        )

    def _email(self, address: str) -> str:
        return address if self._show_email else ""


def as_user(row: UserRow) -> User:
    """An account as peers, and users who are signed in, see it."""
    return User(
        id=row.id,
        login=row.login,
        full_name=row.full_name,
        email=row.email,
        avatar_url=row.avatar_url,
    )


def owner_kind(row: RepositoryRow) -> Literal["user", "organization"]:
    """The kind of the owner, as contracts spell it."""
    return "organization" if row.owner_kind == AccountKind.ORGANIZATION else "user"


def author_addresses(*infos: CommitInfo) -> set[str]:
    """The addresses for which ``Presenter.commit`` needs logins."""
    return {
        person.email.lower() for info in infos for person in (info.author, info.committer) if person.email
    }


def _related(parent: Repository | None, mirror: MirrorWithUrlRow | None) -> dict[str, Any]:
    """The fields of a repository that say where it comes from."""
    if mirror is None:
        return {"parent": parent}
    synced_at = _whole_seconds(mirror.last_ok_at)
    return {
        "parent": parent,
        "mirror_interval": write_interval(mirror.interval_seconds),
        "mirror_updated": synced_at,
        "mirror_last_sync_at": synced_at,
        "original_url": mirror.url if "://" in mirror.url else "",
    }


def _whole_seconds(at: datetime | None) -> datetime | None:
    return at.replace(microsecond=0) if at is not None else None


def _commit_author(person: Person, logins: Mapping[str, str]) -> CommitAuthor:
    return CommitAuthor(name=person.name, email=person.email, username=logins.get(person.email.lower(), ""))
