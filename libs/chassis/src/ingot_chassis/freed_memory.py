"""Keeps freed memory in the process for reuse.

glibc returns free memory at the end of its heap when it is twice as large as the largest block. The next
buffer requests it again, and the kernel clears each page. That took a quarter of the SSH server's time during
a clone.
"""

import ctypes

MOST_FREE_BYTES = 16 * 1024 * 1024
"""Free bytes that each heap keeps at its end."""
HEAPS = 2
"""Maximum number of heaps of all threads. glibc would create up to eight per core."""
LARGE_BYTES = 4 * 1024 * 1024
"""Bytes from which a block is returned as soon as it is free."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Constants of mallopt(3)."""


def keep_freed_memory() -> None:
    """Keep freed memory from now on. Does nothing with C libraries other than glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, MOST_FREE_BYTES)
        mallopt(_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(_ARENA_MAX, HEAPS)
