"""Structs of commits, files and refs in responses, used by several route files."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import quote

import msgspec
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import NotFound
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.commits import Verification
from ingot_git.history.commit_files import AffectedFile, CommitFiles
from ingot_git.history.commits import CommitInfo, Person
from ingot_git.history.file_contents import Content
from ingot_git.history.lfs_pointers import read_pointer
from ingot_git.history.named_refs import ResolvedName
from ingot_git.history.signatures import CommitSignature
from ingot_git.refs.trees import FOLDER, SUBMODULE
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.commits.rules.signatures import Signatures, Signed
from ingot_repos.commits.store import authors as commit_authors
from ingot_repos.presentation.rules.presenter import author_addresses

LONGEST_REF = 1024


class CommitMeta(msgspec.Struct):
    """The id and URL of a commit or a tree."""

    url: str
    sha: str
    created: datetime | UnsetType = UNSET


class CommitUser(msgspec.Struct):
    """An author or committer, with the name and address in the commit."""

    name: str
    email: str
    date: datetime


class RepoCommit(msgspec.Struct):
    """The content of a commit object."""

    url: str
    author: CommitUser
    committer: CommitUser
    message: str
    tree: CommitMeta
    verification: Verification | None


class CommitStats(msgspec.Struct):
    """Lines that a commit adds and deletes against its first parent."""

    total: int
    additions: int
    deletions: int


class FullCommit(msgspec.Struct):
    """A commit of the history.

    ``author`` and ``committer`` are the accounts with the addresses in the commit.
    """

    url: str
    sha: str
    created: datetime
    html_url: str
    commit: RepoCommit
    author: User | None
    committer: User | None
    parents: list[CommitMeta]
    files: Sequence[AffectedFile] | None = None
    stats: CommitStats | None = None


class FileCommit(msgspec.Struct):
    """A commit in a response to a change of files."""

    url: str
    sha: str
    created: datetime
    html_url: str
    author: CommitUser
    committer: CommitUser
    parents: list[CommitMeta]
    message: str
    tree: CommitMeta


class FileLinks(msgspec.Struct):
    self: str | None
    git: str | None
    html: str | None


class ContentsResponse(msgspec.Struct):
    """One path of a commit. ``content`` is base64, and only set for a single file that is not too large."""

    name: str
    path: str
    sha: str
    type: Literal["file", "dir", "symlink", "submodule"]
    size: int
    encoding: str | None
    content: str | None
    target: str | None
    url: str
    html_url: str | None
    git_url: str | None
    download_url: str | None
    submodule_git_url: str | None
    links: FileLinks = msgspec.field(name="_links")
    last_commit_sha: str | UnsetType = UNSET
    last_committer_date: datetime | UnsetType = UNSET
    last_author_date: datetime | UnsetType = UNSET
    last_commit_message: str | UnsetType = UNSET
    lfs_oid: str | UnsetType = UNSET
    lfs_size: int | UnsetType = UNSET


class CodePresenter:
    """A presenter of git data of one repository. It adds URLs for clients."""

    def __init__(self, root: str, full_name: str) -> None:
        self._page, self._api = f"{root}{full_name}", f"{root}api/v1/repos/{full_name}"

    @classmethod
    def of(cls, request: RepositoryRequest) -> "CodePresenter":
        return cls(request.presenter.root, request.resource.full_name)

    def commit_url(self, oid: str) -> str:
        return f"{self._api}/git/commits/{oid}"

    def object_url(self, kind: str, oid: str) -> str:
        """Return the URL of a git object: a commit, tree, blob or tag."""
        return f"{self._api}/git/{kind}s/{oid}"

    def url(self, *parts: str) -> str:
        """Return a URL of the API below the repository; each part may contain slashes."""
        return "/".join((self._api, *(quote(part) for part in parts)))

    def source_page(self, commit: str, path: str) -> str:
        """Return the URL of the page of a file at a commit."""
        return f"{self._page}/src/commit/{commit}/{quote(path)}"

    def archive_url(self, ref: str) -> str:
        """Return the URL of an archive of ``ref``, without the file extension."""
        return f"{self._page}/archive/{quote(ref)}"

    def meta(self, oid: str, created: datetime | UnsetType = UNSET) -> CommitMeta:
        return CommitMeta(self.commit_url(oid), oid, created)

    def commit(
        self,
        info: CommitInfo,
        users: Mapping[str, User],
        *,
        verification: Verification | None = None,
        changes: CommitFiles | None = None,
        with_files: bool = False,
        with_stats: bool = False,
    ) -> FullCommit:
        """Return a commit; ``users`` are accounts by lower-case address."""
        created = info.committer.when.astimezone(UTC)
        url = self.commit_url(info.oid)
        return FullCommit(
            url=url,
            sha=info.oid,
            created=created,
            html_url=f"{self._page}/commit/{info.oid}",
            commit=RepoCommit(
                url=url,
                author=commit_user(info.author),
                committer=commit_user(info.committer),
                message=info.message,
                tree=CommitMeta(self.object_url("tree", info.tree), info.tree, created),
                verification=verification,
            ),
            author=users.get(info.author.email.lower()),
            committer=users.get(info.committer.email.lower()),
            parents=[self.meta(oid) for oid in info.parents],
            files=changes.files if changes is not None and with_files else None,
            stats=_stats(changes) if changes is not None and with_stats else None,
        )

    def file_commit(self, info: CommitInfo) -> FileCommit:
        """Return a commit for responses to changes of files."""
        created = info.committer.when.astimezone(UTC)
        return FileCommit(
            url=self.commit_url(info.oid),
            sha=info.oid,
            created=created,
            html_url=f"{self._page}/commit/{info.oid}",
            author=commit_user(info.author),
            committer=commit_user(info.committer),
            parents=[self.meta(oid) for oid in info.parents],
            message=info.message,
            tree=CommitMeta(self.object_url("tree", info.tree), info.tree, created),
        )

    def content(
        self,
        content: Content,
        ref: ResolvedName,
        name: str,
        *,
        with_message: bool = False,
        with_content: bool = True,
    ) -> ContentsResponse:
        """Return a path at ``ref``. ``name`` is the name of the ref in the request.

        For an LFS pointer, the result names the large file.
        """
        entry, change = content.entry, content.last_change
        path = quote(entry.path)
        pointer = read_pointer(content.data or b"")
        data = content.data if with_content else None
        url = f"{self._api}/contents/{path}?ref={quote(name, safe='')}"
        git_url = html_url = download_url = None
        if entry.mode != SUBMODULE:
            git_url = self.object_url("tree" if entry.mode == FOLDER else "blob", entry.oid)
            html_url = f"{self._page}/src/{ref.kind}/{quote(ref.name)}/{path}"
        if entry.mode not in (FOLDER, SUBMODULE):
            download_url = f"{self._api}/raw/{quote(ref.name)}/{path}"
        return ContentsResponse(
            name=entry.name,
            path=entry.path,
            sha=entry.oid,
            type=entry.kind,
            size=content.size,
            encoding="base64" if data is not None else None,
            content=b64encode(data).decode() if data is not None else None,
            target=content.target,
            url=url,
            html_url=html_url,
            git_url=git_url,
            download_url=download_url,
            submodule_git_url=content.module_url,
            links=FileLinks(self=url, git=git_url, html=html_url),
            last_commit_sha=change.oid if change else UNSET,
            last_committer_date=change.committer_date.astimezone(UTC) if change else UNSET,
            last_author_date=change.author_date.astimezone(UTC) if change else UNSET,
            last_commit_message=change.message if change and with_message else UNSET,
            lfs_oid=pointer.oid if pointer else UNSET,
            lfs_size=pointer.size if pointer else UNSET,
        )


def commit_user(person: Person) -> CommitUser:
    return CommitUser(person.name, person.email, person.when.astimezone(UTC))


async def verifications_of(
    request: RepositoryRequest,
    repository_id: int,
    infos: Sequence[CommitInfo],
    signatures: Mapping[str, CommitSignature],
) -> dict[str, Verification]:
    """Return the verifications of signed commits in a repository, by commit id."""
    signed = {
        info.oid: Signed(signatures[info.oid], info.committer.email)
        for info in infos
        if info.oid in signatures
    }
    return await request.part(Signatures).verify(repository_id, signed)


async def users_of(request: RepositoryRequest, infos: Sequence[CommitInfo]) -> dict[str, User]:
    """Return the accounts of authors and committers by lower-case address, in one statement."""
    async with request.db.read() as db:
        rows = await commit_authors.users_by_email(db, author_addresses(*infos))
    return {address: request.presenter.user(row) for address, row in rows.items()}


def named_or_default(request: RepositoryRequest, name: str) -> str:
    """Return the branch, tag or commit named in the query, or the default branch. Raises NotFound."""
    if len(name) > LONGEST_REF:
        raise NotFound
    return name.strip() or request.resource.row.default_branch


def _stats(changes: CommitFiles) -> CommitStats:
    total = changes.additions + changes.deletions
    return CommitStats(total=total, additions=changes.additions, deletions=changes.deletions)
