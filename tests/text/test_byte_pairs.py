"""Byte pairs: the merges of a plain reference and of `tokenizers`, and exact round trips."""

import functools
import importlib.util
import json
import subprocess
import sys
from collections import Counter

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from budgets import processor_time
from ledger import ROOT

import likely as lk
from likely.core.checks import InputError
from likely.files.errors import FileError
from likely.text.tokenizers import merges, pair_encoder
from likely.text.tokenizers.pieces import Pieces

FOLDER = ROOT / "tests" / "golden" / "byte_pairs"
N_TOKENS, MIN_COUNT = 340, 2
"""The settings of the golden files."""


def _corpora():
    spec = importlib.util.spec_from_file_location("corpora", FOLDER / "corpora.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CORPORA, TRIED = _corpora().CORPORA, _corpora().TRIED
KINDS = {
    "gpt2": {"special_tokens": ("<pad>", "<mask>")},
    "whole": {"pattern": None},
    "characters": {"level": "characters", "pattern": "whitespace"},
}
CASES = [(corpus, kind) for corpus in CORPORA for kind in KINDS]
MARK = "\U0001f642"
HOSTILE = [
    *"aAzZ09 '\".,\t\n\r\v\f\x00\x1c\x1f\x7f\u0085\u00a0\u00ad\u0301\u200b\u200d\u2028",
    *"\ud800\udbff\udc00\udfff\udc80\ufeff\ufffd\ufffe\uffff",
    *"éßİıſΩжא١日本が한ก़",
    *"\U00010000\U0001f469\U0001f3fd\U000e0001\U0010ffff",
    "'s",
    "'ll",
    "<pad>",
    "<mask>",
    "  ",
    "aaaa",
]
"""What breaks tokenizers: halves of surrogate pairs, marks, controls, unassigned numbers."""


@functools.cache
def learned(corpus, kind, **settings):
    settings = {"min_count": MIN_COUNT, **KINDS[kind], **settings}
    return lk.BytePairTokenizer(N_TOKENS, **settings).fit(CORPORA[corpus])


def plain_merges(words, n_merges, min_count):
    """Count all pairs, merge the most frequent one in all words, and again."""
    found, first = [], 1 + max((max(word) for word in words), default=0)
    while len(found) < n_merges:
        counts = Counter()
        for word, times in words.items():
            for pair in zip(word, word[1:], strict=False):
                counts[pair] += times
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < min_count:
            break
        new = found[-1][2] + 1 if found else first
        found.append((*best, new))
        words = {plain_merge(w, best, new): times for w, times in words.items()}
    return found


def plain_merge(word, pair, new):
    made, i = [], 0
    while i < len(word):
        there = word[i : i + 2] == pair
        made.append(new if there else word[i])
        i += 1 + there
    return tuple(made)


def plain_encode(word, found):
    """Each merge in turn, everywhere."""
    for a, b, new in found:
        word = plain_merge(word, (a, b), new)
    return word


# The merges ---------------------------------------------------------------------------


@pytest.mark.parametrize(("corpus", "kind"), CASES)
def test_merges_are_those_of_the_plain_algorithm(corpus, kind):
    model = learned(corpus, kind)
    pieces = Counter(p for t in CORPORA[corpus] for p in Pieces(model.pattern)(t))
    blank = learned(corpus, kind, min_count=10**9)  # without merges
    assert len(blank.merges_) == 0
    words = {tuple(blank.encode(p).tolist()): times for p, times in pieces.items()}
    words.setdefault((blank.n_tokens_ - 1,), 0)  # the largest id there is
    found = plain_merges(words, N_TOKENS - blank.n_tokens_, MIN_COUNT)
    assert model.merges_.tolist() == [list(merge) for merge in found]
    assert len(found) > 10
    for text in TRIED:
        expected = []
        for piece in Pieces(model.pattern)(text):
            expected += plain_encode(tuple(blank.encode(piece).tolist()), found)
        assert model.encode(text).tolist() == expected


@pytest.mark.parametrize(("corpus", "kind"), CASES)
def test_golden_files_of_hugging_face(corpus, kind, tmp_path):
    """Their merges are ours; their files are read, and ours say the same."""
    name, model = f"{corpus}-{kind}", learned(corpus, kind)
    expected = json.loads((FOLDER / "expected.json").read_text())[name]
    theirs = lk.BytePairTokenizer.from_json(FOLDER / f"{name}.json")
    model.to_json(tmp_path / "ours.json")
    ours = lk.BytePairTokenizer.from_json(tmp_path / "ours.json")
    for found in (theirs, ours):
        assert found.vocabulary_ == model.vocabulary_
        assert found.special_tokens_ == model.special_tokens_
        np.testing.assert_array_equal(found.merges_, model.merges_)
        assert (found.level, found.pattern) == (model.level, model.pattern)
        for text, ids, offsets in zip(TRIED, *expected.values(), strict=True):
            assert found.encode(text, special=True).tolist() == ids
            places = found.offsets(text, special=True)
            assert places.tolist() == [list(place) for place in offsets]


@pytest.mark.oracle
@pytest.mark.parametrize("kind", KINDS)
def test_hugging_face_itself(kind, tmp_path):
    """On the same settings their merges are ours, and they read what we write."""
    tokenizers = pytest.importorskip("tokenizers", reason="is in the extra `bench`")
    sys.path.insert(0, str(FOLDER))
    try:
        import make
    finally:
        sys.path.remove(str(FOLDER))
    texts = [text for texts in CORPORA.values() for text in texts]
    theirs = make.learned(texts, *make.KINDS[kind])
    model = lk.BytePairTokenizer(N_TOKENS, min_count=MIN_COUNT, **KINDS[kind])
    model.fit(texts).to_json(tmp_path / "ours.json")
    ours = tokenizers.Tokenizer.from_file(str(tmp_path / "ours.json"))
    assert theirs.get_vocab() == ours.get_vocab()
    for text in TRIED:
        ids = theirs.encode(text).ids
        assert ours.encode(text).ids == ids
        assert model.encode(text, special=True).tolist() == ids
        if kind != "characters":
            assert ours.decode(ids, skip_special_tokens=False) == text


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "length"), [("gpt2", None), (None, 20_000)])
def test_merges_of_a_long_text_are_those_of_hugging_face(pattern, length, shared_data):
    """Texts that are not split take the peer a time that grows with their square."""
    tokenizers = pytest.importorskip("tokenizers", reason="is in the extra `bench`")
    text = (shared_data / "tinyshakespeare.txt").read_text()[:length]
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    splitting = tokenizers.pre_tokenizers.ByteLevel(False, use_regex=pattern == "gpt2")
    theirs.pre_tokenizer = splitting
    theirs.train_from_iterator(
        [text],
        tokenizers.trainers.BpeTrainer(
            vocab_size=1000,
            initial_alphabet=splitting.alphabet(),
            show_progress=False,
        ),
    )
    ours = lk.BytePairTokenizer(1000, pattern=pattern, min_count=1).fit([text])
    assert theirs.get_vocab() == {token: i for i, token in enumerate(ours.vocabulary_)}
    assert ours.encode(text).tolist() == theirs.encode(text).ids


words = st.lists(st.text("abc", min_size=1, max_size=12), min_size=1, max_size=8)


@hypothesis.given(words, st.integers(1, 3))
@hypothesis.settings(max_examples=60)
def test_any_words_merge_as_in_the_plain_algorithm(texts, min_count):
    """Few letters, so that pairs overlap and are equally frequent."""
    model = lk.BytePairTokenizer(
        40, pattern=None, level="characters", min_count=min_count
    ).fit(texts)
    first = len(model.special_tokens_)
    letters = sorted(set("".join(texts)))
    counts = Counter(tuple(first + letters.index(c) for c in text) for text in texts)
    counts.setdefault((first + len(letters) - 1,), 0)
    found = plain_merges(counts, 40 - first - len(letters), min_count)
    assert model.merges_.tolist() == [list(merge) for merge in found]
    long = merges.Merges(model.merges_)
    for word in counts:
        expected = list(plain_encode(word, found))
        assert long(list(word)) == long._all_at_once(list(word)) == expected


# Round trips --------------------------------------------------------------------------


def hostile(rng, n):
    """Random strings of what breaks tokenizers, and of any code points at all."""
    for length in rng.integers(0, 12, n).tolist():
        picks = rng.integers(0, len(HOSTILE), length).tolist()
        some = [HOSTILE[i] for i in picks]
        if length % 3 == 0:
            some += map(chr, rng.integers(0, 0x110000, length).tolist())
        yield "".join(some)


def check_round_trips(model, texts):
    for text in texts:
        ids = model.encode(text)
        assert model.decode(ids) == text
        assert ids.size == 0 or ids.min() >= len(model.special_tokens_)


def test_hostile_strings_come_back(rng):
    for corpus, kind in (("scripts", "gpt2"), ("runs", "whole")):
        model = learned(corpus, kind)
        check_round_trips(model, hostile(rng, 1000))


@pytest.mark.slow
def test_a_million_hostile_strings_come_back():
    """In a program of its own: with the types of all calls checked it takes ten minutes."""
    code = (
        "import numpy as np; from text import test_byte_pairs as t;"
        "texts = t.hostile(np.random.default_rng(0), 1_000_000);"
        "t.check_round_trips(t.learned('scripts', 'gpt2'), texts)"
    )
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, timeout=600, cwd=ROOT / "tests")


@hypothesis.given(st.text(st.characters(), max_size=30), st.binary(max_size=30))
@hypothesis.settings(max_examples=100)
def test_any_text_and_any_bytes_come_back(text, data):
    model = learned("scripts", "gpt2")
    assert model.decode(model.encode(text)) == text
    assert model.decode(model.encode(text, special=True)) == text
    assert model.decode_bytes(model.encode_bytes(data)) == data
    places = model.offsets(text)
    assert len(places) == len(model.encode(text))
    covered = np.zeros(len(text), bool)
    for start, end in places:
        assert start < end
        covered[start:end] = True
    assert covered.all()
    valid = text.encode("utf-8", "surrogatepass")
    np.testing.assert_array_equal(model.encode_bytes(valid), model.encode(text))


def test_bytes_that_are_no_text_are_shown_as_such():
    model = learned("scripts", "gpt2")
    ids = model.encode_bytes(b"ab\xff\xc3")
    assert model.decode(ids) == "ab\ufffd\ufffd"
    assert model.decode_bytes(ids) == b"ab\xff\xc3"


def test_long_strings_without_spaces_take_no_quadratic_time(rng):
    """A quarter of a million letters in a row: by the square it would take many minutes."""
    start, n = processor_time(), 2**18
    text = "".join(map(chr, rng.integers(97, 123, n).tolist()))
    model = lk.BytePairTokenizer(300).fit([text])
    assert len(model.merges_) == 44
    assert model.decode(model.encode(text)) == text
    run = "a" * n
    assert model.decode(model.encode(run)) == run
    runs = lk.BytePairTokenizer(280, min_count=1).fit([run])
    assert len(runs.merges_) == 18  # as often as it can be doubled
    assert len(runs.encode(run)) == 1
    assert len(learned("scripts", "gpt2").encode(" " * n)) < n
    assert processor_time() - start < 10


def test_words_are_worked_out_once_and_forgotten_when_there_are_many(monkeypatch):
    model = lk.BytePairTokenizer(N_TOKENS).fit(CORPORA["verse"])
    model.encode("summer day summer")
    assert set(model._pair_encoder.known) == {"summer", " day", " summer"}
    monkeypatch.setattr(pair_encoder, "MAX_KEPT", 30)
    before = model.encode("nature's changing course").tolist()
    assert not model._pair_encoder.known
    assert model.encode("nature's changing course").tolist() == before


# Edges --------------------------------------------------------------------------------


def test_small_corpora():
    for texts in (["a"], [""], ["", ""], ["word"], [MARK], ["\ud800"]):
        for settings in ({}, {"pattern": None}, {"level": "characters"}):
            model = lk.BytePairTokenizer(300, min_count=1, **settings).fit(texts)
            for text in texts:
                assert model.decode(model.encode(text)) == text
                assert len(model.encode(text)) <= 1 or settings.get("level")
    alone = lk.BytePairTokenizer(300).fit(["word"])
    assert alone.n_tokens_ == 256  # no pair occurs twice
    assert lk.BytePairTokenizer(300, min_count=1).fit(["word"]).n_tokens_ == 259


def test_characters_that_are_unknown():
    model = lk.BytePairTokenizer(40, level="characters").fit(["abab abab"])
    ids = model.encode("abxab")
    assert model.decode(ids) == "ab<unk>ab"
    assert model.offsets("abxab").tolist() == [[0, 2], [2, 3], [3, 5]]
    with pytest.raises(InputError, match="level='bytes'"):
        model.encode_bytes(b"a")


def test_settings_that_cannot_be():
    with pytest.raises(InputError, match="256 bytes and 1 special tokens"):
        lk.BytePairTokenizer(256, special_tokens=("<pad>",)).fit(["a"])
    with pytest.raises(InputError, match="3 characters and 1 special tokens"):
        lk.BytePairTokenizer(3, level="characters").fit(["abc"])
    with pytest.raises(InputError, match="no regular expression"):
        lk.BytePairTokenizer(pattern="(").fit(["a"])
    with pytest.raises(InputError, match="pattern is 3"):
        lk.BytePairTokenizer(pattern=3).fit(["a"])
    with pytest.raises(InputError, match="level is 'byte'"):
        lk.BytePairTokenizer(level="byte").fit(["a"])
    with pytest.raises(InputError, match="n_tokens"):
        lk.BytePairTokenizer(2.5).fit(["a"])


@pytest.mark.parametrize("pattern", ["[aeiou]+", "(a)|(b)", "", "x*", r"(?=a)"])
def test_what_is_between_the_matches_of_a_pattern_is_kept(pattern):
    texts = ["a banana boat", "xxaxx\n", ""]
    model = lk.BytePairTokenizer(280, pattern=pattern).fit(texts)
    for text in texts:
        assert model.decode(model.encode(text)) == text
        assert "".join(Pieces(pattern)(text)) == text


def test_ascii_is_split_as_any_text_is():
    """The quick pattern of ASCII says what that of all scripts says."""
    splitting = Pieces("gpt2")
    marks = [chr(i) for i in range(128)]
    texts = ["".join(p) for p in zip(marks, reversed(marks), strict=True)]
    texts += [f"a{m} {m}{m}1{m}' {m}'ll\n{m}" for m in marks]
    for text in texts:
        assert splitting(text) == splitting._compiled.findall(text)


# Files --------------------------------------------------------------------------------


def altered(tmp_path, change):
    document = json.loads((FOLDER / "verse-gpt2.json").read_text())
    change(document)
    path = tmp_path / "altered.json"
    path.write_text(json.dumps(document))
    return path


def test_the_ids_of_a_file_are_kept(tmp_path):
    """Special tokens may stand at the end, as those of GPT-2 do; merges may be text."""

    def change(document):
        model = document["model"]
        names = sorted(model["vocab"], key=model["vocab"].get)
        names = names[2:] + names[:2]
        model["vocab"] = {name: i for i, name in enumerate(names[:-2])}
        document["added_tokens"] = [
            {"id": len(names) - 2 + i, "content": name, "special": True}
            for i, name in enumerate(names[-2:])
        ]
        model["merges"] = [" ".join(pair) for pair in model["merges"]]

    theirs = lk.BytePairTokenizer.from_json(altered(tmp_path, change))
    model = learned("verse", "gpt2")
    assert theirs.id_of("<mask>") == theirs.n_tokens_ - 1
    ids = model.encode(TRIED[2])
    np.testing.assert_array_equal(theirs.encode(TRIED[2]), ids - 2)
    assert theirs.decode(theirs.encode(TRIED[3], special=True)) == TRIED[3]


REFUSED = {
    "its model is WordPiece": lambda d: d["model"].update(type="WordPiece"),
    "changes texts first": lambda d: d.update(normalizer={"type": "NFC"}),
    "add_prefix_space": lambda d: d["pre_tokenizer"].update(add_prefix_space=True),
    "by Metaspace": lambda d: d.update(pre_tokenizer={"type": "Metaspace"}),
    "byte_fallback": lambda d: d["model"].update(byte_fallback=True),
    "without gaps": lambda d: d["model"]["vocab"].pop("t"),
    "is no token": lambda d: d["model"]["merges"].append(["q", "q"]),
    "not written as bytes": lambda d: d["model"]["vocab"].update({"日": 340}),
    "no tokenizer.json": lambda d: d.pop("model"),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_files_that_would_mean_something_else_are_refused(sentence, tmp_path):
    path = altered(tmp_path, REFUSED[sentence])
    with pytest.raises(FileError, match=sentence):
        lk.BytePairTokenizer.from_json(path)


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileError, match="No such file"):
        lk.BytePairTokenizer.from_json(tmp_path / "none.json")
    for text in (b"{", b"[]", b"\xff", b"[" * 10**5):
        (tmp_path / "bad.json").write_bytes(text)
        with pytest.raises(FileError, match=r"no tokenizer\.json"):
            lk.BytePairTokenizer.from_json(tmp_path / "bad.json")


def test_what_a_file_has_beside_is_named(tmp_path):
    path = altered(tmp_path, lambda d: d.update(post_processor={"type": "Bert"}))
    with pytest.warns(UserWarning, match="post_processor"):
        lk.BytePairTokenizer.from_json(path)


def test_what_a_file_cannot_hold_is_refused(tmp_path):
    twice = lk.BytePairTokenizer(300, special_tokens=("ab",)).fit(["ab ab ab"])
    assert twice.encode("ab").tolist() == [257]
    assert twice.encode("ab", special=True).tolist() == [0]
    with pytest.raises(InputError, match="rename the special token"):
        twice.to_json(tmp_path / "twice.json")
    half = lk.BytePairTokenizer(40, level="characters").fit(["\ud800"])
    with pytest.raises(InputError, match="half of a surrogate pair"):
        half.to_json(tmp_path / "half.json")


def test_bytes_that_a_vocabulary_has_not(tmp_path):
    def change(document):
        names = [n for n in document["model"]["vocab"] if len(n) == 1 and n < "a"]
        document.update(added_tokens=[])
        document["model"].update(
            vocab={name: i for i, name in enumerate(names)}, merges=[]
        )

    model = lk.BytePairTokenizer.from_json(altered(tmp_path, change))
    assert model.decode(model.encode("ABC")) == "ABC"
    with pytest.raises(InputError, match="0x61 is not in the vocabulary"):
        model.encode("Aa")
