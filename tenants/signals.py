"""What others may want to know of tenancy."""

from typing import Final

from django.dispatch import Signal

access_changed: Final = Signal()
"""Sent after the commit of a change that takes away or gives access: every process must `keys.forget`."""
