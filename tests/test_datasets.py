from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from setrbm import ClassSetRBM
from setrbm.datasets import load_musk1, make_digit_sets, make_mail_like


@pytest.fixture(scope="module")
def mail():
    return make_mail_like(2000, random_state=0)


def test_mail_like_sets_have_the_shape_of_the_paper_s_smaller_collection(mail):
    bags, y = mail
    assert bags.shape == (2000, 10_083)
    assert bags.n_vectors == round(2000 * 102_071 / 14_593)
    assert bags.is_sparse
    assert bags.dtype == np.float32
    assert set(bags.X.data) == {1.0}
    assert bags.X.nnz / bags.n_vectors == pytest.approx(80, rel=0.03)
    assert np.bincount(y).min() >= 2000 // 11


def test_set_sizes_are_log_normal_and_words_follow_zipf(mail):
    bags, _ = mail
    logs = np.log(bags.sizes)
    assert np.abs(((logs - logs.mean()) ** 3).mean() / logs.std() ** 3) < 0.5
    assert bags.sizes.max() > 5 * np.median(bags.sizes)
    counts = np.sort(np.asarray(bags.X.sum(axis=0)).ravel())[::-1]
    assert counts[0] > 5 * counts[100] > 25 * counts[2000]


def test_mail_depends_on_the_seed_only(mail):
    bags, y = mail
    again, y_again = make_mail_like(2000, random_state=0)
    assert (again.X != bags.X).nnz == 0
    assert (y == y_again).all()
    assert (make_mail_like(2000, random_state=1)[0].X.nnz) != bags.X.nnz


def test_the_class_can_be_learned(mail):
    bags, y = mail
    model = ClassSetRBM(max_epochs=10, random_state=0).fit(bags[:1500], y[:1500])
    # Guessing gets 0.09.
    assert model.score(bags[1500:], y[1500:]) > 0.25


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_sets": 3, "n_classes": 5}, "one set of each. Got 3 sets, 5 classes"),
        ({"n_sets": 30, "n_vectors": 20}, "at least one vector. Got 20 vectors for 30 sets"),
        ({"n_sets": 30, "words_per_vector": 9000}, "between 1 and half the 10083 features"),
    ],
)
def test_impossible_shapes_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        make_mail_like(**settings)


def test_a_model_generalizes_to_more_sets_of_the_same_problem_only():
    model = ClassSetRBM(50, max_epochs=15, random_state=0).fit(*make_mail_like(3000, n_classes=3, random_state=0))
    assert model.score(*make_mail_like(500, n_classes=3, random_state=1)) > 0.8
    assert model.score(*make_mail_like(500, n_classes=3, random_state=1, problem=1)) < 0.5


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
