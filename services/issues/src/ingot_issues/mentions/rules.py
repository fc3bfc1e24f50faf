"""People who are mentioned in a text: ``@login``."""

import re

from ingot_issues.markdown.rules.renderer_client import plain_text_of

MOST = 50
"""Maximum number of mentions of one text that count."""

_MENTION = re.compile(r"(?<![\w/@.`-])@(?P<login>\w[\w.-]{0,38})")


def find(text: str) -> list[str]:
    """Return at most MOST distinct logins in a plain text, in lower case. Some may not exist."""
    logins = dict.fromkeys(match["login"].rstrip(".-_").lower() for match in _MENTION.finditer(text))
    logins.pop("", None)  # from "@_"
    return list(logins)[:MOST]


async def find_in_markdown(text: str) -> list[str]:
    """Return at most MOST distinct logins in a markdown text, without code and links."""
    if "@" not in text:
        return []
    return find(await plain_text_of(text))
