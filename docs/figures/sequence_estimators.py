"""Draw docs/images/sequence_estimators.svg: forecasts of sunspots, with 90 % intervals."""

from pathlib import Path

import numpy as np
import statsmodels.api as sm

import likely as lk
from likely.plots.style import figure

FOLDER = Path(__file__).parents[1] / "images"
HORIZON = 22


def main() -> None:
    """Two forecasts of two cycles each, made at different times."""
    data = sm.datasets.sunspots.load_pandas().data
    year, x = data["YEAR"].to_numpy(), data["SUNACTIVITY"].to_numpy()
    drawn, axes = figure(9, 3, columns=2)
    for ax, cut in zip(axes, (243, 287), strict=True):
        model = lk.Forecaster(HORIZON, window=33).fit(x[:cut])
        ahead = np.arange(year[cut - 1] + 1, year[cut - 1] + 1 + HORIZON)
        low, high = model.predict_interval()
        seen = slice(cut - 60, min(cut + HORIZON, len(x)))
        ax.fill_between(ahead, low, high, alpha=0.25, label="90 %")
        ax.plot(ahead, model.predict(), label="mean")
        ax.plot(year[seen], x[seen], "k.-", ms=3, lw=0.7, label="sunspots")
        ax.set_title(f"forecast in {year[cut - 1]:.0f}")
        ax.set_xlabel("year")
    axes[0].legend(loc="upper left")
    drawn.savefig(FOLDER / "sequence_estimators.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
