"""The pages, one module for each kind of thing that they show."""
