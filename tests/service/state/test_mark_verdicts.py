"""A stored verdict reads the same on every page and in messages, whichever release stored it."""

from service.state.mark_verdicts import told
from service.web.pages.words import outcome


def test_verdict_reads_like_the_outcome_of_its_mark() -> None:
    stored = {
        "verified: after the change sleeps fell 137-fold.": ("Verified", "After the change sleeps fell 137-fold."),
        "not verified because after the change the load went too": (
            "Not verified",
            "After the change the load went too",
        ),
        "not verified yet: too early to tell; looked at again as polls come": (
            "Not verified yet",
            "Too early to tell; looked at again as polls come",
        ),
    }
    assert {verdict: told(verdict) for verdict in stored} == {
        verdict: ". ".join(words) for verdict, words in stored.items()
    }
    assert told("") == ""
    assert [outcome(kind) for kind in ("helped", "did not help", "too early to tell")] == [
        head for head, _ in stored.values()
    ]
    assert (outcome("not judged"), outcome("trouble lasts")) == ("", "Trouble lasts")
