"""The SSH server. It hands each session on to a process that serves repositories."""
