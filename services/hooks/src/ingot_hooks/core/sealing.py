"""Secrets of hooks are sealed in the database and opened only to sign."""

from cryptography.fernet import Fernet, InvalidToken

from ingot_chassis.settings import SettingsError


class Unreadable(Exception):
    """A secret was sealed with another key than the one of the settings."""


class Seal:
    """Closes and opens secrets with the key of the settings."""

    def __init__(self, key: str) -> None:
        try:
            self._fernet = Fernet(key)
        except ValueError as error:
            raise SettingsError([f"INGOT_HOOKS_SEALING_KEY is no Fernet key: {error}"]) from error

    def close(self, secret: str) -> bytes | None:
        """None for an empty secret."""
        return self._fernet.encrypt(secret.encode()) if secret else None

    def open(self, sealed: bytes | None) -> str:
        """Raises Unreadable."""
        if sealed is None:
            return ""
        try:
            return self._fernet.decrypt(sealed).decode()
        except InvalidToken as error:
            raise Unreadable("the secret was sealed with another INGOT_HOOKS_SEALING_KEY") from error
