"""Messages as mail gets them: it hears that one is due, and asks for it."""

from urllib.parse import parse_qs, urlsplit

from ingot_chassis.security.principal import ANONYMOUS
from ingot_contracts.identity.messages import MessageRequested

from .world import REPOS


class Mailbox:
    """All mailboxes of the world."""

    def __init__(self, world):
        self._world = world

    async def ids(self):
        return [event.message_id for event in await self._world.emitted(MessageRequested)]

    async def ask(self, message_id):
        """The answer to mail for one message; the status if there is none."""
        headers = REPOS.headers(ANONYMOUS, peer="mail")
        answer = await self._world.http.get(f"/internal/messages/{message_id}", headers=headers)
        return answer.json() if answer.status_code == 200 else answer.status_code

    async def all(self):
        """Messages that are due, in the order of their requests."""
        answers = [await self.ask(message_id) for message_id in await self.ids()]
        return [answer for answer in answers if answer != 404]

    async def link(self, address):
        """Path and query of the link in the newest message to an address."""
        *_, newest = [one for one in await self.all() if one["address"].lower() == address]
        parts = urlsplit(newest["fields"]["url"])
        return f"{parts.path}?{parts.query}"

    async def code(self, address):
        """The secret in that link."""
        return parse_qs(urlsplit(await self.link(address)).query)["code"][0]
