"""Settings of repos; the only reader of its environment."""

from typing import Annotated

import msgspec

from ingot_chassis.settings import ServiceSettings


class Settings(ServiceSettings, kw_only=True):
    """What repos needs beyond every service's settings."""

    port: Annotated[int, msgspec.Meta(ge=0, le=65535, description="Port to listen on.")] = 8082
    storage_root: Annotated[str, msgspec.Meta(description="Folder that holds the git repositories.")] = ""
    identity_url: Annotated[str, msgspec.Meta(description="Root URL of identity.")] = "http://127.0.0.1:8081"
    shard: Annotated[str, msgspec.Meta(description="Name of the storage shard that this process serves.")] = (
        "shard-0"
    )
    default_branch: Annotated[
        str, msgspec.Meta(description="Default branch of a new repository whose creator names none.")
    ] = "master"
    job_concurrency: Annotated[
        int, msgspec.Meta(ge=1, le=64, description="Forks and removals that run at once in one process.")
    ] = 4
    git_threads: Annotated[
        int, msgspec.Meta(ge=1, le=128, description="Threads that read repositories for requests.")
    ] = 8
    max_push_bytes: Annotated[
        int, msgspec.Meta(ge=0, description="Largest pack that a push may bring; 0: no limit.")
    ] = 2_000_000_000
    push_lease_seconds: Annotated[
        int,
        msgspec.Meta(ge=1, description="Time after which the push of a dead process is finished by another."),
    ] = 20
    ssh_host: Annotated[str, msgspec.Meta(description="Host name in SSH clone URLs.")] = "localhost"
    ssh_port: Annotated[int, msgspec.Meta(ge=1, le=65535, description="Port in SSH clone URLs.")] = 22
    ssh_user: Annotated[str, msgspec.Meta(description="User name in SSH clone URLs.")] = "git"
