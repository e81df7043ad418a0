"""`manage.py add_backend NAME --base-url URL --model PUBLIC[=UPSTREAM] …`: a real provider in one command."""

import math
import os
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, TypeVar

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from responses_api.management import capabilities
from responses_api.models import Backend, Route
from responses_api.models.backend import IMAGES, KINDS, TOKEN_COUNTING
from responses_api.models.backend_rules import ANOTHER_SERVER
from responses_api.services import backend_keys
from tenants import audit
from tenants.scoping import operator_scope

T = TypeVar("T")

_TOKENS = re.compile("[0-9]{1,10}")
_SMALL = re.compile("[0-9]{1,5}")
_PRICES = re.compile(r"\d{1,8}(\.\d{1,6})?(,\d{1,8}(\.\d{1,6})?){1,2}", re.ASCII)
_TIMEOUTS = ("connect", "first_byte", "idle", "total")
_KIND_HELP = (
    "what the backend speaks. chat_completions (the default): the Chat Completions API as most servers have it, "
    "vLLM, llama.cpp and hosted ones. openai_chat_completions: the same as OpenAI itself takes it, the limit of "
    "tokens sent as max_completion_tokens, which its newer models demand. responses: the Responses API, of OpenAI, "
    "vLLM, llama.cpp and other Open Responses servers. anthropic: Anthropic's Messages. gemini: Gemini's "
    "generateContent."
)
_COUNTING_HELP = (
    "who counts the tokens of a request. local (the default): this service, with the vocabulary o200k_base, which is "
    "an estimate for most models. llama_cpp, vllm, responses, anthropic and gemini: the backend itself, each by its "
    "own call."
)
_IMAGES_HELP = (
    "what becomes of an image: sent (the default), noted (for models that see none: they read that there was one) or "
    "refused with 400"
)
_WINDOW_HELP = (
    "the most tokens, input and output together, that the model takes, or each of the models; may be repeated. Without "
    "it nothing is truncated or refused beforehand"
)
_PRICE_HELP = (
    "what a million tokens of the model, or of each of the models, cost in the currency of ANTIPHON_CURRENCY: input, "
    "output and, if it differs, input that the backend had cached; may be repeated. Without it they cost nothing"
)
_POSITION_HELP = (
    "which backend is asked first for the model, or for each of the models: the one with the lowest position, 0 unless "
    "told; where it gives no answer, the next one. May be repeated"
)
_WEIGHT_HELP = (
    "of several backends with the same position each gets requests in proportion to its weight, 1 unless told; may be "
    "repeated"
)


class Command(BaseCommand):
    """Add a backend and its routes, or bring an existing one up to date."""

    help = (
        "Add a backend and the models it serves. Run again with the same NAME to change it: it then serves the models "
        "that are named now, and what is not given stays as it is."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the backend's fields."""
        parser.add_argument("name", help="a name to recognise the backend by")
        parser.add_argument("--kind", choices=[kind for kind, _ in KINDS], help=_KIND_HELP)
        parser.add_argument("--base-url", required=True, help="up to and including the version: https://…/v1")
        parser.add_argument(
            "--model",
            action="append",
            required=True,
            dest="models",
            metavar="PUBLIC[=UPSTREAM]",
            help="a public model name and, if it differs, the backend's own; may be repeated",
        )
        parser.add_argument(
            "--context-window",
            action="append",
            default=[],
            dest="windows",
            metavar="[PUBLIC=]TOKENS",
            help=_WINDOW_HELP,
        )
        parser.add_argument(
            "--price",
            action="append",
            default=[],
            dest="prices",
            metavar="[PUBLIC=]INPUT,OUTPUT[,CACHED]",
            help=_PRICE_HELP,
        )
        for option, metavar, text in (
            ("--position", "[PUBLIC=]NUMBER", _POSITION_HELP),
            ("--weight", "[PUBLIC=]NUMBER", _WEIGHT_HELP),
        ):
            parser.add_argument(option, action="append", default=[], metavar=metavar, help=text)
        parser.add_argument(
            "--token-counting", choices=[name for name, _ in TOKEN_COUNTING], help=_COUNTING_HELP
        )
        parser.add_argument("--images", choices=[name for name, _ in IMAGES], help=_IMAGES_HELP)
        capabilities.add_arguments(parser)
        for name in _TIMEOUTS:
            parser.add_argument(f"--{name.replace('_', '-')}-timeout", type=_seconds, metavar="SECONDS")

    def handle(self, *_: Any, name: str, models: list[str], windows: list[str], **options: Any) -> None:
        """Save the backend and its routes."""
        served = {model.partition("=")[0] for model in models}
        told = _routes_told(served, windows, options)
        timeouts = [f"{timeout}_timeout" for timeout in _TIMEOUTS]
        settings = ("base_url", "kind", "token_counting", "images", *timeouts)
        fields = {setting: options[setting] for setting in settings if options[setting] is not None}
        fields |= capabilities.given(options)
        key = capabilities.read_key() if options["api_key_stdin"] else None
        with operator_scope():
            is_new = not Backend.objects.filter(name=name).exists()
            backend = _save_backend(name, fields, key)
            for model in models:
                _save_route(backend, model, told)
            backend.routes.exclude(model__in=served).delete()
            done = "backend.made" if is_new else "backend.changed"
            audit.record(done, name, tenant_id=None, kind=backend.kind, models=sorted(served))
        self.stdout.write(f"Backend {name} serves: {', '.join(sorted(served))}")
        variable = options["api_key_env"]
        if variable and variable not in os.environ:
            self.stderr.write(
                f"{variable} is not set here; the workers need it in their environment or in .env."
            )


def _routes_told(served: set[str], windows: list[str], options: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What is told of the route of each model. Raises `CommandError`."""
    told: dict[str, dict[str, Any]] = {model: {} for model in served}
    for model, tokens in _by_model(windows, served, _read_window, "--context-window").items():
        told[model]["context_window"] = tokens
    for model, prices in _by_model(options["prices"], served, _read_prices, "--price").items():
        told[model] |= prices
    for field in ("position", "weight"):
        for model, number in _by_model(options[field], served, _read_small, f"--{field}").items():
            told[model][field] = number
    return told


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds


def _save_backend(name: str, fields: dict[str, Any], key: str | None) -> Backend:
    backend = Backend.objects.filter(name=name).first() or Backend(name=name)
    stays = key is None and fields.get("sealed_key", backend.sealed_key)
    if stays and not backend_keys.is_for(backend, fields["base_url"]):
        raise CommandError(
            f"--base-url: {ANOTHER_SERVER} (--api-key-stdin, --api-key-env or --remove-api-key)"
        )
    for field, value in fields.items():
        setattr(backend, field, value)
    _save(backend, "The backend")
    if key is not None:
        backend_keys.store(backend, key)
    return backend


def _by_model(
    given: list[str], served: set[str], read: Callable[[str], T | None], option: str
) -> dict[str, T]:
    """What was given by an option, by public model; what names none is for those that are not named otherwise."""
    found: dict[str, T] = {}
    for text in given:
        model, _, value = text.rpartition("=")
        told = read(value)
        if told is None or (model and model not in served):
            raise CommandError(f"{option} {text!r} is neither {_FORMS[option]} with a --model.")
        found |= dict.fromkeys([model] if model else served - found.keys(), told)
    return found


_FORMS: Final = {
    "--context-window": "a number of tokens nor PUBLIC=TOKENS",
    "--position": "a number nor PUBLIC=NUMBER",
    "--weight": "a number nor PUBLIC=NUMBER",
    "--price": "INPUT,OUTPUT nor INPUT,OUTPUT,CACHED nor PUBLIC= and one of them",
}


def _read_window(text: str) -> int | None:
    return int(text) if _TOKENS.fullmatch(text) else None


def _read_small(text: str) -> int | None:
    return int(text) if _SMALL.fullmatch(text) else None


def _read_prices(text: str) -> dict[str, Decimal | None] | None:
    """The prices of a route; one that is not told of cached input is that of other input."""
    if not _PRICES.fullmatch(text):
        return None
    read, said, *cached = map(Decimal, text.split(","))
    return {"input_price": read, "output_price": said, "cached_input_price": cached[0] if cached else None}


def _save_route(backend: Backend, model: str, told: dict[str, dict[str, Any]]) -> None:
    public, _, upstream = model.partition("=")
    if not public:
        raise CommandError(f"--model {model!r} names no public model; write PUBLIC or PUBLIC=UPSTREAM.")
    route = Route.objects.filter(model=public, backend=backend).first() or Route(
        model=public, backend=backend
    )
    route.upstream_model = upstream
    for field, value in told[public].items():
        setattr(route, field, value)
    _save(route, f"The route of {public[:40]!r}")


def _save(row: Backend | Route, what: str) -> None:
    try:
        row.full_clean()
    except ValidationError as error:
        problems = "; ".join(f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items())
        raise CommandError(f"{what} cannot be saved: {problems}") from None
    row.save()
