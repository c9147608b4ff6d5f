"""Word vectors against plain loops, SciPy, numerical gradients and planted truth."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy.sparse.linalg import svds
from scipy.stats import spearmanr
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import likely as lk
from likely import data, text
from likely.core.checks import InputError
from likely.text.vectors.cooccurrence import count_pairs, distance_weights_of
from likely.text.vectors.corpus import Corpus
from likely.text.vectors.skip_gram import (
    SkipGram,
    drawing_table,
    joined,
    kept_share,
)
from likely.text.vectors.softmax import fit_softmax, softmax_loss

TEXTS = [
    "the cat sat on the mat",
    "",
    "the dog sat on the log",
    "a cat and a dog",
    "Hello",
    "the mat, the log: it's the dog's",
]
ROWS = [list("abcab"), list("ca"), [], list("b"), list("aaab")]
rng = np.random.default_rng(0)


@pytest.fixture(scope="module")
def families():
    return data.word_families(3000, random_state=0)


@pytest.fixture(scope="module")
def fitted(families):
    return lk.WordVectors(30, epochs=5).fit(families.texts)


def right(vectors, families, n=200):
    """How many planted analogies are found."""
    asked = families.analogies[:: max(1, len(families.analogies) // n)]
    return np.mean([vectors.analogy(a, b, c, 1)[0][0] == d for a, b, c, d in asked])


# Counts -------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "window"), [(0, 1), (1, 3), (6, 2), (4, 9)])
def test_the_set_of_pairs_is_its_definition(length, window):
    places = itertools.product(range(length), repeat=2)
    expected = [(i, j) for i, j in places if 1 <= abs(i - j) <= window]
    assert text.window_pairs(length, window).tolist() == [list(p) for p in expected]


@pytest.mark.parametrize("rule", ["flat", "linear", "harmonic"])
@pytest.mark.parametrize("window", [1, 2, 7])
def test_cooccurrence_is_the_double_loop(rule, window):
    weight = {
        "flat": lambda d: 1.0,
        "linear": lambda d: (window + 1 - d) / window,
        "harmonic": lambda d: 1 / d,
    }[rule]
    found = text.cooccurrence(ROWS, window, distance_weights=rule)
    expected = Counter()
    for row in ROWS:
        for i, j in itertools.product(range(len(row)), repeat=2):
            if 1 <= abs(i - j) <= window:
                expected[row[i], row[j]] += weight(abs(i - j))
    C = found.counts.toarray()
    np.testing.assert_allclose(C, C.T)
    for i, j in itertools.product(range(3), repeat=2):
        assert math.isclose(C[i, j], expected[found.words[i], found.words[j]])
    assert found.words == ["a", "b", "c"]  # 7, 4 and 2 times


def test_counts_of_numbers_are_at_their_numbers():
    words, counts = text.cooccurrence(np.array([[4, 1, 1], [1, 4, 0]]), 1)
    assert words == [0, 1, 2, 3, 4]
    expected = np.zeros((5, 5))
    expected[1, 1], expected[1, 4], expected[4, 1] = 2, 2, 2
    expected[0, 4] = expected[4, 0] = 1
    np.testing.assert_array_equal(counts.toarray(), expected)
    stream = text.cooccurrence([4, 1, 1], 1).counts.toarray()
    np.testing.assert_array_equal(
        stream, text.cooccurrence([[4, 1, 1]], 1).counts.toarray()
    )


def test_weights_of_texts_are_repetitions():
    w = np.array([2.0, 0.0, 1.0, 3.0, 1.0, 0.0])
    garbage = [t if k else None for t, k in zip(TEXTS, w, strict=True)]
    repeated = np.repeat(TEXTS, w.astype(int)).tolist()
    one = text.cooccurrence(garbage, sample_weight=w)
    two = text.cooccurrence(repeated)
    assert one.words == two.words
    np.testing.assert_allclose(one.counts.toarray(), two.counts.toarray())
    for method in ("pmi", "cooccurrence"):
        make = lk.WordVectors(4, method=method, pooling="sif")
        a = make.fit(garbage, sample_weight=w)
        b = lk.WordVectors(4, method=method, pooling="sif").fit(repeated)
        np.testing.assert_allclose(a.vectors_, b.vectors_, atol=1e-10)
        np.testing.assert_allclose(a.transform(TEXTS), b.transform(TEXTS), atol=1e-10)


def test_ngrams_are_counted():
    for n in (1, 2, 3, 6):
        expected = Counter(
            tuple(row[i : i + n]) for row in ROWS for i in range(len(row) - n + 1)
        )
        found = text.ngrams(ROWS, n)
        assert found == expected
        assert list(found.values()) == sorted(found.values(), reverse=True)
    assert text.ngrams(["A b a B"], 2, min_count=2) == {("a", "b"): 2}
    assert text.ngrams([[7, 7, 7]], 2) == {(7, 7): 2}
    assert text.ngrams([], 2) == {}


# Factorisation --------------------------------------------------------------------------


def test_pmi_is_its_formula():
    C = text.cooccurrence(TEXTS, 2).counts
    P = C.toarray() / C.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.log(P / np.outer(P.sum(1), P.sum(0)))
    expected[P == 0] = -np.inf  # also of a word that has no neighbours
    found = text.pmi(C, positive=False).toarray()
    np.testing.assert_allclose(found[P > 0], expected[P > 0], atol=1e-12)
    assert not found[P == 0].any()
    for shift in (1.0, 3.0):
        found = text.pmi(C.toarray(), shift=shift).toarray()
        np.testing.assert_allclose(found, np.maximum(expected - np.log(shift), 0))


def test_the_constant_is_the_least_squares_one():
    C = text.cooccurrence(TEXTS, 2).counts
    X, Z = rng.normal(size=(2, C.shape[0], 3))
    found = text.pmi_constant(C, X, Z)
    values, w = text.pmi(C, positive=False).toarray(), C.toarray()
    loss = lambda c: (w * (values - X @ Z.T - c) ** 2)[w > 0].sum()  # noqa: E731
    assert loss(found) < min(loss(found + 1e-3), loss(found - 1e-3))


@pytest.mark.parametrize("n_words", [40, 800])
def test_factorisation_is_the_singular_value_decomposition(n_words):
    """By all eigenvectors, and by Lanczos; the signs of columns are free."""
    A = rng.normal(size=(n_words, 6)) * np.arange(1, 7)
    C = A @ np.diag([1, -1, 1, 1, -1, 1]) @ A.T + 1e-3 * n_words * np.eye(n_words)
    found = text.eigen_embedding(C, 4)
    U, s, Vt = svds(C, 4, v0=np.ones(n_words))
    U, s, Vt = U[:, ::-1], s[::-1], Vt[::-1]
    np.testing.assert_allclose(np.abs(found.eigenvalues), s, rtol=1e-8)
    np.testing.assert_allclose(found.X @ found.Z.T, U * s @ Vt, atol=1e-6 * s[0])
    signs = np.sign((U * found.X).sum(0))
    np.testing.assert_allclose(found.X, U * signs * np.sqrt(s), atol=1e-6 * s[0] ** 0.5)


def test_method_pmi_factorises_positive_pmi(families):
    vectors = lk.WordVectors(10, method="pmi", window=3).fit(families.texts[:300])
    rows = [t.split() for t in families.texts[:300]]
    C = text.cooccurrence(rows, 3, distance_weights="linear")
    assert C.words == vectors.words_
    U, s, Vt = np.linalg.svd(text.pmi(C.counts).toarray())
    best = (U * s)[:, :10] @ Vt[:10]
    found = vectors.vectors_ @ vectors.context_vectors_.T
    np.testing.assert_allclose(found, best, atol=1e-8)
    np.testing.assert_allclose(np.abs(vectors.eigenvalues_), s[:10])
    np.testing.assert_allclose(
        vectors.constant_,
        text.pmi_constant(C.counts, vectors.vectors_, vectors.context_vectors_),
    )


def test_a_vector_is_decoded_to_the_nearest_word(fitted):
    near = fitted.vectors_ + 1e-4
    assert fitted.decode(near) == fitted.words_
    distances = np.linalg.norm(
        fitted.vectors_ - fitted.vectors_[[3, 7]].mean(0), axis=1
    )
    (word,) = fitted.decode(fitted.vectors_[[3, 7]].mean(0, keepdims=True))
    assert word == fitted.words_[int(distances.argmin())]


# Skip-gram ------------------------------------------------------------------------------


class Plain:
    """Skip-gram as one reads it: loops in double precision, with the same random numbers."""

    def __init__(self, settings: SkipGram, corpus: Corpus):
        self.settings, self.corpus = settings, corpus
        self.keep = kept_share(corpus.counts, settings.sample)
        p = corpus.counts**settings.power
        self.cumulative = np.cumsum(p / p.sum())

    def uniform(self) -> float:
        mask = 2**64 - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53

    def fit(self):
        s, corpus = self.settings, self.corpus
        draws, V = np.random.default_rng(s.seed), len(corpus.words)
        X = (2 * draws.random((V, s.size), np.float32) - 1) / np.float32(s.size)
        self.X, self.Z = X.astype(float), np.zeros((V, s.size))
        texts = np.flatnonzero(np.diff(corpus.starts))  # those that have words
        for epoch in range(s.epochs):
            times = np.floor(corpus.w[texts] + draws.random(len(texts))).astype(int)
            order = draws.permutation(np.repeat(texts, times))
            self.state = int(draws.integers(2**63, size=1)[0])
            for p, piece in enumerate(order):
                done = (epoch + p / len(order)) / s.epochs
                self.read(piece, s.rate * (1 - (1 - 0.004) * done))
        return self.X, self.Z

    def read(self, piece, rate):
        begin, end = self.corpus.starts[piece : piece + 2]
        words = [
            word
            for word in self.corpus.tokens[begin:end]
            if self.keep[word] >= 1 or self.uniform() < self.keep[word]
        ]
        for i in range(len(words)):
            u = self.uniform()
            width = sum(u >= 1 - w for w in self.settings.distance_weights)
            others = [
                int(np.searchsorted(self.cumulative, self.uniform(), side="right"))
                for _ in range(self.settings.negative)
            ]
            targets = [words[i], *[other for other in others if other != words[i]]]
            for j in range(max(0, i - width), min(len(words), i + width + 1)):
                if j != i:
                    self.step(words[j], targets, rate)

    def step(self, given, targets, rate):
        """A step for one word, its neighbour (the first target) and words at random."""
        x = self.X[given].copy()
        f = self.Z[targets] @ x - np.log(self.settings.negative)
        slopes = np.eye(len(targets))[0] - 1 / (1 + np.exp(-f))
        for target, slope in zip(targets, rate * slopes, strict=True):
            self.X[given] += slope * self.Z[target]
            self.Z[target] += slope * x


def settings(**changed) -> SkipGram:
    usual = SkipGram(8, distance_weights_of("linear", 3), 3, 0.05, 0.75, 0.1, 3, 1, 7)
    return usual._replace(**changed)


def corpus_of(texts, w=None) -> Corpus:
    rows = [t.split() for t in texts]
    return Corpus.of(rows, np.ones(len(rows)) if w is None else w)


@pytest.mark.parametrize("rule", ["linear", "flat", "harmonic"])
def test_the_compiled_steps_are_those_of_plain_loops(rule):
    corpus = corpus_of(TEXTS, np.array([1.0, 1.0, 2.5, 1.0, 0.0, 1.0]))
    chosen = settings(distance_weights=distance_weights_of(rule, 3))
    for found, expected in zip(
        chosen.fit(corpus), Plain(chosen, corpus).fit(), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=2e-6)
        assert np.abs(expected).max() > 0.01


def test_a_step_follows_the_gradient_of_the_likelihood():
    """log σ(f₀) + Σ log σ(−fᵢ) of f = x·z − log k, by differences."""
    corpus = corpus_of([" ".join(f"w{i}" for i in range(50))])
    plain = Plain(settings(), corpus)
    plain.X, plain.Z = rng.normal(size=(2, 50, 8))
    X, Z, rate = plain.X.copy(), plain.Z.copy(), 1e-3
    targets = [5, 7, 1, 40]
    plain.step(3, targets, rate)

    def likelihood(flat):
        x, *z = flat.reshape(-1, 8)
        f = np.array(z) @ x - np.log(plain.settings.negative)
        return -np.log1p(np.exp(np.append(-f[0], f[1:]))).sum()

    at, h = np.ravel([X[3], *Z[targets]]), 1e-6
    steps = h * np.eye(len(at))
    slopes = [(likelihood(at + e) - likelihood(at - e)) / (2 * h) for e in steps]
    moved = np.ravel([plain.X[3] - X[3], *(plain.Z - Z)[targets]])
    np.testing.assert_allclose(moved / rate, slopes, atol=1e-7)


def test_vectors_hold_both_vectors_of_a_word():
    """Their products are the best approximation of rank d of x·x' + z·z'."""
    X, Z = rng.normal(size=(2, 40, 3))
    found = joined(X, Z)
    assert found.shape == (40, 3)
    U, s, _ = np.linalg.svd(np.concatenate([X, Z], axis=1), full_matrices=False)
    best = (U[:, :3] * s[:3] ** 2) @ U[:, :3].T
    np.testing.assert_allclose(found @ found.T, best, atol=1e-10)
    made = lk.WordVectors(4, epochs=2).fit(TEXTS)
    x, z = made.input_vectors_, made.context_vectors_
    np.testing.assert_array_equal(made.vectors_, joined(x, z))


def test_random_words_are_drawn_by_their_probabilities():
    weights = rng.uniform(0, 1, 30) ** 4
    cumulative, guide = drawing_table(weights)
    for u in np.append(rng.random(500), [0.0, 1 - 2**-53]):
        start = guide[int(u * len(guide))]
        expected = np.searchsorted(np.cumsum(weights / weights.sum())[:-1], u, "right")
        assert start <= expected
        assert start + np.argmax(cumulative[start:] > u) == expected


def test_frequent_words_are_skipped():
    keep = kept_share(np.array([900.0, 99.0, 1.0]), 1e-2)
    np.testing.assert_allclose(keep[0], np.sqrt(1e-2 / 0.9) + 1e-2 / 0.9)
    assert keep[2] == 1
    assert (kept_share(np.array([5.0, 1.0]), 0) == 1).all()


def test_one_thread_gives_the_same_bits_and_two_give_as_good_vectors(families):
    make = lambda **s: lk.WordVectors(20, epochs=3, **s).fit(families.texts[:500])  # noqa: E731
    one, again, two, other = make(), make(), make(n_jobs=2), make(random_state=1)
    np.testing.assert_array_equal(one.vectors_, again.vectors_)
    assert not np.array_equal(one.vectors_, other.vectors_)
    assert np.isfinite(two.vectors_).all()
    assert abs(right(one, families) - right(two, families)) < 0.25


def test_the_exact_softmax_is_its_formula():
    C = text.cooccurrence(TEXTS, 2).counts
    X, Z = 0.5 * rng.normal(size=(2, C.shape[0], 3))
    loss, *slopes = softmax_loss(C, X, Z)
    expected = 0.0
    for w, v in zip(*C.nonzero(), strict=True):
        sums = sum(np.exp(X[w] @ Z[u]) for u in range(len(Z)))
        expected -= C[w, v] * np.log(np.exp(X[w] @ Z[v]) / sums) / C.sum()
    assert math.isclose(loss, expected)
    for side, slope in enumerate(slopes):
        for place in [(0, 0), (2, 1), (5, 2)]:
            both = np.array([X, Z])
            both[side][place] += 1e-6
            numerical = (softmax_loss(C, *both)[0] - loss) / 1e-6
            assert math.isclose(slope[place], numerical, abs_tol=1e-5)


def test_the_exact_softmax_reaches_the_entropy_of_neighbours():
    """With vectors as long as there are words, P(v | w) can be any table."""
    C = text.cooccurrence(ROWS, 2).counts
    X, Z = fit_softmax(C, 3, max_iter=500, seed=0)
    P = C.toarray() / C.toarray().sum(1, keepdims=True)
    entropy = -(C.toarray() / C.sum() * np.log(np.where(P > 0, P, 1))).sum()
    assert entropy <= softmax_loss(C, X, Z)[0] < entropy + 1e-3
    model = lk.WordVectors(3, window=2, distance_weights="flat", negative="all").fit(
        ROWS
    )
    found = softmax_loss(C, model.vectors_, model.context_vectors_)[0]
    assert found < entropy + 1e-3


# Truth ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["skipgram", "pmi"])
def test_planted_analogies_and_similarities_are_found(method, families, fitted):
    """As skip-gram finds them, and fewer by factorisation, which ignores what is below zero."""
    vectors = fitted
    if method == "pmi":
        vectors = lk.WordVectors(15, method="pmi").fit(families.texts)
    assert right(vectors, families) > (0.85 if method == "skipgram" else 0.5)
    true = families.vectors[families.families >= 0]
    names = [
        w for w, f in zip(families.words, families.families, strict=True) if f >= 0
    ]
    unit = lambda V: V / np.linalg.norm(V, axis=1, keepdims=True)  # noqa: E731
    above = np.triu_indices(len(true), 1)
    cosines = (
        unit(true) @ unit(true).T,
        unit(vectors.embed(names)) @ unit(vectors.embed(names)).T,
    )
    assert spearmanr(cosines[0][above], cosines[1][above]).statistic > 0.7


def test_mutual_information_grows_with_what_planted_vectors_share():
    """log P(v, w)/(P(v) P(w)) against x·x, for words of the same text."""
    made = data.word_families(3000, random_state=1)
    words, C = text.cooccurrence([t.split() for t in made.texts], 20)
    places = [made.words.index(word) for word in words]
    X, stems = made.vectors[places], made.families[places] >= 0
    often = (C.toarray() > 50) & np.outer(stems, stems)
    x, y = (X @ X.T)[often], text.pmi(C, positive=False).toarray()[often]
    assert np.corrcoef(x, y)[0, 1] > 0.9
    assert 0.5 < np.polyfit(x, y, 1)[0] < 1.1


def test_a_few_hundred_words_are_enough_for_something():
    """By default: words in the same places are neighbours."""
    animals, cars = ["cat", "dog", "cow"], ["bus", "car", "van"]
    texts = [f"the {a} eats grass in the field" for a in animals] * 8
    texts += [f"we drive a {c} to town and back" for c in cars] * 8
    for method in ("skipgram", "pmi"):
        vectors = lk.WordVectors(method=method).fit(texts)
        for own in (animals, cars):
            for word in own:
                found = {name for name, _ in vectors.nearest(word, 2)}
                assert found == set(own) - {word}, method


# The estimator --------------------------------------------------------------------------


def test_nearest_and_similarity_are_cosines(fitted):
    V = fitted.vectors_ / np.linalg.norm(fitted.vectors_, axis=1, keepdims=True)
    word = fitted.words_[4]
    cosines = V @ V[4]
    order = [i for i in np.argsort(-cosines) if i != 4]
    found = fitted.nearest(word, 3)
    assert [name for name, _ in found] == [fitted.words_[i] for i in order[:3]]
    np.testing.assert_allclose([c for _, c in found], cosines[order[:3]], atol=1e-6)
    assert math.isclose(fitted.similarity(word, word), 1, abs_tol=1e-6)
    assert fitted.nearest(fitted.embed(word), 1)[0][0] == word
    others = [name for name, _ in fitted.nearest(word, 10**6)]
    assert len(others) == len(fitted.words_) - 1


def test_analogies_leave_the_three_words_out(fitted):
    a, b, c = fitted.words_[:3]
    found = fitted.analogy(a, b, c, 10**6)
    A, B, C = fitted.embed([a, b, c])
    near = [w for w in fitted.nearest(A - B + C, 10**6) if w[0] not in (a, b, c)]
    assert [name for name, _ in found] == [name for name, _ in near]
    assert len(found) == len(fitted.words_) - 3
    assert not {a, b, c} & {name for name, _ in found}
    assert len(fitted.analogy(a, a, c, 10**6)) == len(fitted.words_) - 2


def test_texts_are_means_of_known_words():
    vectors = lk.WordVectors(3, method="pmi").fit(TEXTS)
    found = vectors.transform(["The cat xyz sat", "", "xyz", "cat"])
    np.testing.assert_allclose(found[0], vectors.embed(["the", "cat", "sat"]).mean(0))
    assert not found[1:3].any()
    np.testing.assert_allclose(found[3], vectors.embed("cat"))
    lists = vectors.transform([["the", "cat", "xyz", "sat"], [], ["xyz"], ["cat"]])
    np.testing.assert_array_equal(lists, found)
    assert vectors.get_feature_names_out().tolist() == [
        f"wordvectors{i}" for i in range(3)
    ]
    assert vectors.transform([]).shape == (0, 3)
    idf = lk.WordVectors(3, method="pmi", pooling="idf").fit(TEXTS)
    df = np.array([3, 2])  # texts with "the" and "cat"
    w = np.log(7 / (1 + df)) + 1
    expected = w @ idf.embed(["the", "cat"]) / w.sum()
    np.testing.assert_allclose(idf.transform(["the cat"])[0], expected)
    sif = lk.WordVectors(3, method="pmi", pooling="sif").fit(TEXTS)
    np.testing.assert_allclose(sif.transform(TEXTS) @ sif.common_, 0, atol=1e-10)


def test_word_vectors_in_a_pipeline(families):
    """Which of two stems a text is about."""
    names = [f"{families.words[0]} ", f"{families.words[3]} "]
    texts = [t for t in families.texts if (names[0] in t) != (names[1] in t)][:200]
    y = np.array([names[0] in t for t in texts])
    texts = [t.replace(names[0], "").replace(names[1], "") for t in texts]
    model = make_pipeline(
        lk.WordVectors(20, method="pmi", pooling="idf"), lk.GaussianNB()
    )
    assert (
        model.fit(texts, y).score(texts, y) > np.maximum(y.mean(), 1 - y.mean()) + 0.1
    )


def test_saved_and_loaded(fitted, tmp_path):
    fitted.save(tmp_path / "v.likely")
    loaded = lk.load(tmp_path / "v.likely")
    np.testing.assert_array_equal(loaded.vectors_, fitted.vectors_)
    assert loaded.words_ == fitted.words_
    word = fitted.words_[0]
    assert loaded.nearest(word) == fitted.nearest(word)


def test_word2vec_text_format(fitted, tmp_path):
    path = tmp_path / "v.txt"
    fitted.to_word2vec(path)
    first, second = path.read_text().splitlines()[:2]
    assert first == f"{len(fitted.words_)} 30"
    assert second.split(" ")[0] == fitted.words_[0]
    read = lk.WordVectors.from_word2vec(path)
    assert read.words_ == fitted.words_
    np.testing.assert_array_equal(read.vectors_, fitted.vectors_)
    assert read.nearest(fitted.words_[0]) == fitted.nearest(fitted.words_[0])
    np.testing.assert_array_equal(
        read.transform([fitted.words_[0]])[0], fitted.vectors_[0]
    )
    read.save(tmp_path / "v.likely")
    assert lk.load(tmp_path / "v.likely").words_ == read.words_
    with pytest.raises(InputError, match="frequencies of words"):
        read.set_params(pooling="idf").transform(["a"])


def test_word2vec_files_of_others(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes("2 2\nnew york 1 -2e-3\r\né 0.5 nan \n".encode())
    with pytest.raises(InputError, match="line 3 of .* is not a word and 2 numbers"):
        lk.WordVectors.from_word2vec(path)
    path.write_bytes("2 2\nnew york 1 -2e-3\r\né 0.5 7 \n".encode())
    read = lk.WordVectors.from_word2vec(path)
    assert read.words_ == ["new york", "é"]
    np.testing.assert_allclose(read.vectors_, [[1, -2e-3], [0.5, 7]])
    with pytest.raises(InputError, match="white space"):
        read.to_word2vec(path)
    path.write_text("a 1 2\nb 3 4\na 5 6\n")  # GloVe: no first line, a word twice
    assert lk.WordVectors.from_word2vec(path).vectors_.tolist() == [[1, 2], [3, 4]]
    for bad, match in [
        ("3 2\na 1 2\nb 3 4\n", "says 3"),
        ("2 2\na 1 2\nb 3\n", "line 3"),
        ("", "no words"),
        ("1 2\n", "no words"),
        (b"1 2\n\xff\xfe 1 2\n", "not UTF-8"),
    ]:
        path.write_bytes(bad if isinstance(bad, bytes) else bad.encode())
        with pytest.raises(InputError, match=match):
            lk.WordVectors.from_word2vec(path)


def test_what_is_wrong_is_said(fitted):
    word = next(w for w in fitted.words_ if len(w) > 5)
    with pytest.raises(InputError, match=f"did you mean '{word}'"):
        fitted.nearest(f"{word}x")
    with pytest.raises(InputError, match="not among the .* words of the fit"):
        fitted.analogy(word, "@@@", word)
    with pytest.raises(
        InputError, match=r"shape \(3,\); give finite numbers of shape \(30,\)"
    ):
        fitted.nearest(np.ones(3))
    with pytest.raises(NotFittedError):
        lk.WordVectors().transform(["a"])
    make = lambda X, **s: lk.WordVectors(**s).fit(X)  # noqa: E731
    for X, changed, match in [
        (["one one one one"], {}, "one word, 'one',"),
        (["", "!"], {}, "have no words"),
        ([], {}, "have no words"),
        (["one", "two", "three"], {}, "no text of X has two words"),
        (["a b", "b c"], {"min_count": 9}, "no word of 9 occurrences or more"),
        (["a b"], {"window": 0}, "window is 0; give a whole number of at least 1"),
        (["a b"], {"window": 1.5}, "window is 1.5"),
        (["a b"], {"size": 0}, "size is 0"),
        (["a b"], {"negative": 0}, "negative is 0"),
        (["a b"], {"epochs": 0}, "epochs is 0"),
        (["a b"], {"sample": -1}, "sample is -1"),
        (["a b"], {"method": "skipgrams"}, "did you mean 'skipgram'"),
        (["a b"], {"pooling": "max"}, "pooling is 'max'"),
        (["a b"], {"distance_weights": "none"}, "distance_weights is 'none'"),
        (["a b"], {"tokenizer": 3}, "tokenizer is 3"),
        (["a b"], {"method": "pmi", "shift": 50.0}, "50.0 times as often as by chance"),
        ("a b", {}, "give a list"),
        (["a b", None], {}, "row 1"),
        ([["a", "b"], None], {}, "row 1 of X is None"),
        ([["a", 1]], {}, "some words are text and some are numbers"),
        ([["a", 1.5]], {}, "the word 1.5"),
        ([[["a", "b"]]], {}, "a list of lists"),
    ]:
        with pytest.raises(InputError, match=match):
            make(X, **changed)
    with pytest.raises(InputError, match="n_stems is 1"):
        data.word_families(5, n_stems=1)


def test_an_exact_softmax_of_many_words_is_refused():
    rows = np.arange(6000).reshape(1, -1)
    with pytest.raises(InputError, match='negative is "all", and there are 6000 words'):
        lk.WordVectors(negative="all").fit(rows)


def test_rare_words_are_left_out_of_long_texts():
    rows = [["a", "b", "c"]] * 4000 + [["a", "rare"]]
    assert lk.WordVectors(2, method="pmi").fit(rows).words_ == ["a", "b", "c"]
    assert "rare" in lk.WordVectors(2, method="pmi").fit(rows[-100:]).words_


def test_long_texts_are_cut_to_pieces():
    """And none of their words is lost."""
    from likely.text.vectors.skip_gram import _pieces

    corpus = Corpus.of([[0, 1] * 12_000, [], [1], [0] * 10_000], np.arange(1.0, 5.0))
    pieces, w = _pieces(corpus)
    ends = [(0, 10_000), (10_000, 20_000), (20_000, 24_000), (24_000, 24_001)]
    assert [tuple(p) for p in pieces] == [*ends, (24_001, 34_001)]
    assert w.tolist() == [1, 1, 1, 3, 4]


def test_tokenizers_cut_texts():
    def pieces(line):
        return line.split("-")

    assert lk.WordVectors(2, method="pmi", tokenizer=pieces).fit(["A-b", "b-c"]).words_ == [
        "b", "a", "c",
    ]  # fmt: skip
    words = text.WordTokenizer().fit(["A b, c"])
    kept = lk.WordVectors(2, method="pmi", tokenizer=words, lowercase=False)
    assert kept.fit(["A b, c"]).words_ == [",", "A", "b", "c"]


def test_a_progress_bar_is_drawn(capsys):
    lk.WordVectors(2, epochs=2, verbose=True).fit(["a b c"])
    assert "2/2" in capsys.readouterr().err


def test_a_bag_leaves_the_corpus_alone():
    corpus = Corpus.of(ROWS, np.ones(len(ROWS)))
    tokens, starts = corpus.tokens.copy(), corpus.starts.copy()
    bag = corpus.bag()
    expected = [[row.count(word) for word in corpus.words] for row in ROWS]
    assert bag.toarray().tolist() == expected
    np.testing.assert_array_equal(corpus.tokens, tokens)
    np.testing.assert_array_equal(corpus.starts, starts)


def test_counting_pairs_of_no_words():
    assert count_pairs(Corpus.of([], np.zeros(0)), np.ones(2)).shape == (0, 0)


def test_a_map_shows_the_two_principal_components(fitted):
    from likely import plots

    words = fitted.words_[:8]
    drawn = plots.map(
        fitted.embed(words), words, groups=[0, 1] * 4, lines=[(words[0], words[1])]
    )
    (ax,) = drawn.axes
    places = np.asarray(ax.collections[0].get_offsets())
    V = fitted.embed(words) - fitted.embed(words).mean(0)
    U, s, _ = np.linalg.svd(V, full_matrices=False)
    np.testing.assert_allclose(np.abs(places), np.abs(U * s)[:, :2], atol=1e-5)
    assert [t.get_text() for t in ax.texts] == words
    np.testing.assert_allclose(ax.lines[0].get_xydata(), places[:2])
    share = s[0] ** 2 / (s**2).sum()
    assert ax.get_xlabel() == f"first component ({share:.0%})"
    plots.map([[1.0], [1.0]], ["$", "$a$"]).canvas.draw()  # one column, no variance
    for bad, match in [
        ((np.ones((2, 2)), ["a"]), "1 labels and 2 vectors"),
        ((np.full((1, 2), np.nan), ["a"]), "finite numbers"),
    ]:
        with pytest.raises(InputError, match=match):
            plots.map(*bad)
    with pytest.raises(InputError, match="not among the labels"):
        plots.map(np.eye(2), ["a", "b"], lines=[("a", "c")])
