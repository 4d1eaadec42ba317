"""Groups of settings: a misspelt name is refused, and the defaults are those of the documents."""

import pytest
from pydantic import ValidationError

from service.config.settings import AuthSettings, ReplicaSettings, ReportSettings, SpoolSettings


def test_groups_refuse_names_they_do_not_know() -> None:
    for group in (AuthSettings, ReplicaSettings, ReportSettings, SpoolSettings):
        with pytest.raises(ValidationError):
            group.model_validate({"misspelt": 1})


def test_groups_bound_what_is_uploaded_and_spooled() -> None:
    assert ReportSettings().max_bytes == 16 * 2**20 and SpoolSettings().max_bytes == 256 * 2**20
    for group, size in ((ReportSettings, "65MiB"), (SpoolSettings, "1023KiB")):
        with pytest.raises(ValidationError):
            group.model_validate({"max_bytes": size})
