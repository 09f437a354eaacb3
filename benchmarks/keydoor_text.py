"""KeyDoor 5x5 in plain text from a local Hugging Face folder with a byte-pair tokenizer and a chat template, seed 1."""

import subprocess
import sys
import tempfile

from _quickstart import Target, measure

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "quintain", "new", "model", f"{folder}/small", "keydoor_text"],
            check=True,
            stdout=2,
        )
        target = Target(low=1.0, high=0.0, worst=0.0, gain=0.25, seconds=900)
        measure("keydoor_text", [1], target, [f"model={folder}/small"])
