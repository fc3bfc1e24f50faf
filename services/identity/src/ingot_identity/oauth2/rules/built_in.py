"""OAuth2 applications that come with the server: credential helpers of git, and the command line client tea.

These programs have built-in client ids (https://docs.gitea.com/development/oauth2-provider). They cannot keep
a secret, so they must use PKCE. They listen on any port of the loopback address.
"""

from ingot_chassis.db.transaction import Tx
from ingot_identity.oauth2.rules.secrets import new_client_secret
from ingot_identity.oauth2.store import applications as store
from ingot_identity.tokens import rules as tokens

CLIENTS = {
    "a4792ccc-144e-407e-86c9-5e7d8d9c3269": "git-credential-oauth",
    "e90ee53c-94e2-48ac-9358-a874fb9e0662": "Git Credential Manager",
    "d57cb8c4-630c-4168-8324-ec79935e18d4": "tea",
}
"""Client ids and names of the applications."""
REDIRECT_URIS = ("http://127.0.0.1", "http://127.0.0.1/", "https://127.0.0.1")


async def register(tx: Tx, *, enabled: bool) -> None:
    """Register the built-in applications, or delete them with all grants to them."""
    if not enabled:
        await store.remove_built_in(tx)
        return
    rows = [
        {
            "client_id": client_id,
            "name": name,
            "secret_sha256": tokens.digest(new_client_secret()),  # no program has it
            "redirect_uris": "\n".join(REDIRECT_URIS),
            "confidential": False,
            "skip_consent": False,
        }
        for client_id, name in CLIENTS.items()
    ]
    await store.save_built_in(tx, rows)
