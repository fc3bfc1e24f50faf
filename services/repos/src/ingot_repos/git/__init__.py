"""The git room: the only code of the product that imports pygit2 or starts git.

Plain functions over a bare repository and small frozen values. Nothing here knows of HTTP frameworks,
databases, events or permissions; callers decide what may be done, this room knows how.

Functions that take a `pygit2.Repository` block and belong in the thread that opened it (see
`storage.Storage.call`); functions that take a `Path` and are `async` may be awaited from any event loop.
"""
