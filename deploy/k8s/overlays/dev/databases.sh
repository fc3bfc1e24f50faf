#!/bin/sh
# Run once, by the entrypoint of the image of PostgreSQL: a role and a database for each service that has one, and no
# way from one to the other. The passwords are in IDENTITY_PASSWORD and so on.
set -eu
for service in identity repos issues hooks mail; do
    variable=$(echo "$service" | tr '[:lower:]' '[:upper:]')_PASSWORD
    eval "password=\$$variable"
    psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres --set service="$service" --set password="$password" <<'END'
CREATE ROLE :"service" LOGIN PASSWORD :'password';
CREATE DATABASE :"service" OWNER :"service";
REVOKE ALL ON DATABASE :"service" FROM PUBLIC;
END
done
