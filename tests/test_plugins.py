import sys

import pytest

from kminilog.errors import PluginError
from kminilog.plugins import load_class


@pytest.mark.parametrize("path", ["collections.OrderedDict", "collections:OrderedDict"])
def test_load_class_by_either_way_of_writing_a_path(path):
    assert load_class(path, setting="partitioner.class").__name__ == "OrderedDict"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("OrderedDict", "write package.module.Class"),
        ("", "write package.module.Class"),
        (":OrderedDict", "write package.module.Class"),
        ("collections.", "write package.module.Class"),
        ("no_such_module.Class", "cannot import no_such_module: ModuleNotFoundError"),
        ("collections.NoSuchClass", "collections has no NoSuchClass"),
        ("os.path.join", "something else than a class named join"),
        ("broken_module.Class", "cannot import broken_module: RuntimeError: out of order"),
    ],
)
def test_load_class_that_cannot_be_had_names_setting_path_and_reason(
    path, reason, tmp_path, monkeypatch
):
    (tmp_path / "broken_module.py").write_text("raise RuntimeError('out of order')\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(PluginError, match=r"partitioner\.class") as caught:
        load_class(path, setting="partitioner.class")
    assert caught.value.path == path
    assert reason in str(caught.value)
