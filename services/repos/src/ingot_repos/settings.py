"""Settings of repos. No other module reads its environment variables."""

from typing import Annotated, Literal

import msgspec

from ingot_chassis.http.pictures import MOST_BYTES
from ingot_chassis.settings import ServiceSettings


class Settings(ServiceSettings, kw_only=True):
    """Settings of repos, in addition to the settings of every service."""

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
        str, msgspec.Meta(description="Default branch of a new repository when the request names none.")
    ] = "main"
    avatar_bytes: Annotated[
        int,
        msgspec.Meta(ge=1, le=MOST_BYTES, description="Largest uploaded picture of a repository, in bytes."),
    ] = 1_048_576
    activity_days: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            le=3650,
            description="Days for which activities are kept. A heatmap shows 371 of them at most.",
        ),
    ] = 400
    default_trust_model: Annotated[
        Literal["collaborator", "committer", "collaboratorcommitter"],
        msgspec.Meta(
            description="Default rule for verified signatures, for repositories without their own. "
            "`committer`: keys of the account whose confirmed address the commit has. `collaborator`, "
            "`collaboratorcommitter`: only if this account is also an owner, a collaborator or in a team of "
            "the repository."
        ),
    ] = "committer"
    signing_key: Annotated[
        str,
        msgspec.Meta(
            description="Absolute path of the private key that signs the commits and tags of the server: "
            "armored OpenPGP, or OpenSSH. Empty: it signs none."
        ),
    ] = ""
    signing_key_passphrase: Annotated[str, msgspec.Meta(description="Passphrase of the signing key.")] = ""
    signing_name: Annotated[
        str, msgspec.Meta(description="Name of the server as the committer of what it signs.")
    ] = "Ingot"
    signing_email: Annotated[
        str,
        msgspec.Meta(
            description="Address of the server as the committer of what it signs. Required with a signing "
            "key; an OpenPGP key must name it."
        ),
    ] = ""
    former_signing_keys: Annotated[
        list[str],
        msgspec.Meta(
            description="Absolute paths of former public keys of the server, by comma. Their signatures are "
            "still verified."
        ),
    ] = msgspec.field(default_factory=list)
    statuses_of_commits: Annotated[
        Literal["combined", "list"],
        msgspec.Meta(
            description="Answer of GET /repos/{owner}/{repo}/commits/{ref}/statuses without `page`, "
            "`limit`, `sort` or `state`: `combined`, one object, as in Gitea 1.1; `list`, for later clients "
            "such as Renovate."
        ),
    ] = "combined"
    max_repositories: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            description="Repositories that a user or an organization may own; site administrators may "
            "create more. 0: no limit.",
        ),
    ] = 0
    job_concurrency: Annotated[
        int, msgspec.Meta(ge=1, le=64, description="Forks and removals that run at once in one process.")
    ] = 4
    git_threads: Annotated[
        int, msgspec.Meta(ge=1, le=128, description="Threads that read repositories for requests.")
    ] = 8
    git_concurrency_per_caller: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            description="Fetches, pushes, archives, large files, diffs, merges, forks and imports of one "
            "user that run at once in one process. Anonymous requests count by address. 0: no limit.",
            extra={"aliases": ["places_per_caller"]},
        ),
    ] = 16
    git_concurrency: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            description="Git processes of fetches, pushes, archives and searches through a whole history "
            "that run at once in one process. Anonymous callers get half of them. Further ones wait for at "
            "most 30 s. 0: no limit.",
        ),
    ] = 256
    git_concurrency_per_repository: Annotated[
        int, msgspec.Meta(ge=0, description="Git processes of one repository that run at once; 0: no limit.")
    ] = 64
    archive_cache_bytes: Annotated[
        int, msgspec.Meta(ge=0, description="Size of the cache of archives in bytes; 0: no cache.")
    ] = 2_000_000_000
    fetch_cache_bytes: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            description="Most bytes of packs that one process keeps on the volume and shares between equal "
            "fetches. 0: git runs for each fetch.",
        ),
    ] = 1_000_000_000
    bundle_min_bytes: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            description="Least size in bytes of a repository that has a file for clones with "
            "transfer.bundleURI. The file is made once a day and has most of the repository. 0: never.",
        ),
    ] = 100_000_000
    max_push_bytes: Annotated[
        int,
        msgspec.Meta(
            ge=0, description="Size of the largest pack that a push may have, in bytes; 0: no limit."
        ),
    ] = 4_294_967_296
    max_file_bytes: Annotated[
        int,
        msgspec.Meta(
            ge=0, description="Size of the largest file that a push may bring, in bytes; 0: no limit."
        ),
    ] = 0
    max_git_memory_bytes: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            description="Most bytes of private memory of one git process, without mapped packs. It is for "
            "fetches, pushes, archives, large files and searches through a history. 0: no limit.",
        ),
    ] = 2_000_000_000
    max_asset_bytes: Annotated[
        int, msgspec.Meta(ge=1, description="Size of the largest file that a release may have, in bytes.")
    ] = 2_147_483_648
    max_release_assets: Annotated[
        int, msgspec.Meta(ge=1, le=1000, description="Files that one release may have.")
    ] = 500
    asset_types: Annotated[
        list[str],
        msgspec.Meta(
            description="Allowed endings of names of release files (.zip, .tar.gz), by comma; empty: all."
        ),
    ] = msgspec.field(default_factory=list)
    max_lfs_object_bytes: Annotated[
        int, msgspec.Meta(ge=1, description="Size of the largest object that LFS stores, in bytes.")
    ] = 5_368_709_120
    max_lfs_owner_bytes: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            description="Bytes that all repositories of a user or an organization together may store with "
            "LFS. Each object counts once. 0: no limit.",
        ),
    ] = 0
    prune_seconds: Annotated[
        int,
        msgspec.Meta(
            ge=3600, description="Time after which objects that no branch or tag needs any more are removed."
        ),
    ] = 1_209_600
    push_lease_seconds: Annotated[
        int,
        msgspec.Meta(
            ge=1, description="Time after which another process settles the push of a process that died."
        ),
    ] = 8
    sealing_key: Annotated[
        str,
        msgspec.Meta(
            description="Fernet key (32 bytes, base64url) that encrypts stored user names and passwords of "
            "remotes."
        ),
    ] = ""
    allowed_remotes: Annotated[
        list[str],
        msgspec.Meta(
            description="Remotes that imports and mirrors may reach at any port: networks (10.0.0.0/8), "
            "addresses, host names, or names below a domain (*.example.org), by comma. Public addresses are "
            "always allowed at the ports 22, 80, 443 and 9418."
        ),
    ] = msgspec.field(default_factory=list)
    refused_remotes: Annotated[
        list[str],
        msgspec.Meta(
            description="Servers that imports and mirrors never reach, even if another rule allows them: "
            "host:port, by comma. Add the gateway, web, hooks and issues. The database, NATS, the store, "
            "file storage, identity, shards and repos itself are always refused."
        ),
    ] = msgspec.field(default_factory=list)
    local_remotes: Annotated[
        list[str],
        msgspec.Meta(
            description="Folders of this machine from which site administrators may import repositories."
        ),
    ] = msgspec.field(default_factory=list)
    known_hosts: Annotated[
        str,
        msgspec.Meta(
            description="File with the keys of SSH hosts (format of sshd(8)) from which may be fetched; "
            "`any` checks none. Empty: no ssh."
        ),
    ] = ""
    remote_authorities: Annotated[
        str,
        msgspec.Meta(
            description="File (PEM) of authorities that are trusted for https remotes, in addition to those "
            "of this machine."
        ),
    ] = ""
    remote_idle_seconds: Annotated[
        float,
        msgspec.Meta(gt=0, description="Time without data after which a fetch from a remote is cancelled."),
    ] = 120.0
    max_remote_bytes: Annotated[
        int, msgspec.Meta(ge=1, description="Most bytes that one import or sync may fetch.")
    ] = 20_000_000_000
    max_organization_export_bytes: Annotated[
        int, msgspec.Meta(ge=1, description="Most bytes of the archive of an organization.")
    ] = 200_000_000_000
    migration_wait_seconds: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            le=50,
            description="Time for which the answer to the request of an import waits for its end.",
        ),
    ] = 10.0
    fork_wait_seconds: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            le=50,
            description="Time for which the answer to the request of a fork waits for its commits.",
        ),
    ] = 10.0
    proposal_wait_seconds: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            le=50,
            description="Time for which a push to refs/for/ waits for the number of its pull request.",
        ),
    ] = 5.0
    migration_concurrency: Annotated[
        int, msgspec.Meta(ge=1, le=64, description="Imports that run at once in one process.")
    ] = 2
    mirror_concurrency: Annotated[
        int,
        msgspec.Meta(ge=1, le=64, description="Mirrors that are synced at once in one process."),
    ] = 4
    mirror_interval_seconds: Annotated[
        int,
        msgspec.Meta(ge=1, description="Time between two syncs of a mirror that has no interval of its own."),
    ] = 28_800
    mirror_least_seconds: Annotated[
        int, msgspec.Meta(ge=1, description="Shortest interval between two syncs that users may set.")
    ] = 600
    ssh_host: Annotated[
        str,
        msgspec.Meta(
            description="Host name in SSH clone URLs; empty: no port listens for SSH, and no SSH URL is "
            "shown."
        ),
    ] = ""
    ssh_listen_host: Annotated[
        str, msgspec.Meta(description="Address on which `ingot-repos ssh` listens.")
    ] = "127.0.0.1"
    ssh_listen_port: Annotated[
        int, msgspec.Meta(ge=0, le=65535, description="Port on which `ingot-repos ssh` listens.")
    ] = 2222
    ssh_upstream: Annotated[
        str,
        msgspec.Meta(
            description="Root URL of a process `ingot-repos serve`, to which `ingot-repos ssh` forwards "
            "sessions."
        ),
    ] = "http://127.0.0.1:8082"
    ssh_login_seconds: Annotated[
        float, msgspec.Meta(gt=0, description="Time that a client of SSH has to sign in.")
    ] = 30.0
    ssh_idle_seconds: Annotated[
        float,
        msgspec.Meta(
            gt=0,
            description="Time without data after which an SSH connection is closed. Less than 16 KiB from "
            "the client count as no data.",
        ),
    ] = 600.0
    ssh_handshakes: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            description="SSH connections of one process that may be at the sign-in at once. One address "
            "gets half of them. 0: no limit.",
        ),
    ] = 64
    ssh_connections_per_address: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            description="SSH connections of one address at once in one process. 0: no limit; set it if a "
            "load balancer hides the addresses.",
        ),
    ] = 64
    ssh_sessions_per_key: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            description="Sessions of SSH that may run at once with one key in one process; 0: no limit.",
        ),
    ] = 16
    ssh_port: Annotated[int, msgspec.Meta(ge=1, le=65535, description="Port in SSH clone URLs.")] = 22
    ssh_user: Annotated[str, msgspec.Meta(description="User name in SSH clone URLs.")] = "git"

    @property
    def max_git_memory(self) -> int | None:
        """Return the limit of private memory in bytes for each git process of a client.

        None means no limit.
        """
        return self.max_git_memory_bytes or None
