"""Calls to issues: the content of a notice, for one reader."""

from urllib.parse import urlencode

from ingot_chassis.peers.peers import Peer
from ingot_contracts.issues.notices import IssueNotice, NoticeSource


class HttpIssues:
    """Client of issues' internal API. Raises NotFound for objects that the reader may not read."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def notice(self, issue_id: int, account_id: int, source: NoticeSource) -> IssueNotice:
        """Return the notice in its present state, if the user may read it now."""
        query = urlencode(
            {
                "user": account_id,
                "actor": source.actor_id,
                "comment": source.comment_id,
                "review": source.review_id,
                "reply": source.reply_id,
            }
        )
        return await self._peer.get(f"/internal/issues/{issue_id}/notice?{query}", IssueNotice)
