"""A database and a Valkey number of our own on the session's servers, so that processes meet no other tests."""

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import environ
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo


def fresh_database(url: str, name: str) -> str:
    """Create an empty database `name` on the server of `url` and return the URL of the new one."""
    with _connect(url) as connection:
        target = sql.Identifier(name)
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(target))
        connection.execute(sql.SQL("CREATE DATABASE {}").format(target))
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def drop_database(url: str, name: str) -> None:
    """Remove the database `name`, whoever is still connected to it."""
    with _connect(url) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def numbered(url: str, number: int) -> str:
    """The URL of the Valkey database `number` on the server of `url` (TCP or Unix socket)."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        query = {**dict(parse_qsl(parts.query)), "db": str(number)}
        return urlunsplit(parts._replace(query=urlencode(query)))
    return urlunsplit(parts._replace(path=f"/{number}"))


def _connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    found = environ.Env.db_url_config(url)
    names = {"USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    options = {keyword: str(found[key]) for key, keyword in names.items() if found.get(key)}
    return psycopg.connect(make_conninfo(dbname="postgres", **options), autocommit=True)
