"""What the rules of a key admit: models by their names, clients by their addresses, calls by their scopes."""

from collections.abc import Iterable, Sequence
from typing import Final

from responses_api.protocol.patterns import matches
from tenants.addresses import read_network
from tenants.models.key import known_scopes

_LONGEST_MODEL: Final = 200
_LONGEST_NETWORK: Final = 64
_MOST: Final = 100


class BadRule(ValueError):
    """A rule that a key cannot have; says why, and what would be right."""


def may_use(model: str, allowed: Iterable[str]) -> bool:
    """Whether a model's name is one of these patterns (`*` is any letters); without any, every name is."""
    patterns = tuple(allowed)
    return not patterns or any(matches(pattern, model) for pattern in patterns)


def checked_scopes(given: Sequence[str]) -> list[str]:
    """The scopes, in their order. Raises `BadRule` for none at all, and for one that there is not."""
    known = known_scopes()
    unknown = [scope for scope in given if scope not in known]
    if unknown or not given:
        named = f"'{unknown[0]}' is no scope" if unknown else "A key needs a scope"
        raise BadRule(f"{named}; there are: {', '.join(known)}.")
    return [scope for scope in known if scope in given]


def checked_models(given: Sequence[str]) -> list[str]:
    """The patterns of models, each once. Raises `BadRule`."""
    for name in given:
        if len(name) > _LONGEST_MODEL:
            raise BadRule(f"The name of a model has at most {_LONGEST_MODEL} characters.")
    return _each_once(given, "models")


def checked_addresses(given: Sequence[str]) -> list[str]:
    """The addresses and networks, each once, as they are usually written. Raises `BadRule`."""
    networks = []
    for entry in given:
        try:
            network = read_network(entry[:_LONGEST_NETWORK])
        except ValueError as error:
            raise BadRule(str(error)) from None
        is_one = network.prefixlen == network.max_prefixlen
        networks.append(str(network.network_address) if is_one else str(network))
    return _each_once(networks, "addresses")


def _each_once(given: Sequence[str], what: str) -> list[str]:
    once = list(dict.fromkeys(entry.strip() for entry in given if entry.strip()))
    if len(once) > _MOST:
        raise BadRule(f"A key has at most {_MOST} allowed {what}.")
    return once
