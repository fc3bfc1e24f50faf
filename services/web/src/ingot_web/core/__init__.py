"""What a page shows and how, without HTTP."""
