"""System checks of the configuration: each mistake has an id, says what is wrong and what would be right."""

import sys
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from kombu import Connection
from redis import ConnectionPool

from config.backend_checks import check_backends
from config.logging import FORMATS, LEVELS
from config.mail import mail_mistakes
from config.seal_keys import seal_key_mistakes
from config.search_checks import check_embedding, check_vectors
from config.sign_in import oidc_mistakes
from config.starting_limits import starting_limit_mistakes
from config.variables import mistakes
from responses_api.protocol.egress import egress_mistakes
from responses_api.services.hosted import added
from tenants.addresses import UNIX_SOCKET, read_network


def check_secret_key(**_: Any) -> list[CheckMessage]:
    """antiphon.W001: without a SECRET_KEY of its own a process signs sessions that no other one knows."""
    if not settings.INSECURE_SECRET_KEY:
        return []
    return [
        Warning(
            "SECRET_KEY is not set; this process made one up, and sessions end with it. So does what is sealed,"
            " where ANTIPHON_SEAL_KEYS is not set either.",
            hint="Set SECRET_KEY to 50 or more random characters, the same in every process.",
            id="antiphon.W001",
        )
    ]


def check_database(**_: Any) -> list[CheckMessage]:
    """antiphon.E001: only PostgreSQL has what the tenant scope and the chains need."""
    engine = settings.DATABASE_ENGINE
    if engine == "django.db.backends.postgresql":
        return []
    return [
        Error(
            f"DATABASE_URL names {engine or 'no database'}.",
            hint="Set it to a PostgreSQL database: postgres://user:password@host:5432/name",
            id="antiphon.E001",
        )
    ]


def check_valkey(**_: Any) -> list[CheckMessage]:
    """antiphon.E002: the event log needs the address of a Valkey or Redis, written as its client reads it."""
    if _is_valkeys(settings.VALKEY_URL):
        return []
    return [
        Error(
            "VALKEY_URL is not the address of a Valkey or Redis server.",
            hint="Set it to one, with this scheme for Valkey, too: redis://:password@host:6379/0 "
            "(rediss:// with TLS, unix:///path/to/socket).",
            id="antiphon.E002",
        )
    ]


def _is_valkeys(url: str) -> bool:
    try:
        ConnectionPool.from_url(url)  # connects to nothing yet
    except ValueError:
        return False
    address = urlsplit(url)
    return address.scheme != "unix" or bool(address.path)


def check_broker(**_: Any) -> list[CheckMessage]:
    """antiphon.E006: a broker that Celery has a transport for. Without an address of its own it is Valkey's."""
    if _is_brokers(settings.CELERY_BROKER_URL):
        return []
    return [
        Error(
            "Celery knows no such broker: CELERY_BROKER_URL, which is VALKEY_URL where it is not set.",
            hint="Set it to redis://:password@host:6379/0, amqp://user:password@host:5672// or, "
            "where VALKEY_URL is unix:///path/to/socket, redis+socket:///path/to/socket.",
            id="antiphon.E006",
        )
    ]


def _is_brokers(url: str) -> bool:
    try:
        return "://" in url and Connection(url).get_transport_cls() is not None
    except (KeyError, ValueError, ImportError):
        return False


def check_variables(**_: Any) -> list[CheckMessage]:
    """antiphon.E003: a number that is not above zero, a switch neither on nor off, a choice that there is not."""
    return [
        Error(
            mistake, hint="Its default is used until it is right; README.md lists both.", id="antiphon.E003"
        )
        for mistake in mistakes
    ]


_SEAL_KEYS_HINT = "Set it to keys, newest first, separated by commas, each made by: openssl rand -base64 32"


def check_seal_keys(**_: Any) -> list[CheckMessage]:
    """antiphon.E008: an entry of ANTIPHON_SEAL_KEYS that is no key."""
    return [Error(mistake, hint=_SEAL_KEYS_HINT, id="antiphon.E008") for mistake in seal_key_mistakes]


def check_signup_limits(**_: Any) -> list[CheckMessage]:
    """antiphon.E012: an entry of ANTIPHON_SIGNUP_LIMITS that is no limit."""
    hint = "Set it to pairs, separated by commas, for example: requests_per_minute=60,cost_per_month=20.00"
    return [Error(mistake, hint=hint, id="antiphon.E012") for mistake in starting_limit_mistakes]


def check_own_seal_keys(**_: Any) -> list[CheckMessage]:
    """antiphon.W004, with `--deploy`: what is sealed must not hang on the key that signs sessions."""
    if settings.SEAL_KEYS:
        return []
    return [
        Warning(
            "ANTIPHON_SEAL_KEYS is not set: the key that seals reasoning state and compactions is made from"
            " SECRET_KEY, and a new SECRET_KEY makes them unreadable.",
            hint=_SEAL_KEYS_HINT,
            id="antiphon.W004",
        )
    ]


def check_trusted_proxies(**_: Any) -> list[CheckMessage]:
    """antiphon.E009: an entry of ANTIPHON_TRUSTED_PROXIES that is no network, or that is every address."""
    messages: list[CheckMessage] = []
    for entry in settings.TRUSTED_PROXIES:
        if entry == UNIX_SOCKET:
            continue
        try:
            is_everybody = read_network(entry).prefixlen == 0
        except ValueError as error:
            messages.append(_bad_proxy(f"ANTIPHON_TRUSTED_PROXIES: {error}"))
        else:
            if is_everybody:
                messages.append(
                    _bad_proxy(
                        f"ANTIPHON_TRUSTED_PROXIES holds {entry}, every address: any client could choose its own."
                    )
                )
    return messages


def _bad_proxy(mistake: str) -> CheckMessage:
    hint = (
        "List the addresses or networks of your own proxies, and unix for those that come by a unix socket."
    )
    return Error(mistake, hint=hint, id="antiphon.E009")


def check_egress(**_: Any) -> list[CheckMessage]:
    """antiphon.E014: an entry of ANTIPHON_EGRESS_ALLOW that is neither a network nor a host, or that is everything."""
    hint = "List networks, addresses and hosts: 10.1.0.0/16, 10.2.0.7, mcp.internal, *.internal, mcp.internal:8080"
    return [
        Error(f"ANTIPHON_EGRESS_ALLOW: {mistake}.", hint=hint, id="antiphon.E014")
        for mistake in egress_mistakes(settings.EGRESS_ALLOW)
    ]


def check_hosted_tools(**_: Any) -> list[CheckMessage]:
    """antiphon.W007: an installed package adds a tool that cannot be used. The service does without it."""
    hint = "Mend or remove the package: ARCHITECTURE.md shows what a tool is."
    return [Warning(mistake, hint=hint, id="antiphon.W007") for mistake in added().mistakes]


def check_mail(**_: Any) -> list[CheckMessage]:
    """antiphon.E010, W006: mails cannot leave, or nobody has said how. Sign-up, invitation and reset need them."""
    hint = "Set it to smtp+tls://user:password@host:587 (smtp:// without TLS, filemail:///folder for files)."
    if mail_mistakes:
        return [Error(mistake, hint=hint, id="antiphon.E010") for mistake in mail_mistakes]
    if settings.EMAIL_URL_IS_SET or settings.SIGNUP == "closed":
        return []
    return [
        Warning(
            f"EMAIL_URL is not set: sign-up is '{settings.SIGNUP}', and its mails go to a server on this machine.",
            hint=f"{hint} ANTIPHON_SIGNUP=closed lets nobody sign up.",
            id="antiphon.W006",
        )
    ]


def check_sign_in(**_: Any) -> list[CheckMessage]:
    """antiphon.E011: a provider to sign in by that is half configured."""
    hint = (
        "Set ANTIPHON_OIDC_ISSUER to the address that /.well-known/openid-configuration is below (https, or http on"
        " this machine), ANTIPHON_OIDC_CLIENT_ID and ANTIPHON_OIDC_CLIENT_SECRET to what the provider gave; or none."
    )
    return [Error(mistake, hint=hint, id="antiphon.E011") for mistake in oidc_mistakes]


def check_conformance(**_: Any) -> list[CheckMessage]:
    """antiphon.E013: routes are to be checked on schedule, and nobody has said where the service is."""
    address = settings.CONFORMANCE_URL
    if not address and settings.CONFORMANCE_HOURS is None:
        return []
    if urlsplit(address).scheme in ("http", "https") and urlsplit(address).netloc:
        return []
    return [
        Error(
            "ANTIPHON_CONFORMANCE_URL is not the address of this service, which the workers check its routes at.",
            hint="Set it to what clients are told, as the workers reach it: http://127.0.0.1:8000/v1",
            id="antiphon.E013",
        )
    ]


def check_logs(**_: Any) -> list[CheckMessage]:
    """antiphon.E004: how much is logged, and how."""
    messages: list[CheckMessage] = []
    if settings.LOG_LEVEL not in LEVELS:
        hint = f"Set it to one of {', '.join(LEVELS)}."
        messages.append(Error(f"LOG_LEVEL is {settings.LOG_LEVEL}.", hint=hint, id="antiphon.E004"))
    if settings.LOG_FORMAT not in FORMATS:
        hint = f"Set it to one of {', '.join(FORMATS)}."
        messages.append(Error(f"LOG_FORMAT is {settings.LOG_FORMAT}.", hint=hint, id="antiphon.E004"))
    return messages


def check_live_database(databases: Any = None, **_: Any) -> list[CheckMessage]:
    """antiphon.E007, or what the database tells once it answers. Runs with `--database default`."""
    if not databases or check_database():
        return []
    try:
        connection.ensure_connection()
    except OperationalError as error:
        reason = " ".join(str(error).split())  # the driver's, over several lines; it names no password
        return [
            Error(
                f"The database does not answer: {reason}",
                hint="Is `make run` running? Without it, set DATABASE_URL to a PostgreSQL server that is.",
                id="antiphon.E007",
            )
        ]
    return [*_check_role(), *_check_migrations(), *check_backends(), *check_vectors()]


def _check_migrations() -> list[CheckMessage]:
    """antiphon.W005: tables of another version. No error, or `migrate`, which runs the checks, could not mend it."""
    if "migrate" in sys.argv[1:2]:
        return []
    executor = MigrationExecutor(connection)
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return []
    return [
        Warning(
            "The database does not have the tables of this version yet.",
            hint="Run manage.py migrate.",
            id="antiphon.W005",
        )
    ]


def _check_role() -> list[CheckMessage]:
    """antiphon.E005: a role that row-level security does not bind."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolname FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)"
        )
        unbound = cursor.fetchone()
    if unbound is None:
        return []
    return [
        Error(
            f"The database role '{unbound[0]}' bypasses row-level security, the second wall between tenants.",
            hint="Use a role that owns the database and is neither a superuser nor has BYPASSRLS: "
            "CREATE ROLE antiphon LOGIN NOSUPERUSER NOBYPASSRLS",
            id="antiphon.E005",
        )
    ]


def register_all() -> None:
    """Register every check of this module."""
    for check in (check_secret_key, check_database, check_valkey, check_broker, check_variables, check_logs):
        register(check)
    for check in (check_seal_keys, check_trusted_proxies, check_mail, check_sign_in, check_signup_limits):
        register(check)
    register(check_conformance)
    register(check_egress)
    register(check_embedding)
    register(check_hosted_tools)
    register(check_own_seal_keys, deploy=True)
    register(check_live_database, Tags.database)
