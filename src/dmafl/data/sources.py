"""Where the full data sets are published, and the checksums they must have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Remote:
    """One published file."""

    name: str
    size: int
    """Bytes."""
    sha256: str


@dataclass(frozen=True)
class Source:
    """One published data set: its addresses, first choice first, and its files."""

    base_urls: tuple[str, ...]
    format: Literal["idx", "mat"]
    """`idx`: four files, in the order x_train, y_train, x_test, y_test. `mat`: two, train and test."""
    files: tuple[Remote, ...]
    samples: tuple[int, int]
    """Numbers of training and test samples."""
    content: Mapping[str, str] | None
    """SHA-256 of the bytes of each array after conversion, or None where only those of the files are known."""


_IDX_FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


def _idx_files(*published: tuple[int, str]) -> tuple[Remote, ...]:
    """The four files of a data set in the format of MNIST, from their sizes and checksums."""
    return tuple(Remote(name, *file) for name, file in zip(_IDX_FILES, published, strict=True))


# The files' checksums are those that public data catalogues list. The contents' were computed from complete
# copies; MNIST's agree with published checksums of the unpacked files. For SVHN there was no independent complete
# copy, so only the files' checksums and the shapes are checked.
SOURCES: Mapping[str, Source] = {
    "mnist": Source(
        # The second address is the original one, which often refuses downloads.
        base_urls=("https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"),
        format="idx",
        files=_idx_files(
            (9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
            (28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
            (1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
            (4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
        ),
        samples=(60_000, 10_000),
        content={
            "x_train": "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
            "y_train": "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
            "x_test": "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
            "y_test": "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
        },
    ),
    "fashion_mnist": Source(
        base_urls=("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
        format="idx",
        files=_idx_files(
            (26_421_880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
            (29_515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
            (4_422_102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
            (5_148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
        ),
        samples=(60_000, 10_000),
        content={
            "x_train": "2e487a6c89124f78f2d7521542223cafe96f7123c3ca13d447772ac6ecbb3012",
            "y_train": "657fbd221bfc9f4198cc14b5619cc33ec57c58dd0e47af4d99d6650759e869a7",
            "x_test": "c867c93ff95360594e8ec3287995350b824dd110b11595c0e13d5423f621867a",
            "y_test": "3d0e6c6ea990b53b6f8f500a41cac93881d981b315f84578b7d915342ade01e9",
        },
    ),
    "svhn": Source(
        base_urls=("http://ufldl.stanford.edu/housenumbers/",),
        format="mat",
        files=(
            Remote(
                "train_32x32.mat",
                182_040_794,
                "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
            ),
            Remote(
                "test_32x32.mat",
                64_275_384,
                "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
            ),
        ),
        samples=(73_257, 26_032),
        content=None,
    ),
}
