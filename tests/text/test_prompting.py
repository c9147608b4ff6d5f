"""Tasks put to a language model in words, against plain sums of log-probabilities."""

from itertools import permutations

import numpy as np
import pytest
from registries.text_models import counting
from scipy.special import softmax

import likely as lk
from likely import data, text
from likely.core.checks import InputError
from likely.text import BytePairTokenizer
from likely.text.models.prompting import answered


@pytest.fixture(scope="module")
def model():
    return counting()


def log_prob(model, whole, *, end=False):
    """Of a text, with its end or not."""
    tokens = [*model.tokenizer_.encode(whole), *([model.end_] if end else [])]
    return model.log_prob([tokens])[0]


OPTIONS = ["aa", "a", "aaa"]


@pytest.mark.parametrize("end", [False, True])
def test_classes_have_the_likelihood_of_their_answers(model, end):
    for prompt in ("", "a", "a" * 10):  # the last is longer than the context
        found = model.classify(prompt, OPTIONS, separator="", end=end)
        rest = [log_prob(model, prompt + option, end=end) for option in OPTIONS]
        np.testing.assert_allclose(found.probs[0], softmax(rest), rtol=1e-4)
        assert found.mode[0] == OPTIONS[int(np.argmax(rest))]
        assert list(found.classes) == OPTIONS


def test_answers_can_be_judged_by_the_token_and_against_a_prompt_that_says_nothing(
    model,
):
    prompts, before = ["aa", "a"], [log_prob(model, "aa"), log_prob(model, "a")]
    nats = np.array(
        [
            [log_prob(model, p + option) - b for option in OPTIONS]
            for p, b in zip(prompts, before, strict=True)
        ]
    )
    each = nats / [len(option) for option in OPTIONS]
    found = model.classify(prompts, OPTIONS, separator="", normalize=True)
    np.testing.assert_allclose(found.probs, softmax(each, 1), rtol=1e-4)
    free = [log_prob(model, option) for option in OPTIONS]
    found = model.classify(prompts, OPTIONS, separator="", calibrate="")
    np.testing.assert_allclose(found.probs, softmax(nats - free, 1), rtol=1e-4)
    found = model.classify(prompts, OPTIONS, separator="", calibrate=["aa", "a"])
    np.testing.assert_allclose(found.probs, 1 / 3, rtol=1e-4)


def test_tokens_may_reach_from_the_prompt_into_the_answer():
    """Byte pairs that are made of both: what all answers have in common counts for none."""
    tokenizer = BytePairTokenizer(260, pattern=None).fit(["ab ab ab ab"])

    class Model:
        tokenizer_ = tokenizer

        def _prompts(self, texts, name):
            return text.models.sequences.Sequences.of(
                tokenizer.encode_batch(texts), empty=True
            )

    rows, first = answered(Model(), "xa", ["b", "c"], "", 0)
    assert [tokenizer.decode(row) for row in rows] == ["xab", "xac"]
    assert len(rows[0]) == 2  # x, ab
    assert first == 1


def test_a_few_examples_make_a_prompt():
    examples = [("red", "colour"), ("dog", "animal")]
    found = text.few_shot(examples, "cat")
    assert found == "red: colour\ndog: animal\ncat:"
    found = text.few_shot(examples[:1], ["cat", "blue"], task="What?", between=" =")
    assert found == ["What?\nred = colour\ncat =", "What?\nred = colour\nblue ="]
    assert text.few_shot([], "cat", separator=" | ", task="What?") == "What? | cat:"
    with pytest.raises(InputError, match="example 1 is 'dog'"):
        text.few_shot([("red", "colour"), "dog"], "cat")


def test_what_is_no_choice_is_refused(model):
    def classify(prompts, options, **settings):
        return lambda: model.classify(prompts, options, separator="", **settings)

    for call, sentence in (
        (classify("a", []), "give a list of at least two"),
        (classify("a", "aa"), "options is 'aa'; give a list"),
        (classify("a", ["a"]), "give at least two"),
        (classify("a", ["a", "aa", "a"]), "the option 'a' is given twice"),
        (classify("a", ["a", ""]), "the answer '' has no token"),
        (classify("a", ["a", None]), "options in row 1 is missing"),
        (classify("a", ["a", "b"]), "prompt 0 with answer 2 has 'b' at character 1"),
        (classify([[1, 1]], ["a", "aa"]), "give texts as prompts"),
        (classify("a", ["a", "aa"], calibrate=["a", "a"]), "calibrate has 2 prompts"),
        (lambda: model.classify("a", ["a", "aa"]), "has ' ' at character 1"),
    ):
        with pytest.raises(InputError, match=sentence):
            call()


@pytest.mark.slow
def test_facts_are_told_in_words_that_were_never_read():
    """Zero-shot: no example of the task, and phrasings of these facts that are not in the texts."""
    corpus = data.templates(3000, n_people=60, random_state=0)
    model = lk.LanguageModel(
        2, 4, 64, tokenizer="words", max_iter=1500, learning_rate_init=3e-3
    ).fit(corpus.texts)
    for seen in (True, False):
        for relation in ("sport", "home", "employer"):
            asked = [
                f for f in corpus.facts if f.relation == relation and f.seen == seen
            ]
            options = corpus.answers(relation)
            found = model.classify([fact.prompt for fact in asked], options).mode
            right = np.mean(found == [fact.answer for fact in asked])
            chance = 1 / len(options)
            error = np.sqrt(chance * (1 - chance) / len(asked))
            print(relation, seen, right, chance, error)
            assert right > chance + 5 * error


WORDS = {
    "cat": ("chat", "Katze"), "dog": ("chien", "Hund"), "cow": ("vache", "Kuh"),
    "tree": ("arbre", "Baum"), "sun": ("soleil", "Sonne"), "moon": ("lune", "Mond"),
}  # fmt: skip


@pytest.mark.slow
def test_examples_in_the_prompt_help():
    """Few-shot: into which language words are translated has to be found in the examples."""
    rng = np.random.default_rng(0)
    lessons = [
        [(word, WORDS[word][language]) for word in words]
        for words in permutations(WORDS, 4)
        for language in (0, 1)
    ]
    order = rng.permutation(len(lessons)).tolist()  # none that is judged was read
    learn, judge = ([lessons[i] for i in part] for part in (order[:600], order[600:]))

    def prompts(some, n_examples):
        return [text.few_shot(each[3 - n_examples : 3], each[3][0]) for each in some]

    pairs = zip(prompts(learn, 3), learn, strict=True)
    model = lk.LanguageModel(
        1, 2, 32, tokenizer="words", max_iter=2000, learning_rate_init=0.01,
        weight_decay=0.01, early_stopping=False,
    ).fit([f"{prompt} {each[3][1]}" for prompt, each in pairs])  # fmt: skip
    options = [word for pair in WORDS.values() for word in pair]
    answers = [each[3][1] for each in judge]
    right = {
        k: model.classify(prompts(judge, k), options).mode == answers for k in (0, 1, 3)
    }
    print({k: np.mean(each) for k, each in right.items()})
    for k in (1, 3):
        gain = right[k].astype(float) - right[0]
        assert gain.mean() > 5 * gain.std() / np.sqrt(len(gain))
