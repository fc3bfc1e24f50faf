"""Creates, changes and deletes files of a branch: one, or many in one commit, what a patch says, or what reverts a commit."""

import binascii
from base64 import b64decode
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, delete, post, put

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.http.openapi import response_spec
from ingot_contracts.limits import Description, Name, Text
from ingot_contracts.repos import Verification
from ingot_repos.api.code_views import CodePresenter, ContentsResponse, FileCommit
from ingot_repos.api.policies import in_repository, own_account
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.core import names
from ingot_repos.core.file_changes import CommitRequest, FileEditor, Who, revert_message
from ingot_repos.core.protections import actor_of, rules_of
from ingot_repos.core.ref_updates import RefUpdates, require_changeable
from ingot_repos.core.signatures import UNSIGNED
from ingot_repos.git.errors import ObjectNotFound, RefNotFound, RepositoryNotFound
from ingot_repos.git.file_changes import FileChange, PreparedCommit
from ingot_repos.git.history import named_commit
from ingot_repos.git.patches import prepare_patch
from ingot_repos.git.refs import BRANCHES, ResolvedName
from ingot_repos.git.reverts import prepare_revert

MOST_FILES = 500
Base64 = Annotated[str, msgspec.Meta(max_length=14_000_000)]
Patch = Annotated[str, msgspec.Meta(max_length=8_000_000)]
Sha = Annotated[str, msgspec.Meta(max_length=40)]


class Identity(msgspec.Struct, kw_only=True):
    name: Name = ""
    email: Name = ""


class CommitDates(msgspec.Struct, kw_only=True):
    author: datetime | None = None
    committer: datetime | None = None


class CommitOptions(msgspec.Struct, kw_only=True):
    """How a change is committed. `new_branch` is created for it; `force_push` replaces one that is there."""

    message: Text = ""
    branch: Name = ""
    new_branch: Name = ""
    author: Identity = msgspec.field(default_factory=Identity)
    committer: Identity = msgspec.field(default_factory=Identity)
    dates: CommitDates = msgspec.field(default_factory=CommitDates)
    signoff: bool = False
    force_push: bool = False

    def request(self) -> CommitRequest:
        return CommitRequest(
            branch=self.branch,
            new_branch=self.new_branch,
            message=self.message,
            author=_who("author", self.author, self.dates.author),
            committer=_who("committer", self.committer, self.dates.committer),
            signoff=self.signoff,
            force=self.force_push,
            is_list=isinstance(self, ChangeFiles),
        )


class CreateFile(CommitOptions, kw_only=True):
    """`content` is base64."""

    content: Base64


class UpdateFile(CreateFile, kw_only=True):
    """`sha` is the file's as it is now; without one the file must be new. `from_path` is where it is moved from."""

    sha: Sha = ""
    from_path: Description = ""


class DeleteFile(CommitOptions, kw_only=True):
    sha: Sha


class ChangeFileOperation(msgspec.Struct, kw_only=True):
    """One of several changes. `upload` creates a file or replaces it, whatever is there."""

    operation: Literal["create", "update", "upload", "rename", "delete"]
    path: Description
    content: Base64 | None = None
    sha: Sha = ""
    from_path: Description = ""


class ChangeFiles(CommitOptions, kw_only=True):
    files: Annotated[list[ChangeFileOperation], msgspec.Meta(max_length=MOST_FILES)]


class ApplyPatch(CommitOptions, kw_only=True):
    """`content` is the patch as git writes it."""

    content: Patch


class RevertCommit(CommitOptions, kw_only=True):
    """Without `message` it says which commit is reverted, as git does."""


class FileResponse(msgspec.Struct):
    """``content`` is None for a file that was deleted."""

    content: ContentsResponse | None
    commit: FileCommit
    verification: Verification


class FilesResponse(msgspec.Struct):
    """The files in the order of the request; null for one that was deleted."""

    files: list[ContentsResponse | None]
    commit: FileCommit
    verification: Verification


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/contents",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoChangeFiles",
    tags=["repository"],
    status_code=201,
)
async def change_files(request: RepositoryRequest, data: ChangeFiles) -> FilesResponse:
    """Change several files in one commit: all of them or none."""
    if not data.files:
        raise Invalid.field("files", "required", "is empty")
    changes = [
        FileChange(
            operation=file.operation,
            path=file.path,
            content=_decoded(file.content, f"files[{number}].content") if file.content is not None else None,
            sha=file.sha,
            from_path=file.from_path,
        )
        for number, file in enumerate(data.files)
    ]
    prepared = await _commit(request, data, changes)
    return FilesResponse(
        _contents(request, prepared), CodePresenter.of(request).file_commit(prepared.info), UNSIGNED
    )


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/contents/{filepath:path}",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoCreateFile",
    tags=["repository"],
    status_code=201,
)
async def create_file(request: RepositoryRequest, filepath: str, data: CreateFile) -> FileResponse:  # noqa: ARG001
    """Create a file."""
    change = FileChange(operation="create", path=request.rest_of_path(6), content=_decoded(data.content))
    return await _change_file(request, data, change)


@put(
    "/api/v1/repos/{owner:str}/{repo:str}/contents/{filepath:path}",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoUpdateFile",
    tags=["repository"],
    responses={201: response_spec(FileResponse, "The file is new")},
)
async def update_file(
    request: RepositoryRequest,
    filepath: str,  # noqa: ARG001 - it comes normalized
    data: UpdateFile,
) -> Response[FileResponse]:
    """Change a file, or create it when no `sha` is given."""
    change = FileChange(
        operation="update" if data.sha else "create",
        path=request.rest_of_path(6),
        content=_decoded(data.content),
        sha=data.sha,
        from_path=data.from_path,
    )
    answer = await _change_file(request, data, change)
    return Response(answer, status_code=200 if data.sha else 201)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/diffpatch",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoApplyDiffPatch",
    tags=["repository"],
    status_code=201,
)
async def apply_patch(request: RepositoryRequest, data: ApplyPatch) -> FileResponse:
    """Commit what a patch says, if it applies to the branch as it is."""
    patch = data.content.encode()
    prepared = await _commit(request, data, [], prepare=partial(prepare_patch, patch=patch))
    return FileResponse(None, CodePresenter.of(request).file_commit(prepared.info), UNSIGNED)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/commits/{sha:str}/revert",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoRevertCommit",
    tags=["repository"],
    status_code=201,
)
async def revert_commit(request: RepositoryRequest, sha: str, data: RevertCommit) -> FileResponse:
    """Take back on a branch what a commit changed, of a merge against its first parent; 409 where it cannot be told apart.

    That is where later commits changed the same lines, or the branch has nothing of it.
    """
    try:
        commit, _ = await request.storage.call(request.resource.id, named_commit, sha)
    except (RefNotFound, ObjectNotFound, RepositoryNotFound):
        raise NotFound from None
    if not data.message.strip():
        data = msgspec.structs.replace(data, message=revert_message(commit))
    prepared = await _commit(request, data, [], prepare=partial(prepare_revert, oid=commit.oid))
    return FileResponse(None, CodePresenter.of(request).file_commit(prepared.info), UNSIGNED)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/contents/{filepath:path}",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoDeleteFile",
    tags=["repository"],
    status_code=200,
)
async def delete_file(request: RepositoryRequest, filepath: str, data: DeleteFile) -> FileResponse:  # noqa: ARG001
    """Delete a file."""
    return await _change_file(
        request, data, FileChange(operation="delete", path=request.rest_of_path(6), sha=data.sha)
    )


async def ref_updates(request: RepositoryRequest) -> RefUpdates:
    """Moves refs of the repository in the path as the caller. Raises Denied where nobody may push."""
    require_changeable(request.resource.row)
    return await ref_updates_in(request, request.resource)


async def ref_updates_in(request: RepositoryRequest, repository: ResolvedRepository) -> RefUpdates:
    """The same in any repository; nobody is refused before something is to move."""
    async with request.db.read() as db:
        rules = await rules_of(db, repository.id)
    return RefUpdates(
        request.storage,
        request.components.pushes,
        repository.row,
        await own_account(request),
        rules,
        actor_of(request.principal, repository.row, repository.level),
        request.components.judge,
        restricted=request.principal.restricted_to is not None,
    )


async def _change_file(request: RepositoryRequest, data: CommitOptions, change: FileChange) -> FileResponse:
    prepared = await _commit(request, data, [change])
    return FileResponse(
        _contents(request, prepared)[0], CodePresenter.of(request).file_commit(prepared.info), UNSIGNED
    )


async def _commit(
    request: RepositoryRequest, data: CommitOptions, changes: list[FileChange], **prepare: Any
) -> PreparedCommit:
    request.acquire_slot()
    editor = FileEditor(request.storage, await ref_updates(request))
    return await editor.commit(data.request(), changes, **prepare)


def _contents(request: RepositoryRequest, prepared: PreparedCommit) -> list[ContentsResponse | None]:
    presenter, branch = CodePresenter.of(request), prepared.move.name.removeprefix(BRANCHES)
    ref = ResolvedName("branch", branch, prepared.move.name, prepared.info.oid)
    return [
        presenter.content(content, ref, branch) if content is not None else None
        for content in prepared.contents
    ]


def _who(field: str, identity: Identity, when: datetime | None) -> Who:
    """Raises Invalid."""
    if identity.email:
        names.check_email(identity.email, field=f"{field}.email")
    return Who(identity.name, identity.email, _date(field, when))


def _date(field: str, when: datetime | None) -> datetime | None:
    """A date of a commit. The year 1 is how some clients write that there is none. Raises Invalid."""
    if when is None or when.year <= 1:
        return None
    when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    if not 1970 <= when.year < 9999:
        raise Invalid.field(f"dates.{field}", "range", "is no time that git can write down")
    return when


def _decoded(text: str, field: str = "content") -> bytes:
    """Raises Invalid."""
    try:
        return b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        raise Invalid.field(field, "format", "is not base64") from None


routes = [change_files, create_file, update_file, apply_patch, revert_commit, delete_file]
