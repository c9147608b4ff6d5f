"""Splits are weights: each row held out once, seeded, and blind to absent rows."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, check_cv

from likely import data, evaluate
from likely.core import InputError
from likely.evaluate import (
    grouped_k_fold,
    k_fold,
    repeated_k_fold,
    stratified_k_fold,
    time_folds,
    train_validation_test,
)

N = 103
RNG = np.random.default_rng(0)
CLASSES = RNG.choice(["a", "b", "c"], N, p=[0.6, 0.3, 0.1])
GROUPS = RNG.integers(0, 30, N)
W = RNG.integers(0, 4, N).astype(float)
FOLDS = {
    "plain": lambda rows, w, seed: k_fold(
        len(rows), 5, sample_weight=w, random_state=seed
    ),
    "repeated": lambda rows, w, seed: repeated_k_fold(
        len(rows), 5, repeats=3, sample_weight=w, random_state=seed
    ),
    "stratified": lambda rows, w, seed: stratified_k_fold(
        CLASSES[rows], 5, sample_weight=w, random_state=seed
    ),
    "grouped": lambda rows, w, seed: grouped_k_fold(
        GROUPS[rows], 5, sample_weight=w, random_state=seed
    ),
}
ALL = np.arange(N)


@pytest.mark.parametrize("name", FOLDS)
def test_each_row_is_held_out_exactly_once(name):
    train, held_out = FOLDS[name](ALL, None, 0)
    times = 3 if name == "repeated" else 1
    assert train.shape == held_out.shape == (5 * times, N)
    np.testing.assert_array_equal(held_out.sum(axis=0), np.full(N, times))
    np.testing.assert_array_equal(train + held_out, np.ones((5 * times, N)))


@pytest.mark.parametrize("name", FOLDS)
def test_weights_are_multiplied_in(name):
    train, held_out = FOLDS[name](ALL, W, 0)
    times = len(train) // 5
    np.testing.assert_array_equal(held_out.sum(axis=0), times * W)
    np.testing.assert_array_equal(train + held_out, np.tile(W, (len(train), 1)))


@pytest.mark.parametrize("name", FOLDS)
def test_absent_rows_change_nothing(name):
    present = np.flatnonzero(W > 0)
    everything = FOLDS[name](ALL, W, 0)
    without = FOLDS[name](present, W[present], 0)
    np.testing.assert_array_equal(everything.held_out[:, present], without.held_out)


@pytest.mark.parametrize("name", FOLDS)
def test_seed_decides(name):
    first, again = FOLDS[name](ALL, None, 1), FOLDS[name](ALL, None, 1)
    np.testing.assert_array_equal(first.train, again.train)
    assert not np.array_equal(first.train, FOLDS[name](ALL, None, 2).train)
    generator = np.random.default_rng(1)
    np.testing.assert_array_equal(first.train, FOLDS[name](ALL, None, generator).train)
    assert (
        FOLDS[name](ALL, None, np.random.RandomState(1)).train.shape
        == first.train.shape
    )


def test_folds_are_even():
    sizes = k_fold(N, 4, random_state=0).held_out.sum(axis=1)
    assert sorted(sizes) == [25, 26, 26, 26]


def test_each_fold_has_its_share_of_each_class():
    held_out = stratified_k_fold(CLASSES, 5, random_state=0).held_out
    for label in "abc":
        counts = held_out[:, label == CLASSES].sum(axis=1)
        assert counts.max() - counts.min() <= 1


def test_groups_stay_together():
    held_out = grouped_k_fold(GROUPS, 5, random_state=0).held_out
    for group in np.unique(GROUPS):
        folds = held_out[:, group == GROUPS].any(axis=1)
        assert folds.sum() == 1
    sizes = held_out.sum(axis=1)
    assert sizes.max() - sizes.min() <= 3


def test_couples_are_not_parted():
    """A38: a partner in training would tell about the one held out."""
    people = data.couples(50, random_state=0)
    groups = people.truth["groups"]
    train, held_out = grouped_k_fold(groups, 5, random_state=0)
    for seen, judged in zip(train, held_out, strict=True):
        assert not set(groups[seen > 0]) & set(groups[judged > 0])


def test_time_goes_forward():
    time = RNG.permutation(N) // 2
    train, held_out = time_folds(time, 4)
    assert train.shape == (4, N)
    for seen, judged in zip(train, held_out, strict=True):
        assert time[seen > 0].max() < time[judged > 0].min()
    assert held_out.sum(axis=0).max() == 1
    assert (train.sum(axis=1) == np.sort(train.sum(axis=1))).all()
    first = held_out.sum(axis=0) == 0
    assert time[first].max() < time[~first].min()


def test_gap_and_window():
    time = np.arange(50)
    plain, gapped = time_folds(time, 4), time_folds(time, 4, gap=3, window=8)
    np.testing.assert_array_equal(plain.held_out, gapped.held_out)
    for seen, judged in zip(gapped.train, gapped.held_out, strict=True):
        start = time[judged > 0].min()
        here = time[seen > 0]
        assert here.max() == start - 4
        assert len(here) <= 8
    days = np.datetime64("2024-01-01") + time
    dated = time_folds(
        days, 4, gap=np.timedelta64(3, "D"), window=np.timedelta64(8, "D")
    )
    np.testing.assert_array_equal(dated.train, gapped.train)


def test_time_folds_with_absent_rows():
    time = RNG.normal(size=N)
    present = np.flatnonzero(W > 0)
    everything = time_folds(time, 4, sample_weight=W)
    without = time_folds(time[present], 4, sample_weight=W[present])
    np.testing.assert_array_equal(everything.train[:, present], without.train)
    assert not everything.train[:, W == 0].any()


def test_shuffled_folds_promise_too_much_under_drift():
    """A71: judged on shuffled rows the error looks smaller than on the future."""
    found = data.drift(400, change=3.0, noise=0.1, random_state=0)
    x = found.X[:, 0]

    def error(folds) -> float:
        errors = []
        for train, held_out in zip(*folds, strict=True):
            slope = (train * x) @ found.y / ((train * x) @ x)
            errors.append(held_out @ (found.y - slope * x) ** 2 / held_out.sum())
        return float(np.mean(errors))

    shuffled = error(k_fold(400, 5, random_state=0))
    forward = error(time_folds(found.X[:, 1], 5))
    assert forward > 1.2 * shuffled


# Train, validation, test --------------------------------------------------------------

SPLITS = {
    "plain": lambda rows, w: train_validation_test(
        len(rows), sample_weight=w, random_state=0
    ),
    "stratified": lambda rows, w: train_validation_test(
        len(rows), y=CLASSES[rows], sample_weight=w, random_state=0
    ),
    "grouped": lambda rows, w: train_validation_test(
        len(rows), groups=GROUPS[rows], sample_weight=w, random_state=0
    ),
    "by time": lambda rows, w: train_validation_test(
        len(rows), time=rows % 50, sample_weight=w
    ),
}


@pytest.mark.parametrize("name", SPLITS)
def test_three_parts_are_all(name):
    split = SPLITS[name](ALL, W)
    np.testing.assert_array_equal(sum(split), W)
    assert ((np.array(split) > 0).sum(axis=0) <= 1).all()
    share = (SPLITS[name](ALL, None).test > 0).mean()
    assert share == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize("name", SPLITS)
def test_parts_do_not_see_absent_rows(name):
    present = np.flatnonzero(W > 0)
    everything, without = SPLITS[name](ALL, W), SPLITS[name](present, W[present])
    np.testing.assert_array_equal(np.array(everything)[:, present], np.array(without))


@pytest.mark.parametrize(("validation", "test"), [(0.0, 0.5), (0.0, 0.2), (0.3, 0.1)])
def test_shares_are_exact(validation, test):
    """Half and half, 80 and 20, as the notes have them."""
    split = train_validation_test(200, validation, test, random_state=0)
    assert split.test.sum() == round(200 * test)
    assert split.validation.sum() == pytest.approx(200 * validation, abs=1)


def test_classes_and_groups_and_time_are_kept():
    stratified = SPLITS["stratified"](ALL, None)
    for label in "abc":
        here = label == CLASSES
        assert stratified.test[here].sum() == pytest.approx(0.2 * here.sum(), abs=1)
    grouped = SPLITS["grouped"](ALL, None)
    parts = [set(GROUPS[part > 0]) for part in grouped]
    assert sum(map(len, parts)) == len(set.union(*parts))
    time = ALL % 50
    by_time = SPLITS["by time"](ALL, None)
    ends = [(time[part > 0].min(), time[part > 0].max()) for part in by_time]
    assert ends[0][1] < ends[1][0] <= ends[1][1] < ends[2][0]


WRONG = {
    "too few rows": (lambda: k_fold(3, 5), "3 rows with weight cannot be split into 5"),
    "one fold": (lambda: k_fold(9, 1), "at least 2 folds"),
    "few groups": (lambda: grouped_k_fold([1, 1, 2, 2, 2], 3), "there are 2 groups"),
    "few times": (lambda: time_folds(np.ones(20), 3), "too few different times"),
    "wide gap": (lambda: time_folds(np.arange(20), 3, gap=19), "make it smaller"),
    "shares": (lambda: train_validation_test(9, 0.5, 0.5), "leave nothing to train on"),
    "two ways": (
        lambda: train_validation_test(3, y=[1, 1, 1], time=[1, 2, 3]),
        "only one of y, groups and time",
    ),
    "weights": (lambda: k_fold(5, 2, sample_weight=[1, 2]), "one weight for each row"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_settings_are_sentences(name):
    call, sentence = WRONG[name]
    with pytest.raises(InputError, match=sentence):
        call()


# Fold numbers -------------------------------------------------------------------------


def test_random_folds_are_even_and_seeded():
    fold = evaluate.random_folds(N, 5, 3)
    assert np.ptp(np.bincount(fold, minlength=5)) <= 1
    np.testing.assert_array_equal(fold, np.random.default_rng(3).permutation(N) % 5)
    assert (fold != evaluate.random_folds(N, 5, 4)).any()


def test_ordered_folds_take_turns_in_each_class():
    np.testing.assert_array_equal(evaluate.ordered_folds(7, 3), [0, 1, 2, 0, 1, 2, 0])
    fold = evaluate.ordered_folds(N, 4, classes=CLASSES)
    for label in "abc":
        own = fold[label == CLASSES]
        np.testing.assert_array_equal(own, np.arange(len(own)) % 4)


def test_folds_know_the_number_of_each_row():
    folds = k_fold(N, 5, sample_weight=W, random_state=0)
    number = folds.numbers
    np.testing.assert_array_equal(number < 0, W == 0)
    for j, held_out in enumerate(folds.held_out):
        np.testing.assert_array_equal(number == j, held_out > 0)
    assert (
        time_folds(np.arange(10.0), 4).numbers == np.repeat([-1, 0, 1, 2, 3], 2)
    ).all()


def test_the_early_stopping_split_is_a_share_of_the_rows_that_count():
    rows = np.flatnonzero(W > 0)
    learn, stop = evaluate.early_stopping_split(rows, 0.25, [7, 2**32])
    assert len(stop) == round(0.25 * len(rows))
    np.testing.assert_array_equal(np.sort(np.r_[learn, stop]), rows)
    assert (np.diff(learn) > 0).all()
    assert (np.diff(stop) > 0).all()
    again = evaluate.early_stopping_split(rows, 0.25, [7, 2**32])
    np.testing.assert_array_equal(stop, again[1])
    order = np.random.default_rng([7, 2**32]).permutation(N)
    np.testing.assert_array_equal(
        evaluate.early_stopping_split(N, 0.1, [7, 2**32])[1], np.sort(order[:10])
    )
    np.testing.assert_array_equal(
        evaluate.early_stopping_split(np.arange(N), 0.1, [7, 2**32])[1],
        np.sort(order[:10]),
    )
    assert len(evaluate.early_stopping_split(3, 0.01, 0)[1]) == 1


def test_cv_is_what_scikit_learn_takes_it_for():
    y = (np.arange(N) % 3).astype(float)
    for cv, classes in [
        (4, True),
        (4, False),
        (KFold(3, shuffle=True, random_state=1), 0),
    ]:
        splits = evaluate.cv_splits(cv, y, classes=bool(classes))
        peer = check_cv(cv, y, classifier=bool(classes)).split(np.zeros(N), y)
        for (train, out), (a, b) in zip(splits, peer, strict=True):
            np.testing.assert_array_equal(train, a)
            np.testing.assert_array_equal(out, b)
        weights = evaluate.training_weights(cv, y, np.ones(N), classes=bool(classes))
        for row, (train, out) in zip(weights, splits, strict=True):
            assert row[train].all()
            assert not row[out].any()


@pytest.mark.parametrize("classes", [True, False])
def test_a_number_of_folds_keeps_groups_together(classes, rng):
    groups, y = rng.integers(12, size=N), (np.arange(N) % 2).astype(float)
    for cv in (4, None):
        splits = evaluate.cv_splits(cv, y, classes=classes, groups=groups)
        out = np.concatenate([held_out for _, held_out in splits])
        assert sorted(out) == list(range(N))
        for train, held_out in splits:
            assert not set(groups[train]) & set(groups[held_out])
    with pytest.raises(InputError, match="3 groups cannot be split into 5 folds"):
        evaluate.cv_splits(5, y, classes=classes, groups=groups % 3)
    with pytest.raises(InputError, match="4 samples cannot be split into 5 folds"):
        evaluate.cv_splits(5, y[:4], classes=classes)


def test_folds_without_weight_are_refused():
    w = (np.arange(N) >= N // 2).astype(float)
    named = list(KFold(5).split(np.zeros(N)))
    with pytest.raises(InputError, match="fold 0 has no weight"):
        evaluate.training_weights(named, np.zeros(N), w, classes=False)
    shares = evaluate.training_weights(5, np.zeros(N), w, classes=False) @ w / w.sum()
    np.testing.assert_allclose(shares, 0.8, atol=0.02)
    for share in (0.0, 1.0, -0.5):
        with pytest.raises(InputError, match="between 0 and 1"):
            evaluate.early_stopping_split(N, share, 0)
    with pytest.raises(InputError, match="no row left to learn"):
        evaluate.early_stopping_split(1, 0.5, 0)
