"""Links for issue numbers in plain texts, such as commit messages."""

import re

from markupsafe import Markup

_NUMBER = re.compile(r"(?<![\w#/&])#([1-9][0-9]{0,8})\b")


def references(text: str, base: str) -> Markup:
    """Return the escaped text with links.

    Each ``#3`` links to the issue or pull request of the repository at the path ``base``.
    """
    html, end = Markup(), 0
    for match in _NUMBER.finditer(text):
        link = Markup('<a href="{0}/issues/{1}">#{1}</a>').format(base, match[1])
        html += text[end : match.start()] + link
        end = match.end()
    return html + text[end:]
