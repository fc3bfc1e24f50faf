"""Git: the only package of the product that imports pygit2 or starts git.

It has plain functions over a bare repository and small immutable values. It uses no HTTP framework, no
database, no events and no permissions: its callers decide what is allowed.

Functions that take a `pygit2.Repository` block. Call them in the thread that opened it (see
`storage.Storage.call`). `async` functions that take a `Path` may be awaited in any event loop.
"""
