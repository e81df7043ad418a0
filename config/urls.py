"""Every URL of the service that Django's views answer."""

from allauth.account.views import logout
from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from responses_api.admin import conformance, playground
from responses_api.admin.dry_run import dry_run
from tenants.accounts import urls as accounts

urlpatterns = [
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/policies/try/", admin.site.admin_view(dry_run), name="policy_dry_run"),
    path("admin/playground/", admin.site.admin_view(playground.page), name="playground"),
    path("admin/playground/key/", admin.site.admin_view(playground.key), name="playground_key"),
    path("admin/conformance/", admin.site.admin_view(conformance.overview), name="conformance"),
    path(
        "admin/conformance/runs/<int:run_id>/",
        admin.site.admin_view(conformance.run_page),
        name="conformance_run",
    ),
    path(
        "admin/conformance/results/<int:result_id>/",
        admin.site.admin_view(conformance.result_page),
        name="conformance_result",
    ),
    path("admin/logout/", logout),  # also for who was taken out of a team, whom the admin does not let in
    path("admin/", admin.site.urls),
    path("", include((accounts.sign_up, "sign_up"))),
    path("", include("tenants.accounts.urls")),
    path("accounts/", include("allauth.urls")),
    path("", include("responses_api.http.urls")),
]

handler400 = "responses_api.http.rendering.bad_request"
handler403 = "responses_api.http.rendering.forbidden"
handler404 = "responses_api.http.rendering.unknown_url"
handler500 = "responses_api.http.rendering.failed_view"
