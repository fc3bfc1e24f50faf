"""Settings of the gateway; the only reader of its environment."""

from typing import Annotated

import msgspec

from ingot_chassis.settings import ServiceSettings


class Settings(ServiceSettings, kw_only=True):
    """What the gateway needs beyond every service's settings."""

    port: Annotated[int, msgspec.Meta(ge=0, le=65535, description="Port to listen on.")] = 3000
    identity_url: Annotated[str, msgspec.Meta(description="Where identity listens.")] = (
        "http://127.0.0.1:8081"
    )
    repos_url: Annotated[str, msgspec.Meta(description="Where repos listens.")] = "http://127.0.0.1:8082"
    issues_url: Annotated[str, msgspec.Meta(description="Where issues listens.")] = "http://127.0.0.1:8083"
    hooks_url: Annotated[str, msgspec.Meta(description="Where hooks listens.")] = "http://127.0.0.1:8084"
    api_body_limit: Annotated[
        int, msgspec.Meta(ge=1, description="Largest body of a call of the API, in bytes; git has no limit.")
    ] = 10_000_000
    api_seconds: Annotated[
        float, msgspec.Meta(gt=0, description="Longest silence of a service during a call of the API.")
    ] = 60.0
    file_seconds: Annotated[
        float, msgspec.Meta(gt=0, description="The same while a raw file or an archive is asked for.")
    ] = 600.0
    git_seconds: Annotated[float, msgspec.Meta(gt=0, description="The same while git fetches or pushes.")] = (
        3600.0
    )
    header_limit: Annotated[int, msgspec.Meta(ge=1, description="Largest number of request headers.")] = 100
    header_bytes_limit: Annotated[
        int, msgspec.Meta(ge=1024, description="Largest size of all request headers together.")
    ] = 32_768
    url_bytes_limit: Annotated[
        int, msgspec.Meta(ge=1024, description="Largest size of path and query together.")
    ] = 16_384
    connect_seconds: Annotated[
        float,
        msgspec.Meta(ge=0, description="How long a service that restarts is tried again before a 502."),
    ] = 1.0
    trusted_proxies: Annotated[
        list[str],
        msgspec.Meta(description="Networks (CIDR) of reverse proxies whose X-Forwarded-For is believed."),
    ] = msgspec.field(default_factory=list)
    credential_seconds: Annotated[
        float,
        msgspec.Meta(ge=0, le=5, description="How long the answer who a credential belongs to is used."),
    ] = 5.0
    description_seconds: Annotated[
        float, msgspec.Meta(ge=0, description="How long the merged API description is used.")
    ] = 60.0

    def urls(self) -> dict[str, str]:
        """Where each service behind the gateway listens."""
        return {
            "identity": self.identity_url,
            "repos": self.repos_url,
            "issues": self.issues_url,
            "hooks": self.hooks_url,
        }
