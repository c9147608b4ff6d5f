"""Tracing a network: 784-256-256-10 with 32 rows, as a reader would, in a new process.

`python -m benchmarks.autodiff` is that process: it prints the seconds of each job and
whether the gradients agree. Nothing is warm: neither the functions nor, where
`LIKELY_CACHE=off`, the cache of compiled programs.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT_TRACE, LIMIT_BYTES = 2.0, 1_000_000


def run() -> list[dict]:
    """The best of three new processes, against the limits and against `jax.grad`."""
    runs = [_measured() for _ in range(3)]
    best = {name: min(r[name] for r in runs) for name in runs[0]}
    good = all(r["agrees"] for r in runs) and best["page_bytes"] < LIMIT_BYTES
    rows = [
        (
            "trace an MLP 784-256-256-10, 32 rows (peer: its limit)",
            "trace",
            LIMIT_TRACE,
        ),
        (
            "the same, with adjoints, as a page (peer: twice that)",
            "page",
            2 * LIMIT_TRACE,
        ),
        ("adjoints of every step (peer: jit(grad), compiled once)", "reverse", None),
    ]
    return [
        {
            "name": name,
            "ours_s": best[ours],
            "peer_s": best["grad"] if limit is None else limit,
            "ratio": (best["grad"] if limit is None else limit) / best[ours],
            "at_least": 0 if limit is None else 1,
            "verified": good,
        }
        for name, ours, limit in rows
    ]


def _measured() -> dict:
    command = [sys.executable, "-m", "benchmarks.autodiff"]
    environment = os.environ | {"LIKELY_CACHE": "off"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    )
    return json.loads(done.stdout.splitlines()[-1])


def _seconds(job) -> tuple[float, object]:
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


def main() -> None:
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import numpy as np

    from likely.autodiff import trace
    from likely.families import Categorical
    from likely.models import mlp
    from likely.objectives import NegativeLogLikelihood
    from likely.typing import Batch

    rng = np.random.default_rng(0)
    X = rng.normal(size=(32, 784)).astype(np.float32)
    data = Batch(jnp.asarray(X), jnp.asarray(rng.integers(0, 10, 32)), jnp.ones(32))
    model = mlp((784, 256, 256, 10), key=jax.random.key(0))
    objective = NegativeLogLikelihood.of(Categorical(10), data)

    def traced():
        recorded = trace(objective, model, data, argnums=0, has_aux=True)
        return recorded, recorded.values

    seconds, (recorded, _) = _seconds(traced)
    reverse, back = _seconds(recorded.reverse)
    with tempfile.TemporaryDirectory() as folder:
        page, path = _seconds(lambda: recorded.save_html(Path(folder) / "page.html"))
        size = path.stat().st_size
    loss = eqx.filter_jit(eqx.filter_grad(lambda m: objective(m, data)[0]))
    grad, exact = _seconds(lambda: jax.block_until_ready(loss(model)))
    pairs = zip(jax.tree.leaves(back.gradient), jax.tree.leaves(exact), strict=True)
    agrees = all(np.allclose(a, b, rtol=1e-3, atol=1e-6) for a, b in pairs)
    report = {"trace": seconds, "reverse": reverse, "page": seconds + reverse + page}
    print(json.dumps(report | {"grad": grad, "page_bytes": size, "agrees": agrees}))


if __name__ == "__main__":
    main()
