from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from setrbm.datasets import load_musk1, make_digit_sets


@pytest.mark.parametrize("damage", [lambda b: b[:-20], lambda b: b[:500] + bytes([b[500] ^ 1]) + b[501:]])
def test_a_damaged_musk1_in_the_package_is_reported(monkeypatch, damage):
    whole = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: damage(whole(path)))
    with pytest.raises(ValueError, match="Checksum mismatch: musk1.csv.gz .* Reinstall setrbm"):
        load_musk1()


def test_digit_sets_hold_one_digit_that_gives_the_class_and_parts_share_no_image():
    images, digits = load_digits(return_X_y=True)
    digit_of = {image.tobytes(): digit for image, digit in zip(images, digits, strict=True)}
    seen = {}
    for part in ("train", "test"):
        bags, y, evidence = make_digit_sets(60, part, random_state=1, return_evidence=True)
        found = np.array([digit_of[vector.tobytes()] for vector in bags.X])
        assert (np.isin(found, [2, 7]) == evidence).all()
        assert set(bags.sizes.tolist()) == {3, 4, 5, 6, 7}
        for k, label in enumerate(y):
            decisive = found[bags.offsets[k] : bags.offsets[k + 1]][evidence[bags.offsets[k] : bags.offsets[k + 1]]]
            assert decisive.tolist() == {"neither": [], "two": [2], "seven": [7]}[label]
        seen[part] = {vector.tobytes() for vector in bags.X}
    assert not seen["train"] & seen["test"]
    again, y_again = make_digit_sets(60, "test", random_state=1)
    assert (again.X == bags.X).all()
    assert (y_again == y).all()
    with pytest.raises(ValueError, match="part must be 'train' or 'test'. Got 'dev'"):
        make_digit_sets(3, "dev")
