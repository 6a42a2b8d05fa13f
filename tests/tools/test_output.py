"""Tables in the terminal."""

from __future__ import annotations


def test_tables_are_cut_nowhere(monkeypatch, capsys):
    """Columns become as narrow as their longest words; a table that is wider still does not fit."""
    from setrbm.tools.output import fits, show_table

    headings = ["is \\ predicted", "change of address", "reimbursement claim", "repair invoice"]
    rows = [["change of address", 12, 34, 56], ["repair invoice", 78, 90, 11]]
    for width in range(20, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        if fits(headings, rows):
            show_table("", headings, rows)
            shown = capsys.readouterr().out
            assert all(str(value) in shown for value in (12, 34, 56, 78, 90, 11)), width
            assert "reimbursement" in shown
    # The last spaces of a line count in some versions of rich.
    monkeypatch.setenv("COLUMNS", "50")
    assert fits(headings, rows)
    monkeypatch.setenv("COLUMNS", "30")
    assert not fits(headings, rows)
