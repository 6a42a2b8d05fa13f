"""Effects of single settings: one system per value, a shared base, and curves that are means of folds."""

import numpy as np
import pytest

from made_rows import row
from setrbm_lab.effects import BASE, EFFECTS, TITLES, curves, name_of, systems


def test_every_value_is_a_system_and_the_base_is_made_once():
    names = [system.name for system in systems()]
    assert len(names) == len(set(names)) == sum(map(len, EFFECTS.values())) - len(EFFECTS) + 1
    assert all(BASE[setting] in values for setting, values in EFFECTS.items())
    assert set(TITLES) == set(EFFECTS)


@pytest.mark.parametrize("setting", EFFECTS)
def test_a_system_differs_from_the_base_in_one_setting(setting):
    made = {system.name: system.make(3, False, "cpu", 1).get_params() for system in systems()}
    for value in EFFECTS[setting]:
        own = made[name_of(setting, value)]
        assert own[setting] == value
        differs = {name for name in own if own[name] != made["base"][name]}
        assert differs == (set() if value == BASE[setting] else {setting})


def test_curves_are_means_of_the_folds():
    rows = [row("base", "fox", 0, fold, 10 + fold**2, log_loss=0.1 * fold**2) for fold in range(3)]
    rows += [row("n_hidden=10", "fox", 0, 0, 5, log_loss=2.0), row("n_hidden=10", "tiger", 0, 0, 20, log_loss=0.0)]
    found = curves(rows, "n_hidden")
    assert found["fox"] == {10.0: (2.0, 25.0), 100.0: (pytest.approx(0.5 / 3), pytest.approx(5 * 35 / 3))}
    assert found["tiger"] == {10.0: (0.0, 100.0)}
    assert np.isclose(curves(rows, "weight_decay")["fox"][0.0][1], 5 * 35 / 3)
