import numpy as np
import pytest

from setrbm import Bags
from setrbm_lab import peers
from setrbm_lab.peers import GatedAttention, pooled_svm


def easy(n_sets=40, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_sets)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X, y = rng.random((offsets[-1], 4)) * 0.5, np.arange(n_sets) % 2
    X[offsets[:-1][y == 1], 1] += 2.0
    return Bags(X, offsets), y


def test_a_pooled_svm_learns():
    assert pooled_svm(C=10.0).fit(*easy()).score(*easy(seed=1)) > 0.9


def test_gated_attention_learns_the_same_each_time_at_the_better_rate():
    pytest.importorskip("torchmil")
    bags, y = easy()
    labels = np.array(["no", "yes"])[y]
    settings = {"learning_rate": (1e-5, 1e-2), "max_epochs": 25, "random_state": 0}
    model, again = (GatedAttention(20, **settings).fit(bags, labels) for _ in range(2))
    new, truth = easy(seed=1)
    assert model.score(new, np.array(["no", "yes"])[truth]) > 0.9
    assert model.learning_rate_ == 1e-2
    np.testing.assert_array_equal(model.predict_proba(new), again.predict_proba(new))
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"learning_rate": ()}, r"learning_rate must be one or more positive numbers. Got \(\)"),
        ({"learning_rate": (1e-3, -1.0)}, "learning_rate must be one or more positive numbers"),
        ({"max_epochs": 0}, "max_epochs must be an integer of 1 or more. Got 0"),
        ({"validation_fraction": 2.0}, "validation_fraction must be between 0 and 1. Got 2.0"),
    ],
)
def test_gated_attention_refuses_invalid_settings(setting, message):
    with pytest.raises(ValueError, match=message):
        GatedAttention(**setting).fit(*easy())


def test_gated_attention_leaves_torch_as_it_was_and_says_that_it_diverged():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchmil")
    torch.manual_seed(3)
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    GatedAttention(5, learning_rate=1e-3, max_epochs=1, random_state=0).fit(*easy())
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.get_num_threads() == threads
    with pytest.raises(ValueError, match="Training diverged with every learning rate"):
        GatedAttention(5, learning_rate=(1e30, 1e32), max_epochs=3, random_state=0).fit(*easy())
    assert torch.get_num_threads() == threads


def test_gated_attention_refuses_more_than_two_classes():
    with pytest.raises(ValueError, match="supports two classes. Got 3"):
        GatedAttention().fit(easy()[0], np.arange(40) % 3)


@pytest.fixture
def scripted(monkeypatch):
    """Make the held-out losses of each rate a function of the epoch, and record which rates are trained when."""
    pytest.importorskip("torchmil")
    trained = []

    def train(losses, max_epochs):
        def run_epoch(self, sets, codes, order):
            trained.append(self.rate)
            self.network.rate, self.network.epoch = self.rate, getattr(self.network, "epoch", 0) + 1

        monkeypatch.setattr(peers._Training, "run_epoch", run_epoch)
        monkeypatch.setattr(GatedAttention, "_loss", lambda self, net, *_: losses[net.rate][net.epoch - 1])
        return GatedAttention(5, learning_rate=tuple(losses), max_epochs=max_epochs, random_state=0).fit(*easy())

    return train, trained


def test_gated_attention_takes_the_rate_with_the_lowest_late_loss(scripted):
    """Two rates are left after both rungs; they cross afterwards, and the last tenth decides."""
    train, _ = scripted
    early = {0.1: 0.2, 0.2: 0.3, 0.3: 0.8, 0.4: 0.9, 0.5: 1.0}
    late = {0.1: 0.7, 0.2: 0.4, 0.3: 0.1, 0.4: 0.1, 0.5: 0.1}
    model = train({rate: [early[rate]] * 36 + [late[rate]] * 4 for rate in early}, max_epochs=40)
    assert model.learning_rate_ == 0.2
    assert model.best_score_ == pytest.approx(0.4)


def test_gated_attention_drops_the_worse_half_after_an_eighth_and_a_quarter(scripted):
    train, trained = scripted
    model = train({rate: [rate] * 40 for rate in (0.4, 0.3, 0.2, 0.1)}, max_epochs=40)
    # The last 40 epochs train the chosen rate on all sets.
    choosing, refit = trained[:-40], trained[-40:]
    assert {rate: choosing.count(rate) for rate in sorted(set(choosing))} == {0.1: 40, 0.2: 10, 0.3: 5, 0.4: 5}
    assert refit == [0.1] * 40
    assert model.learning_rate_ == 0.1
