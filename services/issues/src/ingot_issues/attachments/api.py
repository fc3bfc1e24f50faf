"""Files of issues and comments, streamed. Readers of an issue may read its files."""

from typing import Any

import msgspec
from litestar import Response, delete, get, patch, post
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.http.downloads import StoredFile, file_answer
from ingot_chassis.http.patch import set_fields
from ingot_chassis.http.request_bodies import FileUpload
from ingot_chassis.http.uploads import uploaded_file
from ingot_contracts.attachments import Attachment
from ingot_contracts.limits import Name
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.records import comment_key_of, issue_row_of
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import may_comment, may_edit_issue
from ingot_issues.attachments import store
from ingot_issues.attachments.components import AttachmentComponents
from ingot_issues.attachments.rules import UNKNOWN_TYPE, AttachmentEditor, Place, attachment_view, object_key
from ingot_issues.attachments.store import AttachmentRow
from ingot_issues.records.store import issues as issue_rows

FIELD = "attachment"
OF_ISSUE = "/issues/{index:int}/assets"
OF_COMMENT = "/issues/comments/{comment_id:int}/assets"
ONE = "/{attachment_id:int}"


class EditAttachment(msgspec.Struct, kw_only=True):
    """A change of a file. Absent or empty fields keep their values."""

    name: Name | UnsetType = UNSET


@get(
    OF_ISSUE,
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueListIssueAttachments",
    tags=["issue"],
)
async def list_of_issue(request: IssuesRequest, index: int) -> list[Attachment]:
    """List the files of an issue or pull request, the oldest first."""
    return await _list(request, await _issue_place(request, index))


@post(
    OF_ISSUE,
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueCreateIssueAttachment",
    tags=["issue"],
    status_code=201,
    request_max_body_size=None,
    operation_class=FileUpload,
)
async def upload_to_issue(request: IssuesRequest, index: int, name: str = "") -> Attachment:
    """Upload a file as the form field `attachment`, or as the request body.

    Allowed for the author of the issue, and for users with write access.
    """
    return await _upload(request, await _own_issue_place(request, index), name)


@get(
    OF_ISSUE + ONE,
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueGetIssueAttachment",
    tags=["issue"],
)
async def get_of_issue(request: IssuesRequest, index: int, attachment_id: int) -> Attachment:
    """Get the metadata of a file. `browser_download_url` is the URL of the file."""
    return _present(request, await _existing(request, await _issue_place(request, index), attachment_id))


@patch(
    OF_ISSUE + ONE,
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueEditIssueAttachment",
    tags=["issue"],
    status_code=201,
)
async def edit_of_issue(
    request: IssuesRequest, index: int, attachment_id: int, data: EditAttachment
) -> Attachment:
    """Rename a file."""
    return await _rename(request, await _own_issue_place(request, index), attachment_id, data)


@delete(
    OF_ISSUE + ONE,
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueDeleteIssueAttachment",
    tags=["issue"],
)
async def delete_of_issue(request: IssuesRequest, index: int, attachment_id: int) -> None:
    """Delete a file."""
    await _delete(request, await _own_issue_place(request, index), attachment_id)


@get(
    OF_COMMENT,
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueListIssueCommentAttachments",
    tags=["issue"],
)
async def list_of_comment(request: IssuesRequest, comment_id: int) -> list[Attachment]:
    """List the files of a comment, the oldest first."""
    return await _list(request, await _comment_place(request, comment_id))


@post(
    OF_COMMENT,
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueCreateIssueCommentAttachment",
    tags=["issue"],
    status_code=201,
    request_max_body_size=None,
    operation_class=FileUpload,
)
async def upload_to_comment(request: IssuesRequest, comment_id: int, name: str = "") -> Attachment:
    """Upload a file as the form field `attachment`, or as the request body.

    Requires the right to edit the comment.
    """
    return await _upload(request, await _own_comment_place(request, comment_id), name)


@get(
    OF_COMMENT + ONE,
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueGetIssueCommentAttachment",
    tags=["issue"],
)
async def get_of_comment(request: IssuesRequest, comment_id: int, attachment_id: int) -> Attachment:
    """Get the metadata of a file. `browser_download_url` is the URL of the file."""
    place = await _comment_place(request, comment_id)
    return _present(request, await _existing(request, place, attachment_id))


@patch(
    OF_COMMENT + ONE,
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueEditIssueCommentAttachment",
    tags=["issue"],
    status_code=201,
)
async def edit_of_comment(
    request: IssuesRequest, comment_id: int, attachment_id: int, data: EditAttachment
) -> Attachment:
    """Rename a file."""
    return await _rename(request, await _own_comment_place(request, comment_id), attachment_id, data)


@delete(
    OF_COMMENT + ONE,
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueDeleteIssueCommentAttachment",
    tags=["issue"],
)
async def delete_of_comment(request: IssuesRequest, comment_id: int, attachment_id: int) -> None:
    """Delete a file."""
    await _delete(request, await _own_comment_place(request, comment_id), attachment_id)


@get(
    "/attachments/{file_uuid:str}",
    policy=in_repository("read", "read:issue"),
    include_in_schema=False,
)
async def download(request: IssuesRequest, file_uuid: str) -> Response[Any]:
    """Download a file. Browsers show images and save other types."""
    async with request.db.read() as db:
        row = await store.get_by_uuid(db, request.repository_id, file_uuid)
    access = request.access
    if row is None or not (access.pulls_enabled if row.is_pull else access.issues_enabled):
        raise NotFound

    async def count_download() -> None:
        async with request.db.transaction() as tx:
            await store.count_download(tx, row.id)

    is_image = row.media_type != UNKNOWN_TYPE
    file = StoredFile(
        object_key(row.repository_id, row.uuid), row.name, row.size, row.sha256, row.media_type, is_image
    )
    return await file_answer(
        request.headers, _editor(request).objects, file, cached_by="private", before_end=count_download
    )


def _editor(request: IssuesRequest) -> AttachmentEditor:
    """Return the editor of files. Raises NotFound if no storage is configured."""
    editor = request.part(AttachmentComponents).editor
    if editor is None:
        raise NotFound
    return editor


async def _issue_place(request: IssuesRequest, number: int) -> Place:
    issue = await issue_row_of(request, number)
    return Place(request.repository_id, issue.id)


async def _own_issue_place(request: IssuesRequest, number: int) -> Place:
    """Return the issue if the caller may change its files. Raises NotFound, Denied."""
    issue = await issue_row_of(request, number)
    await _require_may_comment(request, issue.author_id, locked=issue.locked)
    if not await request.allowed(lambda access: may_edit_issue(access, request.principal, issue.author_id)):
        raise Denied("only its author and writers may change the files of an issue")
    return Place(request.repository_id, issue.id)


async def _comment_place(request: IssuesRequest, comment_id: int) -> Place:
    row = await comment_key_of(request, comment_id)
    return Place(request.repository_id, row.issue_id, row.id)


async def _own_comment_place(request: IssuesRequest, comment_id: int) -> Place:
    """Return the comment if the caller may change its files. Raises NotFound, Denied."""
    row = await comment_key_of(request, comment_id)
    async with request.db.read() as db:
        issue = await issue_rows.get_by_id(db, row.issue_id)
    if issue is None:
        raise NotFound
    await _require_may_comment(request, issue.author_id, locked=issue.locked)
    await request.require_own_comment(row.author_id, "the files of a comment")
    return Place(request.repository_id, row.issue_id, row.id)


async def _require_may_comment(request: IssuesRequest, author_id: int, *, locked: bool) -> None:
    """Raise Denied if the caller may not comment, because of a lock or a block."""
    if not await request.allowed(lambda access: may_comment(access, locked=locked)):
        raise Denied("the conversation is locked")
    await request.require_unblocked(author_id)


async def _list(request: IssuesRequest, place: Place) -> list[Attachment]:
    _editor(request)
    async with request.db.read() as db:
        rows = await store.list_of(db, place.issue_id, place.comment_id)
    return [_present(request, row) for row in rows]


async def _upload(request: IssuesRequest, place: Place, name: str) -> Attachment:
    editor, context = _editor(request), await request.context()
    file = await uploaded_file(request, FIELD)
    row = await editor.upload(place, context.actor_id, name or file.name, file.chunks, file.length)
    return _present(request, row)


async def _rename(
    request: IssuesRequest, place: Place, attachment_id: int, data: EditAttachment
) -> Attachment:
    row = await _existing(request, place, attachment_id)
    if name := set_fields(data).get("name"):
        async with request.db.transaction() as tx:
            row = await _editor(request).rename(tx, row, name)
    return _present(request, row)


async def _delete(request: IssuesRequest, place: Place, attachment_id: int) -> None:
    row = await _existing(request, place, attachment_id)
    async with request.db.transaction() as tx:
        await _editor(request).delete(tx, row)


async def _existing(request: IssuesRequest, place: Place, attachment_id: int) -> AttachmentRow:
    _editor(request)
    async with request.db.read() as db:
        row = await store.get(db, place.issue_id, place.comment_id, attachment_id)
    if row is None:
        raise NotFound
    return row


def _present(request: IssuesRequest, row: AttachmentRow) -> Attachment:
    return attachment_view(request.presenter, row, request.access.repository)


routes = [
    list_of_issue, upload_to_issue, get_of_issue, edit_of_issue, delete_of_issue,
    list_of_comment, upload_to_comment, get_of_comment, edit_of_comment, delete_of_comment,
]  # fmt: skip
pages = [download]
