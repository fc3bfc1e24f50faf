"""Settings of repos; the only reader of its environment."""

from typing import Annotated

import msgspec

from ingot_chassis.settings import ServiceSettings


class Settings(ServiceSettings, kw_only=True):
    """What repos needs beyond every service's settings."""

    port: Annotated[int, msgspec.Meta(ge=0, le=65535, description="Port to listen on.")] = 8082
    storage_root: Annotated[str, msgspec.Meta(description="Folder that holds the git repositories.")] = ""
    identity_url: Annotated[str, msgspec.Meta(description="Root URL of identity.")] = "http://127.0.0.1:8081"
    shard: Annotated[
        str,
        msgspec.Meta(
            pattern="^[A-Za-z0-9._-]{1,40}$",
            description="Name of the storage shard that this process serves.",
        ),
    ] = "shard-0"
    shards: Annotated[
        dict[str, str],
        msgspec.Meta(
            description="Root URLs of the processes that serve the other shards: name=URL, by comma."
        ),
    ] = msgspec.field(default_factory=dict)
    default_branch: Annotated[
        str, msgspec.Meta(description="Default branch of a new repository whose creator names none.")
    ] = "master"
    max_repositories: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            description="Repositories that a user or an organization may own, unless site administrators make more; "
            "0: no limit.",
        ),
    ] = 0
    job_concurrency: Annotated[
        int, msgspec.Meta(ge=1, le=64, description="Forks and removals that run at once in one process.")
    ] = 4
    git_threads: Annotated[
        int, msgspec.Meta(ge=1, le=128, description="Threads that read repositories for requests.")
    ] = 8
    places_per_caller: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            description="Fetches, pushes, archives, large files, diffs, merges, forks and migrations that one user, or "
            "one address without a user, may have going on at once in one process; 0: no limit.",
        ),
    ] = 16
    archive_cache_bytes: Annotated[
        int, msgspec.Meta(ge=0, description="Room for archives that are kept for the next download; 0: none.")
    ] = 2_000_000_000
    max_push_bytes: Annotated[
        int, msgspec.Meta(ge=0, description="Largest pack that a push may bring; 0: no limit.")
    ] = 2_000_000_000
    push_lease_seconds: Annotated[
        int,
        msgspec.Meta(ge=1, description="Time after which the push of a dead process is finished by another."),
    ] = 20
    sealing_key: Annotated[
        str,
        msgspec.Meta(
            description="Fernet key (32 bytes, base64url) that seals user names and passwords of remotes at rest."
        ),
    ] = ""
    allowed_remotes: Annotated[
        list[str],
        msgspec.Meta(
            description="Remotes that migrations and mirrors may reach beside public addresses at the ports 22, 80, "
            "443 and 9418: networks (10.0.0.0/8), addresses, host names, or names below a domain "
            "(*.example.org), by comma; at any port."
        ),
    ] = msgspec.field(default_factory=list)
    local_remotes: Annotated[
        list[str],
        msgspec.Meta(
            description="Folders below which site administrators may migrate from repositories on this machine's disk."
        ),
    ] = msgspec.field(default_factory=list)
    known_hosts: Annotated[
        str,
        msgspec.Meta(
            description="File with the keys of SSH hosts (sshd(8)) that may be fetched from; `any` checks none. "
            "Empty: no ssh."
        ),
    ] = ""
    remote_authorities: Annotated[
        str,
        msgspec.Meta(
            description="File (PEM) of authorities that the certificates of https remotes may come from, beside those "
            "that this machine trusts."
        ),
    ] = ""
    remote_idle_seconds: Annotated[
        float,
        msgspec.Meta(
            gt=0, description="Time without a sign of life after which fetching from a remote ends."
        ),
    ] = 120.0
    max_remote_bytes: Annotated[
        int, msgspec.Meta(ge=1, description="Most bytes that one migration or sync may bring.")
    ] = 20_000_000_000
    migration_wait_seconds: Annotated[
        float,
        msgspec.Meta(ge=0, le=50, description="Time that the answer to a migration waits for its end."),
    ] = 10.0
    migration_concurrency: Annotated[
        int, msgspec.Meta(ge=1, le=64, description="Migrations that run at once in one process.")
    ] = 2
    mirror_concurrency: Annotated[
        int,
        msgspec.Meta(ge=1, le=64, description="Mirrors that are brought up to date at once in one process."),
    ] = 4
    mirror_interval_seconds: Annotated[
        int, msgspec.Meta(ge=1, description="Time between two syncs of a mirror whose maker names none.")
    ] = 28_800
    mirror_least_seconds: Annotated[
        int, msgspec.Meta(ge=1, description="Shortest time between two syncs that may be asked for.")
    ] = 600
    ssh_host: Annotated[str, msgspec.Meta(description="Host name in SSH clone URLs.")] = "localhost"
    ssh_port: Annotated[int, msgspec.Meta(ge=1, le=65535, description="Port in SSH clone URLs.")] = 22
    ssh_user: Annotated[str, msgspec.Meta(description="User name in SSH clone URLs.")] = "git"
