"""People who are mentioned in a text: ``@login``."""

import re

from ingot_issues.core.markdown import plain_text, run_without_blocking

MOST = 50
"""Mentions of one text that count."""

_MENTION = re.compile(r"(?<![\w/@.`-])@(?P<login>\w[\w.-]{0,38})")


def find(text: str) -> list[str]:
    """The logins in a plain text in lower case, each once. Some of them may be nobody's."""
    logins = dict.fromkeys(match["login"].rstrip(".-_").lower() for match in _MENTION.finditer(text))
    logins.pop("", None)  # of "@_"
    return list(logins)[:MOST]


async def find_in_markdown(text: str) -> list[str]:
    """The logins in a markdown text, without those in code and links."""
    if "@" not in text:
        return []
    return await run_without_blocking(lambda markdown: find(plain_text(markdown)), text)
