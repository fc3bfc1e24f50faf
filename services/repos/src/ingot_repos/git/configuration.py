"""The configuration of every git process: the operator's and the repositories' own decide nothing."""

# git-config(1). A later entry of a list adds to it; for hideRefs the last match decides (transfer.hideRefs).
CONFIG: tuple[tuple[str, str], ...] = (
    # Repositories are reached by id-derived paths only; the volume's owner may differ from the process's.
    ("safe.directory", "*"),
    # Nothing inside a repository is ever executed.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("credential.helper", ""),
    ("http.followRedirects", "false"),
    # Maintenance is scheduled by the service, never a side effect of somebody's request.
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("receive.autogc", "false"),
    # Memory of one pack operation stays bounded whatever the repository looks like.
    ("pack.threads", "2"),
    ("pack.windowMemory", "128m"),
    ("core.bigFileThreshold", "32m"),
    ("uploadpack.allowFilter", "true"),
    ("uploadpack.allowAnySHA1InWant", "false"),
    # What is under way between repositories, or not yet a mirror's, is nobody's to fetch.
    ("uploadpack.hideRefs", "refs/scratch"),
    ("uploadpack.hideRefs", "refs/incoming"),
    # Pushers reach branches, tags and notes; refs/pull/ and all else is the service's own.
    ("receive.hideRefs", "refs"),
    ("receive.hideRefs", "!refs/heads"),
    ("receive.hideRefs", "!refs/tags"),
    ("receive.hideRefs", "!refs/notes"),
    ("receive.denyDeletes", "false"),
    ("receive.denyNonFastForwards", "false"),
    ("receive.advertisePushOptions", "false"),
    # Hostile objects are refused at both doors; flaws of honest old histories are let in.
    ("receive.fsckObjects", "true"),
    ("fetch.fsckObjects", "true"),
    *(
        (f"{door}.fsck.{flaw}", "ignore")
        for door in ("receive", "fetch")
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
