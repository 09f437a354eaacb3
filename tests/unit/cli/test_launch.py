"""Launch files: what is rendered is a script that bash takes and manifests that say what the config asked for."""

from __future__ import annotations

import json
import subprocess
import tomllib

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
resources = {tpu = 2}
selector = {zone = "a"}
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
    assert json.loads(json.loads(fast["rayStartParams"]["resources"])) == {"tpu": 2}
    pod = fast["template"]["spec"]
    assert pod["nodeSelector"] == {"zone": "a"} and "nodeSelector" not in envs["template"]["spec"]
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
        (["slurm", "FILE", "--partition", "a b"], "--partition is"),
        (["slurm", "FILE", "run.steps=3"], "write the overrides into the file"),
        (["kuberay", "FILE", "--image", "a b"], "--image is"),
        (["kuberay", "FILE", "--head", "many"], "--head is"),
        (["sluurm", "FILE"], "slurm"),
    ],
)
def test_what_cannot_stand_in_a_launch_file_is_refused(arguments, what, file, capsys):
    assert main(["launch", *[file if a == "FILE" else a for a in arguments]]) == 1
    assert what in capsys.readouterr().err
