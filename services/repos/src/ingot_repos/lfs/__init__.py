"""Git LFS: the protocol over HTTP and SSH, file locks and object storage."""
