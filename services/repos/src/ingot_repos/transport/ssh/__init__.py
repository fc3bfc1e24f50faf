"""The SSH server. It forwards each session to a process that serves repositories."""
