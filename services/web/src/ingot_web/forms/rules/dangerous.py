"""The list of all forms that require a recent proof.

These forms change the access to accounts and repositories, or delete accounts and repositories.
"""

import re
from collections.abc import Mapping
from typing import Any

from ingot_chassis.errors import ApiError
from ingot_web.forms.rules.fields import Form

PROOF_FIELDS = ("proof_password", "proof_code", "credential", "state")
"""Fields that the page for the proof adds to a form."""
NEW_PASSWORDS = {"new_password": "New password", "repeated": "Repeat the new password"}
"""Fields that the page for the proof asks for again, with their labels. No page has a password in it."""
_ACCOUNT = ("keys", "gpg_keys", "applications", "oauth2", "emails", "external_accounts")
"""Settings of the caller. The forms for password and second factor ask for the password each time.

The first password of an account with passkeys (``set``) needs a proof in its place.
"""
_DANGEROUS = {
    **dict.fromkeys((f"/user/settings/{page}" for page in _ACCOUNT), ""),
    "/admin/auths": "",
    "/admin/auths/{}": "",
    "/admin/imports": "import",
    "/admin/imports/{}/again": "",
    "/admin/users/{}": "",
    "/org/{}/settings": "delete",
    "/org/{}/settings/teams/{}": "",
    "/{}/{}/settings/collaboration": "",
    "/{}/{}/settings/delete": "",
    "/{}/{}/settings/keys": "",
    "/{}/{}/settings/teams": "",
    "/{}/{}/settings/transfer": "",
    "/user/settings/password": "set",
}
"""Paths, with {} for a segment, and the ``do`` that is dangerous there; empty for every one.

The settings of teams of a repository match those of an organization, too.
"""
_PATTERNS = [
    (re.compile(re.escape(path).replace(r"\{\}", "[^/]+")), action) for path, action in _DANGEROUS.items()
]


class ProofRequired(ApiError):
    """The last proof of the session is too old for this form, which is sent again with a new one.

    ``ways`` are the proofs that the caller can give. ``refusal`` is the error of one that was sent; None at
    first.
    """

    status = 403

    def __init__(self, form: Form, refusal: ApiError | None, ways: Mapping[str, Any]) -> None:
        super().__init__(refusal.message if refusal else "", headers=refusal.headers if refusal else None)
        if refusal is not None:
            self.status = refusal.status
        self.form, self.refusal, self.ways = form, refusal, ways


def is_dangerous(path: str, form: Form) -> bool:
    """True if the form at ``path`` needs a recent proof."""
    return any(pattern.fullmatch(path) and action in ("", form.text("do")) for pattern, action in _PATTERNS)
