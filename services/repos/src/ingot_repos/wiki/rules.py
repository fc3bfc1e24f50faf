"""Changes of wiki pages. Each change is a commit on the default branch, with the rules of a push."""

from ingot_chassis.errors import BadRequest, Conflict, Invalid, NotFound
from ingot_git.changes.file_changes import FileChange
from ingot_git.history.wiki_pages import PageFile
from ingot_repos.catalog.rules import wiki_names
from ingot_repos.changes.rules.files import CommitRequest, FileEditor


class PageEditor:
    """An editor of pages of one wiki, for one caller."""

    def __init__(self, editor: FileEditor) -> None:
        self._editor = editor

    async def create(self, title: str, content: bytes, message: str) -> str:
        """Create a page and return its address. Raises BadRequest if the title cannot be used or is taken."""
        address = wiki_names.address_of_title(title)
        wiki_names.require_free_name(address)
        change = FileChange(operation="create", path=wiki_names.file_of(address), content=content)
        await self._commit(change, message or f'Add "{title}"')
        return address

    async def edit(
        self, page: PageFile, address: str, title: str, content: bytes | None, message: str, expected: str
    ) -> str:
        """Change content and title of a page and return its current address.

        An empty ``title`` keeps the title. ``content`` None keeps the content. ``expected`` is the latest
        commit of the page that the caller has read, or empty. Raises BadRequest, and Conflict if the page has
        a later commit.
        """
        if expected and page.latest.oid != expected.lower():
            raise Conflict("the page was changed in the meantime")
        present = wiki_names.address_of_title(title) if title.strip() else address
        path = page.name
        if present != address:
            wiki_names.require_free_name(present)
            path = wiki_names.file_of(present)
        change = FileChange(
            operation="update",
            path=path,
            content=page.data if content is None else content,
            sha=page.oid,
            from_path=page.name if path != page.name else "",
        )
        await self._commit(change, message or f'Update "{wiki_names.title_of(present)}"')
        return present

    async def delete(self, page: PageFile, title: str) -> None:
        """Delete a page."""
        change = FileChange(operation="delete", path=page.name, sha=page.oid)
        await self._commit(change, f'Delete "{title}"')

    async def _commit(self, change: FileChange, message: str) -> None:
        try:
            await self._editor.commit(CommitRequest(message=message), [change])
        except Invalid as error:
            codes = {field.code for field in error.errors}
            if "exists" in codes:
                raise BadRequest("title: there is a page with this title already") from None
            if "sha" in codes or "mismatch" in codes:
                raise Conflict("the page was changed in the meantime") from None
            raise
        except NotFound:
            raise Conflict("the page was changed in the meantime") from None
