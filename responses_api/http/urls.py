"""The API's URLs. Each accepts a trailing slash, which never changes the meaning."""

from django.urls import re_path

from responses_api.http import files, health, usage, views
from responses_api.http.reference import views as reference

urlpatterns = [
    re_path(r"^v1/responses/?$", views.Responses.as_view()),
    re_path(r"^v1/responses/(?:compact|input_tokens)/?$", views.WorkersCalls.as_view()),
    re_path(r"^v1/responses/(?P<response_id>[^/]+)/cancel/?$", views.Cancel.as_view()),
    re_path(r"^v1/responses/(?P<response_id>[^/]+)/?$", views.OneResponse.as_view()),
    re_path(r"^v1/responses/(?P<response_id>[^/]+)/input_items/?$", views.InputItems.as_view()),
    re_path(r"^v1/files/?$", files.Files.as_view()),
    re_path(r"^v1/files/(?P<file_id>[^/]+)/?$", files.OneFile.as_view()),
    re_path(r"^v1/files/(?P<file_id>[^/]+)/content/?$", files.Content.as_view()),
    re_path(r"^v1/models/?$", views.Models.as_view()),
    re_path(r"^v1/models/(?P<name>.+?)/?$", views.OneModel.as_view()),
    re_path(r"^v1/usage/?$", usage.Usage.as_view()),
    re_path(r"^v1/limits/?$", usage.Limits.as_view()),
    re_path(r"^healthz/?$", health.Healthz.as_view()),
    re_path(r"^readyz/?$", health.Readyz.as_view()),
    re_path(r"^openapi\.json/?$", reference.OpenApi.as_view()),
    re_path(r"^docs/?$", reference.Docs.as_view()),
    re_path(r"^llms\.txt/?$", reference.Llms.as_view()),
]
