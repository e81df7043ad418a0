"""The one settings file: every deployment difference is an environment variable.

Values come from, in this order: the process environment, `.env` beside `manage.py`, and `var/run.env`, which
`make run` writes with the addresses of the parts it started. Mistakes are reported by `manage.py check`
(`config/checks.py`), not by a traceback at import.
"""

import os
import sys
from operator import attrgetter
from pathlib import Path
from urllib.parse import quote

import environ
from django.templatetags.static import static
from django.urls import reverse_lazy

from config.mail import NOWHERE, mail_settings
from config.seal_keys import read_seal_keys
from config.sign_in import oidc_apps
from config.starting_limits import read_starting_limits
from config.variables import choice, positive, positive_or_none, positive_or_off, switch

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
ENV_FILES = (BASE_DIR / ".env", BASE_DIR / "var" / "run.env")
ENV_FILES_IN_USE = () if switch("ANTIPHON_IGNORE_ENV_FILES", default=False) else ENV_FILES
_given = frozenset(os.environ)
for _file in ENV_FILES_IN_USE:
    if _file.is_file() and os.access(_file, os.R_OK):
        env.read_env(_file)
ENV_FILE_NAMES = frozenset(os.environ) - _given  # what the files told; who cares for news reads them again

# --- web ------------------------------------------------------------------------------------------
DEBUG = switch("DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="")
INSECURE_SECRET_KEY = not SECRET_KEY
if INSECURE_SECRET_KEY:
    # Good enough for `check` and `migrate`; sessions end with the process. `check` says so (antiphon.W001).
    SECRET_KEY = os.urandom(32).hex()
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
TRUSTED_PROXIES = [
    entry.strip() for entry in env.list("ANTIPHON_TRUSTED_PROXIES", default=[]) if entry.strip()
]
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
SECURE_PROXY_SSL_HEADER = (
    ("HTTP_X_FORWARDED_PROTO", "https") if switch("BEHIND_TLS_PROXY", default=False) else None
)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = switch("BEHIND_TLS_PROXY", default=False)
APPEND_SLASH = False  # a trailing slash never changes the meaning: every route accepts both spellings

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
WSGI_APPLICATION = None

INSTALLED_APPS = [
    "daphne",
    "unfold.apps.BasicAppConfig",
    "tenants.apps.SiteConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "rest_framework",
    "drf_spectacular_sidecar",  # the files of the viewer at /docs
    "channels",
    "config.apps.ConfigConfig",
    "tenants",
    "responses_api",
]

MIDDLEWARE = [
    "responses_api.http.connections.ReturnConnectionMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "responses_api.http.request_id.RequestIdMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "tenants.admin.host.AdminHostMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "tenants.accounts.middleware.AccountPagesMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "tenants.site.scope.AdminScopeMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

STATIC_URL = "/static/"
STATIC_ROOT = env.str("STATIC_ROOT", default="") or None  # for who wants `collectstatic` and another server
WHITENOISE_USE_FINDERS = True  # serves the admin's files without a `collectstatic` step
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- accounts -------------------------------------------------------------------------------------
SIGNUP = choice("ANTIPHON_SIGNUP", ("invitation", "open", "closed"))
INVITATION_DAYS = positive(env.float, "ANTIPHON_INVITATION_DAYS", 7.0)
EMAIL_URL_IS_SET = bool(env.str("EMAIL_URL", default=""))
_mail = mail_settings(env.str("EMAIL_URL", default="") or NOWHERE)
EMAIL_BACKEND, EMAIL_FILE_PATH = _mail["EMAIL_BACKEND"], _mail["EMAIL_FILE_PATH"]
EMAIL_HOST, EMAIL_PORT = _mail["EMAIL_HOST"], _mail["EMAIL_PORT"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail["EMAIL_HOST_USER"], _mail["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS, EMAIL_USE_SSL = _mail.get("EMAIL_USE_TLS", False), _mail.get("EMAIL_USE_SSL", False)
EMAIL_TIMEOUT = positive(env.float, "ANTIPHON_EMAIL_SECONDS", 10.0)
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="Antiphon <antiphon@localhost>")

AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "/accounts/login/", "/admin/", "/"
PASSWORD_RESET_TIMEOUT = 24 * 60 * 60
SESSION_COOKIE_AGE = 14 * 24 * 60 * 60
ACCOUNT_ADAPTER = "tenants.accounts.adapter.AccountAdapter"
ACCOUNT_FORMS = {"signup": "tenants.accounts.forms.SignupForm"}
ACCOUNT_LOGIN_METHODS = {"email", "username"}  # operators made by `createsuperuser` have a user name
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_CHANGE_EMAIL = True  # an account has one address; another one takes its place once it is verified
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = True  # in the browser that signed up, and in no other
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_RATE_LIMITS = {"invite": "20/m/user,100/d/user"}
ACCOUNT_USER_DISPLAY = attrgetter("email")
SOCIALACCOUNT_ADAPTER = "tenants.accounts.social.SocialAdapter"
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "APPS": oidc_apps(
            name=env.str("ANTIPHON_OIDC_NAME", default="") or "single sign-on",
            issuer=env.str("ANTIPHON_OIDC_ISSUER", default=""),
            client_id=env.str("ANTIPHON_OIDC_CLIENT_ID", default=""),
            secret=env.str("ANTIPHON_OIDC_CLIENT_SECRET", default=""),
        )
    }
}
# Who has verified an address at the provider is its owner here, too; one that is not called verified proves nothing.
SOCIALACCOUNT_EMAIL_AUTHENTICATION = True
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True

# --- shared engines -------------------------------------------------------------------------------
DATABASE_WAIT_SECONDS = positive(env.float, "ANTIPHON_DATABASE_WAIT_SECONDS", 10.0)
_pool = {
    "min_size": 0,
    "max_size": positive(env.int, "ANTIPHON_DATABASE_CONNECTIONS", 20),
    "timeout": DATABASE_WAIT_SECONDS,
}
# A command of manage.py has one thread and says at once why it cannot connect; a pool would try until its time is over.
_is_command = Path(sys.argv[0]).name == "manage.py"
_database = env.db_url("DATABASE_URL", default="postgres://antiphon@127.0.0.1:5432/antiphon")
DATABASE_ENGINE = _database["ENGINE"]
if DATABASE_ENGINE != "django.db.backends.postgresql":
    # Its driver is not here: naming it would end every command in a traceback. `check` says what is right (E001).
    _database = {"ENGINE": "django.db.backends.dummy"}
DATABASES = {
    "default": {
        **_database,
        # Under ASGI every request has a thread of its own: a connection kept by its thread would serve one request and
        # then be nobody's. The pool is the process's, and its size the most that PostgreSQL sees of it.
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "connect_timeout": 5,
            **_database.get("OPTIONS", {}),
            "pool": None if _is_command else _pool,
        },
    }
}
# Of everything that runs in a scope (`tenants/scoping.py`), so of every request, and of no migration.
STATEMENT_SECONDS = positive(env.float, "ANTIPHON_STATEMENT_SECONDS", 30.0)
VALKEY_URL = env.str("VALKEY_URL", default="redis://127.0.0.1:6379/0")
CACHES = {  # of the pages for people: how often somebody tried. What the API keeps is in `eventlog`
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": VALKEY_URL,
        "KEY_PREFIX": "antiphon:pages",
        "OPTIONS": {"socket_timeout": 5, "socket_connect_timeout": 5},
    }
}
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="") or VALKEY_URL

# --- the API --------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["responses_api.http.authentication.KeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["responses_api.http.rendering.JsonRenderer"],
    "DEFAULT_PARSER_CLASSES": [],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "responses_api.http.rendering.JsonAlways",
    "EXCEPTION_HANDLER": "responses_api.http.rendering.render_exception",
    "DEFAULT_METADATA_CLASS": None,  # its answer to OPTIONS would be docstrings
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}

MAX_BODY_BYTES = positive(env.int, "ANTIPHON_MAX_BODY_BYTES", 64 * 1024 * 1024)
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
MAX_FILE_BYTES = positive(env.int, "ANTIPHON_MAX_FILE_BYTES", 64 * 1024 * 1024)
TENANT_FILE_BYTES = positive_or_none(env.int, "ANTIPHON_TENANT_FILE_BYTES", 1024 * 1024 * 1024)
MAX_ITEMS = positive(env.int, "ANTIPHON_MAX_ITEMS", 20_000)
MAX_CONTEXT_BYTES = positive(env.int, "ANTIPHON_MAX_CONTEXT_BYTES", 64 * 1024 * 1024)
CONTEXT_CACHE_BYTES = positive(env.int, "ANTIPHON_CONTEXT_CACHE_BYTES", 64 * 1024 * 1024)
KEEP_ALIVE_SECONDS = positive(env.float, "ANTIPHON_KEEP_ALIVE_SECONDS", 15.0)
CACHE_SECONDS = positive(env.float, "ANTIPHON_CACHE_SECONDS", 5.0)
QUEUE_SECONDS = positive(env.float, "ANTIPHON_QUEUE_SECONDS", 30.0)
IDEMPOTENCY_SECONDS = positive(env.float, "ANTIPHON_IDEMPOTENCY_SECONDS", 86_400.0)
BACKGROUND_QUEUE_SECONDS = positive(env.float, "ANTIPHON_BACKGROUND_QUEUE_SECONDS", 86_400.0)
START_SECONDS = positive(env.float, "ANTIPHON_START_SECONDS", 2.0)
JOURNAL_SECONDS = positive(env.int, "ANTIPHON_JOURNAL_SECONDS", 60)
SEAL_KEYS = read_seal_keys(env.list("ANTIPHON_SEAL_KEYS", default=[]))
SEAL_DAYS = positive_or_none(env.float, "ANTIPHON_SEAL_DAYS", 365.0)

# --- WebSocket ------------------------------------------------------------------------------------
WEBSOCKET = switch("ANTIPHON_WEBSOCKET", default=True)
WEBSOCKET_QUEUE = positive(env.int, "ANTIPHON_WEBSOCKET_QUEUE", 16)
WEBSOCKET_SECONDS = positive(env.float, "ANTIPHON_WEBSOCKET_SECONDS", 3600.0)
UNSENT_BYTES = positive(env.int, "ANTIPHON_UNSENT_BYTES", 32 * 1024 * 1024)
STUCK_SECONDS = positive(env.float, "ANTIPHON_STUCK_SECONDS", 30.0)

# --- tenants --------------------------------------------------------------------------------------
RESERVED_OUTPUT_TOKENS = positive(env.int, "ANTIPHON_RESERVED_OUTPUT_TOKENS", 16_384)
CURRENCY = env.str("ANTIPHON_CURRENCY", default="USD")
SIGNUP_LIMITS = read_starting_limits(env.str("ANTIPHON_SIGNUP_LIMITS", default=""))

# --- workers --------------------------------------------------------------------------------------
WORKER_SLOTS = positive(env.int, "ANTIPHON_WORKER_SLOTS", 128)
DRAIN_SECONDS = positive(env.float, "ANTIPHON_DRAIN_SECONDS", 20.0)
LEASE_SECONDS = positive(env.float, "ANTIPHON_LEASE_SECONDS", 8.0)
RESPONSE_SECONDS = positive(env.float, "ANTIPHON_RESPONSE_SECONDS", 1800.0)
BREAKER_FAILURES = positive(env.int, "ANTIPHON_BREAKER_FAILURES", 5)
BREAKER_SECONDS = positive(env.float, "ANTIPHON_BREAKER_SECONDS", 30.0)
COMPACTION_CHARACTERS = positive(env.int, "ANTIPHON_COMPACTION_CHARACTERS", 100_000)

# --- what leaves ----------------------------------------------------------------------------------
EGRESS_ALLOW = [entry.strip() for entry in env.list("ANTIPHON_EGRESS_ALLOW", default=[]) if entry.strip()]
EGRESS_PLAIN_HTTP = switch("ANTIPHON_EGRESS_PLAIN_HTTP", default=False)
MAX_FETCH_BYTES = positive(env.int, "ANTIPHON_MAX_FETCH_BYTES", 20 * 1024 * 1024)
FETCH_SECONDS = positive(env.float, "ANTIPHON_FETCH_SECONDS", 20.0)

# --- tools that the workers run -------------------------------------------------------------------
TOOL_SECONDS = positive(env.float, "ANTIPHON_TOOL_SECONDS", 60.0)
MAX_TOOL_ROUNDS = positive(env.int, "ANTIPHON_MAX_TOOL_ROUNDS", 32)
MAX_TOOL_RESULT_BYTES = positive(env.int, "ANTIPHON_MAX_TOOL_RESULT_BYTES", 1024 * 1024)
MAX_TOOL_RESULTS_BYTES = positive(env.int, "ANTIPHON_MAX_TOOL_RESULTS_BYTES", 8 * 1024 * 1024)
MCP_CONNECT_SECONDS = positive(env.float, "ANTIPHON_MCP_CONNECT_SECONDS", 10.0)

# --- file search ----------------------------------------------------------------------------------
EMBEDDING_URL = env.str("ANTIPHON_EMBEDDING_URL", default="")
EMBEDDING_MODEL = env.str("ANTIPHON_EMBEDDING_MODEL", default="")
EMBEDDING_KEY = env.str("ANTIPHON_EMBEDDING_KEY", default="")

# --- conformance ----------------------------------------------------------------------------------
CONFORMANCE_URL = env.str("ANTIPHON_CONFORMANCE_URL", default="")
CONFORMANCE_HOURS = positive_or_off(env.float, "ANTIPHON_CONFORMANCE_HOURS")
CONFORMANCE_RUNS = positive(env.int, "ANTIPHON_CONFORMANCE_RUNS", 20)

# --- logs -----------------------------------------------------------------------------------------
LOG_LEVEL = env.str("LOG_LEVEL", default="INFO").upper()
LOG_FORMAT = env.str("LOG_FORMAT", default="json").lower()
LOGGING_CONFIG = "config.logging.configure"
LOGGING = {"level": LOG_LEVEL, "format": LOG_FORMAT}
DEFAULT_EXCEPTION_REPORTER_FILTER = "config.reports.WithoutValues"

# --- admin ----------------------------------------------------------------------------------------
# Two voices, one answering the other.
_FAVICON = "data:image/svg+xml," + quote(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<rect width="10" height="7" rx="2" fill="#9333ea"/>'
    '<rect x="6" y="9" width="10" height="7" rx="2" fill="#c084fc"/></svg>'
)
UNFOLD = {
    "SITE_TITLE": "Antiphon",
    "SITE_HEADER": "Antiphon",
    "SITE_SYMBOL": "forum",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: _FAVICON}],
    "STYLES": [lambda request: static("antiphon/admin.css")],
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "SITE_URL": None,
    "DASHBOARD_CALLBACK": "responses_api.admin.dashboard.dashboard",
    "SIDEBAR": {
        "show_search": False,
        "show_all_applications": False,
        # In the order of use: what a tenant's people have, then what only the operator has.
        "navigation": [
            {
                "title": None,
                "items": [
                    {
                        "title": title,
                        "icon": icon,
                        "link": reverse_lazy(view),
                        "permission": f"tenants.admin.base.{who}",
                    }
                    for title, icon, view, who in (
                        ("Dashboard", "monitoring", "admin:index", "may_look"),
                        ("Responses", "forum", "admin:responses_api_response_changelist", "may_look"),
                        ("Files", "folder", "admin:responses_api_file_changelist", "may_look"),
                        ("Playground", "science", "playground", "may_change"),
                        ("API keys", "key", "admin:tenants_apikey_changelist", "may_look"),
                        ("Limits", "speed", "admin:tenants_limit_changelist", "may_look"),
                        ("Tool policies", "policy", "admin:tenants_toolpolicy_changelist", "may_look"),
                        ("Members", "group", "admin:tenants_membership_changelist", "may_look"),
                        ("Invitations", "mail", "admin:tenants_invitation_changelist", "may_look"),
                        ("Tenant settings", "settings", "admin:tenants_tenant_changelist", "is_member"),
                        ("Audit log", "history", "admin:tenants_auditevent_changelist", "may_look"),
                        ("Tenants", "domain", "admin:tenants_tenant_changelist", "is_operator"),
                        ("Backends", "dns", "admin:responses_api_backend_changelist", "is_operator"),
                        ("Routes", "alt_route", "admin:responses_api_route_changelist", "is_operator"),
                        ("Conformance", "fact_check", "conformance", "is_operator"),
                        ("Operators", "person", "admin:auth_user_changelist", "is_operator"),
                    )
                ],
            },
        ],
    },
}
