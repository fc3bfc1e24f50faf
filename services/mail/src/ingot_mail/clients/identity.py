"""Calls to identity: recipients, messages, memberships."""

from ingot_chassis.peers.peers import Peer
from ingot_contracts.identity.messages import MailRecipient, Message


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
