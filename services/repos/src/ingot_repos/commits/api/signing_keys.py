"""The server's public keys, which verify the signatures of commits and tags that the server makes."""

from litestar import Response, get

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import anyone
from ingot_repos.access.api.policies import in_repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.commits.rules.server_keys import ServerKeys


@get(
    "/api/v1/signing-key.gpg",
    policy=anyone("read:misc"),
    operation_id="getSigningKey",
    tags=["miscellaneous"],
)
async def get_openpgp_key(request: RepositoryRequest) -> Response[str]:
    """Get the OpenPGP key of the server. Answers 404 if the server does not sign with OpenPGP."""
    return _answer(request, openpgp=True)


@get(
    "/api/v1/signing-key.pub",
    policy=anyone("read:misc"),
    operation_id="getSigningKeySSH",
    tags=["miscellaneous"],
)
async def get_ssh_key(request: RepositoryRequest) -> Response[str]:
    """Get the SSH key of the server. Answers 404 if the server does not sign with SSH."""
    return _answer(request, openpgp=False)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/signing-key.gpg",
    policy=in_repository("read", "read:repository"),
    operation_id="repoSigningKey",
    tags=["repository"],
)
async def get_openpgp_key_of_repository(request: RepositoryRequest) -> Response[str]:
    """Get the OpenPGP key with which the server signs in a repository. All repositories share it."""
    return _answer(request, openpgp=True)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/signing-key.pub",
    policy=in_repository("read", "read:repository"),
    operation_id="repoSigningKeySSH",
    tags=["repository"],
)
async def get_ssh_key_of_repository(request: RepositoryRequest) -> Response[str]:
    """Get the SSH key with which the server signs in a repository. All repositories share it."""
    return _answer(request, openpgp=False)


def _answer(request: RepositoryRequest, *, openpgp: bool) -> Response[str]:
    """Return the key as text. Raises NotFound if the server signs with no key of this kind."""
    key = request.part(ServerKeys).current
    if key is None or key.is_openpgp != openpgp:
        raise NotFound
    return Response(key.text, media_type="text/plain")


routes = [get_openpgp_key, get_ssh_key, get_openpgp_key_of_repository, get_ssh_key_of_repository]
