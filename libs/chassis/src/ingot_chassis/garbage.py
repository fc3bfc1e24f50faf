"""When a process collects garbage: not while it starts."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """What is made in the block is there to stay: to look through it again and again took a tenth of the time of a start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # nor does a later collection look at it
        gc.enable()
