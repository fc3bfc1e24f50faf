"""What a process of identity holds, beside the database and what else the chassis provides."""

from dataclasses import dataclass

from ingot_identity.core.credentials import SignIns
from ingot_identity.core.id_token_keys import IdTokenKeys
from ingot_identity.core.presenter import Presenter
from ingot_identity.core.signing_keys import SigningKeys


@dataclass(frozen=True)
class Components:
    """``issuer`` is the name of this server in OpenID Connect: its public URL, without a slash at the end."""

    presenter: Presenter
    sign_ins: SignIns
    signing_keys: SigningKeys
    id_token_keys: IdTokenKeys
    issuer: str
