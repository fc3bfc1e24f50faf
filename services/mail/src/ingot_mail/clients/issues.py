"""Calls to issues: the content of a notice, for one reader."""

from urllib.parse import urlencode

from ingot_chassis.peers.peers import Peer
from ingot_contracts.issues.notices import IssueNotice, NoticeSource


class HttpIssues:
    """Issues through its internal API. What the reader may not read is NotFound."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def notice(self, issue_id: int, account_id: int, source: NoticeSource) -> IssueNotice:
        """The notice as it is now, if the user may read it now."""
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
