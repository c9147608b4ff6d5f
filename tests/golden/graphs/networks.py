"""The networks that are compared with pgmpy's: Lauritzen and Spiegelhalter's, and a sprinkler."""

LEVELS = ["no", "yes"]
# a child -> (its parents, P(yes) for all combinations of their levels, the last one fastest)
ASIA = {
    "asia": ((), [0.01]),
    "smoke": ((), [0.5]),
    "tub": (("asia",), [0.01, 0.05]),
    "lung": (("smoke",), [0.01, 0.1]),
    "bronc": (("smoke",), [0.3, 0.6]),
    "either": (("tub", "lung"), [0.0, 1.0, 1.0, 1.0]),
    "xray": (("either",), [0.05, 0.98]),
    "dysp": (("either", "bronc"), [0.1, 0.8, 0.7, 0.9]),
}
SPRINKLER = {
    "rain": ((), [0.2]),
    "sprinkler": (("rain",), [0.4, 0.01]),
    "wet": (("rain", "sprinkler"), [0.02, 0.9, 0.8, 0.99]),
}
NETWORKS = {"asia": ASIA, "sprinkler": SPRINKLER}
# (network, targets, what is observed)
QUERIES = [
    ("asia", ["lung"], {}),
    ("asia", ["lung"], {"xray": "yes", "dysp": "yes"}),
    ("asia", ["tub", "lung"], {"xray": "yes"}),
    ("asia", ["bronc", "smoke"], {"dysp": "yes", "asia": "yes"}),
    ("asia", ["dysp"], {"smoke": "no", "xray": "no"}),
    ("sprinkler", ["rain"], {"wet": "yes"}),
    ("sprinkler", ["rain"], {"wet": "yes", "sprinkler": "yes"}),
    ("sprinkler", ["rain", "sprinkler"], {"wet": "no"}),
]
# (network, target, what is set, what is observed)
INTERVENTIONS = [
    ("sprinkler", "wet", {"sprinkler": "yes"}, {}),
    ("asia", "lung", {"smoke": "yes"}, {}),
    ("asia", "dysp", {"bronc": "no"}, {}),
]
SEPARATIONS = [
    ("asia", "asia", "smoke", []),
    ("asia", "asia", "smoke", ["dysp"]),
    ("asia", "tub", "lung", []),
    ("asia", "tub", "lung", ["either"]),
    ("asia", "tub", "lung", ["xray"]),
    ("asia", "xray", "dysp", ["either"]),
    ("asia", "xray", "dysp", ["either", "bronc"]),
    ("asia", "lung", "bronc", []),
    ("asia", "lung", "bronc", ["smoke"]),
    ("asia", "lung", "bronc", ["smoke", "dysp"]),
    ("asia", "asia", "xray", ["tub"]),
]
