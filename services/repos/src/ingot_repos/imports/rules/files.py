"""Files of imported texts: each gets a uuid and a local URL, and links in the text lead to this URL.

issues stores the files. The uuid is computed from the text and the file's address at the source. So a page
that is read twice has the same uuids. Links in code stay unchanged.
"""

import re
import uuid
from typing import TypeVar

import msgspec

from ingot_contracts.repos.imports import ImportedComment, ImportedFile, ImportedIssue, ImportPage
from ingot_remotes.interface.files import FileLinks
from ingot_remotes.texts.markdown_code import CodeRanges

MOST_FILES = 20
"""Limit of files of one text."""
_NAMESPACE = uuid.UUID("6f4cf8a5-2a4e-4f5f-9f6c-0d1b5a9c7e21")
_Text = TypeVar("_Text", bound=ImportedIssue | ImportedComment)


class TextFiles:
    """The files of the texts of one import. ``local_url`` is the URL of the local repository."""

    def __init__(self, repository_id: int, local_url: str, links: FileLinks) -> None:
        self._repository_id, self._local_url, self._links = repository_id, local_url, links

    def localize(self, text: _Text) -> _Text:
        """Return the text with local URLs for its files, and with links to these URLs."""
        code = CodeRanges(text.body)
        owner = f"{self._repository_id} {type(text).__name__} {text.source_id}"
        files = {one.uuid: self._local(one, owner) for one in text.files[:MOST_FILES]}
        matches = [one for one in self._links.pattern.finditer(text.body) if not code.has(one.start())]
        for match in matches:
            key = match["key"]
            if self._links.address_of is not None and key not in files and len(files) < MOST_FILES:
                address = self._links.address_of(key)
                if not address:
                    continue
                file = ImportedFile(
                    uuid=key,
                    address=address,
                    name=self._links.name(key),
                    created_at=text.created_at,
                    original_url=self._links.page + key,
                )
                files[key] = self._local(file, owner)

        def link(match: re.Match[str]) -> str:
            file = (
                None if code.has(match.start()) else files.get(match["key"].lower(), files.get(match["key"]))
            )
            return match[0] if file is None else file.local_url

        body = self._links.pattern.sub(link, text.body)
        return msgspec.structs.replace(text, body=body, files=[*files.values()])

    def localize_all(self, texts: list[_Text]) -> list[_Text]:
        return [self.localize(one) for one in texts]

    def _local(self, file: ImportedFile, owner: str) -> ImportedFile:
        """Return a file with its uuid and local URL. ``owner`` distinguishes texts with the same file."""
        new = str(uuid.uuid5(_NAMESPACE, f"{owner} {file.address}"))
        local_url = f"{self._local_url}/attachments/{new}"
        original_url = file.original_url or file.address
        return msgspec.structs.replace(file, uuid=new, local_url=local_url, original_url=original_url)


def without_files(page: ImportPage) -> ImportPage:
    """Return the page without files. Links to files lead to the source again."""
    texts = {
        name: [_at_source(one) for one in getattr(page, name)] for name in ("issues", "pulls", "comments")
    }
    return msgspec.structs.replace(page, **texts)


def _at_source(text: _Text) -> _Text:
    body = text.body
    for file in text.files:
        body = body.replace(file.local_url, file.original_url)
    return msgspec.structs.replace(text, body=body, files=[])
