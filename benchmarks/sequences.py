"""Models of sequences against PyTorch: whole training steps through `fit`'s loop, and generation.

Both sides begin with the same weights and see the same rows in the same order. The peer is
PyTorch, eager, with its fused attention and recurrent kernels. Ours sees the CPU as two devices
that share each batch, one a core; as one device it is measured beside.
"""

import functools

import numpy as np

from benchmarks.convolution import mesh_of
from benchmarks.harness import Answer, Case

RATE, BATCHES, VOCABULARY = 1e-3, 4, 65


class Job:
    """A model: its rows, its first weights, its loss.

    Args:
        kind: "gpt", "lstm", "gru" or "rnn".
        rows: of a batch.
        length: of a sequence.
        size: of a state.
        n_layers: the number of layers.
        steps: of a run.
    """

    def __init__(
        self, kind: str, rows: int, length: int, size: int, n_layers: int, steps: int
    ):
        rng = np.random.default_rng(0)
        self.kind, self.rows, self.steps = kind, rows, steps
        self.length, self.size, self.n_layers = length, size, n_layers
        n = rows * BATCHES
        if kind == "gpt":
            tokens = rng.integers(0, VOCABULARY, (n, length + 1))
            self.X, self.y, self.n_out = tokens[:, :-1], tokens[:, 1:], VOCABULARY
        else:
            self.X = rng.normal(size=(n, length, 64)).astype(np.float32)
            self.y, self.n_out = rng.integers(0, 10, n), 10

    @functools.cached_property
    def model(self):
        """The library's model with its first weights."""
        import jax

        from likely.models import RecurrentNetwork, Transformer

        key = jax.random.key(0)
        if self.kind == "gpt":
            return Transformer(
                VOCABULARY, self.size, self.n_layers, self.size // 32, kind="decoder",
                context=self.length, key=key,
            )  # fmt: skip
        return RecurrentNetwork(
            None, self.size, self.n_layers, kind=self.kind, n_in=64, n_out=10, key=key
        )

    @functools.cached_property
    def prepared(self):
        """The objective, the model and the rows, made once."""
        import jax
        import jax.numpy as jnp

        from likely.families import Categorical
        from likely.objectives import NegativeLogLikelihood, PositionLikelihood
        from likely.typing import Batch

        ones = np.ones(len(self.y), np.float32)
        data = Batch(self.X, self.y.astype(np.float32), ones)
        data = jax.tree.map(jnp.asarray, data)
        kind = PositionLikelihood if self.y.ndim > 1 else NegativeLogLikelihood
        return kind.of(Categorical(self.n_out), data), self.model, data

    @functools.cached_property
    def order(self) -> np.ndarray:
        """The rows of each step, as our loop deals them."""
        import jax
        import jax.numpy as jnp

        from likely.solvers import Minibatches

        batches = Minibatches.of(len(self.y), self.rows)
        key, _ = jax.random.split(jax.random.key(1))
        epochs = range(-(-self.steps // batches.count))
        return np.concatenate([batches.order(key, jnp.asarray(e)) for e in epochs])

    def network(self):
        """PyTorch's network with the same first weights."""
        if self.kind == "gpt":
            return load_gpt(gpt(self.model), self.model)
        return load_recurrent(recurrent(self), self.model)


def ours(devices: int):
    """Our side, on the CPU as one device or as several that share each batch."""

    def run(job: Job) -> Answer:
        mesh = mesh_of(devices)
        import jax

        from likely.solvers import Adam
        from likely.solvers.training import Training

        adam = Adam(RATE, steps=job.steps, batch_size=job.rows)
        training = Training(adam, mesh=mesh)
        found = training.minimize(*job.prepared, key=jax.random.key(1))
        return {"losses": np.asarray(found.trace.loss)[: job.steps]}

    return run


def peer(job: Job) -> Answer:
    import torch
    from torch.nn.functional import cross_entropy

    net = job.network()
    X, y = torch.from_numpy(job.X), torch.from_numpy(job.y)
    order = torch.from_numpy(job.order.astype(np.int64))
    adam = torch.optim.Adam(net.parameters(), RATE, fused=True)
    losses = []
    for rows in order[: job.steps]:
        adam.zero_grad()
        loss = cross_entropy(net(X[rows]).flatten(0, -2), y[rows].flatten())
        loss.backward()
        adam.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses).numpy()}


def same_losses(ours: Answer, peer: Answer) -> str | None:
    """The first ten; then the rounding of either side has grown."""
    gap = float(np.abs(ours["losses"] - peer["losses"])[:10].max())
    return None if gap < 2e-3 else f"losses differ by {gap:.2g}"


# Generation ---------------------------------------------------------------------------

N_TOKENS, CONTEXT = 200, 256


def writer():
    """A decoder with random weights that says many different things, and a prompt."""
    import equinox as eqx
    import jax

    from likely.models import Transformer

    model = Transformer(
        VOCABULARY, 128, 4, 4, kind="decoder", context=CONTEXT, n_out=VOCABULARY,
        key=jax.random.key(0),
    )  # fmt: skip
    model = eqx.tree_at(
        lambda m: m.embedding.weight, model, replace_fn=lambda W: 50 * W
    )
    return model, np.arange(16)[None] % VOCABULARY


def generate_ours(data) -> Answer:
    from likely.models import generate

    model, prompt = data
    return {"tokens": generate(model, prompt, N_TOKENS, temperature=0)}


def generate_peer(data) -> Answer:
    """The usual loop: the keys and values of each layer grow by one position a step."""
    import torch

    model, prompt = data
    net = _torch_writer(model)
    tokens, cache, new = torch.from_numpy(prompt), None, []
    with torch.no_grad():
        for _ in range(N_TOKENS):
            eta, cache = net.extend(tokens, cache)
            tokens = eta[:, -1:].argmax(2)
            new.append(tokens)
    return {"tokens": torch.cat(new, 1).numpy()}


_KEPT = {}


def _torch_writer(model):
    if "net" not in _KEPT:
        _KEPT["net"] = load_gpt(gpt(model), model)
    return _KEPT["net"]


def same_tokens(ours: Answer, peer: Answer) -> str | None:
    same = ours["tokens"] == peer["tokens"]
    return None if same.all() else f"{(~same).sum()} of {same.size} tokens differ"


# PyTorch's networks -------------------------------------------------------------------


def gpt(model):
    """nanoGPT's network of the sizes of our model."""
    import torch
    from torch import nn
    from torch.nn.functional import gelu, scaled_dot_product_attention

    size, heads = model.size, model.layers[0].attention.n_heads

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
            self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
            self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

        def forward(self, x, past=None):
            n, t, _ = x.shape
            parts = self.qkv(self.norm1(x)).split(size, 2)
            q, k, v = (p.view(n, t, heads, -1).transpose(1, 2) for p in parts)
            if past is not None:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
            y = scaled_dot_product_attention(q, k, v, is_causal=past is None)
            x = x + self.out(y.transpose(1, 2).reshape(n, t, size))
            return x + self.down(gelu(self.up(self.norm2(x)))), (k, v)

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(VOCABULARY, size)
            self.places = nn.Embedding(model.context, size)
            self.blocks = nn.ModuleList(Block() for _ in model.layers)
            self.norm = nn.LayerNorm(size)
            self.head = nn.Linear(size, VOCABULARY, bias=model.output is not None)
            if model.output is None:
                self.head.weight = self.tokens.weight

        def extend(self, x, past=None):
            first = 0 if past is None else past[0][0].shape[2]
            past = past or [None] * len(self.blocks)
            H = self.tokens(x) + self.places(torch.arange(first, first + x.shape[1]))
            longer = []
            for block, own in zip(self.blocks, past, strict=True):
                H, own = block(H, own)
                longer.append(own)
            return self.head(self.norm(H)), longer

        def forward(self, x):
            return self.extend(x)[0]

    return GPT()


def _tensor(array):
    import torch

    return torch.tensor(np.asarray(array))


def load_gpt(net, model):
    """The network with the weights of our model."""
    state = {"tokens": model.embedding.weight, "places": model.positions.weight}
    state = {f"{k}.weight": _tensor(v) for k, v in state.items()}
    state["head.weight"] = state["tokens.weight"]
    if model.output is not None:
        state["head.weight"] = _tensor(model.output.weight).T
        state["head.bias"] = _tensor(model.output.bias)

    def norm(name, layer):
        state[f"{name}.weight"], state[f"{name}.bias"] = map(
            _tensor, (layer.scale, layer.shift)
        )

    def dense(name, *layers):
        state[f"{name}.weight"] = _tensor(
            np.concatenate([d.weight for d in layers], 1)
        ).T
        state[f"{name}.bias"] = _tensor(np.concatenate([d.bias for d in layers]))

    norm("norm", model.norm)
    for i, layer in enumerate(model.layers):
        start = f"blocks.{i}."
        for j in (1, 2):
            norm(f"{start}norm{j}", layer.norms[j - 1])
        dense(f"{start}qkv", layer.attention.query, layer.attention.key_value)
        dense(f"{start}out", layer.attention.out)
        dense(f"{start}up", layer.mlp.layers[0])
        dense(f"{start}down", layer.mlp.layers[2])
    net.load_state_dict(state)
    return net


def recurrent(job: Job):
    from torch import nn

    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            make = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[job.kind]
            self.layers = make(64, job.size, job.n_layers, batch_first=True)
            self.head = nn.Linear(job.size, job.n_out)

        def forward(self, x):
            return self.head(self.layers(x)[0][:, -1])

    return Last()


def load_recurrent(net, model):
    """The network with the weights of our model.

    PyTorch has a second bias, of which only the sum with the first counts; Adam would move both.
    Here it stays 0, but for the last gate of a GRU.
    """
    state = {"head.weight": _tensor(model.output.weight).T}
    state["head.bias"] = _tensor(model.output.bias)
    for i, (one,) in enumerate(model.recurrent.layers):
        second = np.zeros_like(one.bias)
        if one.own_bias is not None:
            second[2 * one.size :] = one.own_bias
        leaves = {
            "weight_ih": one.weight.T, "weight_hh": one.recurrent.T,
            "bias_ih": one.bias, "bias_hh": second,
        }  # fmt: skip
        state |= {f"layers.{k}_l{i}": _tensor(v) for k, v in leaves.items()}
    net.load_state_dict(state)
    for name, bias in net.layers.named_parameters():
        if name.startswith("bias_hh"):
            if "gru" in model.recurrent.layers[0][0].kind:
                own = _tensor(
                    np.repeat([0.0, 0.0, 1.0], len(bias) // 3).astype(np.float32)
                )
                bias.register_hook(lambda slope, own=own: slope * own)
            else:
                bias.requires_grad_(False)
    return net


SIZES = {
    "GPT L4 d128 T64 B16": (("gpt", 16, 64, 128, 4, 16), 0.9),
    "GPT L2 d256 T128 B8": (("gpt", 8, 128, 256, 2, 12), 0.85),
    "LSTM B32 T50 H128": (("lstm", 32, 50, 128, 1, 40), 0.95),
    "GRU B32 T50 H128": (("gru", 32, 50, 128, 1, 40), 1.8),
    "RNN B32 T50 H128": (("rnn", 32, 50, 128, 1, 60), 1.8),
}


def _case(name: str, devices: int) -> Case:
    job, asked = SIZES[name]
    asked, repeats = (asked, 9) if devices == 2 else (0, 3)
    make = functools.partial(Job, *job)
    return Case(make, ours(devices), peer, same_losses, asked, repeats)


CASES = {
    **{
        f"{name}{words}": _case(name, devices)
        for name in SIZES
        for words, devices in (("", 2), (", one device", 1))
    },
    f"{N_TOKENS} tokens of GPT L4 d128 with a cache": Case(
        writer, generate_ours, generate_peer, same_tokens, 1.5, 9
    ),
}
