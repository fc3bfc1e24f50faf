"""Calls to identity: recipients, account messages, memberships."""

from ingot_chassis.peers.peers import Peer
from ingot_contracts.identity.messages import MailRecipient, Message


class HttpIdentity:
    """Identity through its internal API. What does not exist is NotFound."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def recipient(self, account_id: int) -> MailRecipient:
        """The confirmed primary address of a user who may sign in."""
        return await self._peer.get(f"/internal/accounts/{account_id}/mail-recipient", MailRecipient)

    async def message(self, message_id: int) -> Message:
        """A message that is due."""
        return await self._peer.get(f"/internal/messages/{message_id}", Message)
