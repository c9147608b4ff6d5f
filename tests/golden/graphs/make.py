"""Make pgmpy.json: what pgmpy 1.1 says of the networks of `networks.py`.

    python tests/golden/graphs/make.py

Answers by variable elimination, interventions, d-separation, and scores of structures on rows
that are written there too. pgmpy is an oracle here and no dependency of the tests.
"""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pgmpy
from networks import INTERVENTIONS, LEVELS, NETWORKS, QUERIES, SEPARATIONS
from pgmpy.factors.discrete import TabularCPD
from pgmpy.inference import CausalInference, VariableElimination
from pgmpy.models import DiscreteBayesianNetwork
from pgmpy.structure_score import BIC, BDeu


def network(name):
    parts = NETWORKS[name]
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(parts)
    model.add_edges_from((p, child) for child, (own, _) in parts.items() for p in own)
    for child, (own, yes) in parts.items():
        states = {n: LEVELS for n in (child, *own)}
        values = [[1 - p for p in yes], yes]
        sizes = [2] * len(own)
        cpd = TabularCPD(child, 2, values, own or None, sizes or None, states)
        model.add_cpds(cpd)
    assert model.check_model()
    return model


def cells(factor, names):
    """Probabilities in the order of the names, the last one fastest."""
    order = [factor.variables.index(n) for n in names]
    values = factor.values.transpose(order)
    levels = [factor.state_names[n] for n in names]
    index = np.ix_(*[[own.index(level) for level in LEVELS] for own in levels])
    return values[index].ravel().tolist()


def main():
    models = {name: network(name) for name in NETWORKS}
    found = {"pgmpy": pgmpy.__version__, "queries": [], "interventions": []}
    for name, targets, seen in QUERIES:
        ask = VariableElimination(models[name])
        answer = ask.query(targets, evidence=seen or None, show_progress=False)
        found["queries"].append(cells(answer, targets))
    for name, target, do, seen in INTERVENTIONS:
        ask = CausalInference(models[name])
        answer = ask.query([target], do=do, evidence=seen or None, show_progress=False)
        found["interventions"].append(cells(answer, [target]))
    found["separations"] = [
        not models[name].is_dconnected(a, b, observed=given)
        for name, a, b, given in SEPARATIONS
    ]
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 60)
    rows = {
        "a": a,
        "b": (a + (rng.random(60) < 0.3)) % 3,
        "c": (rng.random(60) < 0.4).astype(int),
    }
    data = pd.DataFrame({k: v.astype(str) for k, v in rows.items()})
    families = [["b", []], ["b", ["a"]], ["c", ["a", "b"]], ["a", ["c"]]]
    bic, bdeu = BIC(data), BDeu(data, equivalent_sample_size=5)
    found["rows"] = {k: v.tolist() for k, v in rows.items()}
    found["families"] = families
    found["bic"] = [float(bic.local_score(v, tuple(p))) for v, p in families]
    found["bdeu"] = [float(bdeu.local_score(v, tuple(p))) for v, p in families]
    assert all(math.isfinite(x) for x in found["bic"] + found["bdeu"])
    path = Path(__file__).parent / "pgmpy.json"
    path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
