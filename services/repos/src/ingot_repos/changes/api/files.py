"""Routes that change files of a branch, apply patches and revert commits."""

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
from ingot_contracts.repos.commits import Verification
from ingot_git.changes.file_changes import FileChange, PreparedCommit
from ingot_git.changes.patches import prepare_patch
from ingot_git.changes.reverts import prepare_revert
from ingot_git.history.history import named_commit
from ingot_git.history.named_refs import ResolvedName
from ingot_git.history.signatures import commit_signatures
from ingot_git.process.errors import ObjectNotFound, RefNotFound, RepositoryNotFound
from ingot_git.refs.refs import BRANCHES
from ingot_repos.access.api.policies import in_repository, own_account
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.rules import names
from ingot_repos.changes.rules.files import CommitIdentity, CommitRequest, FileEditor, revert_message
from ingot_repos.commits.api.views import CodePresenter, ContentsResponse, FileCommit, verifications_of
from ingot_repos.commits.rules.server_keys import ServerKeys
from ingot_repos.commits.rules.signatures import UNSIGNED
from ingot_repos.protection.rules.contents import ContentJudge
from ingot_repos.protection.rules.decisions import Rules, actor_of, rules_of
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.pushes.rules.ref_updates import RefUpdates, require_changeable

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
    """Options of a commit, which is added to `branch`, by default to the default branch.

    With `new_branch`, this branch is created for the commit. With `force_push`, an existing branch
    `new_branch` is overwritten. `signoff` adds a line `Signed-off-by` of the committer to the message.
    """

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
    """A new file. `content` is base64."""

    content: Base64


class UpdateFile(CreateFile, kw_only=True):
    """A change of a file. `sha` is its current id. Without `sha`, the file must be new.

    `from_path` is the old path of a renamed file.
    """

    sha: Sha = ""
    from_path: Description = ""


class DeleteFile(CommitOptions, kw_only=True):
    sha: Sha


class ChangeFileOperation(msgspec.Struct, kw_only=True):
    """A change of one file in a list. `upload` creates a file or overwrites it. `content` is base64.

    `sha` is the current id of a changed, renamed or deleted file. `from_path` is the old path of a renamed
    file. A `rename` without `content` keeps the content.
    """

    operation: Literal["create", "update", "upload", "rename", "delete"]
    path: Description
    content: Base64 | None = None
    sha: Sha = ""
    from_path: Description = ""


class ChangeFiles(CommitOptions, kw_only=True):
    files: Annotated[list[ChangeFileOperation], msgspec.Meta(max_length=MOST_FILES)]


class ApplyPatch(CommitOptions, kw_only=True):
    """A patch to commit. `content` is the patch in git's format."""

    content: Patch


class RevertCommit(CommitOptions, kw_only=True):
    """A request to revert a commit. By default, the message is in the format of `git revert`."""


class FileResponse(msgspec.Struct):
    """The result of a change. ``content`` is null for a deleted file, a patch and a revert."""

    content: ContentsResponse | None
    commit: FileCommit
    verification: Verification


class FilesResponse(msgspec.Struct):
    """The changed files in the order of the request; null for a deleted file."""

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
    """Change several files in one commit: all or none."""
    if not data.files:
        raise Invalid.field("files", "required", "is empty")
    changes = [
        FileChange(
            operation=file.operation,
            path=file.path,
            content=decoded(file.content, f"files[{number}].content") if file.content is not None else None,
            sha=file.sha,
            from_path=file.from_path,
        )
        for number, file in enumerate(data.files)
    ]
    prepared = await _commit(request, data, changes)
    return FilesResponse(
        _contents(request, prepared),
        CodePresenter.of(request).file_commit(prepared.info),
        await _verification(request, prepared),
    )


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/contents/{filepath:path}",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoCreateFile",
    tags=["repository"],
    status_code=201,
)
async def create_file(
    request: RepositoryRequest,
    filepath: str,  # noqa: ARG001 - it is normalized
    data: CreateFile,
) -> FileResponse:
    """Create a file."""
    change = FileChange(operation="create", path=request.rest_of_path(6), content=decoded(data.content))
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
    filepath: str,  # noqa: ARG001 - it is normalized
    data: UpdateFile,
) -> Response[FileResponse]:
    """Change a file, or create it if no `sha` is given."""
    change = FileChange(
        operation="update" if data.sha else "create",
        path=request.rest_of_path(6),
        content=decoded(data.content),
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
    """Commit a patch, if it applies to the tip of the branch."""
    patch = data.content.encode()
    prepared = await _commit(request, data, [], prepare=partial(prepare_patch, patch=patch))
    return await _response(request, prepared, None)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/commits/{sha:str}/revert",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoRevertCommit",
    tags=["repository"],
    status_code=201,
)
async def revert_commit(request: RepositoryRequest, sha: str, data: RevertCommit) -> FileResponse:
    """Revert a commit on a branch. A merge is reverted against its first parent.

    Returns 409 if later commits changed the same lines, or if the branch has none of the changes.
    """
    try:
        commit, _ = await request.storage.call(request.resource.id, named_commit, sha)
    except (RefNotFound, ObjectNotFound, RepositoryNotFound):
        raise NotFound from None
    if not data.message.strip():
        data = msgspec.structs.replace(data, message=revert_message(commit))
    prepared = await _commit(request, data, [], prepare=partial(prepare_revert, oid=commit.oid))
    return await _response(request, prepared, None)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/contents/{filepath:path}",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoDeleteFile",
    tags=["repository"],
    status_code=200,
)
async def delete_file(
    request: RepositoryRequest,
    filepath: str,  # noqa: ARG001 - it is normalized
    data: DeleteFile,
) -> FileResponse:
    """Delete a file."""
    return await _change_file(
        request, data, FileChange(operation="delete", path=request.rest_of_path(6), sha=data.sha)
    )


async def ref_updates(request: RepositoryRequest) -> RefUpdates:
    """Return the ``RefUpdates`` of the caller for the repository in the path.

    Raises Denied if the repository accepts no pushes.
    """
    require_changeable(request.resource.row)
    return await ref_updates_in(request, request.resource)


async def ref_updates_in(request: RepositoryRequest, repository: ResolvedRepository) -> RefUpdates:
    """Return the caller's ``RefUpdates`` for any repository. Permissions are checked when a ref moves."""

    async def read_rules() -> Rules:
        async with request.db.read() as db:
            return await rules_of(db, repository.id)

    return RefUpdates(
        request.storage,
        request.part(Pushes),
        repository.row,
        await own_account(request),
        read_rules,
        actor_of(request.principal, repository.row, repository.level),
        request.part(ContentJudge),
        restricted=request.principal.restricted_to is not None,
    )


async def _change_file(request: RepositoryRequest, data: CommitOptions, change: FileChange) -> FileResponse:
    prepared = await _commit(request, data, [change])
    return await _response(request, prepared, _contents(request, prepared)[0])


async def _response(
    request: RepositoryRequest, prepared: PreparedCommit, content: ContentsResponse | None
) -> FileResponse:
    commit = CodePresenter.of(request).file_commit(prepared.info)
    return FileResponse(content, commit, await _verification(request, prepared))


async def _verification(request: RepositoryRequest, prepared: PreparedCommit) -> Verification:
    """Return the verification of a commit that the server has made."""
    if request.part(ServerKeys).signer is None:
        return UNSIGNED
    repository_id, oid = request.resource.id, prepared.info.oid
    signatures = await request.storage.call(repository_id, commit_signatures, [oid])
    return (await verifications_of(request, repository_id, [prepared.info], signatures)).get(oid, UNSIGNED)


async def _commit(
    request: RepositoryRequest, data: CommitOptions, changes: list[FileChange], **prepare: Any
) -> PreparedCommit:
    request.acquire_slot()
    editor = FileEditor(request.storage, await ref_updates(request), request.part(ServerKeys).signer)
    return await editor.commit(data.request(), changes, **prepare)


def _contents(request: RepositoryRequest, prepared: PreparedCommit) -> list[ContentsResponse | None]:
    presenter, branch = CodePresenter.of(request), prepared.move.name.removeprefix(BRANCHES)
    ref = ResolvedName("branch", branch, prepared.move.name, prepared.info.oid)
    return [
        presenter.content(content, ref, branch) if content is not None else None
        for content in prepared.contents
    ]


def _who(field: str, identity: Identity, when: datetime | None) -> CommitIdentity:
    """Return the author or committer in a field of the request. Raises Invalid."""
    if identity.email:
        names.check_email(identity.email, field=f"{field}.email")
    return CommitIdentity(identity.name, identity.email, _date(field, when))


def _date(field: str, when: datetime | None) -> datetime | None:
    """Return the date of a commit; None for the year 1, which some clients send. Raises Invalid."""
    if when is None or when.year <= 1:
        return None
    when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    if not 1970 <= when.year < 9999:
        raise Invalid.field(f"dates.{field}", "range", "is not between the years 1970 and 9998")
    return when


def decoded(text: str, field: str = "content") -> bytes:
    """Decode base64. Raises Invalid."""
    try:
        return b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        raise Invalid.field(field, "format", "is not base64") from None


routes = [change_files, create_file, update_file, apply_patch, revert_commit, delete_file]
