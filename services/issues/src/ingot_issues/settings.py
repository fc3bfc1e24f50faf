"""Settings of issues. No other module reads its environment variables."""

from typing import Annotated

import msgspec

from ingot_chassis.settings import ServiceSettings


class Settings(ServiceSettings, kw_only=True):
    """Settings of issues, in addition to the shared ones."""

    port: Annotated[int, msgspec.Meta(ge=0, le=65535, description="Port to listen on.")] = 8083
    identity_url: Annotated[str, msgspec.Meta(description="Where identity answers.")] = (
        "http://127.0.0.1:8081"
    )
    repos_url: Annotated[str, msgspec.Meta(description="Where repos answers.")] = "http://127.0.0.1:8082"
    worker_concurrency: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            le=100,
            description="Jobs that run in parallel: checks of pull requests, notifications, references to "
            "other repositories.",
        ),
    ] = 8
    anonymous_markdown: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            description="Characters of a text that is rendered as markdown for anonymous callers.",
        ),
    ] = 32768
