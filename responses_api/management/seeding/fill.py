"""Stored responses by the million, written by the database itself: it repeats shapes, nothing crosses but those.

The rows are what `services.finish` writes: ids of the real form and in the order of time, chains with forks, roots,
scores that perform. Everything follows from a response's number, so that no row has to be looked up to be continued:

* a thousand numbers are a hundred rows of conversations side by side, each of one with ten turns or several short ones;
* a conversation belongs to one tenant and one key; the first tenants have the most.
"""

import secrets
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from responses_api.management.seeding import shapes
from responses_api.management.seeding.shapes import Shape
from tenants.keys import new_key
from tenants.models import ApiKey, Tenant
from tenants.scoping import operator_scope

NAME_PREFIX: Final = "load-"
KEYS_PER_TENANT: Final = 3
MODELS: Final = ("load-small", "load-large", "load-vision", "load-rare")
_TABLES: Final = (
    "responses_api_response",
    "responses_api_item",
    "responses_api_metadataentry",
    "tenants_usagerecord",
)
BATCH: Final = 10_000
"""Responses that share a transaction."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is to be made: so many responses with so many items each, of new tenants, over the last days."""

    responses: int
    items: int
    tenants: int
    days: float
    until_ms: int

    @property
    def span_ms(self) -> int:
        """The milliseconds that the responses are spread over."""
        return int(self.days * 86_400_000)


def make_tenants(count: int) -> list[Tenant]:
    """New tenants, numbered on from those of earlier loads, each with keys whose text nobody has.

    Raises IntegrityError where somebody makes one of these names at the same time.
    """
    with operator_scope():
        taken = list(Tenant.objects.filter(name__startswith=NAME_PREFIX).values_list("name", flat=True))
    numbers = [int(name.removeprefix(NAME_PREFIX)) for name in taken if name[len(NAME_PREFIX) :].isdecimal()]
    first = max(numbers, default=0) + 1
    with operator_scope():
        made = [Tenant.objects.create(name=f"{NAME_PREFIX}{first + place}") for place in range(count)]
    for tenant in made:
        for place in range(KEYS_PER_TENANT):
            new_key(tenant, name=f"load key {place + 1}")
    return made


def fill(load: Load, tenants: Sequence[Tenant], told: Callable[[int], None]) -> int:
    """Write the responses of `load` and return how many items they have; `told` hears after each batch how many
    responses there are.
    """
    seed = secrets.token_hex(16)
    turns = shapes.shapes(load.items)
    variants = len(turns) // 4
    places = _places(load, tenants, seed, variants)
    items = 0
    for first in range(0, load.responses, BATCH):
        last = min(first + BATCH, load.responses) - 1
        with operator_scope(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute("SET LOCAL synchronous_commit = off")
            _stage_shapes(cursor, turns, variants)
            cursor.execute(_PLAN, {**places, "first": first, "last": last})
            cursor.execute("ANALYZE load_plan")
            cursor.execute(_RESPONSES)
            cursor.execute(_ITEMS, {"seed": seed})
            items += cursor.rowcount
            cursor.execute(_METADATA)
            cursor.execute(_LEDGER)
        told(last + 1)
    return items


def settle() -> None:
    """Do at once what autovacuum would do in the next minutes: statistics, and which pages everybody sees."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE) " + ", ".join(_TABLES))


def _keys(tenants: Sequence[Tenant]) -> list[uuid.UUID]:
    """The keys of all tenants, `KEYS_PER_TENANT` of each, in the tenants' order."""
    with operator_scope():
        rows = ApiKey.objects.filter(tenant__in=tenants).order_by("name").values_list("tenant_id", "id")
        by_tenant: dict[uuid.UUID, list[uuid.UUID]] = {}
        for tenant_id, key_id in rows:
            by_tenant.setdefault(tenant_id, []).append(key_id)
    return [key_id for tenant in tenants for key_id in by_tenant[tenant.id]]


def _places(load: Load, tenants: Sequence[Tenant], seed: str, variants: int) -> dict[str, Any]:
    """What the plan of every batch is made of."""
    return {
        "seed": seed,
        "variants": variants,
        "start_ms": load.until_ms - load.span_ms,
        "step_ms": load.span_ms / load.responses,
        "tenants": [tenant.id for tenant in tenants],
        "keys": _keys(tenants),
        "keys_each": KEYS_PER_TENANT,
        "models": list(MODELS),
    }


def _stage_shapes(cursor: Any, turns: Sequence[Shape], variants: int) -> None:
    """Put the shapes where the batch's statements can join them; they go with its transaction."""
    cursor.execute(_STAGE)
    for number, shape in enumerate(turns):
        cursor.execute(
            "INSERT INTO load_shape VALUES (%s, %s, %s, %s, %s)",
            [number % variants, shape.is_first, shape.is_failed, shape.request, shape.score],
        )
        cursor.executemany(
            "INSERT INTO load_item VALUES (%s, %s, %s, %s, %s, %s, %s)",
            [
                (
                    number % variants,
                    shape.is_first,
                    shape.is_failed,
                    place,
                    item.prefix,
                    item.is_output,
                    item.data,
                )
                for place, item in enumerate(shape.items)
            ],
        )


_STAGE: Final = """
CREATE TEMPORARY TABLE load_shape
    (variant integer, is_first boolean, is_failed boolean, request text, score text) ON COMMIT DROP;
CREATE TEMPORARY TABLE load_item
    (variant integer, is_first boolean, is_failed boolean, position integer, prefix text, is_output boolean, data text)
    ON COMMIT DROP
"""

# The id of the response of a number: real in form, and known to whoever knows the number.
_MS: Final = "(%(start_ms)s + {n} * %(step_ms)s)::bigint"
_ID: Final = f"'resp_' || lpad(to_hex({_MS}), 12, '0') || md5(%(seed)s || 'id' || {{n}})"
_CALL: Final = "'call_' || substr(md5(%(seed)s || 'call' || {n}), 1, 24)"

# What follows from a response's number, worked out once for its row, its items, and whoever continues it.
_PLAN: Final = f"""
CREATE TEMPORARY TABLE load_plan ON COMMIT DROP AS
WITH numbered AS (
    SELECT n, n / 1000 AS block, n %% 100 AS lane, n %% 1000 / 100 AS turn
      FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n
), placed AS (
    SELECT *, turn %% length AS step, turn %% length = length - 1 OR turn = 9 AS is_last
      FROM numbered, LATERAL (SELECT (ARRAY[1, 1, 1, 2, 2, 3, 5, 10, 10, 10])[1 + (lane + block) %% 10] AS length) _
), told AS (
    SELECT *,
           CASE WHEN step = 0 THEN NULL WHEN step > 1 AND n %% 13 = 0 THEN n - 200 ELSE n - 100 END AS previous,
           n - 100 * step AS root,
           floor(cardinality(%(tenants)s::uuid[])
                 * power((lane * 10 + block %% 10 + 0.5) / 1000, 2))::integer AS tenant,
           CASE WHEN is_last AND n %% 401 = 0 THEN 'cancelled'
                WHEN is_last AND n %% 17 = 0 THEN 'failed'
                WHEN is_last AND n %% 23 = 0 THEN 'incomplete'
                ELSE 'completed' END AS status
      FROM placed
)
SELECT n, step, status, status IN ('failed', 'cancelled') AS is_failed, previous IS NULL AS is_first,
       n %% %(variants)s AS variant,
       {_MS.format(n="n")} AS ms,
       (%(tenants)s::uuid[])[1 + tenant] AS tenant_id,
       (%(keys)s::uuid[])[1 + tenant * %(keys_each)s + (lane + block) %% 7 %% %(keys_each)s] AS key_id,
       (%(models)s::text[])[CASE WHEN n %% 9973 = 0 THEN 4
                                 ELSE (ARRAY[1, 1, 1, 1, 1, 1, 2, 2, 2, 3])[1 + (lane * 3 + block) %% 10] END] AS model,
       {_ID.format(n="n")} AS id,
       CASE WHEN previous IS NOT NULL THEN {_ID.format(n="previous")} END AS previous_id,
       {_ID.format(n="root")} AS root_id,
       CASE WHEN n / 7 %% 10 < 3 THEN format(
           '{{"app":"%%s","ticket":"T-%%s"}}', (ARRAY['web', 'web', 'ios', 'android'])[1 + n / 70 %% 4], root
       ) ELSE '{{}}' END AS metadata,
       input, CASE WHEN status IN ('failed', 'cancelled') THEN 0 ELSE input * step / (step + 2) END AS cached,
       CASE WHEN status IN ('failed', 'cancelled') THEN 0 ELSE 30 + n %% 211 END AS output,
       {_CALL.format(n="n")} AS call,
       {_CALL.format(n="previous")} AS previous_call
  FROM told, LATERAL (SELECT 60 + step * 180 + n %% 97 AS input) _
"""

_RESPONSES: Final = """
INSERT INTO responses_api_response (
    id, tenant_id, key_id, previous_id, root_id, status, model, backend,
    request, usage, error, incomplete_details, created_at, completed_at, score
)
SELECT id, tenant_id, key_id, previous_id, root_id, status, model, 'load-' || (1 + n % 2),
       replace(replace(replace(request, '{model}', model), '{previous}', coalesce(previous_id, '')),
           '"metadata":{}', '"metadata":' || metadata)::json,
       CASE WHEN NOT is_failed THEN format(
           '{"input_tokens":%s,"input_tokens_details":{"cached_tokens":%s},"output_tokens":%s,'
           '"output_tokens_details":{"reasoning_tokens":%s},"total_tokens":%s}',
           input, cached, output, output / 4, input + output)::json END,
       CASE WHEN status = 'failed'
            THEN '{"code":"server_error","message":"The backend broke off."}'::json END,
       CASE WHEN status = 'incomplete' THEN '{"reason":"max_output_tokens"}'::json END,
       ms / 1000, CASE WHEN status = 'completed' THEN ms / 1000 + 1 + n % 9 END, score::json
  FROM load_plan JOIN load_shape USING (variant, is_first, is_failed)
 ORDER BY n
"""

_ITEMS: Final = """
INSERT INTO responses_api_item (id, tenant_id, response_id, position, is_output, data)
SELECT item_id, tenant_id, id, position, is_output,
       replace(replace(replace(replace(data,
           '{id}', item_id), '{call}', call), '{previous call}', coalesce(previous_call, '')),
           '#######', lpad(n::text, 7, '0'))::json
  FROM load_plan JOIN load_item USING (variant, is_first, is_failed),
       LATERAL (SELECT prefix || '_' || lpad(to_hex(ms + position), 12, '0')
                       || md5(%(seed)s || 'item' || n || '.' || position) AS item_id) _
 ORDER BY n, position
"""

# As `models.metadata.metadata_digest`.
_METADATA: Final = """
INSERT INTO responses_api_metadataentry (response_id, tenant_id, digest)
SELECT id, tenant_id, encode(substring(sha256(convert_to(
           length(pair.key) || ':' || pair.key || '=' || pair.value, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid
  FROM load_plan, json_each_text(metadata::json) pair
"""

# Nano-units a token, times a million tokens: a cost is a whole number.
_LEDGER: Final = """
INSERT INTO tenants_usagerecord (
    response_id, tenant_id, key_id, model, backend, status, error_code,
    input_tokens, cached_tokens, output_tokens, reasoning_tokens,
    input_price, cached_input_price, output_price, cost_nanos, reserved_tokens, reserved_nanos,
    created_at, ended_at, first_event_ms, duration_ms
)
SELECT id, tenant_id, key_id, model, 'load-' || (1 + n % 2), status,
       CASE WHEN status = 'failed' THEN 'server_error' ELSE '' END,
       input, cached, output, output / 4,
       price * 1000000, price * 100000, price * 4000000,
       (input - cached) * price + cached * (price / 10) + output * price * 4,
       input + 1024, input * price + 1024 * price * 4,
       ms / 1000, ms / 1000 + 1 + n % 9, 80 + n % 900, 1000 + n % 9 * 1000
  FROM load_plan,
       LATERAL (
           SELECT CASE model WHEN 'load-small' THEN 150 WHEN 'load-large' THEN 2500 ELSE 600 END::bigint AS price
       ) _
 ORDER BY n
"""
