"""The progress bar."""

from __future__ import annotations

import sys

import pytest


@pytest.mark.parametrize("quiet", [True, False])
def test_what_the_library_says_while_a_bar_is_shown_stays_on_stderr(monkeypatch, capsys, quiet):
    from setrbm.tools.progress import Bar

    # rich takes any stream for a terminal then.
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with Bar("Fitting", total=1.0, quiet=quiet):
        print("compiling once", file=sys.stderr)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "compiling once\n" in shown.err
    assert ("Fitting" in shown.err) != quiet


def test_a_terminal_that_cannot_draw_a_bar_gets_lines(monkeypatch, capsys):
    from setrbm.tools import progress

    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    with progress.Bar("Fitting", total=1.0) as bar:
        bar.show(0.5, "half of it")
    assert "Fitting: half of it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.0, "about 0 s left"), (59, "about 59 s left"), (61, "about 1:01 min left")]
)
def test_the_time_left_follows_the_time_so_far(monkeypatch, seconds, shown):
    from setrbm.tools.progress import Bar

    bar = Bar("Working", total=4.0)
    monkeypatch.setattr("time.perf_counter", lambda: bar._begin + seconds)
    assert bar.left(2.0) == shown
    assert bar.left(0.0) == "time left unknown"
