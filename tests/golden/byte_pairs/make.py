"""Make the files of this folder: byte pairs that Hugging Face's `tokenizers` has learned.

    python tests/golden/byte_pairs/make.py

For each corpus and each way to split texts one `tokenizer.json`, and in `expected.json` the ids
and the places of the tokens of some texts. `tokenizers` is an oracle here and no dependency
of the tests.
"""

import json
from pathlib import Path

from corpora import CORPORA, TRIED
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

FOLDER = Path(__file__).parent
N_TOKENS, MIN_COUNT = 340, 2


def byte_level(split: bool = True):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split)


ALPHABET = {"initial_alphabet": pre_tokenizers.ByteLevel.alphabet()}
KINDS = {
    "gpt2": (byte_level, ["<pad>", "<mask>"], ALPHABET),
    "whole": (lambda: byte_level(False), [], ALPHABET),
    "characters": (pre_tokenizers.Whitespace, ["<unk>"], {}),
}


def learned(texts, splitting, special, options) -> Tokenizer:
    unknown = {"unk_token": "<unk>"} if "<unk>" in special else {}
    made = Tokenizer(models.BPE(**unknown))
    made.pre_tokenizer = splitting()
    trainer = trainers.BpeTrainer(
        vocab_size=N_TOKENS,
        min_frequency=MIN_COUNT,
        special_tokens=special,
        show_progress=False,
        **options,
    )
    made.train_from_iterator(texts, trainer)
    return made


def main() -> None:
    expected = {}
    for corpus, texts in CORPORA.items():
        for kind, (splitting, special, options) in KINDS.items():
            name = f"{corpus}-{kind}"
            made = learned(texts, splitting, special, options)
            made.save(str(FOLDER / f"{name}.json"), pretty=False)
            found = [made.encode(text) for text in TRIED]
            expected[name] = {
                "ids": [each.ids for each in found],
                "offsets": [each.offsets for each in found],
            }
    text = json.dumps(expected, separators=(",", ":"))
    (FOLDER / "expected.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
