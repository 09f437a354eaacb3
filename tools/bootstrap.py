#!/usr/bin/env python3
"""Makes the virtual environment that the Makefile runs in: `python3 tools/bootstrap.py --help`.

Standard library only: this is what runs on a machine where nothing is installed yet.
"""

import argparse
import hashlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
BUILD_REQUIRES = ("hatchling", "editables")
HEARTBEAT_S = 10.0
DOING = {
    "Collecting",
    "Downloading",
    "Installing",
    "Building",
    "Resolved",
    "Prepared",
}  # how lines begin that are shown
LAZY = not sys.dont_write_bytecode  # modules are compiled when they are first imported: most never are
UV_NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
    "constraint": "UV_CONSTRAINT",
}  # what of pip's settings uv must know, and what it calls that


class SetupError(Exception):
    """Set-up cannot go on; the message names the fix."""


def check_python() -> None:
    """Refuse a Python that is too old or that cannot make virtual environments."""
    if sys.version_info < (3, 11):  # noqa: UP036 - runs before anything that enforces it
        found = ".".join(map(str, sys.version_info[:3]))
        raise SetupError(
            f"Python {found} is too old: Quintain needs 3.11 or newer. Name another with `make PYTHON=python3.12 ...`"
        )
    import importlib.util

    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        raise SetupError(
            "this Python cannot make virtual environments: install the Debian package that holds the venv module,\n"
            "    sudo apt install python3-venv\n"
            "and run the same command again"
        )


def digest(constraints: Path, wanted: dict) -> str:
    """A key over all that decides what gets installed: metadata, pins, interpreter, place and choices."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    parts = {
        "project": project["project"],
        "build": project["build-system"],
        "constraints": constraints.read_text(encoding="utf-8"),
        "python": [sys.version, sys.base_prefix],
        "root": str(ROOT),
        "wanted": wanted,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Installer:
    """Runs pip in one virtual environment and tells the terminal what it is at."""

    def __init__(self, venv: Path, constraints: Path) -> None:
        self.venv = venv
        self.python = venv / "bin" / "python"
        self.constraints = constraints
        self.log = venv / "setup.log"
        self.started = time.monotonic()

    def say(self, text: str) -> None:
        """One line of progress with the seconds since the start."""
        print(f"[setup {time.monotonic() - self.started:4.0f} s] {text}", flush=True)

    def create(self) -> None:
        """Make the virtual environment, unless one that works is there already."""
        works = (
            self.python.exists()
            and not subprocess.run([str(self.python), "-c", "import pip"], capture_output=True).returncode
        )
        if works:
            return
        if self.venv.exists():
            if not (self.venv / "pyvenv.cfg").exists() and any(self.venv.iterdir()):
                raise SetupError(f"{self.venv} exists and is no virtual environment: move it away or name another VENV")
            shutil.rmtree(self.venv)
        self.say(f"making the virtual environment {self.venv.name} with {sys.executable}")
        done = subprocess.run([sys.executable, "-m", "venv", str(self.venv)], capture_output=True, text=True)
        if done.returncode:
            raise SetupError(f"`python3 -m venv` failed:\n{done.stdout}{done.stderr}")

    def packages(self, *args: str, what: str) -> None:
        """`pip install ARGS` by uv, which is several times as fast, or by pip where there is no uv or it cannot."""
        self.say(what)
        try:
            if not self.installed("uv"):
                self.pip("install", "--no-deps", "-c", str(self.constraints), "uv", what="  by uv")
            self._uv("install", *args)
        except SetupError:
            self.pip("install", *args, what="  by pip: this takes some minutes")

    def _uv(self, command: str, *args: str) -> None:
        """Run `uv pip COMMAND ARGS`, which looks for packages where pip would."""
        config = [str(self.python), "-m", "pip", "config", "list"]
        shown = subprocess.run(config, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
        compiled = [] if LAZY else ["--compile-bytecode"]
        self._run("uv", "pip", command, "--python", str(self.python), *args, *compiled, environ=uv_settings(shown))

    def pip(self, *args: str, what: str) -> None:
        """Run `pip ARGS`."""
        self.say(what)
        self._run("pip", "--disable-pip-version-check", *args, *(["--no-compile"] if LAZY else []))

    def _run(self, module: str, *args: str, environ: dict[str, str] | None = None) -> None:
        """Run a module, log all of its output and show what it is doing now and then."""
        command = [str(self.python), "-m", module, *args]
        beat, tail = time.monotonic(), []
        to = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(command)}\n")
            environ = {**os.environ, **(environ or {})}
            with subprocess.Popen(command, **to, cwd=ROOT, env=environ) as process:
                for line in lines(process.stdout):
                    log.write(line)
                    tail = [*tail[-29:], line.rstrip()] if line else tail
                    late = time.monotonic() - beat > HEARTBEAT_S or line.startswith("Installing")
                    if late and (not line or line.split(" ", 1)[0].strip() in DOING):
                        beat = time.monotonic()
                        self.say(f"  {shortened(line.strip()) or 'still at it'}")
        if process.returncode:
            shown = [line for line in tail if not line.startswith("WARNING: Location")]
            raise SetupError("\n".join([f"{module} failed; its last lines (all are in {self.log}):", *shown]))

    def probe(self, requirement: str, *args: str) -> dict | None:
        """What pip would install for this requirement, from metadata alone; None when it finds nothing."""
        command = [str(self.python), "-m", "pip", "--disable-pip-version-check", "install", "-q", "--dry-run"]
        command += [
            "--retries",
            "1",
            "--timeout",
            "20",
            "--no-deps",
            "--ignore-installed",
            "--report",
            "-",
            *args,
            requirement,
        ]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            return None
        return json.loads(done.stdout[done.stdout.index("{") :])["install"][0]["metadata"]

    def compile(self, module: str) -> None:
        """Import a module once, so that the first run does not compile all that it imports without a word."""
        self.say("compiling what a run imports")
        subprocess.run([str(self.python), "-c", f"import {module}"], capture_output=True, cwd=ROOT)

    def installed(self, name: str) -> str:
        """The installed version of a distribution, or an empty string."""
        code = f"from importlib.metadata import version as v\ntry: print(v({name!r}))\nexcept Exception: print('')"
        return subprocess.run([str(self.python), "-c", code], capture_output=True, text=True).stdout.strip()


def lines(stream: Any) -> Iterator[str]:
    """The lines of a pipe as they come, and "" whenever none has come for `HEARTBEAT_S`."""
    rest = b""
    while True:
        if not select.select([stream], [], [], HEARTBEAT_S)[0]:
            yield ""
            continue
        data = os.read(stream.fileno(), 1 << 16)
        *whole, rest = (rest + data).split(b"\n")
        yield from (line.decode(errors="replace") + "\n" for line in whole)
        if not data:
            if rest:
                yield rest.decode(errors="replace")
            return


def shortened(text: str, most: int = 100) -> str:
    """A line that is cut between two words."""
    return text if len(text) <= most else f"{text[:most].rpartition(' ')[0]} ..."


def uv_settings(shown: str) -> dict[str, str]:
    """The environment in which uv looks where pip does, of what `pip config list` shows; a variable outranks a file."""
    found = {}
    for line in sorted(shown.splitlines(), key=lambda line: line.startswith(":env:")):
        key, _, value = line.partition("=")
        if name := UV_NAMES.get(key.rsplit(".", 1)[-1]):
            words = value.strip("'\"").replace("\\n", " ").split()
            found[name] = ("," if name == "UV_FIND_LINKS" else " ").join(words)
    # As pip: the best of all indexes, not the first that has the name. No cache: it would be read once.
    return {**found, "UV_INDEX_STRATEGY": "unsafe-best-match", "UV_NO_CACHE": "1", "UV_NO_CONFIG": "1"}


def pin(constraints: Path, name: str) -> str:
    """The version that the constraints file pins for one distribution."""
    for line in constraints.read_text(encoding="utf-8").splitlines():
        if line.split("#")[0].strip().lower().startswith(name + "=="):
            return line.split("#")[0].strip().split("==")[1].split(";")[0].strip()
    raise SetupError(f"{constraints.name} does not pin {name}")


def without_cuda(metadata: dict | None) -> bool:
    """Whether a wheel's metadata asks for none of the CUDA packages."""
    wants = (metadata or {}).get("requires_dist", [])
    return metadata is not None and not any(r.lower().startswith(("nvidia", "cuda")) for r in wants)


def install_torch(installer: Installer, kind: str) -> None:
    """Install the pinned PyTorch in the build that was asked for: `cpu` or `cuda`."""
    version = pin(installer.constraints, "torch")
    have = installer.installed("torch")
    limits = ["-c", str(installer.constraints)]
    if kind == "cuda":
        if have.startswith(version) and not have.endswith("+cpu"):
            return
        exact = f"torch=={version},!={version}+cpu"
        installer.pip("install", *limits, exact, what=f"PyTorch {version}, CUDA build (some GB)")
        return
    if have == f"{version}+cpu":
        return
    installer.say(f"looking for a CPU build of PyTorch {version}")
    exact = f"torch=={version}+cpu"
    if installer.probe(exact):
        installer.pip(
            "install", *limits, exact, what=f"PyTorch {version}, CPU build, from the configured package index"
        )
    elif installer.probe(exact, "--index-url", CPU_INDEX):
        # Its dependencies come with the rest, from the usual index and under the constraints.
        source = ["--no-deps", "--index-url", CPU_INDEX]
        installer.pip("install", *source, exact, what=f"PyTorch {version}, CPU build, from {CPU_INDEX}")
    elif without_cuda(installer.probe(f"torch=={version}")):
        installer.pip("install", *limits, f"torch=={version}", what=f"PyTorch {version}, a build without CUDA")
    else:
        raise SetupError(
            f"no CPU build of PyTorch {version} is reachable: neither the configured package index nor\n"
            f"{CPU_INDEX} has one for this Python. Check the network, or name a folder of wheels\n"
            "with PIP_FIND_LINKS=/folder. A machine with an NVIDIA GPU can take the CUDA build: TORCH=cuda"
        )


def previous(stamp: Path) -> dict:
    """What an earlier, finished set-up of this environment recorded."""
    try:
        return json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def setup(args: argparse.Namespace) -> None:
    """Bring one virtual environment up to date, or find in a moment that it is."""
    check_python()
    constraints = ROOT / args.constraints
    stamp = args.venv / "quintain-setup.json"
    old = previous(stamp)
    kind = args.torch or old.get("torch", "cpu")
    extras = sorted(set(filter(None, args.extras.split(","))) | set(old.get("extras", [])))
    wanted = {"torch": kind, "extras": extras, "exact": args.exact}
    key = digest(constraints, wanted)
    installer = Installer(args.venv, constraints)
    if old.get("key") == key and installer.python.exists():
        return
    installer.create()
    stamp.unlink(missing_ok=True)
    if kind != "none":
        install_torch(installer, kind)
    limits = ["-c", str(constraints)]
    installer.pip("install", *limits, *BUILD_REQUIRES, what="build tools")
    project = f"{ROOT}[{','.join(extras)}]"
    if args.exact:
        installer.packages("--no-deps", "-r", str(constraints), what=f"all of {constraints.name}")
        limits.append("--no-deps")
    installer.packages(*limits, "--no-build-isolation", "-e", project, what=f"Quintain with {', '.join(extras)}")
    if kind == "cpu" and (extra := [n for n in ("nvidia-cublas", "nvidia-cudnn-cu13") if installer.installed(n)]):
        raise SetupError(f"a CUDA package came in with the CPU build: {extra}; remove {args.venv} and run again")
    if LAZY and "train" in extras:
        installer.compile("quintain.runtime.assemble")
    temporary = stamp.with_suffix(".tmp")
    temporary.write_text(json.dumps({"key": key, "torch": kind, "extras": extras}), encoding="utf-8")
    os.replace(temporary, stamp)
    installer.say(f"ready: {args.venv.name}" + (f", PyTorch {installer.installed('torch')}" if kind != "none" else ""))


def main() -> int:
    """Parse the command line, hold the lock, set up; a set-up error is one message and exit code 1."""
    import fcntl

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venv", type=lambda text: ROOT / text, default=ROOT / ".venv", help="folder to make (.venv)")
    parser.add_argument("--extras", default="train", help="comma-separated extras of the project (train)")
    parser.add_argument("--constraints", default="constraints.txt", help="file of pins (constraints.txt)")
    parser.add_argument(
        "--torch", choices=["", "cpu", "cuda", "none"], default="", help="PyTorch build (as before, or cpu)"
    )
    parser.add_argument("--exact", action="store_true", help="install all pins and nothing else, without resolving")
    args = parser.parse_args()
    try:
        with open(args.venv.with_name(args.venv.name + ".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            setup(args)
    except SetupError as error:
        print(f"set-up stopped: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("set-up interrupted: the same command goes on where it stopped", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
