"""The files that can be downloaded, with the checksums they must have."""

from collections.abc import Sequence

from likely.data.download import Remote

PARTS = "train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"


def _idx_files(
    folder: str, mirrors: Sequence[str], checksums: str
) -> dict[str, Remote]:
    """The `PARTS` of a data set by their names; `checksums` has a line for each part."""
    found = {}
    for part, line in zip(PARTS, checksums.strip().splitlines(), strict=True):
        file, (sha256, size) = f"{part}-ubyte.gz", line.split()
        urls = [url + file for url in mirrors]
        found[f"{folder}/{file}"] = Remote(f"{folder}/{file}", sha256, int(size), urls)
    return found


IDX = _idx_files(
    "mnist",
    [
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
    ],
    """
        440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609 9912422
        3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c 28881
        8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6 1648877
        f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6 4542
    """,
) | _idx_files(
    "fashion",
    [
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    ],
    """
        3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84 26421880
        a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845 29515
        346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073 4422102
        67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5 5148
    """,
)
CIFAR10 = Remote(
    "cifar10/cifar-10-binary.tar.gz",
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    170_052_171,
    ["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"],
)
TINYSHAKESPEARE = Remote(
    "tinyshakespeare/input.txt",
    "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
    1_115_394,
    [
        "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/"
        "tinyshakespeare/input.txt"
    ],
)
