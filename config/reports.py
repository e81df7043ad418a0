"""What an error report tells, also the page that DEBUG shows: where and what kind, never values.

A view's local variables and the form that was posted hold prompts, keys and passwords under any name, so Django's own
rule, which looks at the names, is not enough.
"""

import re
from collections.abc import ItemsView
from types import FrameType
from typing import Any, Final

from django.http import HttpRequest
from django.views.debug import SafeExceptionReporterFilter

_WITH_PASSWORDS: Final = "URL|LOCATION|SERVER|HOST_USER"


class WithoutValues(SafeExceptionReporterFilter):
    """Names stay, values do not: none of variables and forms, and of settings and headers only harmless ones."""

    hidden_settings = re.compile(
        f"{SafeExceptionReporterFilter.hidden_settings.pattern}|{_WITH_PASSWORDS}", re.IGNORECASE
    )

    def is_active(self, request: HttpRequest | None) -> bool:
        """Always: Django's own filter lets everything pass with DEBUG."""
        return True

    def get_post_parameters(self, request: HttpRequest | None) -> dict[str, Any]:
        """The names of the form's fields. A form that was not read, or that cannot be, has none to tell."""
        if request is None or not hasattr(request, "_post"):
            return {}
        return dict.fromkeys(request.POST, self.cleansed_substitute)

    def get_traceback_frame_variables(
        self, request: HttpRequest | None, tb_frame: FrameType
    ) -> ItemsView[str, Any]:
        """The names of a frame's variables."""
        return dict.fromkeys(tb_frame.f_locals, self.cleansed_substitute).items()
