"""GPT-2, BERT and a vision transformer in plain PyTorch, with the public names of weights."""

import torch
from torch import nn
from torch.nn.functional import gelu, softmax

SIZES = {"vocabulary": 11, "context": 8, "size": 8, "layers": 2, "heads": 2}
V, T, D, L, H = SIZES.values()


def attention(q, k, v, heads, mask=None):
    n, t, d = q.shape
    q, k, v = (a.view(n, t, heads, d // heads).transpose(1, 2) for a in (q, k, v))
    scores = q @ k.transpose(-1, -2) / (d // heads) ** 0.5
    scores = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
    return (softmax(scores, -1) @ v).transpose(1, 2).reshape(n, t, d)


class Conv1D(nn.Module):
    """A linear map that is stored from in to out, as in GPT-2."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_in, n_out))
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return x @ self.weight + self.bias


class GPT2Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj = Conv1D(D, 3 * D), Conv1D(D, D)

    def forward(self, x):
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        return self.c_proj(attention(*self.c_attn(x).split(D, 2), H, mask))


class GPT2MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc, self.c_proj = Conv1D(D, 4 * D), Conv1D(4 * D, D)

    def forward(self, x):
        return self.c_proj(gelu(self.c_fc(x), approximate="tanh"))


class GPT2Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(D), GPT2Attention()
        self.ln_2, self.mlp = nn.LayerNorm(D), GPT2MLP()

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(V, D),
                "wpe": nn.Embedding(T, D),
                "h": nn.ModuleList(GPT2Block() for _ in range(L)),
                "ln_f": nn.LayerNorm(D),
            }
        )

    def forward(self, tokens):
        parts = self.transformer
        x = parts["wte"](tokens) + parts["wpe"](torch.arange(tokens.shape[1]))
        for block in parts["h"]:
            x = block(x)
        return parts["ln_f"](x) @ parts["wte"].weight.T


class BERTLayer(nn.Module):
    def __init__(self):
        super().__init__()
        names = ("query", "key", "value")
        inner = nn.ModuleDict({name: nn.Linear(D, D) for name in names})
        after = {"dense": nn.Linear(D, D), "LayerNorm": nn.LayerNorm(D, eps=1e-12)}
        self.attention = nn.ModuleDict({"self": inner, "output": nn.ModuleDict(after)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(D, 4 * D)})
        last = {"dense": nn.Linear(4 * D, D), "LayerNorm": nn.LayerNorm(D, eps=1e-12)}
        self.output = nn.ModuleDict(last)

    def forward(self, x):
        inner, after = self.attention["self"], self.attention["output"]
        y = attention(inner["query"](x), inner["key"](x), inner["value"](x), H)
        x = after["LayerNorm"](x + after["dense"](y))
        y = self.output["dense"](gelu(self.intermediate["dense"](x)))
        return self.output["LayerNorm"](x + y)


class BERT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(V, D),
                "position_embeddings": nn.Embedding(T, D),
                "token_type_embeddings": nn.Embedding(2, D),
                "LayerNorm": nn.LayerNorm(D, eps=1e-12),
            }
        )
        layers = nn.ModuleList(BERTLayer() for _ in range(L))
        self.encoder = nn.ModuleDict({"layer": layers})
        self.pooler = nn.ModuleDict({"dense": nn.Linear(D, D)})

    def forward(self, tokens):
        e = self.embeddings
        x = e["word_embeddings"](tokens) + e["token_type_embeddings"].weight[0]
        x = x + e["position_embeddings"].weight[: tokens.shape[1]]
        x = e["LayerNorm"](x)
        for layer in self.encoder["layer"]:
            x = layer(x)
        return torch.tanh(self.pooler["dense"](x[:, 0]))


class VisionBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(D, eps=1e-6), nn.LayerNorm(D, eps=1e-6)
        self.attn = nn.ModuleDict({"qkv": nn.Linear(D, 3 * D), "proj": nn.Linear(D, D)})
        self.mlp = nn.ModuleDict(
            {
                "fc1": nn.Linear(D, 4 * D),
                "fc2": nn.Linear(4 * D, D),
            }
        )

    def forward(self, x):
        q, k, v = self.attn["qkv"](self.norm1(x)).split(D, 2)
        x = x + self.attn["proj"](attention(q, k, v, H))
        return x + self.mlp["fc2"](gelu(self.mlp["fc1"](self.norm2(x))))


class Vision(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, D, 4, 4)})
        self.cls_token = nn.Parameter(torch.zeros(1, 1, D))
        self.pos_embed = nn.Parameter(torch.zeros(1, 7, D))
        self.blocks = nn.ModuleList(VisionBlock() for _ in range(L))
        self.norm, self.head = nn.LayerNorm(D, eps=1e-6), nn.Linear(D, 5)

    def forward(self, images):
        x = self.patch_embed["proj"](images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), 1, D), x], 1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x[:, 0]))


MODELS = {"gpt2": GPT2, "bert": BERT, "vision": Vision}
