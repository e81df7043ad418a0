"""The form that uploads a file in the admin: the same rules as the API's, told beside the field."""

from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from responses_api.models import File
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.files import Described, cleaned_name
from responses_api.services.keeping import may_keep
from responses_api.services.uploads import Upload, check_room
from tenants import audit
from tenants.admin.base import ModelForm, membership_of
from tenants.models import Tenant

if TYPE_CHECKING:
    from django.forms import FileInput as UnfoldAdminFileFieldWidget
    from django.forms import Select as UnfoldAdminSelectWidget
else:
    from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminSelectWidget

# As `protocol.files.PURPOSES`; a test holds the two together.
_PURPOSES: Final = (
    ("user_data", "to be searched, and for models to read"),
    ("assistants", "for assistants"),
    ("vision", "an image for models to see: no text is read from it"),
)


class FileForm(ModelForm):
    """A file and what it is for. `request` is set by the admin: it says whose file it becomes."""

    request: HttpRequest
    file = forms.FileField(widget=UnfoldAdminFileFieldWidget())
    purpose = forms.ChoiceField(choices=_PURPOSES, widget=UnfoldAdminSelectWidget())

    class Meta:
        """No fields yet: those of tenant tables are made inside a scope, where the admin chooses them."""

        model = File
        fields = ()

    def clean(self) -> dict[str, Any]:
        """Hold the file against every rule that can be looked at before it is stored."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        tenant, file = self._tenant(cleaned), cleaned.get("file")
        if tenant is not None and file is not None:
            try:
                may_keep(tenant)
                cleaned_name(file.name)
                check_room(tenant.id, file.size)
            except ProtocolError as error:
                self.add_error("file", ValidationError(error.message))
        return cleaned

    def store(self, user: Any) -> File:
        """Store the file of a form that is right, and return its row."""
        cleaned = self.cleaned_data
        tenant, file = self._tenant(cleaned), cleaned["file"]
        assert tenant is not None, "the form was right"
        upload = Upload(tenant.id, uploaded_by=audit.name_of(user))
        upload.begin(file.name, file.content_type or "", file.size)
        for piece in file.chunks():
            if upload.take(piece):
                upload.store()
        upload.finish(Described(cleaned["purpose"], None))
        assert upload.row is not None
        return upload.row

    def _tenant(self, cleaned: dict[str, Any]) -> Tenant | None:
        membership = membership_of(self.request)
        return membership.tenant if membership is not None else cleaned.get("tenant")
