"""Encryption of secrets in the database that the service has to read again.

They are decrypted only where they are used.
"""

import base64
import hmac

from cryptography.fernet import Fernet, InvalidToken

from ingot_chassis.settings import SettingsError


class Unreadable(Exception):
    """A secret was encrypted with another key than the key of the settings."""


class Seal:
    """Encrypts and decrypts secrets with the Fernet ``key``. ``setting`` is the name of its variable.

    Raises SettingsError for an invalid key.
    """

    def __init__(self, key: str, setting: str) -> None:
        self._setting = setting
        if not key:
            raise SettingsError([f"{setting} is not set; see docs/reference/settings.md"])
        try:
            self._fernet = Fernet(key)
        except ValueError as error:
            raise SettingsError([f"{setting} is no Fernet key: {error}"]) from error

    @classmethod
    def for_purpose(cls, key: str, setting: str, purpose: str) -> "Seal":
        """Return a seal with a separate key for ``purpose``. It cannot open secrets of another purpose.

        Raises SettingsError.
        """
        derived = base64.urlsafe_b64encode(hmac.digest(key.encode(), purpose.encode(), "sha256"))
        return cls(derived.decode() if key else "", setting)

    def close(self, secret: str) -> bytes | None:
        """Encrypt a secret. Return None for an empty secret."""
        return self._fernet.encrypt(secret.encode()) if secret else None

    def open(self, sealed: bytes | None, *, seconds: int | None = None) -> str:
        """Decrypt a secret; None is an empty secret.

        Raises Unreadable, also if the secret was encrypted more than ``seconds`` ago.
        """
        if sealed is None:
            return ""
        try:
            return self._fernet.decrypt(sealed, ttl=seconds).decode()
        except InvalidToken as error:
            raise Unreadable(f"the secret was sealed with another {self._setting}") from error
