"""Launch files: what is rendered is a script that bash takes and manifests that say what the config asked for."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from quintain.cli import main

BLOCK = """
[run]
name = "My run's"
steps = 7
folder = "out 'x'"
[cluster]
strategy = "SPREAD"
[cluster.pools.fast]
label = "prefill"
count = 3
cpus = 2.5
gpus = 1
memory_gb = 12
resources = {tpu = 1.5}
selector = {zone = "a", "ray.io/market-type" = "spot"}
[cluster.pools.envs]
label = "cpu"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a 'run'.toml"
    path.write_text(BLOCK)
    return str(path)


def test_a_slurm_file_is_a_script_with_the_resources_of_the_pools(file, tmp_path, capsys):
    assert main(["launch", "slurm", file, "--nodes", "2", "--partition", "gpu"]) == 0
    text = capsys.readouterr().out
    made = tmp_path / "job.sh"
    made.write_text(text)
    assert subprocess.run(["bash", "-n", str(made)], capture_output=True).stderr == b""
    head = [line for line in text.splitlines() if line.startswith("#SBATCH")]
    for wanted in (
        "--nodes=2",
        "--gpus-per-node=2",
        "--partition=gpu",
        "--time=24:00:00",
        "--job-name=my-run-s",
        "--requeue",
    ):
        assert f"#SBATCH {wanted}" in head
    assigned = text[text.index("config=") : text.index("port=")]
    said = subprocess.run(["bash", "-c", assigned + 'echo "$config|$run"'], capture_output=True, text=True).stdout
    config, run = said.strip().split("|")
    assert config == file and run.endswith("out 'x'/My run's"), "odd names stay whole"


FAKES = {
    "scontrol": 'printf "localhost\\nlocalhost\\n"',
    "srun": 'while [[ $1 == --* ]]; do shift; done; [ "$1" = hostname ] && { echo 127.0.0.1; exit; }; exec "$@"',
    "ray": """printf '%s\\0' "$@" > "$LOG$2"
echo "ray $2 sees <$CUDA_VISIBLE_DEVICES>" >> "$LOG"
case $2 in --head) exec PYTHON -c 'import socket, sys, time
one = socket.create_server(("127.0.0.1", int(sys.argv[1].split("=")[1]))); time.sleep(60)' "$5" ;; esac""",
    "quintain": """echo "quintain $1 sees <$CUDA_VISIBLE_DEVICES>" >> "$LOG"
until grep -q block "$LOG"; do sleep 0.05; done""",
}


@pytest.fixture
def job(tmp_path, capsys):
    """Renders a job of two nodes for a config, and runs it with commands of Slurm and Ray that only write down what they get."""
    (tmp_path / "env" / "bin").mkdir(parents=True)
    for name, code in FAKES.items():
        tool = tmp_path / "env" / "bin" / name
        tool.write_text("#!/bin/bash\n" + code.replace("PYTHON", sys.executable) + "\n")
        tool.chmod(0o755)
    (tmp_path / "env" / "activate").write_text(f"PATH={tmp_path}/env/bin:$PATH\n")
    line = f"source {tmp_path}/env/activate"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def render(config: str) -> str:
        (tmp_path / "run.toml").write_text(config)
        arguments = ["--nodes", "2", "--port", str(port), "--activate", line]
        assert main(["launch", "slurm", str(tmp_path / "run.toml"), *arguments]) == 0
        return capsys.readouterr().out

    def run(text: str, **more: str) -> subprocess.CompletedProcess[str]:
        assert subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True).stderr == ""
        shell = {"PATH": "/usr/bin:/bin", "SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "x", "LOG": str(tmp_path / "log")}
        given = {**shell, "CUDA_VISIBLE_DEVICES": "", **more}
        return subprocess.run(["bash"], input=text, text=True, cwd=tmp_path, env=given, timeout=60, capture_output=True)

    return SimpleNamespace(render=render, run=run, log=tmp_path / "log", line=line)


@pytest.mark.parametrize(
    ("device", "cards", "head", "learns"),
    [("auto", "0,1,2", "1,2", "0"), ("auto", "5", "", "5"), ("cpu", "0,1,2", "0,1,2", "0,1,2")],
)
def test_a_slurm_job_runs_and_its_learner_shares_no_gpu_with_actors(device, cards, head, learns, job):
    text = job.render(f"learner.device = '{device}'\n[cluster.pools.play]\ncount = 3\ngpus = 1\n")
    assert "#SBATCH --gpus-per-node=2" in text, "three actors and a learner, or three actors"
    done = job.run(text, CUDA_VISIBLE_DEVICES=cards)
    assert done.returncode == 0, done.stderr
    told = sorted(job.log.read_text().splitlines())
    trains = f"quintain train sees <{learns}>"
    assert told == [trains, f"ray --block sees <{cards}>", f"ray --head sees <{head}>"]
    for node in ("--head", "--block"):
        assert not {"--labels", "--resources"} & offered(job.log, node).keys(), "nobody asks for them"
    lost = job.run(text.replace(job.line, "true"))
    assert lost.returncode == 1 and "quintain is not found" in lost.stderr


def offered(log: Path, node: str) -> dict[str, str]:
    """The options of the `ray start` of a node, each word as it arrived there."""
    words = Path(f"{log}{node}").read_text().split("\0")[1:-1]
    assert all(word.startswith("--") for word in words), words
    return {word.partition("=")[0]: word.partition("=")[2] for word in words}


def test_every_node_of_a_slurm_job_has_the_labels_and_resources_that_pools_ask_for(job):
    pools = (
        "learner.device = 'cpu'\n[cluster.pools.play]\ncount = 3\nresources = {tpu = 1, disk = 0.5}\n"
        "selector = {zone = 'eu-1', 'my.org/kind' = 'fast'}\n"
        "[cluster.pools.envs]\nlabel = 'cpu'\ncount = 2\nresources = {tpu = 2}\n"
        "selector = {zone = 'eu-1', 'ray.io/accelerator-type' = 'H100'}\n"
    )
    done = job.run(job.render(pools))
    assert done.returncode == 0, done.stderr
    for node in ("--head", "--block"):
        words = offered(job.log, node)
        assert words["--labels"] == "zone=eu-1,my.org/kind=fast", "Ray itself knows the accelerator"
        assert json.loads(words["--resources"]) == {"tpu": 7, "disk": 2}, "whole numbers, as Ray wants them"


def test_a_slurm_file_finds_the_environment_that_wrote_it(file, capsys):
    assert main(["launch", "slurm", file]) == 0
    line = re.search(r"^(source|PATH=).*$", capsys.readouterr().out, re.MULTILINE)
    assert line is not None
    shown = subprocess.run(["bash", "-c", f"{line.group()}; command -v python3"], capture_output=True, text=True)
    assert os.path.dirname(shown.stdout.strip()) == os.path.dirname(sys.executable)


def test_a_kuberay_head_that_learns_has_a_gpu_that_no_actor_gets(file, capsys):
    assert main(["launch", "kuberay", file]) == 0
    _, job = yaml.safe_load_all(capsys.readouterr().out)
    group = job["spec"]["rayClusterSpec"]["headGroupSpec"]
    (head,) = group["template"]["spec"]["containers"]
    assert head["resources"]["limits"]["nvidia.com/gpu"] == 1 and group["rayStartParams"]["num-gpus"] == "0"
    assert main(["launch", "kuberay", file, "learner.device=cpu"]) == 0
    assert "nvidia.com/gpu" not in str(
        yaml.safe_load(capsys.readouterr().out.split("workerGroupSpecs")[0].split("---")[1])
    )


def test_a_kuberay_file_is_two_manifests_with_a_group_for_each_pool(file, capsys):
    assert main(["launch", "kuberay", file, "run.steps=9", "--image", "me/q:1", "--head", "8,32,1"]) == 0
    config, job = yaml.safe_load_all(capsys.readouterr().out)
    sent = tomllib.loads(config["data"]["run.toml"])
    assert sent["run"]["steps"] == 9 and sent["cluster"]["pools"]["fast"]["count"] == 3
    assert job["kind"] == "RayJob" and job["apiVersion"] == "ray.io/v1"
    cluster = job["spec"]["rayClusterSpec"]
    assert cluster["authOptions"] == {"mode": "token"} and job["spec"]["shutdownAfterJobFinishes"] is True
    fast, envs = cluster["workerGroupSpecs"]
    assert (fast["groupName"], fast["replicas"], envs["replicas"]) == ("fast", 3, 1)
    assert json.loads(json.loads(fast["rayStartParams"]["resources"])) == {"tpu": 2}, "whole numbers, as Ray wants them"
    pod = fast["template"]["spec"]
    assert fast["labels"] == {"zone": "a", "ray.io/market-type": "spot"}, "by which Ray finds places"
    assert pod["nodeSelector"] == {"zone": "a"}, "by which Kubernetes does; it knows no labels of Ray's"
    assert "labels" not in envs and "nodeSelector" not in envs["template"]["spec"]
    for group in (cluster["headGroupSpec"], fast, envs):
        assert "labels" not in group["rayStartParams"], "KubeRay 1.5 refuses them there"
    (worker,) = pod["containers"]
    assert worker["resources"]["limits"] == {"memory": "12Gi", "nvidia.com/gpu": 1} and worker["image"] == "me/q:1"
    assert worker["resources"]["requests"]["cpu"] == "3"
    (head,) = cluster["headGroupSpec"]["template"]["spec"]["containers"]
    assert head["resources"]["limits"]["nvidia.com/gpu"] == 1
    name = sent["run"]["name"]
    assert (
        f"/runs/runs/{name}/checkpoints" in job["spec"]["entrypoint"] and config["metadata"]["name"] == f"{name}-config"
    )
    assert {"name": "config", "configMap": {"name": f"{name}-config"}} in pod["volumes"]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["slurm", "tiny"], "there is no cluster block"),
        (["slurm", "FILE", "--time", "soon; rm -rf /"], "--time is"),
        (["slurm", "FILE", "--nodes", "0"], "--nodes is 0"),
        (["slurm", "FILE", "--port", "99999999"], "--port is 99999999; it must be 1 to 65535"),
        (["kuberay", "FILE", "--mount", "runs"], "--mount is 'runs'; it must be an absolute path"),
        (["kuberay", "FILE", "--retries", "-1"], "--retries is -1; it must be at least 0"),
        (["slurm", "FILE", "--partition", "a b"], "--partition is"),
        (["slurm", "FILE", "run.steps=3"], "write the overrides into the file"),
        (["kuberay", "FILE", "--image", "a b"], "--image is"),
        (["kuberay", "FILE", "--head", "many"], "--head is"),
        (["sluurm", "FILE"], "slurm"),
        (["kuberay", "FILE", "cluster.pools.envs.selector={zone='!b'}"], "selector has zone = '!b'"),
        (["kuberay", "FILE", "cluster.pools.envs.selector={'z,y'='b'}"], "selector has z,y"),
        (["kuberay", "FILE", "cluster.pools.envs.resources={'$(id)'=1}"], "resources has '$(id)'"),
    ],
)
def test_what_cannot_stand_in_a_launch_file_is_refused(arguments, what, file, capsys):
    assert main(["launch", *[file if a == "FILE" else a for a in arguments]]) == 1
    assert what in capsys.readouterr().err


@pytest.mark.parametrize(
    ("envs", "what"),
    [
        ('selector = {zone = "b"}', "cluster.pools.fast selects zone=a and cluster.pools.envs zone=b"),
        ('selector = {zone = "in(a, b)"}', "cluster.pools.envs.selector has zone = 'in(a, b)'"),
        ('resources = {"a\'b" = 1}', "cluster.pools.envs.resources has"),
    ],
)
def test_what_alike_nodes_cannot_offer_is_refused(envs, what, file, capsys):
    Path(file).write_text(BLOCK + envs)
    assert main(["launch", "slurm", file]) == 1
    assert what in capsys.readouterr().err
