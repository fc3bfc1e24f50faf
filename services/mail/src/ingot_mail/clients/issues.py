"""Calls to issues: the content of a notice, for one reader, and replies by mail."""

from urllib.parse import urlencode

from ingot_chassis.peers.peers import NoRoute, Peer
from ingot_contracts.issues.notices import IssueNotice, NoticeSource
from ingot_contracts.issues.replies import ReplyByMail, StoredReply


class HttpIssues:
    """Client of issues' internal API. Raises NotFound for objects that the reader may not read."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def notice(self, issue_id: int, account_id: int, source: NoticeSource) -> IssueNotice:
        """Return the notice in its current state, if the user may read it now."""
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

    async def reply(self, issue_id: int, key: str, body: str, principal_token: str) -> int:
        """Store a comment by the principal, unless the key already has a comment. Return its id.

        Raises Denied or Invalid if it is rejected.
        """
        path, reply = f"/internal/issues/{issue_id}/replies", ReplyByMail(key=key, body=body)
        try:
            answer = await self._peer.post(path, reply, StoredReply, principal=principal_token)
        except NoRoute as error:
            raise error.unavailable("issues") from error
        return answer.comment_id
