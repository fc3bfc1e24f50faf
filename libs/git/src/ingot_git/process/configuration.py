"""The configuration of every git process. It overrides the operator's and the repositories' configuration."""

SCRATCH = "refs/scratch/"
CLOSED_PULLS = "refs/pull/closed/"
HIDDEN_REFS = (SCRATCH, "refs/incoming/", CLOSED_PULLS)
"""Internal refs of the service, which clients cannot fetch.

They belong to fetches between repositories, proposed commits, unfinished mirror updates, and pull requests
closed without a merge. A proposed commit that became a pull request also has a ref in
refs/pull/.
"""

PROPOSALS = f"{SCRATCH}proposals/"

_HARMLESS = (
    "badTimezone",
    "missingNameBeforeEmail",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "zeroPaddedFilemode",
    "zeroPaddedDate",
)
"""Flaws that old histories have."""
SEVERITIES = (*((flaw, "ignore") for flaw in _HARMLESS), ("gitattributesSymlink", "error"))
"""Severities of flaws in received objects that differ from git's defaults (git-fsck(1))."""

# git-config(1). A later entry of a list adds to it; for hideRefs the last match decides (transfer.hideRefs).
CONFIG: tuple[tuple[str, str], ...] = (
    # The service derives repository paths from ids only. The volume may have another owner than the process.
    ("safe.directory", "*"),
    # Nothing inside a repository is ever executed.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("credential.helper", ""),
    ("http.followRedirects", "false"),
    # Maintenance is scheduled by the service; no request starts it.
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("receive.autogc", "false"),
    # The objects of a push stay in one pack, which hooks inspect. git removes empty folders of loose objects
    # during a repack. If a push were about to write into such a folder, it would fail.
    ("receive.unpackLimit", "1"),
    # Data is on disk before success is reported. Objects that arrive one by one share a flush.
    ("core.fsync", "objects,reference"),
    ("core.fsyncMethod", "batch"),
    # The memory of one pack operation is bounded for any repository.
    ("pack.threads", "2"),
    ("pack.windowMemory", "128m"),
    ("core.bigFileThreshold", "32m"),
    ("uploadpack.allowFilter", "true"),
    # The filter would read its patterns from any object, and the sent objects would disclose them.
    ("uploadpackfilter.sparse:oid.allow", "false"),
    ("uploadpack.allowAnySHA1InWant", "false"),
    # object-info discloses every object. git 2.39 offers it in spite of this setting: see `fetch_requests`.
    ("transfer.advertiseObjectInfo", "false"),
    *(("uploadpack.hideRefs", prefix.removesuffix("/")) for prefix in HIDDEN_REFS),
    # Pushers may change branches, tags and notes; refs/pull/ and all others belong to the service.
    ("receive.hideRefs", "refs"),
    ("receive.hideRefs", "!refs/heads"),
    ("receive.hideRefs", "!refs/tags"),
    ("receive.hideRefs", "!refs/notes"),
    ("receive.denyDeletes", "false"),
    ("receive.denyNonFastForwards", "false"),
    ("receive.advertisePushOptions", "true"),
    # The objects of a push are in quarantine with the repository as alternate; git reads its refs anyway.
    ("core.alternateRefsCommand", "true"),
    # Reject malicious objects in pushes and fetches; allow harmless flaws of old histories.
    ("receive.fsckObjects", "true"),
    ("fetch.fsckObjects", "true"),
    *(
        (f"{command}.fsck.{flaw}", severity)
        for command in ("receive", "fetch")
        for flaw, severity in SEVERITIES
    ),
    # Flaws that a repository already contains are no damage.
    *((f"fsck.{flaw}", "ignore") for flaw in _HARMLESS),
)

UNFLUSHED_REFS = (("core.fsync", "objects"),)
"""For git processes that move many refs: each ref is a file, and git would flush them one by one.

Call `disk.flush` afterwards.
"""
