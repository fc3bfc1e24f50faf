"""An SSH server for git. It forwards each session to a process that serves repositories."""
