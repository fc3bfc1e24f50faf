"""A client for repos in the SSH server: host keys, owners of keys, and sessions of git."""

from collections.abc import AsyncIterator
from urllib.parse import quote, urlencode

import msgspec

from ingot_chassis.errors import ApiError, ErrorObject, NotFound, Unavailable
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_chassis.telemetry import request_id
from ingot_ssh.commands import Command
from ingot_ssh.sessions import KEY_HEADER, HostKeys, KeyHolder
from ingot_ssh.upstreams import Upstream, UpstreamAnswer
from ingot_wire.framing import Headers


class Refused(Exception):
    """The service rejected the session. The text is for the client."""


class Repos:
    """A client for repos. Every method raises ConnectionError while repos does not answer."""

    def __init__(self, upstream: Upstream, identity: ServiceIdentity) -> None:
        self._upstream, self._identity = upstream, identity

    async def host_keys(self) -> list[str]:
        """Return the private host keys. Raises Unavailable."""
        return msgspec.json.decode(await self._get("/internal/ssh/host-keys", ""), type=HostKeys).keys

    async def holder(self, fingerprint: str, address: str) -> KeyHolder | None:
        """Return the owner of the key, or None for an unknown key.

        Raises Unavailable, and ApiError with the reason of repos, for example for blocked users.
        """
        query = urlencode({"fingerprint": fingerprint})
        try:
            answer = await self._get(f"/internal/ssh/keys?{query}", address)
        except NotFound:
            return None
        return msgspec.json.decode(answer, type=KeyHolder)

    async def begin(
        self,
        command: Command,
        *,
        fingerprint: str,
        address: str,
        git_protocol: str,
        body: AsyncIterator[bytes],
    ) -> UpstreamAnswer:
        """Begin a session and return its response. Raises Refused."""
        path = "/".join(
            quote(part, safe="")
            for part in (command.owner, command.name, command.program, command.operation)
            if part
        )
        headers = [*self._headers(address), (KEY_HEADER.encode(), fingerprint.encode())]
        if git_protocol:
            headers.append((b"git-protocol", git_protocol.encode()))
        answer = await self._upstream.request("POST", f"/internal/ssh/{path}".encode(), headers, body)
        if answer.status == 200:
            return answer
        async with answer:
            if answer.status == 404:
                raise Refused(f"there is no repository {command.owner}/{command.name} that this key opens")
            raise Refused(_message(await answer.read()))

    async def _get(self, path: str, address: str) -> bytes:
        answer = await self._upstream.request("GET", path.encode(), self._headers(address), b"")
        async with answer:
            body = await answer.read()
        if answer.status == 404:
            raise NotFound
        if answer.status >= 500:
            raise Unavailable(_message(body))
        if answer.status >= 400:
            raise ApiError(_message(body))
        return body

    def _headers(self, address: str) -> Headers:
        headers = [
            (SERVICE_HEADER.encode(), self._identity.token("repos").encode()),
            (b"x-request-id", request_id().encode()),
        ]
        return [*headers, (b"x-forwarded-for", address.encode())] if address else headers


def _message(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=ErrorObject).message
    except msgspec.DecodeError:
        return "the service cannot answer at the moment; try again later"
