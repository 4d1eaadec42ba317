"""The metrics that exist: those of a database, and those of a whole service."""

from functools import cache
from tempfile import TemporaryDirectory

from service.app import create_app
from service.config.settings import Settings, WebhookSettings
from service.metrics.families import FAMILIES


@cache
def of_the_process() -> frozenset[str]:
    """The metrics of the registry of a whole service, without those of a database."""
    with TemporaryDirectory() as folder:
        hook = WebhookSettings(name="chat", url="http://127.0.0.1:9/")
        app = create_app(Settings(store=f"sqlite:///{folder}/store.db", databases=[], webhooks=[hook]))
        families = list(app.state.registry.collect())
        app.state.close()
    named = {f"{one.name}_total" if one.type == "counter" else one.name for one in families}
    return frozenset(named - {one.name for one in FAMILIES.values() if one.section == "outcomes"})
