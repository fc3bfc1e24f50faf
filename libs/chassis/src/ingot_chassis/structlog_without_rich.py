"""Lets structlog find no rich: it imports it in case somebody reads logs in a terminal, and does without it.

That import is a thirtieth of the time in which a process starts, and its tracebacks show the values of variables, so
secrets, too (docs/adr/0014).
"""

import sys

if "rich" not in sys.modules:
    sys.modules["rich"] = None  # type: ignore[assignment]
    import structlog  # noqa: F401

    del sys.modules["rich"]
