"""Codes of categories: encoded rows can be given other categories by them."""

import numpy as np
import pandas as pd
import pytest

from likely.preprocess import TableEncoder
from likely.preprocess.levels import MISSING, UNKNOWN

rng = np.random.default_rng(0)
N = 60
ROWS = pd.DataFrame(
    {
        "town": rng.choice([*"abcdef", None], N),
        "area": np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N)),
        "kind": rng.choice(["x", "y", "z"], N),
    }
)
NEW = pd.DataFrame({"town": ["a", "new", None], "area": 1.0, "kind": ["w", "x", "z"]})


@pytest.mark.parametrize("categories", ["one-hot", "ordinal", "target"])
@pytest.mark.parametrize("limit", [None, 3])
def test_rows_get_the_categories_of_other_rows(categories, limit):
    encoder = TableEncoder(categories=categories, max_categories=limit)
    encoder.fit(ROWS, rng.normal(size=N))
    encoded, codes = encoder.transform(ROWS), encoder.level_codes(ROWS)
    np.testing.assert_array_equal(encoder.with_levels(encoded, codes), encoded)
    other = rng.permutation(N)
    swapped = ROWS.assign(
        town=ROWS.town.to_numpy()[other], kind=ROWS.kind.to_numpy()[other]
    )
    found = encoder.with_levels(encoded, codes[other])
    np.testing.assert_array_equal(found, encoder.transform(swapped))


def test_what_was_not_seen_has_codes_of_its_own():
    encoder = TableEncoder().fit(ROWS)
    codes = encoder.level_codes(NEW)
    seen = [list(found) for found in encoder.seen_]
    assert codes.tolist() == [
        [seen[0].index("a"), UNKNOWN],
        [UNKNOWN, seen[1].index("x")],
        [MISSING, seen[1].index("z")],
    ]
    numbers = ROWS[["area"]]
    assert TableEncoder().fit(numbers).level_codes(numbers).shape == (N, 0)
