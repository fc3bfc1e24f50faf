"""Routes of imports from remotes. The API calls imports migrations, so its structs use that word."""
