"""The HTML page is complete, self-contained and small; and the figures."""

import html
import json
import re

import jax
import jax.numpy as jnp
import numpy as np

from likely.autodiff import trace
from likely.autodiff.page.columns import in_columns
from likely.autodiff.page.page import page
from likely.families import Categorical
from likely.models import mlp
from likely.objectives import NegativeLogLikelihood
from likely.plots import checkpoint_timeline, computation_graph
from likely.typing import Batch


def network(W, b, x):
    z = W @ x + b
    a = jnp.tanh(z)
    L = jnp.sum(a * a)
    return L


ARGUMENTS = (
    np.array([[0.5, -0.4], [0.2, 0.3]], np.float32),
    np.array([0.1, 0.0], np.float32),
    np.array([1.0, 2.0], np.float32),
)


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_page_tells_the_whole_story(tmp_path):
    recorded = trace(network, *ARGUMENTS)
    path = recorded.save_html(tmp_path / "trace.html")
    written = path.read_text("utf-8")
    assert not re.search(r"https?://|src=|<link", written)  # nothing from outside
    assert "{{" not in written
    data = data_of(written)
    assert len(data["steps"]) == len(recorded.steps) == 5
    assert [s["formula"] for s in data["steps"]] == [
        "W @ x",
        "v1 + b",
        "tanh(z)",
        "a · a",
        "Σ v4",
    ]
    # Backwards every step sends its rule, its number, and the sum so far.
    back = recorded.reverse()
    (sent,) = data["back"]["3"]
    assert data["values"][str(sent[0])][0] == "z"
    assert sent[1] == "∂L/∂a · (1 − a²)"
    slopes = [f"{v:.4g}" for v in back.adjoints[recorded.named("a").index]]
    assert sent[2].startswith(f"[{', '.join(slopes)}] · (1 − [")
    first, second = data["back"]["4"]  # a · a sends twice
    assert first[4] != second[4] == f"[{', '.join(slopes)}]"
    assert "Layer by layer" in written
    assert "δ¹" in written
    for index in data["variables"]:
        assert f'id="n{index}"' in written  # a box for each argument


def test_page_puts_the_numbers_in():
    """Products as sums of products, δ by name, roles of the values in words."""
    data = data_of(page(trace(network, *ARGUMENTS, argnums=(0, 1))))
    product, total, *_ = data["steps"]
    assert product["worked"] == "[0.5·1 + (-0.4)·2, 0.2·1 + 0.3·2]"
    assert total["worked"] == "[-0.3, 0.8] + [0.1, 0]"
    values = {parts[0]: parts for parts in data["values"].values()}
    assert values["z"][4] == values["v1"][4] == "δ¹"
    assert values["W"][4] == "∂L/∂W"
    ((_, rule, worked, *_),) = data["back"]["1"]
    assert rule == "δ¹ xᵀ (column times row)"
    assert worked.count("·2]") == 2
    roles = [words for role in data["roles"].values() for words in role if words]
    assert "the weighted sum of layer 1, before its activation" in roles
    assert "the delta of layer 1: ∂L/∂z" in roles


def test_names_cannot_break_the_page():
    def f(x):
        return {"<b>": x["</script>"] ** 2}

    page = trace(f, {"</script>": 2.0})._repr_html_()
    assert page.count("</script>") == 0  # all of it is inside a quoted attribute
    inside = html.unescape(re.search(r'srcdoc="(.*?)" style', page, re.DOTALL)[1])
    assert inside.count("</script>") == 2
    data_of(inside)


def test_page_of_a_function_without_adjoints():
    page = trace(lambda n: n * 2 + 1, 3)._repr_html_()
    assert "All steps" in html.unescape(page)
    assert "Backward" in trace(network, *ARGUMENTS).reverse()._repr_html_()


def test_page_of_a_network_is_small(tmp_path, getkey):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(32, 784)).astype(np.float32)
    data = Batch(jnp.asarray(X), jnp.asarray(rng.integers(0, 10, 32)), jnp.ones(32))
    model = mlp((784, 256, 256, 10), key=getkey())
    objective = NegativeLogLikelihood.of(Categorical(10), data)
    recorded = trace(objective, model, data, argnums=0, has_aux=True)
    path = recorded.save_html(tmp_path / "mlp.html")
    assert path.stat().st_size < 1_000_000
    page = path.read_text("utf-8")
    assert all(name in page for name in ("W¹", "z²", "δ³", "model.layers[0].weight"))
    expected = jax.grad(lambda m: objective(m, data)[0])(model)
    np.testing.assert_allclose(
        recorded.reverse().gradient.layers[0].weight,
        expected.layers[0].weight,
        rtol=1e-3,
        atol=1e-6,
    )


def assert_apart(drawing):
    boxes = list(drawing.nodes.values())
    for i, a in enumerate(boxes):
        assert a.width / 2 <= a.x <= drawing.width - a.width / 2
        assert a.height / 2 <= a.y <= drawing.height - a.height / 2
        for b in boxes[i + 1 :]:
            apart = abs(a.x - b.x) >= (a.width + b.width) / 2
            assert apart or abs(a.y - b.y) >= (a.height + b.height) / 2


def test_a_long_trace_has_the_shape_of_a_window_and_can_be_enlarged():
    def long(x):
        for _ in range(25):
            x = jnp.sin(x * 1.1) + 0.1
        return jnp.sum(x)

    recorded = trace(long, np.ones(3, np.float32))
    tall, drawing = recorded.graph(), in_columns(recorded.graph())
    assert len(recorded.steps) == 76
    assert tall.height > 10 * tall.width
    assert 0.5 < drawing.width / drawing.height < 1.2
    assert (drawing.edges, [*drawing.nodes]) == (tall.edges, [*tall.nodes])
    assert_apart(drawing)
    written = page(recorded)
    width, height = re.search(r'viewBox="0 0 (\d+) (\d+)"', written).groups()
    assert (int(width), int(height)) == (round(drawing.width), round(drawing.height))
    for name in ("smaller", "larger", "fit", "full"):
        assert f'<button id="{name}"' in written
        assert f'$("{name}").onclick' in written
    assert 'addEventListener("wheel"' in written


def test_boxes_do_not_overlap():
    drawing = trace(network, *ARGUMENTS).graph()
    assert_apart(drawing)
    assert in_columns(drawing) == drawing  # small enough as it is
    assert all(drawing.nodes[a].y < drawing.nodes[b].y for a, b in drawing.edges)


def test_still_pictures():
    recorded = trace(network, *ARGUMENTS)
    drawn = computation_graph(recorded, title="a network")
    texts = [text.get_text() for text in drawn.axes[0].texts]
    assert "z = v1 + b" in texts
    assert "a network" in texts
    along = computation_graph(recorded.forward())
    assert len(along.axes[0].texts) == len(texts) - 1
    assert computation_graph(recorded.reverse()).axes
    timeline = checkpoint_timeline(recorded.checkpointed(2))
    assert [ax.get_xlabel() for ax in timeline.axes] == ["time", "time"]
