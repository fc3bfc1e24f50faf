"""Remote git servers: addresses, credentials, connections and LFS downloads."""
