"""`latchscope notify test`: checks that messages arrive, before there is a trouble to report."""

from typing import Annotated

import typer

from service.cli.common import CONFIG, ConfigOption, settings_of
from service.cli.messages import fail
from service.config.logs import Audit
from service.escape import visible
from service.extras import MissingExtra
from service.notify.messages import TrialResult, receivers, try_out

notify_cli = typer.Typer(no_args_is_help=True, help="The receivers of episodes: webhooks and notifications.")


@notify_cli.callback()
def notify() -> None:
    """The receivers of episodes: webhooks and notifications."""


@notify_cli.command("test")
def send_test(
    names: Annotated[list[str] | None, typer.Argument(help="names of receivers; default: all")] = None,
    config: ConfigOption = CONFIG,
) -> None:
    """Send each receiver a test message. Exit 1 if one did not accept it."""
    settings = settings_of(config)
    known = {receiver.target: receiver for receiver in receivers(settings)}
    if not known:
        fail(f"{config} has no receivers; add `notifications` or `webhooks`, see docs/integrations.md")
    for name in names or ():
        if name not in known:
            fail(f"`notifications` and `webhooks` have no {name}; the names are: {', '.join(known)}")
    audit, failed = Audit(settings.auth.audit_file), False
    try:
        for result in try_out(settings, [known[name] for name in names or known]):
            failed = failed or result.why is not None
            audit.record("command line", "notify test", result.target, result.why or "sent")
            typer.echo(visible(_line(result)))
    except MissingExtra as error:
        fail(str(error))
    if failed:
        raise typer.Exit(1)


def _line(result: TrialResult) -> str:
    return f"{result.target}: {f'not sent: {result.why}' if result.why else 'sent'} ({result.service})"
