"""Clients of remote servers: their APIs and LFS servers. Also archives with the data of such servers."""
