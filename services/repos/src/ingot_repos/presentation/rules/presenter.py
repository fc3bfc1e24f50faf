"""Conversion of rows into the structs of responses and events."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

import msgspec

from ingot_chassis.db.rows import field_copier
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity.accounts import GHOST, User, profile_fields
from ingot_contracts.identity.units import UNITS
from ingot_contracts.repos.access import AccessLevel, Level, permission_of
from ingot_contracts.repos.commits import Commit, CommitAuthor, Verification
from ingot_contracts.repos.histories import HistoryChanges, HistoryCommit, HistoryFile, Signature
from ingot_contracts.repos.repositories import Repository
from ingot_git.history.commit_files import CommitFiles
from ingot_git.history.commits import CommitInfo, Person
from ingot_repos.catalog.rules.extra_settings import read_extra_settings
from ingot_repos.catalog.store.accounts import UserRow
from ingot_repos.catalog.store.mirrors import MirrorWithUrlRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import AccountKind, Visibility
from ingot_repos.presentation.rules.intervals import write_interval
from ingot_repos.presentation.store import RelatedRows


class JoinedAccount(Protocol):
    """A row with the columns of an account. The columns are None if the account was deleted."""

    @property
    def login(self) -> str | None: ...
    @property
    def full_name(self) -> str | None: ...
    @property
    def email(self) -> str | None: ...
    @property
    def avatar_url(self) -> str | None: ...
    @property
    def profile(self) -> str | None: ...


_CONVERTED = ("archived_at", "created_at", "licenses", "size", "topics", "updated_at")
_REPOSITORY_FIELDS = field_copier(RepositoryRow, Repository, without=_CONVERTED)


class Presenter:
    """A converter of rows for callers who are signed in. ``without_emails`` is for anonymous callers."""

    def __init__(
        self,
        public_url: str,
        access_to: Callable[[RepositoryRow, Principal], AccessLevel],
        *,
        ssh_user: str,
        ssh_host: str,
        ssh_port: int,
        show_email: bool = True,
    ) -> None:
        self.root, self._access_to, self._show_email = public_url, access_to, show_email
        self._ssh = ""
        if ssh_host:
            host = f"[{ssh_host}]" if ":" in ssh_host and ssh_host[0] != "[" else ssh_host
            self._ssh = f"{ssh_user}@{host}:" if ssh_port == 22 else f"ssh://{ssh_user}@{host}:{ssh_port}/"
        self.without_emails = self
        if show_email:
            self.without_emails = Presenter(
                public_url,
                access_to,
                ssh_user=ssh_user,
                ssh_host=ssh_host,
                ssh_port=ssh_port,
                show_email=False,
            )

    def user(self, row: UserRow) -> User:
        """Return an account as the API shows it."""
        return msgspec.structs.replace(as_user(row), email=self._email(row.email))

    def repository(
        self,
        row: RepositoryRow,
        level: Level = "none",
        *,
        parent: Repository | None = None,
        mirror: MirrorWithUrlRow | None = None,
    ) -> Repository:
        """Return a repository as a caller at ``level`` sees it.

        At "none" it has no permissions, like in events.
        """
        full_name = f"{row.owner_login}/{row.name}"
        copied = _REPOSITORY_FIELDS(row)
        copied.update(
            owner=User(
                id=row.owner_id,
                login=row.owner_login,
                full_name=row.owner_full_name,
                email=self._email(row.owner_email),
                avatar_url=row.owner_avatar_url,
                **profile_fields(row.owner_profile),
            ),
            full_name=full_name,
            archived_at=_whole_seconds(row.archived_at),
            licenses=msgspec.json.decode(row.licenses, type=list[str]),
            fork=row.fork_of is not None,
            size=row.size // 1024,
            html_url=self.root + full_name,
            avatar_url=f"{self.root}avatars/repositories/{row.id}/{row.avatar_digest}"
            if row.avatar_digest
            else "",
            ssh_url=f"{self._ssh}{full_name}.git" if self._ssh else "",
            clone_url=f"{self.root}{full_name}.git",
            created_at=row.created_at.replace(microsecond=0),
            updated_at=row.updated_at.replace(microsecond=0),
            permissions=permission_of(level),
            has_issues=row.issues_enabled,
            has_pull_requests=row.pulls_enabled and not row.mirror,
            has_releases=row.releases_enabled,
            has_wiki=row.wiki_enabled,
            internal=not row.private and row.owner_visibility == Visibility.PRIVATE,
            topics=msgspec.json.decode(row.topics, type=list[str]),
            url=f"{self.root}api/v1/repos/{full_name}",
            languages_url=f"{self.root}api/v1/repos/{full_name}/languages",
            release_counter=row.releases_count,
            open_pr_counter=row.open_pulls_count,
            **msgspec.structs.asdict(read_extra_settings(row.inert_settings)),
        )
        return Repository(**copied, **_related(parent, mirror))

    def repositories(
        self, rows: Sequence[RepositoryRow], related: RelatedRows, principal: Principal
    ) -> list[Repository]:
        """Return repositories for ``principal``. ``related`` has the related rows of ``rows``."""
        return [
            self.related_repository(row, self._access_to(row, principal), related, principal) for row in rows
        ]

    def related_repository(
        self, row: RepositoryRow, access: AccessLevel, related: RelatedRows, principal: Principal
    ) -> Repository:
        """Return a repository with its parent and remote for ``principal``, who has ``access``."""
        shown = self.repository(
            row,
            access.of("code"),
            parent=self._parent(row, related, principal),
            mirror=related.mirrors.get(row.id),
        )
        if row.source_url and not shown.original_url:
            shown = msgspec.structs.replace(shown, original_url=row.source_url)
        if not access.units:
            return shown
        units_map: dict[str, Level] = {f"repo.{unit}": access.of(unit) for unit in UNITS}
        return msgspec.structs.replace(shown, units_map=units_map)

    def _parent(self, row: RepositoryRow, related: RelatedRows, principal: Principal) -> Repository | None:
        parent = related.parents.get(row.fork_of or 0)
        return (
            self.repository(parent, self._access_to(parent, principal).of("code"))
            if parent is not None
            else None
        )

    def commit(
        self,
        full_name: str,
        info: CommitInfo,
        logins: Mapping[str, str],
        *,
        verification: Verification | None = None,
        **paths: list[str],
    ) -> Commit:
        """Return a commit of the repository ``full_name``.

        ``logins`` has logins by lower-case e-mail address.
        """
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

    def joined_user(self, account_id: int, row: JoinedAccount) -> User:
        """Return the account whose columns are part of ``row``, or GHOST if it was deleted."""
        if row.login is None:
            return GHOST
        return User(
            id=account_id,
            login=row.login,
            full_name=row.full_name or "",
            email=self._email(row.email or ""),
            avatar_url=row.avatar_url or "",
            **profile_fields(row.profile),
        )

    def _email(self, address: str) -> str:
        return address if self._show_email else ""


def as_user(row: UserRow) -> User:
    """Return an account with its email address, for peers and users who are signed in."""
    return User(
        id=row.id,
        login=row.login,
        full_name=row.full_name,
        email=row.email,
        avatar_url=row.avatar_url,
        **profile_fields(row.profile),
    )


def owner_kind(row: RepositoryRow) -> Literal["user", "organization"]:
    """Return the kind of the owner in the spelling of the contracts."""
    return "organization" if row.owner_kind == AccountKind.ORGANIZATION else "user"


def author_addresses(*infos: CommitInfo) -> set[str]:
    """Return the email addresses for which ``Presenter.commit`` needs logins."""
    return {
        person.email.lower() for info in infos for person in (info.author, info.committer) if person.email
    }


def _related(parent: Repository | None, mirror: MirrorWithUrlRow | None) -> dict[str, Any]:
    """Return the fields about the parent and the remote of a repository."""
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


def history_commit(
    info: CommitInfo,
    logins: dict[str, str],
    changes: CommitFiles | None,
    verification: Verification | None,
) -> HistoryCommit:
    """Return a commit of a pull request. ``logins`` has logins by lower-case e-mail address."""
    return HistoryCommit(
        sha=info.oid,
        tree=info.tree,
        parents=list(info.parents),
        message=info.message,
        author=_signature(info.author, logins),
        committer=_signature(info.committer, logins),
        changes=_history_changes(changes) if changes is not None else None,
        verification=verification,
    )


def _history_changes(changes: CommitFiles) -> HistoryChanges:
    return HistoryChanges(
        files=[HistoryFile(filename=file.filename, status=file.status) for file in changes.files],
        additions=changes.additions,
        deletions=changes.deletions,
    )


def _signature(person: Person, logins: dict[str, str]) -> Signature:
    login = logins.get(person.email.lower(), "")
    return Signature(name=person.name, email=person.email, when=person.when, login=login)
