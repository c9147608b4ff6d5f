r"""Tasks put to a language model in words: no example, or a few of them in the prompt.

An answer is judged by its probability after the prompt. Among given options,

$$p(\text{option} \mid \text{prompt}) \propto
  \exp\Big(\frac{1}{m}\sum_{t=1}^{k} \log p(x_t \mid \text{prompt}, x_{<t})\Big)$$

with $x_1 \dots x_k$ the tokens of the option, and m = 1, or m = k where long options should not
suffer for their length. Some options are probable after anything; calibration divides by their
probability after a prompt that says nothing (Zhao et al., 2021). The weights do not change.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely.base.labels import class_distribution
from likely.core.checks import InputError
from likely.text.models.text_tokens import TextTokens, is_text


def few_shot(
    examples: Any,
    query: Any,
    *,
    task: str = "",
    between: str = ":",
    separator: str = "\n",
) -> Any:
    r"""A prompt that shows some examples and ends where the answer to the query begins.

    `few_shot([("red", "colour")], "cat")` is "red: colour\ncat:", after which `classify` and
    `generate` go on with a space and the answer.

    Args:
        examples: pairs of a question and its answer; none for a task without examples.
        query: the question; of a list of questions a list of prompts is made.
        task: what comes first, such as a description.
        between: what stands between question and answer, before a space.
        separator: what stands between the examples.
    """
    pairs = [_pair(example, i) for i, example in enumerate(examples)]
    lines = [f"{question}{between} {answer}" for question, answer in pairs]
    before = [task, *lines] if task else lines

    def prompt(question: str) -> str:
        return separator.join([*before, f"{question}{between}"])

    return prompt(query) if isinstance(query, str) else [prompt(each) for each in query]


def _pair(example: Any, number: int) -> tuple[str, str]:
    if isinstance(example, str) or len(example) != 2:
        raise InputError(
            f"example {number} is {example!r}; give a pair of a question and its answer."
        )
    return tuple(example)


def classify(
    model: Any,
    prompts: Any,
    options: Any,
    *,
    separator: str = " ",
    normalize: bool = False,
    calibrate: Any = None,
    end: bool = False,
) -> Any:
    """The distribution over options after each prompt; see `LanguageModel.classify`."""
    options = _options(options)
    settings = {"separator": separator, "normalize": normalize, "end": end}
    scores = answer_log_probs(model, prompts, options, **settings)
    if calibrate is not None:
        free = answer_log_probs(model, calibrate, options, **settings)
        if len(free) not in (1, len(scores)):
            raise InputError(
                f"calibrate has {len(free)} prompts, and there are {len(scores)}; give one "
                "for all, or one for each."
            )
        scores = scores - free
    return class_distribution(scores, np.array(options))


def answer_log_probs(
    model: Any,
    prompts: Any,
    options: Sequence[str],
    *,
    separator: str = " ",
    normalize: bool = False,
    end: bool = False,
) -> np.ndarray:
    """(n, c) log p of each option after each prompt, or its mean over the tokens.

    Args:
        model: a `LanguageModel` of texts.
        prompts: a text, or several.
        options: the answers.
        separator: what stands between prompt and answer.
        normalize: whether to take the mean over the tokens of an answer.
        end: whether the text ends after the answer.
    """
    texts, end_token = texts_of_prompts(model, prompts), model.end_
    if end and end_token is None:
        raise InputError(
            "end is True, but the model was fitted to one long text, which has no end; fit "
            "to a list of texts."
        )
    rows, firsts = [], []
    for i, prompt in enumerate(texts):
        found, first = answered(model, prompt, options, separator, i)
        rows += [np.append(row, end_token) if end else row for row in found]
        firsts += [first] * len(options)
    nats = model.token_log_probs(rows)
    score = np.mean if normalize else np.sum
    found = [score(own[first:]) for own, first in zip(nats, firsts, strict=True)]
    return np.array(found).reshape(-1, len(options))


def texts_of_prompts(model: Any, prompts: Any) -> list[str]:
    """The texts of prompts to a model of texts."""
    check_is_fitted(model)
    if model.tokenizer_ is None or not is_text(prompts):
        raise InputError(
            "answers are judged by models of texts; fit to texts, and give texts as prompts."
        )
    return TextTokens.texts(prompts, name="prompts")


def answered(
    model: Any, prompt: str, answers: Sequence[str], separator: str, number: int
) -> tuple[list[np.ndarray], int]:
    """The tokens of a prompt with each answer, and how many of them all have in common.

    Those are the tokens of the prompt, unless its end and the beginning of an answer make one
    token together.

    Args:
        model: a `LanguageModel` of texts.
        prompt: a text.
        answers: how it may go on.
        separator: what stands in between, unless the prompt is empty or ends with a space.
        number: of the prompt, for errors.
    """
    between = separator if prompt and not prompt[-1].isspace() else ""
    whole = [f"{prompt}{between}{answer}" for answer in answers]
    name = f"prompt {number} with answer"
    read, *rows = model._prompts([prompt, *whole], name).rows  # noqa: SLF001
    _check_apart(rows, read, answers)
    return rows, min(_common(read, row) for row in rows)


def _options(options: Any) -> list[str]:
    """At least two answers, no two alike."""
    if isinstance(options, str | bytes) or not is_text(options):
        raise InputError(f"options is {options!r}; give a list of at least two texts.")
    found = TextTokens.texts(options, name="options")
    repeated = [option for i, option in enumerate(found) if option in found[:i]]
    if repeated:
        raise InputError(f"the option {repeated[0]!r} is given twice; leave one out.")
    if len(found) < 2:
        raise InputError(f"options is {found!r}; give at least two.")
    return found


def _check_apart(
    rows: list[np.ndarray], prompt: np.ndarray, options: Sequence[str]
) -> None:
    """Refuse answers that add no token, or the same ones as another."""
    seen = {prompt.tobytes(): ""}
    for row, option in zip(rows, options, strict=True):
        same = seen.get(row.tobytes())
        if same is not None:
            what = f"reads as {same!r}" if same else "has no token"
            raise InputError(
                f"the answer {option!r} {what} for the tokenizer; leave it out."
            )
        seen[row.tobytes()] = option


def _common(a: np.ndarray, b: np.ndarray) -> int:
    """The number of tokens that two sequences begin with in common."""
    n = min(len(a), len(b))
    return int(np.argmin(np.append(a[:n] == b[:n], False)))
