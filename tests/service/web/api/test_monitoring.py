"""Monitoring: what it answers while the store answers nothing."""

import pytest

from tests.service.stage import Stage


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/probe?target=undo-storm"])
def test_monitoring_reads_no_state_of_others_from_the_store(stage: Stage, path: str) -> None:
    """A store that hangs would hang the scrape, and four of those end all scrapes."""
    asked = list[object]()
    app = stage.app()
    stage.board.refresh_remote_with(lambda elsewhere, whole: asked.append(elsewhere))
    stage["undo-storm"].owned = True
    asked.clear()
    assert app.get(path).status_code == 200
    assert asked == []
