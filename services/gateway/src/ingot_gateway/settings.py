"""Settings of the gateway. No other module reads its environment variables."""

from typing import Annotated

import msgspec

from ingot_chassis.settings import ServiceSettings

HEADER_NAME = "^[A-Za-z0-9-]{1,64}$"


class Settings(ServiceSettings, kw_only=True):
    """Settings of the gateway, in addition to the settings of every service."""

    port: Annotated[int, msgspec.Meta(ge=0, le=65535, description="Port to listen on.")] = 3000
    identity_url: Annotated[str, msgspec.Meta(description="Where identity listens.")] = (
        "http://127.0.0.1:8081"
    )
    repos_url: Annotated[str, msgspec.Meta(description="Where repos listens.")] = "http://127.0.0.1:8082"
    issues_url: Annotated[str, msgspec.Meta(description="Where issues listens.")] = "http://127.0.0.1:8083"
    hooks_url: Annotated[str, msgspec.Meta(description="Where hooks listens.")] = "http://127.0.0.1:8084"
    mail_url: Annotated[str, msgspec.Meta(description="Where mail listens.")] = "http://127.0.0.1:8086"
    web_url: Annotated[str, msgspec.Meta(description="Where web listens.")] = "http://127.0.0.1:8085"
    api_body_limit: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            description="Largest body of an API request, in bytes; git and uploads of files have other "
            "limits.",
        ),
    ] = 10_000_000
    api_seconds: Annotated[
        float, msgspec.Meta(gt=0, description="Longest silence of a service during an API request.")
    ] = 60.0
    file_seconds: Annotated[
        float,
        msgspec.Meta(
            gt=0,
            description="Longest silence of a service during a raw file, an archive, a diff or an upload.",
        ),
    ] = 600.0
    git_seconds: Annotated[
        float, msgspec.Meta(gt=0, description="Longest silence of a service during a fetch or push.")
    ] = 3600.0
    client_seconds: Annotated[
        float,
        msgspec.Meta(
            gt=0,
            description="Time for a client to send 16 KiB of a body, or to take a part of an answer. Time "
            "of the service does not count.",
        ),
    ] = 600.0
    header_limit: Annotated[int, msgspec.Meta(ge=1, description="Largest number of request headers.")] = 100
    header_bytes_limit: Annotated[
        int, msgspec.Meta(ge=1024, description="Largest size of all request headers together.")
    ] = 32_768
    url_bytes_limit: Annotated[
        int, msgspec.Meta(ge=1024, description="Largest size of path and query together.")
    ] = 16_384
    trusted_proxies: Annotated[
        list[str],
        msgspec.Meta(
            description="Networks (CIDR) of reverse proxies whose X-Forwarded-For is trusted. Name only "
            "proxies: every host in these networks can claim any address."
        ),
    ] = msgspec.field(default_factory=list)
    proxy_sign_in_networks: Annotated[
        list[str],
        msgspec.Meta(
            description="Networks (CIDR) of reverse proxies that sign people in on pages, by the header "
            "proxy_user_header. Empty: none. Every host in these networks can sign in as anybody. "
            "Name only proxies that set all three headers proxy_*_header themselves, and remove those of "
            "clients."
        ),
    ] = msgspec.field(default_factory=list)
    proxy_user_header: Annotated[
        str,
        msgspec.Meta(
            pattern=HEADER_NAME,
            description="Header with the user name. It reaches no service, also if nothing is trusted.",
        ),
    ] = "Remote-User"
    proxy_email_header: Annotated[
        str,
        msgspec.Meta(
            pattern=HEADER_NAME,
            description="Header with the address. It counts as confirmed: it links an account that has it, "
            "and a new account gets it. The proxy alone may set it.",
        ),
    ] = "Remote-Email"
    proxy_name_header: Annotated[
        str,
        msgspec.Meta(
            pattern=HEADER_NAME,
            description="Header with the full name, for a new account. Also set by the proxy alone.",
        ),
    ] = "Remote-Name"
    credential_seconds: Annotated[
        float,
        msgspec.Meta(ge=0, le=5, description="Time for which the account of a credential is cached."),
    ] = 5.0
    description_seconds: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            description="Time for which the merged API description and the operations behind /version are "
            "cached.",
        ),
    ] = 60.0

    cors_origins: Annotated[
        list[str],
        msgspec.Meta(
            description="Origins (https://cms.example.org) whose pages may use the API in a browser; *: any; "
            "empty: none."
        ),
    ] = msgspec.field(default_factory=list)
    cors_methods: Annotated[list[str], msgspec.Meta(description="Methods that such pages may use.")] = (
        msgspec.field(default_factory=lambda: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
    )
    cors_headers: Annotated[list[str], msgspec.Meta(description="Headers that such pages may send.")] = (
        msgspec.field(
            default_factory=lambda: ["Authorization", "Content-Type", "Sudo", "X-Gitea-OTP", "X-Request-Id"]
        )
    )
    cors_credentials: Annotated[
        bool,
        msgspec.Meta(description="True if browsers may add their own credential (Basic) to such requests."),
    ] = False
    cors_max_age: Annotated[
        int, msgspec.Meta(ge=0, description="Seconds for which a browser caches these permissions.")
    ] = 600

    rate_limit_account: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=1_000_000,
            description="Points of an account in a minute (a read costs 1, a change 5, git 10); 0: no limit.",
        ),
    ] = 0
    rate_limit_token: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=1_000_000,
            description="Points of an access token in a minute, next to those of its account.",
        ),
    ] = 0
    rate_limit_address: Annotated[
        int,
        msgspec.Meta(
            ge=0, le=1_000_000, description="Points of an address in a minute, for anonymous requests."
        ),
    ] = 0

    def urls(self) -> dict[str, str]:
        """Return the URL of each service behind the gateway."""
        return {
            "identity": self.identity_url,
            "repos": self.repos_url,
            "issues": self.issues_url,
            "hooks": self.hooks_url,
            "mail": self.mail_url,
            "web": self.web_url,
        }
