"""Files in forms, which are attached to issues and comments, and linked in their texts."""

from collections.abc import Callable
from typing import Any

from ingot_chassis.errors import ApiError, Invalid, NotFound
from ingot_web.attachments.rules import has_address, without_links
from ingot_web.clients.forge import at
from ingot_web.forms.rules.fields import Form, SentFile
from ingot_web.pages.rules.pictures import PICTURES
from ingot_web.repositories.api.frames import RepositoryFrame

MOST_FILES = 10
FILES_ALONE = "Files"
"""The text of a new comment without text, until its files are stored."""
TEXT_WITHOUT_FILE = "The file was removed."
"""The text of a comment that contained only links to a removed file."""
REMOVAL = (
    "Nobody can download the file any more, and links to it go out of the text that it belongs to. "
    "Links in other texts stay."
)
"""The consequences of removing a file, as a text for the form."""


def require_few_files(form: Form) -> None:
    """Raise Invalid if the form has more files than a request may have."""
    if len(form.files) > MOST_FILES:
        raise Invalid.field("files", "too_many", f"has more than {MOST_FILES}")


async def attach(frame: RepositoryFrame, form: Form, path: str, body: str) -> ApiError | None:
    """Attach the files of a form to an existing issue or comment, and add links to its text.

    Return an error instead of raising it, or None: the text is already saved, and must not be sent again.
    """
    try:
        await _store_and_link(frame, form, path, body)
    except NotFound:
        return Invalid("files are not kept on this site; your text was sent without them")
    except ApiError as error:
        return Invalid(f"your text was sent, but not all of its files: {error.message}")
    return None


async def _store_and_link(frame: RepositoryFrame, form: Form, path: str, body: str) -> None:
    """Store the files, and add links to the text. If a file is rejected, earlier files are linked.

    Raises ApiError.
    """
    links: list[str] = []
    try:
        for file in form.files:
            stored = await frame.forge.upload("issues", f"{path}/assets", file.name, file.content)
            links.append(_link(stored))
    finally:
        if links:
            text = "\n\n".join([*([body] if body not in ("", FILES_ALONE) else []), *links])
            await frame.forge.send("PATCH", "issues", path, {"body": text})


def _link(stored: Any) -> str:
    words = "".join("\\" + letter if letter in "[]\\`*_<" else letter for letter in stored["name"])
    is_picture = stored["name"].lower().endswith(PICTURES)
    return f"{'!' if is_picture else ''}[{words}]({stored['browser_download_url']})"


async def send_with_files(
    frame: RepositoryFrame, form: Form, owner: str, method: str, path: str, body: Callable[[str], Any]
) -> Any:
    """Send a text with files that are attached to ``owner``. Return the response.

    ``body`` builds the text with links to the files. ``owner`` is an existing issue or comment. A comment on
    a line has no files, so its issue is the owner. If ApiError is raised, no file is kept.
    """
    require_few_files(form)
    text, ids = form.lines("body"), []
    try:
        for file in form.files:
            stored = await _store(frame, owner, file)
            ids.append(stored["id"])
            text = f"{text}\n\n{_link(stored)}".lstrip("\n")
        return await frame.forge.send(method, "issues", path, body(text))
    except ApiError:
        for attachment_id in ids:
            await frame.forge.send("DELETE", "issues", f"{owner}/assets/{attachment_id}")
        raise


async def remove(frame: RepositoryFrame, form: Form, owner: str, shown: Any) -> str:
    """Remove a file from the issue or comment ``shown``, and the links to it from its text.

    ``owner`` is the API path of ``shown``. Return the outcome for the next page. Raises ApiError.
    """
    attachment_id = form.text("remove")
    await frame.forge.send("DELETE", "issues", f"{owner}/assets{at(attachment_id)}")
    urls = [
        file["browser_download_url"] for file in shown.get("assets") or [] if str(file["id"]) == attachment_id
    ]
    if not urls or not has_address(shown["body"], urls[0]):
        return "file removed"
    text = without_links(shown["body"], urls[0])
    is_issue = "title" in shown
    change = {"body": text if text or is_issue else TEXT_WITHOUT_FILE}
    if "content_version" in shown:
        change["content_version"] = shown["content_version"]
    try:
        if text != shown["body"]:
            await frame.forge.send("PATCH", "issues", owner, change)
    except ApiError as error:
        raise Invalid(f"the file was removed, but the text still links to it: {error.message}") from None
    return "file removed, address left" if has_address(text, urls[0]) else "file and links removed"


async def _store(frame: RepositoryFrame, owner: str, file: SentFile) -> Any:
    """Store a file. Return the attachment. Raises ApiError."""
    try:
        return await frame.forge.upload("issues", f"{owner}/assets", file.name, file.content)
    except NotFound:
        raise Invalid("files are not kept on this site, or what they belong to is gone") from None
