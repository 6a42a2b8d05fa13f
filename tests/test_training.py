from dataclasses import replace

import numpy as np
import pytest

from setrbm import Bags, draws
from setrbm.engines import get_engine
from setrbm.engines.protocol import LabeledSets, Model, Spec
from setrbm.training import (
    InMemory,
    Monitor,
    Part,
    Schedule,
    Streamed,
    Trainee,
    folds,
    hold_out,
    initial_params,
    train,
)
from setrbm.training.loop import _Orders
from setrbm.training.tracker import Tracker

ENGINE = get_engine("reference")


def problem(n_sets=20, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_sets) % 2
    X = rng.random((2 * n_sets, 3))
    X[::2, 0] = y
    return LabeledSets(Bags(X, np.arange(n_sets + 1) * 2), y, np.ones(n_sets))


def models(*rates):
    start = initial_params(3, 4, 2, 0.3, seed=1, dtype=np.float64)
    return [Model(start, 1, rate) for rate in rates]


class Seen(Monitor):
    """Keeps every epoch, and does something in them."""

    def __init__(self, act=lambda epoch: None):
        self.act, self.epochs = act, []

    def on_epoch(self, epoch):
        self.epochs.append(epoch)
        return self.act(epoch)


def run(rates, schedule, held_out=None, sets=None, monitor=None, groups=None):
    source = InMemory.of(sets or problem(), held_out)
    groups = groups or [None] * len(rates)
    trainees = [Trainee(model, source, group=group) for model, group in zip(models(*rates), groups, strict=True)]
    return train(ENGINE, Spec(), trainees, schedule, monitor=monitor)


def stream(parts, engine=ENGINE, schedule=None, fraction=0.0, seed=1):
    source = Streamed(parts, np.dtype(float), fraction, seed)
    return train(engine, Spec(), [Trainee(models(0.1)[0], source)], schedule or Schedule(2))[0]


def held_out_loss(params, sets, chosen):
    _, F = ENGINE.forward(params, sets.bags[chosen], Spec(), 1)
    p = np.exp(-F) / np.exp(-F).sum(axis=1, keepdims=True)
    return -np.log(p[np.arange(len(chosen)), sets.y[chosen]]).mean()


@pytest.mark.parametrize("criterion", ["likelihood", "error"])
def test_the_parameters_of_the_best_epoch_are_returned(criterion):
    sets, held_out = problem(), np.arange(6)
    outcome = run([1.5], Schedule(40, None, criterion), held_out, sets)[0]
    losses, errors = (np.array(outcome.history[name]) for name in ("held_out_loss", "held_out_error"))
    best = outcome.best_epoch - 1
    assert held_out_loss(outcome.params, sets, held_out) == pytest.approx(losses[best], rel=1e-12)
    if criterion == "likelihood":
        assert losses[best] == losses.min()
    else:
        assert errors[best] == errors.min()
        assert losses[best] == losses[errors == errors.min()].min()


@pytest.mark.parametrize("criterion", ["likelihood", "error"])
def test_models_kept_as_they_ended_are_judged_by_the_last_tenth_of_their_epochs(criterion):
    sets, held_out = problem(), np.arange(6)
    outcome = run([1.5], Schedule(40, None, criterion, ends=(40,)), held_out, sets)[0]
    column = outcome.history["held_out_loss" if criterion == "likelihood" else "held_out_error"]
    assert outcome.best_epoch == 40
    assert outcome.best_score == pytest.approx(np.mean(column[-4:]), rel=1e-12)
    assert held_out_loss(outcome.params, sets, held_out) == pytest.approx(outcome.history["held_out_loss"][-1])


@pytest.mark.parametrize("criterion", ["likelihood", "error"])
def test_of_several_possible_ends_the_best_is_returned(criterion):
    sets, held_out = problem(), np.arange(6)
    ends = (10, 20, 40)
    outcome = run([1.5], Schedule(40, None, criterion, ends=ends), held_out, sets)[0]
    losses, errors = (np.array(outcome.history[name]) for name in ("held_out_loss", "held_out_error"))
    first, second = (losses, errors) if criterion == "likelihood" else (errors, losses)
    late = [(first[n - n // 10 : n].mean(), second[n - n // 10 : n].mean()) for n in ends]
    assert outcome.best_epoch == ends[late.index(min(late))]
    assert outcome.best_score == pytest.approx(min(late)[0], rel=1e-12)
    assert held_out_loss(outcome.params, sets, held_out) == pytest.approx(losses[outcome.best_epoch - 1], rel=1e-12)
    assert len(losses) == 40


def test_the_worse_half_of_every_group_is_dropped_at_each_rung():
    sets, held_out, rates = problem(), np.arange(6), [1e-6, 1e-5, 0.2, 0.1, 1e-6]
    outcomes = run(rates, Schedule(20, ends=(20,), rungs=(4, 8)), held_out, sets, groups=[0, 0, 0, 0, 1])
    lengths = [len(outcome.history["loss"]) for outcome in outcomes]
    assert sorted(lengths[:4]) == [4, 4, 8, 20]
    assert lengths[:2] == [4, 4]
    assert lengths[4] == 20
    assert [outcome.dropped for outcome in outcomes] == [length < 20 for length in lengths]
    # A dropped model keeps its last score and parameters.
    assert outcomes[0].best_score == pytest.approx(outcomes[0].history["held_out_loss"][-1], rel=1e-12)
    assert held_out_loss(outcomes[0].params, sets, held_out) == pytest.approx(outcomes[0].best_score, rel=1e-12)
    alone = run([rates[np.argmax(lengths[:4])]], Schedule(20, ends=(20,)), held_out, sets)[0]
    np.testing.assert_array_equal(outcomes[int(np.argmax(lengths[:4]))].params.W, alone.params.W)


def test_models_are_ranked_by_the_last_tenth_of_their_epochs_and_a_dropped_one_does_not_improve():
    schedule = Schedule(20, ends=(20,), rungs=(20,))
    tracker = Tracker(schedule, [20, 20], [0, 0], [0, 1], 100.0)
    for epoch in range(20):
        # The first is worse in the last epoch, better over the last two.
        losses = {18: (0.1, 0.9), 19: (0.5, 0.4)}.get(epoch, (0.7, 0.2))
        better = tracker.note(np.ones(2), np.column_stack([losses, (0.0, 0.0)]), np.ones(2, dtype=bool))
    assert tracker.dropped.tolist() == [False, True]
    assert better.tolist() == [True, False]
    assert tracker.best[0, 0] == pytest.approx(0.3)


def test_a_diverged_model_does_not_count_in_its_group():
    sets, held_out = problem(), np.arange(6)
    outcomes = run([1e6, 0.1], Schedule(20, ends=(20,), rungs=(4,)), held_out, sets, groups=[0, 0])
    assert outcomes[0].diverged_in is not None
    assert not outcomes[1].dropped
    assert len(outcomes[1].history["loss"]) == 20


def test_a_model_stops_when_its_patience_is_exhausted_and_the_others_continue():
    outcomes = run([3.0, 0.001], Schedule(60, patience=5), np.arange(6))
    epochs = [len(outcome.history["loss"]) for outcome in outcomes]
    assert epochs[0] == outcomes[0].best_epoch + 5 < 60
    assert epochs[1] == 60


def test_without_held_out_sets_the_last_parameters_are_returned():
    short, long = run([0.1], Schedule(3))[0], run([0.1], Schedule(4))[0]
    assert short.best_epoch == 3
    assert short.history["loss"] == long.history["loss"][:3]
    assert (short.params.W != long.params.W).any()
    assert np.isnan(short.history["held_out_loss"]).all()


def test_divergence_is_noticed_in_the_epoch_in_which_it_happens():
    outcomes = run([1e6, 0.1], Schedule(50), np.arange(6))
    assert outcomes[0].diverged_in == len(outcomes[0].history["loss"]) <= 3
    assert outcomes[1].diverged_in is None
    assert len(outcomes[1].history["loss"]) == 50


def test_a_run_in_two_parts_is_the_run_in_one():
    whole = run([0.1], Schedule(6))[0]
    first = run([0.1], Schedule(2))[0]
    again = Trainee(Model(first.params, 1, 0.1), InMemory.of(problem()))
    second = train(ENGINE, Spec(), [again], Schedule(4, first_epoch=2))[0]
    np.testing.assert_allclose(second.params.W, whole.params.W, rtol=0, atol=1e-14)


def test_an_interruption_keeps_the_best_so_far():
    def interrupt(epoch):
        if epoch.number == 7:
            raise KeyboardInterrupt

    outcome = run([1.5], Schedule(100), np.arange(6), monitor=Seen(interrupt))[0]
    whole = run([1.5], Schedule(7), np.arange(6))[0]
    assert outcome.interrupted
    assert not whole.interrupted
    assert outcome.best_epoch == whole.best_epoch
    np.testing.assert_array_equal(outcome.params.W, whole.params.W)


def test_a_monitor_that_returns_true_ends_training():
    outcome = run([0.1], Schedule(100), monitor=Seen(lambda epoch: epoch.number == 3))[0]
    np.testing.assert_array_equal(outcome.params.W, run([0.1], Schedule(3))[0].params.W)
    assert not outcome.interrupted


def test_monitors_see_every_epoch_and_the_time_left_goes_to_zero():
    monitor = Seen()
    run([0.1], Schedule(5, phase="choosing"), monitor=monitor)
    assert [epoch.number for epoch in monitor.epochs] == [1, 2, 3, 4, 5]
    assert {(epoch.phase, epoch.max_epochs, epoch.n_running) for epoch in monitor.epochs} == {("choosing", 5, 1)}
    assert monitor.epochs[-1].seconds_left == 0.0


def test_a_loss_that_is_not_a_number_counts_as_divergence():
    tracker = Tracker(Schedule(5), [5, 5], [0, 1], [0, 0], 100.0)
    tracker.note(np.array([np.nan, 0.5]), np.full((2, 2), 0.1), np.ones(2, dtype=bool))
    assert tracker.diverged_in.tolist() == [1, 0]
    assert tracker.running().tolist() == [False, True]
    assert tracker.best[:, 0].tolist() == [np.inf, 0.1]


@pytest.mark.parametrize("fraction", [0.1, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("at_least_one", [False, True])
def test_held_out_sets_take_their_fraction_of_each_class_and_never_the_whole(fraction, at_least_one):
    y = np.repeat([0, 1, 2, 3], [50, 20, 2, 1])
    kept = np.bincount(y[hold_out(y, fraction, seed=0, at_least_one=at_least_one)], minlength=4)
    assert kept[0] == round(50 * fraction)
    assert kept[1] == round(20 * fraction)
    assert kept[2] == (1 if at_least_one or fraction > 0.25 else 0)
    assert kept[3] == 0


def test_another_seed_holds_out_other_sets():
    y = np.arange(40) % 2
    assert len({tuple(hold_out(y, 0.2, seed)) for seed in range(10)}) == 10


@pytest.mark.parametrize("seed", range(3))
def test_folds_hold_out_every_set_once_but_never_the_only_set_of_its_class(seed):
    y = np.array([0] * 12 + [1] + [2] * 2 + [3] * 7)
    held_out = folds(y, 5, seed)
    assert sorted(np.concatenate(held_out).tolist()) == [k for k in range(len(y)) if y[k] != 1]
    of_class = np.array([np.bincount(y[fold], minlength=4) for fold in held_out])
    assert of_class.max(axis=0).tolist() == [3, 0, 1, 2]
    assert of_class.min(axis=0).tolist() == [2, 0, 0, 1]
    assert folds(np.arange(5), 5, seed) == []


def test_start_weights_are_uniform_within_their_scale_and_the_same_for_the_same_seed():
    params = initial_params(50, 40, 3, 0.2, seed=3, dtype=np.float64)
    again = initial_params(50, 40, 3, 0.2, seed=3, dtype=np.float64)
    np.testing.assert_array_equal(params.W, again.W)
    assert params.W.shape == (40, 50)
    assert np.abs(params.W).max() <= 0.2
    assert params.W.std() == pytest.approx(0.2 / np.sqrt(3), rel=0.05)
    assert not (params.b.any() or params.c.any() or params.d.any())
    assert np.unique(np.concatenate([params.W.ravel(), params.U.ravel()])).size == 40 * 53


def test_orders_come_from_draws():
    seen = []

    class Spy:
        def __init__(self, session):
            self.session = session

        def run(self, placed, orders, epoch):
            seen.append(orders[0].tolist())
            return self.session.run(placed, orders, epoch)

        def __getattr__(self, name):
            return getattr(self.session, name)

    class Engine:
        place = staticmethod(ENGINE.place)

        @staticmethod
        def begin(*args):
            return Spy(ENGINE.begin(*args))

    train(Engine, Spec(), [Trainee(models(0.1)[0], InMemory.of(problem()))], Schedule(2))
    assert seen == [draws.order(1, epoch, np.arange(20)).tolist() for epoch in range(2)]


def test_an_error_while_a_shard_is_loaded_is_raised():
    def shards():
        yield problem(8)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        stream(shards, ENGINE)


def test_orders_of_shards_are_by_the_numbers_of_their_sets_in_the_stream():
    """Models that share a seed see a later shard in another order than an earlier one of the same size."""
    earlier, later = problem(6), replace(problem(6), first=6)
    models = [Model(initial_params(2, 2, 2, 0.1, 4, np.float64), 4, 0.1)] * 2
    chosen = np.arange(6)
    parts = [Part(sets, chosen, chosen[:0]) for sets in (earlier, later)]
    orders = _Orders(models, parts).of(3, np.array([True, True]))
    for got, first in zip(orders, (0, 6), strict=True):
        np.testing.assert_array_equal(got, draws.order(4, 3, chosen, first))
    assert not np.array_equal(*orders)


def mean_loss(params, sets, which):
    """The weighted mean of -log p(y | X) over some sets."""
    weight = sets.weight[which]
    losses = [held_out_loss(params, sets, np.array([t])) for t in which]
    return float(np.average(losses, weights=weight))


def test_losses_and_scores_of_a_stream_are_weighted_by_its_sets():
    """Shards of 4 and 16 sets, with unequal weights: a mean of means would be another number."""
    whole = problem(20)
    weight = np.random.default_rng(1).random(20) + np.arange(20)
    whole = replace(whole, weight=weight)
    spans = [slice(0, 4), slice(4, 20)]
    shards = [LabeledSets(whole.bags[s], whole.y[s], weight[s], s.start) for s in spans]
    source = Streamed(lambda: iter(shards), np.dtype(float), 0.4, seed=3)
    held_out = np.concatenate([part.held_out + part.sets.first for part in source])
    learned = np.concatenate([part.training + part.sets.first for part in source])
    assert all(len(part.held_out) and len(part.training) for part in source)
    assert sorted([*held_out, *learned]) == list(range(20))
    # A rate so small that the parameters stay where they are.
    model = models(1e-15)[0]
    outcome = train(ENGINE, Spec(), [Trainee(model, source)], Schedule(1))[0]
    assert outcome.history["loss"][0] == pytest.approx(mean_loss(model.params, whole, learned), rel=1e-9)
    assert outcome.history["held_out_loss"][0] == pytest.approx(mean_loss(model.params, whole, held_out), rel=1e-9)


def test_a_stream_of_which_everything_is_held_out_is_refused():
    with pytest.raises(ValueError, match="There must be sets to learn from. All were held out"):
        stream(lambda: iter([problem(4)]), fraction=1.0)
