"""Background work of hooks: sending deliveries, checking permissions, dropping old history, measuring the lag."""
