"""Settings of web. No other module reads its environment variables."""

from typing import Annotated

import msgspec

from ingot_chassis.settings import ServiceSettings


class Settings(ServiceSettings, kw_only=True):
    """Settings of web, in addition to the settings of every service."""

    port: Annotated[int, msgspec.Meta(ge=0, le=65535, description="Port to listen on.")] = 8085
    identity_url: Annotated[str, msgspec.Meta(description="Where identity listens.")] = (
        "http://127.0.0.1:8081"
    )
    repos_url: Annotated[str, msgspec.Meta(description="Where repos listens.")] = "http://127.0.0.1:8082"
    issues_url: Annotated[str, msgspec.Meta(description="Where issues listens.")] = "http://127.0.0.1:8083"
    hooks_url: Annotated[str, msgspec.Meta(description="Where hooks listens.")] = "http://127.0.0.1:8084"
    mail_url: Annotated[str, msgspec.Meta(description="Where mail listens.")] = "http://127.0.0.1:8086"
    accent: Annotated[
        str,
        msgspec.Meta(
            pattern="^(#[0-9a-fA-F]{6} #[0-9a-fA-F]{6})?$",
            description="Colours of links and buttons in light and in dark: `#2a55c4 #8fb3ff`. Each needs a "
            "contrast of 4.5. Empty: blue.",
        ),
    ] = ""
    styleguide: Annotated[
        bool, msgspec.Meta(description="Whether `/-/styleguide` shows every part of which pages are made.")
    ] = False

    def urls(self) -> dict[str, str]:
        """Return the URL of each service whose data pages show."""
        return {
            "identity": self.identity_url,
            "repos": self.repos_url,
            "issues": self.issues_url,
            "hooks": self.hooks_url,
            "mail": self.mail_url,
        }
