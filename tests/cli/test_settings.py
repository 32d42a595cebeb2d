import pytest

from dmafl.base.errors import BadInput
from dmafl.cli.settings import parse_settings


def test_values_are_toml_or_plain_text():
    found = parse_settings(
        [
            "tasks.*.window_s=100, 2e2,{uniform = [1, 2]}",
            'channel.kind=rayleigh,"fixed"',
            "a=true",
            "b=unset,[1,2]",
        ]
    )
    assert found == {
        "tasks.*.window_s": [100, 200.0, {"uniform": [1, 2]}],
        "channel.kind": ["rayleigh", "fixed"],
        "a": [True],
        "b": [None, [1, 2]],
    }


@pytest.mark.parametrize("text", ["a", "=1", "a=", "a=1,", "a=,1", "a= "])
def test_what_is_no_setting(text):
    with pytest.raises(BadInput, match="--set"):
        parse_settings([text])


def test_a_key_comes_once():
    with pytest.raises(BadInput, match="once"):
        parse_settings(["a=1", "a=2"])
