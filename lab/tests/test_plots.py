"""Pictures: written, of the size promised, the same for the same data; and the arithmetic behind them."""

import subprocess
import sys

import numpy as np
import pytest

from made_rows import FOLDS, REPEATS, everywhere
from setrbm_lab.plots import (
    draw_critical_difference,
    draw_setting,
    line_style,
    log_places,
)
from setrbm_lab.table_plots import draw_accuracies
from setrbm_lab.tables import Table1

TABLE = Table1(everywhere({"SVM-max": 14, "MLP-maxOut": 13, "Ours": 12})[:-1], REPEATS, FOLDS)
CURVE = {0.0: (0.5, 80.0), 0.001: (0.4, 82.0), 0.01: (0.6, 79.0)}
DRAWINGS = {
    "accuracies": lambda path: draw_accuracies(TABLE, path),
    "no results": lambda path: draw_accuracies(Table1([]), path),
    "ranks": lambda path: draw_critical_difference(["a", "b", "c"], [1.2, 1.9, 2.9], 1.0, path),
    "all ranks apart": lambda path: draw_critical_difference(["a", "b"], [1.0, 2.0], 0.5, path),
    "setting": lambda path: draw_setting("weight decay", {"fox": CURVE, "tiger": CURVE}, path),
    "setting with one value": lambda path: draw_setting("weight decay", {"fox": {0.0: (0.5, 80.0)}}, path),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_picture_is_wide_enough_on_white_and_the_same_each_time(name, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    for path in (tmp_path / "a.png", tmp_path / "b.png"):
        DRAWINGS[name](path)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    pixels = image.imread(tmp_path / "a.png")
    assert 900 <= pixels.shape[1] <= 1300
    np.testing.assert_array_equal(pixels[0, 0], 1.0)
    assert pixels.min() < 0.5


def test_drawing_does_not_change_the_global_style(tmp_path):
    mpl = pytest.importorskip("matplotlib")
    before = dict(mpl.rcParams)
    DRAWINGS["setting"](tmp_path / "a.png")
    assert dict(mpl.rcParams) == before


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"Plots need matplotlib.* pip install 'setrbm\[plot\]'"):
        DRAWINGS["ranks"](tmp_path / "a.png")


def test_importing_the_plots_does_not_load_matplotlib():
    code = "import sys; import setrbm_lab.report; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"


def test_lines_do_not_look_alike():
    styles = [line_style(place) for place in range(49)]
    assert len({(style["color"], style["linestyle"]) for style in styles}) == 49
    assert len({(style["color"], style["marker"]) for style in styles}) == 49


def test_positions_are_logarithms_and_zero_is_left_of_them():
    np.testing.assert_allclose(log_places([10, 100, 1000]), [1, 2, 3], rtol=1e-12)
    np.testing.assert_allclose(log_places([0, 0.01, 0.1, 1]), [-3.3, -2, -1, 0], rtol=1e-12)
    assert log_places([0]) == [0]
    assert log_places([0, 1]) == [-1.3, 0]


@pytest.mark.parametrize("values", [[], [-1.0, 1.0]])
def test_a_logarithmic_axis_refuses_negative_values(values):
    with pytest.raises(ValueError, match="There must be one or more values, none negative. Got"):
        log_places(values)


def test_names_without_ranks_are_refused(tmp_path):
    with pytest.raises(ValueError, match="two or more names and one rank for each. Got 2 names, 1 ranks"):
        draw_critical_difference(["a", "b"], [1.0], 1.0, tmp_path / "a.png")
