"""Routes to create, change, delete and upload files. Each change is a commit."""

from asyncio import to_thread
from base64 import b64encode
from typing import Any
from urllib.parse import quote

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Denied, Invalid, TooLarge
from ingot_chassis.http.policy import anyone
from ingot_web.code.api.files import MARKDOWN, document, file_in_git
from ingot_web.code.rules.highlighting import highlight
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import NamedRef, RepositoryFrame

EDITED_BYTES = 500_000
"""Maximum bytes of a file that can be changed in the form."""
DEFAULT_MESSAGES = {
    "new": "“Add” and the path",
    "edit": "“Update {}”",
    "delete": "“Delete {}”",
    "upload": "“Add” and the paths",
}
"""Default messages of commits."""
SHARED = "/{owner:str}/{repo:str}/"


async def _begin(frame: RepositoryFrame, ref: NamedRef) -> bool:
    """Load the repository, and return True if the caller may push to the branch.

    Raises Denied if the caller may not change files.
    """
    path = frame.api("branches", *ref.name.split("/"))
    (branch,) = await frame.load(frame.forge.get_if_there("repos", path))
    frame.require_push("you may not change files here; fork the repository, and change them there")
    if frame.repository["mirror"]:
        raise Denied("a mirror has what is fetched; change files where it comes from")
    # The first commit creates a missing branch.
    return not branch or branch["user_can_push"]


def _page(
    frame: RepositoryFrame,
    act: str,
    ref: NamedRef,
    form: Form,
    problem: ApiError | None = None,
    preview: tuple[str, Any] = ("", None),
    *,
    may_push: bool,
) -> Response[str]:
    """Return the form. ``preview`` is the kind and the content: "document" with HTML, or "lines".

    If the caller may not push to the branch, the form selects a new branch.
    """
    form.setdefault("to", "branch" if may_push else "new")
    words = {"new": "New file", "edit": "Edit", "delete": "Delete", "upload": "Upload files"}[act]
    kind, shown = preview
    return frame.render(
        "code/edit.html",
        in_place="code/edit_preview.html" if kind else "",
        tab="code",
        title=f"{words} {ref.path}".strip(),
        error=problem,
        act=act,
        words=words,
        ref=ref,
        form=form,
        may_push=may_push,
        kind=kind,
        shown=shown,
        default_message=DEFAULT_MESSAGES[act].format(ref.path),
    )


async def _branch(frame: RepositoryFrame) -> NamedRef:
    return await NamedRef.of(frame, 3, kind="branch")


@get(f"{SHARED}_new/{{ref:path}}", policy=anyone(), include_in_schema=False)
async def new(request: WebRequest) -> Response[str]:
    """Show the form of a new file in a folder."""
    request.require_signed_in()
    frame = RepositoryFrame(request)
    ref = await _branch(frame)
    may_push = await _begin(frame, ref)
    folder = f"{ref.path}/" if ref.path else ""
    return _page(
        frame, "new", ref, Form([("path", folder + request.query_params.get("name", ""))]), may_push=may_push
    )


@get(f"{SHARED}_edit/{{ref:path}}", policy=anyone(), include_in_schema=False)
async def edit(request: WebRequest) -> Response[str]:
    """Show the form to edit an existing file."""
    request.require_signed_in()
    frame = RepositoryFrame(request)
    ref = await _branch(frame)
    may_push = await _begin(frame, ref)
    file, content = await file_in_git(frame, ref, ref.path)
    if "lfs_oid" in file:
        raise Invalid("LFS keeps the file; change it with git")
    return _page(frame, "edit", ref, _form_of(ref.path, file["sha"], content), may_push=may_push)


def _form_of(path: str, sha: str, content: bytes) -> Form:
    """Return the form with the content of a file.

    Raises TooLarge or Invalid if it cannot be edited in a form.
    """
    if len(content) > EDITED_BYTES:
        raise TooLarge("the file is too large to be changed here")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise Invalid("the file is no text in UTF-8; upload another one in its place") from None
    if "\0" in text:
        raise Invalid("the file is no text; upload another one in its place")
    pairs = [("path", path), ("sha", sha), ("content", text)]
    return Form([*pairs, ("crlf", "1")] if "\r\n" in text else pairs)


@get(f"{SHARED}_delete/{{ref:path}}", policy=anyone(), include_in_schema=False)
async def delete(request: WebRequest) -> Response[str]:
    """Show the form that confirms the deletion of a file."""
    request.require_signed_in()
    frame = RepositoryFrame(request)
    ref = await _branch(frame)
    may_push = await _begin(frame, ref)
    path = frame.api("contents-ext", *ref.path.split("/"))
    file = (await frame.forge.get("repos", path, ref=ref.full)).get("file_contents")
    if file is None:
        raise Invalid("a folder goes with its last file")
    return _page(frame, "delete", ref, Form([("path", ref.path), ("sha", file["sha"])]), may_push=may_push)


@get(f"{SHARED}_upload/{{ref:path}}", policy=anyone(), include_in_schema=False)
async def upload(request: WebRequest) -> Response[str]:
    """Show the form to upload files."""
    request.require_signed_in()
    frame = RepositoryFrame(request)
    ref = await _branch(frame)
    may_push = await _begin(frame, ref)
    return _page(frame, "upload", ref, Form([("path", ref.path)]), may_push=may_push)


@post(
    [f"{SHARED}_{act}/{{ref:path}}" for act in ("new", "edit", "delete", "upload")],
    policy=anyone(),
    include_in_schema=False,
)
async def save(request: WebRequest) -> Response[Any]:
    """Commit the changes of the form to the branch or a new branch. Errors are shown in the form."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    act = request.scope["path"].split("/")[3].removeprefix("_")
    ref = await _branch(frame)
    if form.has("preview"):
        may_push = await _begin(frame, ref)
        return _page(frame, act, ref, form, preview=await _preview(frame, ref, form), may_push=may_push)
    try:
        files = _changes(act, ref, form)
        body = {"branch": ref.name, "message": form.lines("message"), "files": files}
        if new_branch := form.branch_to_make():
            body["new_branch"] = new_branch
        await frame.forge.send("POST", "repos", frame.api("contents"), body)
    except ApiError as error:
        may_push = await _begin(frame, ref)
        if isinstance(error, Denied):
            form["to"] = "new"  # a rule protects the branch, or some of its files
        return _page(frame, act, ref, form, error, may_push=may_push)
    if new_branch:
        return frame.redirect(f"/compare/{quote(ref.name)}...{quote(new_branch)}")
    path = files[0]["path"] if act in ("new", "edit") else ref.path
    if act == "delete":
        path = path.rpartition("/")[0]
    return frame.redirect(quote(f"/src/{ref.url}/{path}".rstrip("/")))


async def _preview(frame: RepositoryFrame, ref: NamedRef, form: Form) -> tuple[str, Any]:
    """Return the kind and content of the preview of a form. Raises TooLarge."""
    path, text = form.text("path").strip("/"), form.lines("content")
    if len(text) > EDITED_BYTES:
        raise TooLarge("the file is too large to be shown here")
    if path.lower().endswith(MARKDOWN):
        return "document", await document(frame, ref, path, text)
    return "lines", await to_thread(highlight, path, text)


def _changes(act: str, ref: NamedRef, form: Form) -> list[dict[str, str]]:
    """Return the changes of the form in the format of the API. Raises Invalid."""
    path = form.text("path").strip("/")
    if act == "upload":
        if not form.files:
            raise Invalid.field("files", "required", "choose at least one")
        folder = f"{path}/" if path else ""
        return [
            {"operation": "upload", "path": folder + file.name, "content": b64encode(file.content).decode()}
            for file in form.files
        ]
    if act == "delete":
        return [{"operation": "delete", "path": ref.path, "sha": form.text("sha")}]
    text = form.lines("content")
    text = text.replace("\n", "\r\n") if form.has("crlf") else text
    change = {"path": path, "content": b64encode(text.encode()).decode()}
    if act == "new":
        return [{"operation": "create", **change}]
    moved = {"from_path": ref.path} if path != ref.path else {}
    return [{"operation": "update", "sha": form.text("sha"), **change, **moved}]


routes = [new, edit, delete, upload, save]
