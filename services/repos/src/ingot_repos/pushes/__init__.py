"""The journal of pushes: it records each push before refs move, until the change is announced."""
