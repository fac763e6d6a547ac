"""Stands in for the measured child: notes that it ran, then does what `behaviour.json` tells it, or writes a result."""

import json
import os
import signal
import sys
import time
import zipfile
from pathlib import Path

run, arm, mode, out, trace, folder = sys.argv[1:]
here = Path(folder)
with (here / "measured").open("a") as stream:
    stream.write(f"{run}\n")
behaviour = json.loads((here / "behaviour.json").read_text()).get(run, "")

tuned = Path(os.environ["XDG_CACHE_HOME"]) / "chunk"
decision = tuned.read_text() if tuned.exists() else "none"
tuned.write_text(f"{decision} then {arm} {run}" if decision != "none" else "tuned")

if mode != "lockstep":  # its standard output is its replies
    print('{"timing": "this is not the result"}')
print("NaN", "\x1b[1m", "log of run", run, "in", folder, file=sys.stderr)
if behaviour == "crash":
    raise RuntimeError(f"no such file: {folder}/mesh.obj")


def hang() -> None:
    """Tells its process id and sleeps."""
    (here / "hanging.part").write_text(f"{os.getpid()}\n")
    (here / "hanging.part").rename(here / "hanging")
    time.sleep(600)


def blocks_on_request() -> list[dict]:
    """Speaks the worker's side of lockstep; what it did, block by block."""
    print('{"ready": true, "pid": 1}', flush=True)
    blocks: list[dict] = []
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "finish":
            break
        if blocks and behaviour == "crash later":
            raise RuntimeError("no memory left")
        if blocks and behaviour == "hang later":
            hang()
        values = [1_500_000] * request["n"]
        names = ("update_state_ms", "env_step_total_ms", "reset_done_ms")
        blocks.append({"block": len(blocks), "samples": {name: {"unit": "ns", "values": values} for name in names}})
        reply = {"samples": dict.fromkeys(names, values), "cpu_ns": 1, "wall_ns": 1, "idle_cpu_ns": 0}
        print(json.dumps(reply), flush=True)
    return blocks


if behaviour == "hang":
    hang()
if behaviour == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if behaviour == "wrong code":
    print("module subject was imported from elsewhere", file=sys.stderr)
    sys.exit(3)
if behaviour == "sync":
    (here / "packages").write_text("numpy 9.9.9\n")
if behaviour == "silent":
    sys.exit(0)

blocks = blocks_on_request() if mode == "lockstep" else []
steps = sum(len(block["samples"]["update_state_ms"]["values"]) for block in blocks) or 3
summary = {"count": steps, "mean_ms": 1.5, "median_ms": 1.5, "p95_ms": 1.5}
result = {
    "repo": folder,
    "backend": "mujoco",
    "measure": steps,
    "arm": arm,
    "timing": dict.fromkeys(("update_state_ms", "env_step_total_ms", "reset_done_ms"), summary),
    "twotrees": {
        "provenance": [{"path": "/elsewhere/src/subject.py" if behaviour == "other file" else "src/subject.py"}],
        "decisions": {"chunk": decision},
        **({"blocks": blocks} if blocks else {}),
    },
}
text = json.dumps(result)
if behaviour == "NaN":
    text = text.replace("1.5", "NaN", 1)
if behaviour == "negative":
    text = text.replace("1.5", "-1.5", 1)
if mode == "parity" and behaviour != "no trace":
    with zipfile.ZipFile(trace, "w") as archive:
        archive.writestr("x.npy", b"")
Path(out).write_text(text)
