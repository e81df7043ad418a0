"""Every URL of the service that Django's views answer."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("responses_api.http.urls")),
]

handler404 = "responses_api.http.rendering.unknown_url"
handler500 = "responses_api.http.rendering.failed_view"
