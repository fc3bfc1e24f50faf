"""The OAuth2 and OpenID Connect provider: applications, grants, codes and tokens."""
