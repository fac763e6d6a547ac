"""Toolkit overhead: a campaign's wall time against a plain shell loop over the same commands, alternating in one run.

`python benchmarks/overhead.py [--rounds 2] [KEY=VALUE …]` prints, for each round, the campaign's wall time, the sum of
its runs, and the wall time of a shell loop over the argv that its bundle records, in trees and environment of the same
kind. Two ratios come out: (campaign - sum of its runs) / campaign, and campaign / loop.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from twotrees import trees
from twotrees.study import compose, toolkit_root


def campaign(overrides: list[str], results: Path) -> tuple[float, Path]:
    """Wall seconds of one campaign, and its bundle."""
    begin = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "twotrees.cli", "ab", *overrides, f"results={results}"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    wall = time.monotonic() - begin
    return wall, max((path for path in results.iterdir() if path.name[0] != "."), key=lambda path: path.stat().st_mtime)


def loop_script(records: list[dict[str, Any]], work: Path, made: dict[str, Path]) -> str:
    """The same commands as lines of a shell script; symbols become this loop's own folders."""
    lines = ["set -eu"]
    prefixes = {"TOOLKIT": toolkit_root(), "VENV": Path(sys.executable).parents[1], "PYTHON": Path(sys.base_prefix)}

    def real(text: str, arm: str) -> str:
        text = text.replace("${TREE}", str(made[arm])).replace("${WORK}", str(work))
        for symbol, folder in {**prefixes, "HOME": Path.home()}.items():
            text = text.replace(f"${{{symbol}}}", str(folder))
        return text

    for record in records:
        arm = record["arm"]
        variables = [f"{key}={real(value, arm)}" for key, value in record["env"].items()]
        words = ["env", "-i", *variables, *(real(word, arm) for word in record["argv"])]
        for variable in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "WARP_CACHE_PATH"):
            lines.append(f"mkdir -p {shlex.quote(real(record['env'][variable], arm))}")
        lines.append(f"{shlex.join(words)} >/dev/null 2>&1")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("overrides", nargs="*", default=["scale=quick"])
    args = parser.parse_args()
    config, _ = compose(args.overrides)
    shares, ratios = [], []
    with tempfile.TemporaryDirectory() as folder:
        for round_ in range(args.rounds):
            place = Path(folder) / str(round_)
            wall, bundle = campaign(args.overrides, place / "results")
            records = [json.loads(path.read_text()) for path in sorted((bundle / "data" / "runs").glob("*.json"))]
            runs = sum(record["wall_s"] for record in records)
            work = place / "loop"
            made = {
                arm: trees.make(config.study.trees[arm], arm, work, base=toolkit_root()) for arm in config.study.arms
            }
            for subfolder in ("results", "traces", "scripts"):
                (work / subfolder).mkdir(parents=True)
            for name in (config.study.scripts.profiler, config.study.scripts.aggregator):
                (work / "scripts" / Path(name).name).write_bytes((toolkit_root() / name).read_bytes())
            script = loop_script(records, work, {arm: tree.path for arm, tree in made.items()})
            begin = time.monotonic()
            subprocess.run(["bash", "-c", script], check=True, env=dict(os.environ))
            loop = time.monotonic() - begin
            for tree in made.values():
                trees.remove(tree)
            shares.append((wall - runs) / wall)
            ratios.append(wall / loop)
            Console().print(
                f"round {round_ + 1}: campaign {wall:.1f} s, its {len(records)} runs {runs:.1f} s "
                f"(overhead {100 * shares[-1]:.1f} %), shell loop {loop:.1f} s, campaign/loop {ratios[-1]:.3f}"
            )
    print(f"overhead (median): {100 * median(shares):.2f} %   campaign/loop (median): {median(ratios):.3f}")


if __name__ == "__main__":
    main()
