"""The journal of pushes: each change of refs, from the plan to the event."""
