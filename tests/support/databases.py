"""Databases beside those of the test run, on its server, so that processes do not meet what tests hold."""

from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql


def fresh_database(url: str, name: str) -> str:
    """Create an empty database `name` on the server of `url` and return the URL of the new one."""
    drop_database(url, name)
    with _connect(url) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def drop_database(url: str, name: str) -> None:
    """Remove the database `name`, whoever is still connected to it."""
    with _connect(url) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(urlunsplit(urlsplit(url)._replace(path="/postgres")), autocommit=True)
