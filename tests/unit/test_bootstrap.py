"""The set-up picks the right PyTorch, names what is missing, and does nothing when there is nothing to do."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path

import bootstrap
import pytest

CPU = {"requires_dist": ["filelock", "sympy>=1.13.3"]}
CUDA = {"requires_dist": ["filelock", "nvidia-cublas==13.0; platform_system == 'Linux'"]}


class FakeInstaller(bootstrap.Installer):
    """Answers probes from a table and writes down what pip would be told."""

    def __init__(self, folder: Path, probes: dict[str, dict] | None = None, have: str = ""):
        super().__init__(folder / ".venv", folder / "constraints.txt")
        self.constraints.write_text("# pins\nnumpy==2.4.6\ntorch==2.13.0  # any build\n")
        self.probes, self.have, self.calls = probes or {}, have, []

    def pip(self, *args: str, what: str):
        self.calls.append(args)

    def _uv(self, *args: str):
        if self.python.exists() and self.python.stat().st_size:
            return super()._uv(*args)
        self.calls.append(args)

    def compile(self, module: str):
        self.calls.append(("compile", module))

    def probe(self, requirement: str, *args: str):
        return self.probes.get(" ".join([requirement, *args]))

    def installed(self, name: str):
        return self.have if name == "torch" else ""


@pytest.mark.parametrize(
    "probes, wanted",
    [
        ({"torch==2.13.0+cpu": CPU}, ["torch==2.13.0+cpu"]),
        (
            {f"torch==2.13.0+cpu --index-url {bootstrap.CPU_INDEX}": CPU, "torch==2.13.0": CUDA},
            ["--index-url", bootstrap.CPU_INDEX, "torch==2.13.0+cpu"],
        ),
        ({"torch==2.13.0": CPU}, ["torch==2.13.0"]),
    ],
    ids=["reachable already", "torch's own index", "a mirror with a plain version"],
)
def test_the_cpu_build_comes_from_where_it_is(tmp_path: Path, probes: dict[str, dict], wanted: list[str]):
    installer = FakeInstaller(tmp_path, probes)
    bootstrap.install_torch(installer, "cpu")
    assert len(installer.calls) == 1
    assert list(installer.calls[0][-len(wanted) :]) == wanted


def test_a_cuda_build_is_never_taken_by_accident(tmp_path: Path):
    with pytest.raises(bootstrap.SetupError, match="TORCH=cuda"):
        bootstrap.install_torch(FakeInstaller(tmp_path, {"torch==2.13.0": CUDA}), "cpu")


def test_the_cuda_switch_excludes_the_cpu_build(tmp_path: Path):
    installer = FakeInstaller(tmp_path, have="2.13.0+cpu")
    bootstrap.install_torch(installer, "cuda")
    assert installer.calls[0][-1] == "torch==2.13.0,!=2.13.0+cpu"


@pytest.mark.parametrize("kind, have", [("cpu", "2.13.0+cpu"), ("cuda", "2.13.0+cu130"), ("cuda", "2.13.0")])
def test_the_right_build_is_left_alone(tmp_path: Path, kind: str, have: str):
    installer = FakeInstaller(tmp_path, have=have)
    bootstrap.install_torch(installer, kind)
    assert installer.calls == []


def test_a_missing_pin_is_named(tmp_path: Path):
    with pytest.raises(bootstrap.SetupError, match="constraints.txt does not pin jax"):
        bootstrap.pin(FakeInstaller(tmp_path).constraints, "jax")


def test_the_missing_debian_package_is_named(monkeypatch: pytest.MonkeyPatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ensurepip" else find(name))
    with pytest.raises(bootstrap.SetupError, match="apt install python3-venv"):
        bootstrap.check_python()


def test_an_old_python_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    with pytest.raises(bootstrap.SetupError, match=r"Python 3\.9\.2 is too old.*make PYTHON="):
        bootstrap.check_python()


SHOWN = """\
:env:.find-links='/wheels /more'
global.cert='/etc/ca.crt'
global.constraint='/etc/limits.txt'
global.extra-index-url='https://a/simple\\nfile:///b/simple'
global.find-links='/old'
global.index-url='https://pypi.mirror/simple'
global.timeout='60'
"""


def test_uv_looks_where_pip_does():
    assert bootstrap.uv_settings(SHOWN) == {
        "UV_FIND_LINKS": "/wheels,/more",
        "SSL_CERT_FILE": "/etc/ca.crt",
        "UV_CONSTRAINT": "/etc/limits.txt",
        "UV_INDEX": "https://a/simple file:///b/simple",
        "UV_DEFAULT_INDEX": "https://pypi.mirror/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_NO_CACHE": "1",
        "UV_NO_CONFIG": "1",
    }
    assert "UV_INDEX" not in bootstrap.uv_settings("")


UV = """#!{python}
import os, sys
with open({said!r}, "a") as said:
    print(*sys.argv[1:], os.environ.get("UV_INDEX_STRATEGY", ""), file=said)
print("Resolved 3 packages in 2ms")
sys.exit({status} if "uv" in sys.argv[:3] else 0)
"""
ASKED = ("-c", "limits.txt", "-e", "here[dev]")


@pytest.mark.parametrize("status", [0, 2])
def test_packages_are_installed_by_uv_and_by_pip_where_uv_cannot(tmp_path, status, monkeypatch, capsys):
    installer, said = FakeInstaller(tmp_path), tmp_path / "said"
    installer.python.parent.mkdir(parents=True)
    installer.python.write_text(UV.format(python=sys.executable, said=str(said), status=status))
    installer.python.chmod(0o755)
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(bootstrap, "HEARTBEAT_S", 0.0)
    installer.packages(*ASKED, what="all")
    (asked,) = [line for line in said.read_text().splitlines() if line.startswith("-m uv pip install")]
    assert f"--python {installer.python} {' '.join(ASKED)}" in asked and asked.endswith("unsafe-best-match")
    assert installer.calls[0][-1] == "uv" and installer.calls[1:] == ([("install", *ASKED)] if status else [])
    assert "Resolved 3 packages" in capsys.readouterr().out, "who waits is told of it"
    assert "Resolved 3 packages" in installer.log.read_text()


def test_who_waits_hears_of_it_also_where_nothing_is_printed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bootstrap, "HEARTBEAT_S", 0.05)
    readable, writable = os.pipe()
    with open(readable, "rb") as stream, open(writable, "wb", buffering=0) as out:
        heard = bootstrap.lines(stream)
        out.write(b"Installing a\nInst")
        assert next(heard) == "Installing a\n"
        assert next(heard) == next(heard) == "", "half a line is none yet"
        out.write(b"alling b\nlast")
        assert next(heard) == "Installing b\n"
        out.close()
        assert list(heard) == ["last"]


def test_a_long_line_is_cut_between_words():
    assert bootstrap.shortened("a bc def", 6) == "a bc ..." and bootstrap.shortened("a bc def", 8) == "a bc def"


def test_packages_are_installed_by_pip_where_there_is_no_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    installer = FakeInstaller(tmp_path)

    def pip(self: FakeInstaller, *args: str, what: str):
        if args[-1] == "uv":
            raise bootstrap.SetupError("no matching distribution")
        self.calls.append(args)

    monkeypatch.setattr(FakeInstaller, "pip", pip)
    installer.packages(*ASKED, what="all")
    assert installer.calls == [("install", *ASKED)]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[argparse.Namespace, list[FakeInstaller]]:
    """A project folder whose installers only write down what they would do."""
    made: list[FakeInstaller] = []

    def create(self: FakeInstaller):
        self.python.parent.mkdir(parents=True, exist_ok=True)
        self.python.touch()
        made.append(self)

    probes = {"torch==2.13.0+cpu": CPU}
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "a"\n[build-system]\nrequires = []\n[tool.x]\na = 1\n')
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(FakeInstaller, "create", create, raising=False)
    monkeypatch.setattr(bootstrap, "Installer", lambda venv, _: FakeInstaller(tmp_path, probes))
    FakeInstaller(tmp_path)
    names = {"constraints": "constraints.txt", "torch": "", "extras": "train", "exact": False}
    return argparse.Namespace(venv=tmp_path / ".venv", **names), made


def test_the_second_run_starts_at_once(project: tuple[argparse.Namespace, list[FakeInstaller]]):
    args, made = project
    bootstrap.setup(args)
    bootstrap.setup(args)
    assert len(made) == 1
    text = (bootstrap.ROOT / "pyproject.toml").read_text()
    (bootstrap.ROOT / "pyproject.toml").write_text(text.replace("a = 1", "a = 2"))  # a lint option installs nothing
    bootstrap.setup(args)
    assert len(made) == 1
    (bootstrap.ROOT / "pyproject.toml").write_text(text.replace('"a"', '"b"'))
    bootstrap.setup(args)
    assert len(made) == 2


@pytest.mark.parametrize("lazy", [False, True])
def test_what_a_run_imports_is_compiled_by_the_set_up_where_pip_compiled_nothing(
    project: tuple[argparse.Namespace, list[FakeInstaller]], monkeypatch: pytest.MonkeyPatch, lazy: bool
):
    args, made = project
    monkeypatch.setattr(bootstrap, "LAZY", lazy)
    bootstrap.setup(args)
    assert (made[-1].calls[-1] == ("compile", "quintain.runtime.assemble")) is lazy


def test_a_wider_set_up_is_kept_and_so_is_the_build(project: tuple[argparse.Namespace, list[FakeInstaller]]):
    args, made = project
    bootstrap.setup(argparse.Namespace(**{**vars(args), "extras": "train,dev", "torch": "cuda"}))
    assert [call for call in made[-1].calls if call[0] == "install"][-1][-1].endswith("[dev,train]")
    bootstrap.setup(args)  # neither narrows the extras nor goes back to the CPU build
    assert len(made) == 1


def test_an_interrupted_set_up_is_not_taken_for_a_finished_one(
    project: tuple[argparse.Namespace, list[FakeInstaller]], monkeypatch: pytest.MonkeyPatch
):
    args, made = project
    bootstrap.setup(args)
    pyproject = bootstrap.ROOT / "pyproject.toml"
    text = pyproject.read_text()
    pyproject.write_text(text.replace('"a"', '"b"'))
    with monkeypatch.context() as patch:
        patch.setattr(bootstrap, "install_torch", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            bootstrap.setup(args)
    pyproject.write_text(text)  # the environment may hold half of the other set-up by now
    bootstrap.setup(args)
    assert len(made) == 3 and any("torch==2.13.0+cpu" in call for call in made[2].calls)
