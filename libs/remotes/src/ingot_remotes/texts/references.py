"""References in imported texts: links to the source, numbers of merge requests, and mentions.

Code in a text is not changed. Links to issues, pull requests and commits of the imported repository become
local links. A person with a local account is mentioned by its login. Other links stay.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from ingot_remotes.interface.addresses import Address
from ingot_remotes.texts.markdown_code import CodeRanges

_NUMBER = r"[1-9][0-9]{0,8}"
_TEXTS = frozenset(("body", "description"))
"""Fields with Markdown of all imported structs."""


class References:
    """Rewrites texts of one import.

    Args:
        address: the repository at the source.
        local_url: the page of the local repository.
        offset: the offset for numbers of pull requests.
        logins: local logins by lower-case names at the source.
    """

    def __init__(self, address: Address, local_url: str, offset: int, logins: Mapping[str, str]) -> None:
        self._url, self._offset, self._logins = local_url, offset, logins
        path = re.escape(f"{address.owner}/{address.name}")
        of_pulls = rf"|(?<![\w/.!])(?:{path})?!(?P<merge>{_NUMBER})\b" if offset else ""
        self._pattern = re.compile(
            rf"{re.escape(address.site)}/{path}(?:/-)?/"
            rf"(?:(?P<kind>issues|pulls?|merge_requests)/(?P<number>{_NUMBER})"
            rf"|commits?/(?P<commit>[0-9a-f]{{7,40}}))(?:\#(?:issuecomment-|note_)[0-9]{{1,19}})?(?![\w/])"
            rf"|(?<![\w/.-]){path}\#(?P<own>{_NUMBER})\b"
            rf"|(?<![\w/@.`])@(?P<login>[A-Za-z0-9](?:[\w.-]{{0,99}}\w)?)"
            rf"{of_pulls}",
            re.ASCII | re.IGNORECASE,
        )

    def rewrite(self, text: str) -> str:
        """Return the text with references to local objects and accounts."""
        code = CodeRanges(text)
        return self._pattern.sub(
            lambda match: match[0] if code.has(match.start()) else self._replacement(match), text
        )

    def rewrite_all(self, value: Any) -> Any:
        """Return a copy of a struct or list of structs with rewritten texts."""
        if isinstance(value, list):
            return [self.rewrite_all(one) for one in value]
        if not isinstance(value, msgspec.Struct):
            return value
        changes: dict[str, Any] = {}
        for name in value.__struct_fields__:
            field = getattr(value, name)
            if name in _TEXTS and field:
                changes[name] = self.rewrite(field)
            elif isinstance(field, list) and field:
                changes[name] = self.rewrite_all(field)
        return msgspec.structs.replace(value, **changes)

    def _replacement(self, match: re.Match[str]) -> str:
        groups, replacement = match.groupdict(), match[0]
        if groups["kind"]:
            is_issue, number = groups["kind"].lower() == "issues", int(groups["number"])
            replacement = self._url + (f"/issues/{number}" if is_issue else f"/pulls/{number + self._offset}")
        elif groups["commit"]:
            replacement = f"{self._url}/commit/{groups['commit']}"
        elif groups["own"]:
            replacement = f"#{groups['own']}"
        elif groups.get("merge"):
            replacement = f"#{int(groups['merge']) + self._offset}"
        elif groups["login"] and groups["login"].lower() in self._logins:
            replacement = f"@{self._logins[groups['login'].lower()]}"
        return replacement
