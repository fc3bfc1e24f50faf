"""How rows become what others see of them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from ingot_contracts.identity import Account, User
from ingot_contracts.repos import Commit, CommitAuthor, Level, Permission, Repository, Verification, reaches
from ingot_repos.core.intervals import write_interval
from ingot_repos.git.commits import CommitInfo, Person

UNSIGNED = Verification(verified=False, reason="gpg.error.not_signed_commit")


class Viewing:
    """Knows the public root and where SSH listens; ``outside`` is the same for those who see nobody's address."""

    def __init__(
        self, public_url: str, *, ssh_user: str, ssh_host: str, ssh_port: int, show_email: bool = True
    ) -> None:
        self.root, self._show_email = public_url, show_email
        self._ssh = (
            f"{ssh_user}@{ssh_host}:" if ssh_port == 22 else f"ssh://{ssh_user}@{ssh_host}:{ssh_port}/"
        )
        self.outside = self
        if show_email:
            self.outside = Viewing(
                public_url, ssh_user=ssh_user, ssh_host=ssh_host, ssh_port=ssh_port, show_email=False
            )

    def email(self, address: str) -> str:
        """An account's address, if it is shown."""
        return address if self._show_email else ""

    def user(self, row: Any) -> User:
        """The account of ``row`` as the API shows it."""
        shown = user(row)
        return shown if self._show_email else msgspec.structs.replace(shown, email="")

    def repository(
        self, row: Any, level: Level = "none", *, parent: Any = None, mirror: Any = None
    ) -> Repository:
        """A repository as the caller at ``level`` sees it; at "none" without permissions, as in events."""
        full_name = f"{row.owner_login}/{row.name}"
        return Repository(
            id=row.id,
            owner=User(
                id=row.owner_id,
                login=row.owner_login,
                full_name=row.owner_full_name,
                email=self.email(row.owner_email),
                avatar_url=row.owner_avatar_url,
            ),
            name=row.name,
            full_name=full_name,
            description=row.description,
            empty=row.empty,
            private=row.private,
            fork=row.fork_of is not None,
            parent=parent,
            mirror=row.mirror,
            mirror_interval=write_interval(mirror.interval_seconds) if mirror is not None else "",
            mirror_updated=_whole(mirror.last_ok_at) if mirror is not None else None,
            original_url=mirror.url if mirror is not None and "://" in mirror.url else "",
            size=row.size // 1024,
            html_url=self.root + full_name,
            ssh_url=f"{self._ssh}{full_name}.git",
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
            permissions=Permission(
                admin=reaches(level, "admin"), push=reaches(level, "write"), pull=reaches(level, "read")
            ),
            has_issues=row.issues_enabled,
            has_pull_requests=row.pulls_enabled and not row.mirror,
            has_releases=row.releases_enabled,
        )

    def commit(
        self,
        full_name: str,
        info: CommitInfo,
        logins: Mapping[str, str],
        *,
        verification: Verification | None = None,
        **files: list[str],
    ) -> Commit:
        """A commit of the repository ``full_name``; ``logins`` maps addresses to accounts."""
        return Commit(
            id=info.oid,
            message=info.message,
            url=f"{self.root}{full_name}/commit/{info.oid}",
            author=_author(info.author, logins),
            committer=_author(info.committer, logins),
            verification=verification,
            timestamp=info.author.when,
            **files,
        )


def _whole(at: datetime | None) -> datetime | None:
    """A time in whole seconds."""
    return at.replace(microsecond=0) if at is not None else None


def user(row: Any) -> User:
    """The account of ``row`` as sister services and people who are signed in see it."""
    return User(
        id=row.id,
        login=row.login,
        full_name=row.full_name,
        email=row.email,
        avatar_url=row.avatar_url,
    )


def copied(account: Account) -> dict[str, Any]:
    """The columns that are kept of an account."""
    return {
        "id": account.id,
        "kind": account.kind,
        "login": account.login,
        "full_name": account.full_name,
        "email": account.email.lower(),
        "avatar_url": account.avatar_url,
        "visibility": account.visibility,
        "active": account.active,
    }


def addresses(*infos: CommitInfo) -> set[str]:
    """The addresses whose accounts ``Viewing.commit`` wants to know."""
    return {person.email.lower() for info in infos for person in (info.author, info.committer)}


def _author(person: Person, logins: Mapping[str, str]) -> CommitAuthor:
    return CommitAuthor(name=person.name, email=person.email, username=logins.get(person.email.lower(), ""))
