"""The configuration of every git process; it overrides the operator's and the repositories' own."""

SCRATCH = "refs/scratch/"
CLOSED_PULLS = "refs/pull/closed/"
HIDDEN_REFS = (SCRATCH, "refs/incoming/", CLOSED_PULLS)
"""Refs of the service itself, which nobody fetches: of a fetch between repositories, of proposed commits (those that became a
pull request are in refs/pull/ as well), of a mirror before its update is complete, and of pull requests that were closed
without a merge."""

PROPOSALS = f"{SCRATCH}proposals/"

# git-config(1). A later entry of a list adds to it; for hideRefs the last match decides (transfer.hideRefs).
CONFIG: tuple[tuple[str, str], ...] = (
    # Paths of repositories are derived from ids only; the volume's owner may differ from the process's.
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
    # What a push brings stays a pack, in which hooks look. Loose objects are in folders, which a packing removes when they are empty,
    # also when git is about to put an object there: that push would fail.
    ("receive.unpackLimit", "1"),
    # What was answered with success is on disk. Objects that come one by one share a flush.
    ("core.fsync", "objects,reference"),
    ("core.fsyncMethod", "batch"),
    # The memory of one pack operation is bounded for any repository.
    ("pack.threads", "2"),
    ("pack.windowMemory", "128m"),
    ("core.bigFileThreshold", "32m"),
    ("uploadpack.allowFilter", "true"),
    # The lines of any object would be the patterns of the filter, and what is sent would show them.
    ("uploadpackfilter.sparse:oid.allow", "false"),
    ("uploadpack.allowAnySHA1InWant", "false"),
    # It tells of every object. git 2.39 offers it whatever this says: see `fetch_requests`.
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
    # The objects of a push wait in quarantine, whose alternate is the repository: its refs are looked at anyway.
    ("core.alternateRefsCommand", "true"),
    # Hostile objects are refused in pushes and fetches; harmless flaws of old histories are allowed.
    ("receive.fsckObjects", "true"),
    ("fetch.fsckObjects", "true"),
    *(
        (f"{command}fsck.{flaw}", "ignore")
        for command in ("receive.", "fetch.", "")
        for flaw in (
            "badTimezone",
            "missingNameBeforeEmail",
            "missingSpaceBeforeDate",
            "missingSpaceBeforeEmail",
            "zeroPaddedFilemode",
            "zeroPaddedDate",
        )
    ),
)

UNFLUSHED_REFS = (("core.fsync", "objects"),)
"""For git that moves many refs: each is a file, and git would flush one after the other. `disk.flush` follows."""
