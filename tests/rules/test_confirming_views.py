"""Which views confirming queries read: one span of releases per text, and every cause beside the views it reads."""

from rules.catalogue import catalogue
from rules.confirming_views import text_spans, views_before_containers, views_since_containers
from tests.each import each

CAUSES = catalogue().values()


@each(
    ("cause", "spans"),
    [
        ("sequence-nocache", [("9.2", "12.1", None, "dba_sequences"), ("12.1", None, None, "cdb_sequences")]),
        ("sequence-conflicts", [("9.2", "12.1", None, "dba_sequences"), ("12.1", None, "12.1", "cdb_sequences")]),
        ("undo-creation-slow", [("10.2.0.4", None, "11.1.0.7", "dba_rollback_segs")]),
        ("undo-online-storm", [("10.2", "12.1", None, "dba_rollback_segs"), ("12.1", None, None, "cdb_rollback_segs")]),
        ("constraint-creation", [("12.2", None, None, "cdb_objects")]),
        ("spin-only", []),
    ],
)
def test_text_spans_are_the_releases_of_each_text(
    cause: str, spans: list[tuple[str, str | None, str | None, str]]
) -> None:
    found = [(span.since, span.before, span.until, *span.views) for span in text_spans(catalogue()[cause])]
    assert found == spans


def test_views_before_containers_are_never_those_of_containers() -> None:
    views = views_before_containers(CAUSES)
    assert not [view for view in views if view.startswith(("cdb_", "v$pdbs", "audit_"))]
    assert views["dba_sequences"] == ("sequence-conflicts", "sequence-nocache")
    assert "vpd-policy-check" in views["dba_policies"] and "failed-logons" in views["v$session"]


def test_views_since_containers_are_never_those_of_one_container() -> None:
    views = views_since_containers(CAUSES)
    assert not [view for view in views if view.startswith("dba_")]
    assert set(views["cdb_rollback_segs"]) == {"undo-segments", "undo-online-storm", "undo-segment-floor"}
    assert "failed-logons" not in views["v$session"], "it ends with 11.1"
    assert "vpd-child-cursors" in views["v$sqlstats"], "it ends with 12.1"


def test_every_cause_with_a_query_stands_beside_a_view() -> None:
    every = {**views_before_containers(CAUSES), **views_since_containers(CAUSES)}
    beside = {cause for causes in (*views_before_containers(CAUSES).values(), *every.values()) for cause in causes}
    assert beside == {cause.id for cause in CAUSES if cause.confirm}
