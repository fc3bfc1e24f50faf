"""Memory that was freed stays with the process, as far as it is needed again in a moment.

glibc gives what is free at the end of its heap back as soon as it is twice the largest block, and takes it again with the next buffer; the
kernel then fills each page anew. That was a quarter of what the SSH server spent on a clone.
"""

import ctypes

MOST_FREE_BYTES = 16 * 1024 * 1024
"""At the end of each heap."""
HEAPS = 2
"""Of all threads together; glibc makes up to eight for each core, and each would keep as much."""
LARGE_BYTES = 4 * 1024 * 1024
"""A block from which on is given back as soon as it is free."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Of mallopt(3)."""


def keep_freed_memory() -> None:
    """Do so from now on. Other C libraries decide for themselves."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, MOST_FREE_BYTES)
        mallopt(_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(_ARENA_MAX, HEAPS)
