"""The list of responses: pages by key, never counted, every question answered by `services.browse`."""

from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

from responses_api.admin.asking import AFTER, BEFORE, QuestionForm
from responses_api.services.browse import Found, Question, TooSlow, browse
from tenants.admin.base import show_time
from tenants.models import ApiKey

_NOTHING = Found([], has_older=False, has_newer=False)


class KeyedPaginator(Paginator):  # type: ignore[type-arg]  # not subscriptable when it runs
    """Only names the template: the list knows its neighbours itself."""

    template_name = "admin/responses_api/response/pagination.html"


class ResponseList(ChangeList):
    """One page of what is asked for, newest first."""

    too_slow = False
    form: QuestionForm
    found: Found

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """All rows of the scope: an action takes those that were selected of them, the page those that were found."""
        self.filter_specs: list[Any] = []
        self.has_filters = self.has_active_filters = False
        self.clear_all_filters_qs = "?"
        return self.root_queryset.select_related("tenant")

    def get_results(self, request: HttpRequest) -> None:
        """Read the page."""
        self.form = QuestionForm(request.GET, request)
        question = self.form.question()
        self.found = self._find(question) if question is not None else _NOTHING
        rows = {row.pk: row for row in self.queryset.filter(pk__in=self.found.ids)}
        self.result_list = [rows[response_id] for response_id in self.found.ids if response_id in rows]
        _name_keys(self.result_list)
        self.result_count = self.full_result_count = len(self.result_list)
        self.show_full_result_count = False
        self.show_admin_actions = bool(self.result_list)
        self.can_show_all, self.multi_page = True, False
        self.paginator = KeyedPaginator(self.result_list, self.list_per_page)

    @property
    def newer(self) -> str:
        """The way to the page before this one; nothing where there is none."""
        first = self.found.ids[0] if self.found.ids else ""
        anchor = (self.found.ended_at if self._is_ascending else None) or first
        return self._page(AFTER, anchor) if anchor and self.found.has_newer else ""

    @property
    def older(self) -> str:
        """The way to the page after this one; nothing where there is none."""
        last = self.found.ids[-1] if self.found.ids else ""
        anchor = (None if self._is_ascending else self.found.ended_at) or last
        return self._page(BEFORE, anchor) if anchor and self.found.has_older else ""

    @property
    def newest(self) -> str:
        """The way back to the first page; nothing on it."""
        is_elsewhere = self.form.data.get(BEFORE) or self.form.data.get(AFTER)
        return self.get_query_string(remove=[BEFORE, AFTER]) if is_elsewhere else ""

    @property
    def looked_until(self) -> str | None:
        """The time of the response that the walk ended at, where it ended before the page was full."""
        ended_at = self.found.ended_at
        return None if ended_at is None else show_time(time_of(ended_at))

    @property
    def same_question(self) -> str:
        """The question as a query string, without a page."""
        return self.get_query_string(remove=[BEFORE, AFTER])

    @property
    def further(self) -> str:
        """The way on from where the walk ended before the page was full."""
        return "" if self.found.ended_at is None else (self.newer if self._is_ascending else self.older)

    @property
    def _is_ascending(self) -> bool:
        return bool(self.form.data.get(AFTER))

    def _page(self, side: str, anchor: str) -> str:
        return self.get_query_string({side: anchor}, remove=[BEFORE, AFTER])

    def _find(self, question: Question) -> Found:
        try:
            return browse(question, self.list_per_page)
        except TooSlow:
            self.too_slow = True
            return _NOTHING


def time_of(response_id: str) -> int | None:
    """The unix seconds that an id was made at; None where it tells none."""
    try:
        return int(response_id.partition("_")[2][:12], 16) // 1000
    except ValueError:
        return None


def _name_keys(rows: list[Any]) -> None:
    """Say of each row by what name its key goes, with one query for all of them."""
    names = {key.id: key.name for key in ApiKey.objects.filter(id__in={row.key_id for row in rows})}
    for row in rows:
        row.key_name = names.get(row.key_id)
