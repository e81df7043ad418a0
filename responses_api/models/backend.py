"""Backends (where models run) and routes (which public model name goes to which backend)."""

from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models.functions import Now

from responses_api.models.backend_rules import faults_of
from responses_api.protocol.backend import BackendSpec

# The wire formats that `workers/backends/registry.py` speaks; a test holds the two together.
KINDS: Final = (
    ("chat_completions", "Chat Completions"),
    ("openai_chat_completions", "Chat Completions as OpenAI itself takes them (max_completion_tokens)"),
    ("responses", "Responses"),
    ("anthropic", "Anthropic Messages"),
    ("gemini", "Gemini generateContent"),
)

# Who counts a request's tokens, as `workers/backends/counting.py` knows them; the same test holds them together.
TOKEN_COUNTING: Final = (
    ("local", "here, with the vocabulary o200k_base"),
    ("llama_cpp", "by the backend: llama.cpp's /chat/completions/input_tokens"),
    ("vllm", "by the backend: vLLM's /tokenize"),
    ("responses", "by the backend: /responses/input_tokens"),
    ("anthropic", "by the backend: /messages/count_tokens"),
    ("gemini", "by the backend: models/…:countTokens"),
)

IMAGES: Final = (
    ("sent", "sent: the models see images"),
    ("noted", "noted: the models see none, and read that there was one"),
    ("refused", "refused with 400"),
)

FILES: Final = (
    ("sent", "sent: the models read files"),
    ("refused", "refused with 400"),
)

MEDIA_URLS: Final = (
    ("sent", "sent: the backend fetches what is there, by its own means"),
    ("fetched", "fetched: here, where the guard lets it; the backend gets the content"),
    ("refused", "refused with 400"),
)

STRUCTURED_OUTPUT: Final = (
    ("sent", "sent: the backend holds answers to JSON schemas"),
    ("refused", "refused with 400"),
)

TOOLS: Final = (
    ("native", "native: the models call tools"),
    ("emulated", "emulated: the models call none, but an answer can be held to a JSON schema"),
)

REASONING: Final = (
    ("raw", "all of it that the backend tells"),
    ("summary", "summaries alone"),
    ("none", "nothing"),
)

THINKING_TAGS: Final = (
    ("told", "told: <think> begins an answer that reasons"),
    ("opened", "opened: every answer begins within the reasoning, which </think> ends"),
)

NATIVE_FEATURES: Final = (
    ("previous_response_id", "goes on from its own stored responses"),
    ("encrypted_content", "gives its reasoning encrypted, and takes it back"),
    ("allowed_tools", "takes the tool choice allowed_tools"),
    ("response_format", "takes the form of an answer as response_format, as llama.cpp does"),
)
"""What a backend that speaks Responses may have of its own (`protocol.backend.NativeFeature`)."""


def without_credentials(url: str) -> None:
    """Refuse `https://user:password@host`: the address is shown, logged and stored in the clear."""
    try:
        address = urlsplit(url).netloc
    except ValueError:  # no URL at all, as the field's own validator says
        return
    if "@" in address:
        raise ValidationError(
            "Leave user and password out; name the environment variable that holds the key."
        )


class Backend(models.Model):
    """An upstream server. The operator's, shared by all tenants.

    Its credentials stay in the workers' environment, or are sealed in the row (`services.backend_keys`).
    """

    name = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=32, choices=KINDS, default="chat_completions")
    base_url = models.URLField(
        "base URL",
        max_length=500,
        validators=[without_credentials],
        help_text="Up to and including the version, e.g. https://api.example.com/v1",
    )
    api_key_env = models.CharField(
        "API key variable",
        max_length=128,
        blank=True,
        validators=[
            RegexValidator(r"^[A-Za-z_][A-Za-z0-9_]*$", "The name of an environment variable, not a key.")
        ],
        help_text="Name of the environment variable of the workers that holds the key. Empty: no key is sent.",
    )
    sealed_key = models.TextField(
        "API key", blank=True, default="", db_default="", editable=False, help_text="The key itself, sealed."
    )
    is_enabled = models.BooleanField("enabled", default=True, db_default=True)
    token_counting = models.CharField(
        max_length=32,
        choices=TOKEN_COUNTING,
        default="local",
        db_default="local",
        help_text="Who counts the tokens of a request. Where the backend fails to, it is done here.",
    )
    images = models.CharField(
        max_length=16,
        choices=IMAGES,
        default="sent",
        db_default="sent",
        help_text="What becomes of an image in a request.",
    )
    files = models.CharField(
        max_length=16,
        choices=FILES,
        default="sent",
        db_default="sent",
        help_text="What becomes of a file in a request.",
    )
    media_urls = models.CharField(
        "media URLs",
        max_length=16,
        choices=MEDIA_URLS,
        default="sent",
        db_default="sent",
        help_text="What becomes of the address of an image, a file or a video in a request.",
    )
    structured_output = models.CharField(
        max_length=16,
        choices=STRUCTURED_OUTPUT,
        default="sent",
        db_default="sent",
        help_text="What becomes of a form that a request wants its answer to have (text.format).",
    )
    tools = models.CharField(
        max_length=16,
        choices=TOOLS,
        default="native",
        db_default="native",
        help_text="How the models call tools.",
    )
    reasoning = models.CharField(
        max_length=16,
        choices=REASONING,
        default="raw",
        db_default="raw",
        help_text="How much of the models' reasoning clients may see.",
    )
    thinking_tags = models.CharField(
        max_length=16,
        choices=THINKING_TAGS,
        default="told",
        db_default="told",
        help_text="Where the reasoning begins that a Chat Completions server leaves in the text.",
    )
    native_features = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="What a backend that speaks Responses has of its own, and is to be used.",
    )
    passthrough_tool_types = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Types of tools that a backend which speaks Responses runs or knows by itself: web_search, acme:*",
    )
    allowed_options = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Fields of its own that requests may set by antiphon:backend_options; * is any.",
    )
    default_options = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text="Fields of its own that every call for an answer carries, unless the request sets them.",
    )
    connect_timeout = models.FloatField(
        default=5, db_default=5, validators=[MinValueValidator(0.1)], help_text="Seconds to connect."
    )
    first_byte_timeout = models.FloatField(
        default=120,
        db_default=120,
        validators=[MinValueValidator(0.1)],
        help_text="Seconds until the answer begins.",
    )
    idle_timeout = models.FloatField(
        default=60,
        db_default=60,
        validators=[MinValueValidator(0.1)],
        help_text="Seconds of silence inside an answer.",
    )
    total_timeout = models.FloatField(
        default=900,
        db_default=900,
        validators=[MinValueValidator(0.1)],
        help_text="Seconds for a whole answer.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Refuse lists that name what there is not, what has no effect with this kind, and two credentials.

        Raises `ValidationError`.
        """
        faults = faults_of(vars(self), [name for name, _ in NATIVE_FEATURES])
        if faults:
            raise ValidationError(faults)

    def spec(self) -> BackendSpec:
        """What a worker needs to know of this backend: plain data without secrets."""
        return BackendSpec(
            name=self.name,
            kind=self.kind,
            base_url=self.base_url.rstrip("/"),
            api_key_env=self.api_key_env or None,
            connect_timeout=self.connect_timeout,
            first_byte_timeout=self.first_byte_timeout,
            idle_timeout=self.idle_timeout,
            total_timeout=self.total_timeout,
            token_counting=self.token_counting,
            images=self.images,
            files=self.files,
            media_urls=self.media_urls,
            structured_output=self.structured_output,
            tools=self.tools,
            reasoning=self.reasoning,
            thinking_tags=self.thinking_tags,
            has_stored_key=bool(self.sealed_key),
            passthrough_tool_types=self.passthrough_tool_types,
            native_features=self.native_features,
            allowed_options=self.allowed_options,
            default_options=self.default_options,
        )


# Six places after the point: a token's price is then a whole number of the ledger's smallest unit times a million.
_PRICE: Final[dict[str, Any]] = {
    "max_digits": 14,
    "decimal_places": 6,
    "default": Decimal(0),
    "db_default": Decimal(0),
    "validators": [MinValueValidator(Decimal(0))],
}


class Route(models.Model):
    """A public model name and one backend that serves it.

    The enabled one with the lowest position is asked first; where it cannot answer, the next one is.
    """

    model = models.CharField(max_length=200, help_text="The name that clients ask for.")
    backend = models.ForeignKey(Backend, on_delete=models.CASCADE, related_name="routes")
    upstream_model = models.CharField(
        max_length=200, blank=True, help_text="The backend's own name; empty: the same."
    )
    context_window = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Tokens that the model takes, input and output together. Empty: not known.",
    )
    input_price = models.DecimalField(
        **_PRICE, help_text="Price of a million tokens of input, in the currency of ANTIPHON_CURRENCY."
    )
    cached_input_price = models.DecimalField(
        **{**_PRICE, "null": True, "blank": True, "default": None, "db_default": None},
        help_text="Price of a million tokens of input that the backend had cached. Empty: as for other input.",
    )
    output_price = models.DecimalField(
        **_PRICE, help_text="Price of a million tokens of output, reasoning included."
    )
    position = models.PositiveSmallIntegerField(default=0, db_default=0, help_text="Lower is asked first.")
    weight = models.PositiveSmallIntegerField(
        default=1,
        db_default=1,
        validators=[MinValueValidator(1)],
        help_text="Of several backends with the same position, each gets requests in this proportion.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("model", "position", "id")
        constraints = (models.UniqueConstraint(fields=("model", "backend"), name="route_once_per_backend"),)

    def __str__(self) -> str:
        return f"{self.model} → {self.backend}"
