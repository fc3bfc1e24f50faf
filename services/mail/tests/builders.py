"""Builders of events."""

from datetime import UTC, datetime

from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.events import ReleaseChanged
from ingot_contracts.repos.releases import Release
from ingot_contracts.repos.repositories import Repository

THEN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
ANN = User(id=1, login="ann", full_name="Ann", email="ann@example.org")


def repository(id_: int = 7, *, name: str = "app", private: bool = False) -> Repository:
    return Repository(
        id=id_,
        owner=ANN,
        name=name,
        full_name=f"ann/{name}",
        private=private,
        html_url=f"http://forge.test/ann/{name}",
        default_branch="main",
        created_at=THEN,
        updated_at=THEN,
    )


def release(action: str = "published", repository_id: int = 7) -> ReleaseChanged:
    """A release of ann/app, or of the private ann/other (8)."""
    of = repository(repository_id, name="app" if repository_id == 7 else "other", private=repository_id != 7)
    content = Release(
        id=3,
        tag_name="v1",
        target_commitish="main",
        name="First",
        body="Notes",
        url="http://forge.test/api/v1/repos/ann/app/releases/3",
        html_url="http://forge.test/ann/app/releases/tag/v1",
        tarball_url="",
        zipball_url="",
        upload_url="",
        created_at=THEN,
        published_at=THEN,
        author=ANN,
    )
    return ReleaseChanged(action=action, repository=of, sender=ANN, release=content)  # type: ignore[arg-type]
