"""Objects of replies that live as long as the process."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ingot_chassis.settings import SettingsError
from ingot_mail.replies.rules.outcomes import Received

LEAST_KEY_LENGTH = 20


@dataclass(frozen=True)
class ReplyComponents:
    """Components of replies. ``receive`` is None if this site accepts no replies.

    ``key`` is the secret of the mail server. If it is empty, no mail server may post mails.
    """

    receive: Callable[[bytes], Awaitable[Received]] | None
    key: str

    def __post_init__(self) -> None:
        if 0 < len(self.key) < LEAST_KEY_LENGTH:
            raise SettingsError([f"INGOT_MAIL_REPLY_KEY is shorter than {LEAST_KEY_LENGTH} characters"])
