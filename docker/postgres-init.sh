#!/bin/sh
# Run once, by the PostgreSQL image, when its volume is empty: a login for Wharf that is no superuser, and its database.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$WHARF_DATABASE_PASSWORD" --username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE wharf LOGIN CREATEROLE PASSWORD :'password';
CREATE DATABASE wharf OWNER wharf;
SQL
