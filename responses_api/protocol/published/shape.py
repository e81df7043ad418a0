"""What the published types have in common."""

from pydantic import ConfigDict, with_config

shape = with_config(ConfigDict(use_attribute_docstrings=True))
"""Decorates a `TypedDict`: the docstring below a field is the field's description."""
