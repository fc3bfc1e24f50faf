"""An internal route for other services: keys that verify signatures."""

from litestar import post

from ingot_chassis.http.policy import services
from ingot_contracts.identity.credentials import FindSignatureKeys, SignatureKey
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.keys.rules import signatures as signature_keys


@post("/internal/signature-keys", policy=services("repos"), include_in_schema=False, status_code=200)
async def find_signature_keys(request: IdentityRequest, data: FindSignatureKeys) -> list[SignatureKey]:
    """Return the requested keys that belong to an account. Keys are public."""
    async with request.db.read() as db:
        return await signature_keys.find(db, request.presenter, data)


routes = [find_signature_keys]
