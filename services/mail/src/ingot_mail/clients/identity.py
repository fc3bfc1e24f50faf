"""Calls to identity: recipients, messages, and the principals of replies."""

from ingot_chassis.peers.peers import NoRoute, Peer
from ingot_contracts.identity.messages import MailRecipient, Message, ReplyPrincipal, ReplySender


class HttpIdentity:
    """Client of identity's internal API. Raises NotFound for objects that do not exist."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def recipient(self, account_id: int) -> MailRecipient:
        """Return the confirmed primary address of a user who may sign in.

        Raises NotFound for other accounts.
        """
        return await self._peer.get(f"/internal/accounts/{account_id}/mail-recipient", MailRecipient)

    async def message(self, message_id: int) -> Message:
        """Return a message that is due. Raises NotFound for other messages."""
        return await self._peer.get(f"/internal/messages/{message_id}", Message)

    async def reply_principal(self, account_id: int, address: str) -> str:
        """Return the principal token of the user whose confirmed address this is. Raises NotFound."""
        path = f"/internal/accounts/{account_id}/reply-principal"
        try:
            answer = await self._peer.post(path, ReplySender(address=address), ReplyPrincipal)
        except NoRoute as error:
            raise error.unavailable("identity") from error
        return answer.principal_token
