"""Addresses of files in texts of a source: pictures and attachments that its users uploaded."""

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote, unquote

from ingot_remotes.interface.addresses import Address

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_START = r"(?<![\w/.-])"
_NAME = r"[^\s()<>\[\]\"'`/?#]{1,255}"


class FileLinks(NamedTuple):
    """The links to files of one repository.

    ``pattern`` finds a link. Its group ``key`` identifies the file. ``address_of`` returns the URL from which
    the file with a key is downloaded; empty for an invalid key. If ``address_of`` is None, only files that
    the source lists are imported. ``page`` is the prefix of a key in a link for users.
    """

    pattern: re.Pattern[str]
    address_of: Callable[[str], str] | None = None
    page: str = ""

    def name(self, key: str) -> str:
        """Return the name of the file with a key."""
        return unquote(key.partition("?")[0].rpartition("/")[2])


def gitea_files(address: Address) -> FileLinks:
    """Return links to attachments. They contain the uuids of attachments that the source lists.

    Some links have no host.
    """
    owner = re.escape(f"/{address.owner}/{address.name}")
    pattern = rf"{_START}(?:{re.escape(address.site)})?(?:{owner})?/attachments/(?P<key>{_UUID})(?![\w-])"
    return FileLinks(re.compile(pattern, re.IGNORECASE))


def github_files(address: Address) -> FileLinks:
    """Return links to uploads, of github.com or of the site.

    https://docs.github.com/get-started/writing-on-github/working-with-advanced-formatting/attaching-files
    """
    site, owner = re.escape(address.site), re.escape(f"/{address.owner}/{address.name}")
    uploads = rf"(?:assets/(?:[0-9]{{1,19}}/)?{_UUID}|files/[0-9]{{1,19}}/{_NAME})"
    pattern = (
        rf"{_START}(?P<key>{site}(?:/user-attachments|{owner})/{uploads}"
        rf"|https://user-images\.githubusercontent\.com/[0-9]{{1,19}}/{_NAME})"
    )
    return FileLinks(re.compile(pattern, re.IGNORECASE), str)


def gitlab_files(address: Address) -> FileLinks:
    """Return links to uploads of the project. The API returns uploads only for a token.

    https://docs.gitlab.com/api/project_markdown_uploads/
    """
    path = f"{address.owner}/{address.name}"
    pattern = (
        rf"{_START}(?:{re.escape(address.site)}/(?:-/project/[0-9]{{1,19}}|{re.escape(path)}))?"
        rf"/uploads/(?P<key>[0-9a-f]{{32}}/{_NAME})"
    )
    root = f"{address.site}/api/v4/projects/{quote(path, safe='')}/uploads/"
    page = f"{address.site}/{path}/uploads/"

    def address_of(key: str) -> str:
        folder, _, name = key.partition("/")
        name = unquote(name)
        return "" if "/" in name or name in (".", "..") else f"{root}{folder}/{quote(name)}"

    return FileLinks(re.compile(pattern), address_of, page)
