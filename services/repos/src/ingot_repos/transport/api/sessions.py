"""Responses to pushes and fetches over HTTP and SSH, made from the data of a request."""

from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.read_rights import RenewReader
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.pushes.rules.pushers import Pusher
from ingot_repos.pushes.rules.rights import Renew
from ingot_repos.pushes.rules.sessions import PushParts, PushSession
from ingot_repos.transport.api.exchanges import Exchange, GitAnswer
from ingot_repos.transport.rules.fetches import FetchSession
from ingot_repos.transport.rules.shared_fetches import FetchedRepository, FetchParts


def push(
    request: RepositoryRequest,
    repository: ResolvedRepository,
    pusher: Pusher,
    renew: Renew,
    *,
    is_session: bool = False,
) -> GitAnswer:
    """Return the response to a push."""

    async def respond(exchange: Exchange) -> None:
        parts, presenter = request.part(PushParts), request.presenter
        await PushSession(parts, presenter, repository, pusher, renew, exchange).run()

    return GitAnswer(respond, request, is_session=is_session)


def fetch(
    request: RepositoryRequest,
    repository: ResolvedRepository,
    renew: RenewReader,
    *,
    is_session: bool = False,
) -> GitAnswer:
    """Return the response to a fetch."""

    async def respond(exchange: Exchange) -> None:
        await FetchSession(fetched(request, repository), renew, exchange).run()

    return GitAnswer(respond, request, is_session=is_session)


def send_bundle(
    request: RepositoryRequest, repository: FetchedRepository, commit: str, renew: RenewReader
) -> GitAnswer:
    """Return the response with the bundle of a commit."""

    async def respond(exchange: Exchange) -> None:
        exchange.body_ended.set()  # no request for it has one
        await FetchSession(repository, renew, exchange).send_bundle(commit)

    return GitAnswer(respond, request)


def fetched(request: RepositoryRequest, repository: ResolvedRepository) -> FetchedRepository:
    """Return the repository, the protocol of the request, and whether the client is signed in."""
    protocol = request.headers.get("git-protocol")
    return FetchedRepository(request.part(FetchParts), repository, protocol, request.counts_as_signed_in)
