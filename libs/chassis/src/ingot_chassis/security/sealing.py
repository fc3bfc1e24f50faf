"""Secrets that must be had again are sealed in the database and opened only where they are used."""

from cryptography.fernet import Fernet, InvalidToken

from ingot_chassis.settings import SettingsError


class Unreadable(Exception):
    """A secret was sealed with another key than the one of the settings."""


class Seal:
    """Closes and opens secrets with ``key``, a Fernet key; ``setting`` is the variable that it comes from.

    Raises SettingsError when it is none.
    """

    def __init__(self, key: str, setting: str) -> None:
        self._setting = setting
        if not key:
            raise SettingsError([f"{setting} is not set; see docs/settings.md"])
        try:
            self._fernet = Fernet(key)
        except ValueError as error:
            raise SettingsError([f"{setting} is no Fernet key: {error}"]) from error

    def close(self, secret: str) -> bytes | None:
        """None for an empty secret."""
        return self._fernet.encrypt(secret.encode()) if secret else None

    def open(self, sealed: bytes | None, *, seconds: int | None = None) -> str:
        """The secret; one that was closed more than ``seconds`` ago is too old. Raises Unreadable."""
        if sealed is None:
            return ""
        try:
            return self._fernet.decrypt(sealed, ttl=seconds).decode()
        except InvalidToken as error:
            raise Unreadable(f"the secret was sealed with another {self._setting}") from error
