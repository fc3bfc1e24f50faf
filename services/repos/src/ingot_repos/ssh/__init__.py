"""The SSH server: speaks SSH with clients, and hands each session of git on to a process that serves repositories."""
