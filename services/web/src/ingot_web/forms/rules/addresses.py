"""The page for the URL of a form. A browser shows the form's URL after an error."""

import re
from collections.abc import Callable
from urllib.parse import quote, unquote

_REPOSITORY = r"(/[^/]+/[^/]+)"
_PAGES_BY_ADDRESS = tuple(
    (re.compile(address), page)
    for address, page in {
        r"/user/settings/password": r"/user/settings/security",
        rf"{_REPOSITORY}/settings/migrate/\w+": r"\1",
        rf"{_REPOSITORY}/pulls/(\d+)/(?:merge|update)": r"\1/pulls/\2#merge",
        rf"{_REPOSITORY}/pulls/(\d+)/(?:comments|reviews|viewed)": r"\1/pulls/\2/files",
        rf"{_REPOSITORY}/pulls/\d+/comments/(\d+)/\w+": r"\1/pulls/comments/\2",
    }.items()
)
"""Forms whose page is not the nearest page above their URL."""


def page_of_form(path: str, has_page: Callable[[str], bool]) -> str:
    """Return the path of the page with the form that is sent to ``path``: usually its nearest parent page.

    ``has_page`` returns True if a path has a page.
    """
    above = "/" + quote(path.strip("/"))
    for address, page in _PAGES_BY_ADDRESS:
        if address.fullmatch(above):
            return address.sub(page, above)
    while above != "/":
        above = above.rpartition("/")[0] or "/"
        if has_page(unquote(above)):
            break
    return above
