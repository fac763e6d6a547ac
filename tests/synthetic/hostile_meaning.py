"""Hostile numbers: aggregates, samples and runs touched up by a signer who makes every hash fit. Only sense tells."""

from __future__ import annotations

from collections.abc import Callable

from synthetic.corpus import KEY, Bench, case, several
from synthetic.forge import edit_json, reaggregate, rechain, reseal
from synthetic.lies import (
    AGGREGATE,
    OTHER_ARM,
    PHASE,
    TERMS,
    Json,
    drop,
    measured,
    payload,
    put,
    scaled,
)

# --- the aggregate --------------------------------------------------------------------------------------------------

PHASE_KEY = ("mujoco", "update_state_ms")
several(
    {
        "an aggregate with a better number": (
            "data/aggregate.json: mujoco.update_state_ms.speedup_x",
            "the runs give",
            payload(AGGREGATE, put(*PHASE_KEY, "speedup_x", to=9.9)),
        ),
        "an aggregate whose number is off by one part in 10^15": (
            "data/aggregate.json: mujoco.update_state_ms.before_ms",
            "the runs give",
            payload(
                AGGREGATE,
                lambda a: put(*PHASE_KEY, "before_ms", to=a["mujoco"]["update_state_ms"]["before_ms"] * (1 + 4e-16))(a),
            ),
        ),
        "an aggregate with a better verdict": (
            "data/aggregate.json: twotrees.effects[0].verdict",
            "the runs give",
            payload(AGGREGATE, put("twotrees", "effects", 0, "verdict", to="very much faster")),
        ),
        "an aggregate with a narrower interval": (
            "twotrees.effects[0].ratio_",
            "the runs give",
            payload(AGGREGATE, lambda a: narrowed(a["twotrees"]["effects"][0])),
        ),
        "an aggregate with a ratio off by one part in 10^8": (
            "twotrees.effects[0].ratio",
            "the runs give",
            payload(
                AGGREGATE,
                lambda a: put("ratio", to=a["twotrees"]["effects"][0]["ratio"] * (1 + 1e-8))(
                    a["twotrees"]["effects"][0]
                ),
            ),
        ),
        "an aggregate that leaves a run out": (
            "twotrees.metrics.",
            "entries, but the runs give",
            payload(AGGREGATE, drop("twotrees", "metrics", "update_state_ms", "after", "runs", 1)),
        ),
        "an aggregate that leaves an effect out": (
            "twotrees.effects",
            "entries, but the runs give",
            payload(AGGREGATE, drop("twotrees", "effects", 0)),
        ),
        "an aggregate that leaves a key out": (
            "mujoco.reset_done_ms",
            "missing, but the runs give it",
            payload(AGGREGATE, drop("mujoco", "reset_done_ms")),
        ),
        "an aggregate with a key more": (
            "twotrees.prize",
            "do not give it",
            payload(AGGREGATE, put("twotrees", "prize", to="first")),
        ),
        "an aggregate with a number in another type": (
            "n_runs",
            "the runs give",
            payload(AGGREGATE, put("twotrees", "metrics", "update_state_ms", "after", "n_runs", to=2.0)),
        ),
        "an aggregate that does not say how it was summed": (
            "data/aggregate.json: twotrees.summation",
            "how it was summed",
            payload(AGGREGATE, drop("twotrees", "summation")),
        ),
        "an aggregate that is no object": (
            "data/aggregate.json",
            "how it was summed",
            lambda b: (b.write(AGGREGATE, "[]\n"), reseal(b.bundle, KEY))[1],
        ),
        "no aggregate": (
            "data/aggregate.json",
            "missing",
            lambda b: ((b.bundle / AGGREGATE).unlink(), reseal(b.bundle, KEY))[1],
        ),
    }
)


def narrowed(effect: Json) -> None:
    """An interval drawn in by a thousandth on both sides."""
    for key, by in (("ratio_low", 1.001), ("ratio_high", 0.999)):
        if effect[key] is not None:
            effect[key] *= by


# --- runs whose numbers were touched up, and everything behind them made to fit ------------------------------------

TIMING = ("result", "timing", "update_state_ms")
SAMPLES = ("result", "twotrees", "samples")
TERM = ("result", "terms", "reward/action_rate", "step")


def faster_samples(record: Json) -> None:
    """Better samples under the old summary."""
    scaled(record["result"]["twotrees"]["samples"]["update_state_ms"]["values"], 0.5)


several(
    {
        "a run with a better median": (
            "data/runs/0003.json: result.timing.update_state_ms.median_ms",
            "its samples give",
            measured(PHASE, put(*TIMING, "median_ms", to=0.5)),
        ),
        "a run with a better mean": (
            "0003.json: result.timing.update_state_ms.mean_ms",
            "its samples give",
            measured(PHASE, put(*TIMING, "mean_ms", to=0.5)),
        ),
        "a run with a better percentile": (
            "0003.json: result.timing.update_state_ms.p95_ms",
            "its samples give",
            measured(PHASE, put(*TIMING, "p95_ms", to=0.5)),
        ),
        "a run with another count": (
            "0003.json: result.timing.update_state_ms.count",
            "its samples give",
            measured(PHASE, put(*TIMING, "count", to=7)),
        ),
        "a run with better samples": (
            "0003.json: result.timing.update_state_ms",
            "its samples give",
            measured(PHASE, faster_samples),
        ),
        "a run with a better phase that no table shows": (
            "0003.json: result.timing.backend.backend_physics_ms",
            "its samples give",
            measured(PHASE, put("result", "timing", "backend", "backend_physics_ms", "median_ms", to=0.5)),
        ),
        "a run with fewer resets": (
            "0003.json: result.timing.reset_done_count",
            "its samples give",
            measured(PHASE, put("result", "timing", "reset_done_count", "mean_ms", to=0.0)),
        ),
        "a run with a sample left out": (
            "0003.json: result.timing.update_state_ms",
            "5 samples, but 6 steps",
            measured(PHASE, drop(*SAMPLES, "update_state_ms", "values", 0)),
        ),
        "a run with a sample that no clock gives": (
            "0003.json: result.twotrees.samples.update_state_ms.values",
            "no clock gives",
            measured(PHASE, put(*SAMPLES, "update_state_ms", "values", 0, to=-5)),
        ),
        "a run with a sample that is no integer": (
            "0003.json: result.twotrees.samples.update_state_ms.values",
            "no clock gives",
            measured(PHASE, put(*SAMPLES, "update_state_ms", "values", 0, to=5.5)),
        ),
        "a run with a sample that is true": (
            "0003.json: result.twotrees.samples.update_state_ms.values",
            "no clock gives",
            measured(PHASE, put(*SAMPLES, "update_state_ms", "values", 0, to=True)),
        ),
        "a run with samples that are no list": (
            "0003.json: result.twotrees.samples.update_state_ms.values",
            "a list is expected",
            measured(PHASE, put(*SAMPLES, "update_state_ms", "values", to={})),
        ),
        "a run with samples in an unknown unit": (
            "0003.json: result.twotrees.samples.update_state_ms.unit",
            "unknown unit",
            measured(PHASE, put(*SAMPLES, "update_state_ms", "unit", to="us")),
        ),
        "a run with a step that took no time": (
            "0003.json: result.timing.update_state_ms",
            "no time",
            measured(PHASE, lambda r: timeless(r)),
        ),
        "a run without the samples of a phase": (
            "0003.json: result",
            "no samples of update_state_ms",
            measured(PHASE, drop(*SAMPLES, "update_state_ms")),
        ),
        "a run with a summary without samples": (
            "0003.json: result.timing.backend.backend_physics_ms",
            "without samples",
            measured(PHASE, drop(*SAMPLES, "backend_physics_ms")),
        ),
        "a run without its raw samples, where others have them": (
            "data/runs/0003.json",
            "no raw samples",
            measured(PHASE, drop("result", "twotrees"), aggregate=True),
        ),
        "a run without its summaries": (
            "0003.json: result.timing",
            "update_state_ms is missing",
            lambda b: several_runs_without_summaries(b),
        ),
        "a term with a better mean": (
            "0005.json: result.terms.reward/action_rate.step.mean_ms",
            "its samples give",
            measured(TERMS, put(*TERM, "mean_ms", to=0.0001)),
        ),
        "a term with better calls in resets": (
            "0005.json: result.terms.obs/policy/joint_pos.reset.mean_ms",
            "its samples give",
            measured(TERMS, put("result", "terms", "obs/policy/joint_pos", "reset", "mean_ms", to=0.0001)),
        ),
        "a sum of terms that is not theirs": (
            "0005.json: result.term_sum_step_ms.mean_ms",
            "term samples give",
            measured(TERMS, put("result", "term_sum_step_ms", "mean_ms", to=0.5)),
        ),
        "a sum of terms over other steps": (
            "0005.json: result.term_sum_step_ms.count",
            "term samples give",
            measured(TERMS, put("result", "term_sum_step_ms", "count", to=5)),
        ),
        "a term left out of the samples": (
            "0005.json: result.terms",
            "differ: 'reward/action_rate'",
            measured(TERMS, drop("result", "twotrees", "term_samples", "reward/action_rate")),
        ),
        "a term left out of the summaries": (
            "0005.json: result.terms",
            "differ: 'reward/action_rate'",
            measured(TERMS, drop("result", "terms", "reward/action_rate")),
        ),
        "a term without its phase of resets": (
            "0005.json: result.terms",
            "two phases",
            measured(
                TERMS,
                lambda r: (
                    drop(*TERM[:-1], "reset")(r),
                    drop("result", "twotrees", "term_samples", "reward/action_rate", "reset")(r),
                ),
            ),
        ),
        "a term whose samples lack a phase": (
            "0005.json: result.terms",
            "two phases",
            measured(TERMS, drop("result", "twotrees", "term_samples", "reward/action_rate", "reset")),
        ),
    }
)


def timeless(record: Json) -> None:
    """A sample of zero, with the summaries that it gives: only that no step takes no time is left to tell."""
    values = record["result"]["twotrees"]["samples"]["update_state_ms"]["values"]
    values[:] = [0] * len(values)
    record["result"]["timing"]["update_state_ms"] |= {"mean_ms": 0.0, "median_ms": 0.0, "p95_ms": 0.0}


def several_runs_without_summaries(bench: Bench) -> None:
    """No run has raw samples, as with the published profiler, and one has no summary either."""
    for path in sorted((bench.bundle / "data" / "runs").iterdir()):
        edit_json(path, drop("result", "twotrees"))
    edit_json(bench.run(PHASE), drop("result", "timing", "update_state_ms"))
    rechain(bench.bundle)
    reseal(bench.bundle, KEY)


# --- runs against the plan ------------------------------------------------------------------------------------------


def argument(flag: str, value: str) -> Callable[[Json], None]:
    """Changes a value on the command line."""

    def change(record: Json) -> None:
        record["argv"][record["argv"].index(flag) + 1] = value

    return change


several(
    {
        f"a run with another {what}": (f"0003.json: {key}", words, measured(PHASE, change))
        for what, key, words, change in (
            ("number of environments", "result.num_envs", "the plan says", put("result", "num_envs", to=8)),
            ("number of steps", "result.measure", "the plan says", put("result", "measure", to=5)),
            ("warm-up", "result.warmup", "the plan says", put("result", "warmup", to=50)),
            ("seed of actions", "result.action_seed", "the plan says", put("result", "action_seed", to=1)),
            ("seed of environments", "result.env_seed", "the plan says", put("result", "env_seed", to=1)),
            ("backend inside", "result.backend", "the plan says", put("result", "backend", to="mjwarp")),
            ("backend outside", "backend", "the plan says", put("backend", to="mjwarp")),
            ("mode inside", "result.instrument", "the plan says", put("result", "instrument", to=True)),
            ("mode outside", "mode", "the plan says", put("mode", to="terms")),
            ("arm", "arm", "the plan says", put("arm", to="after")),
            ("repeat", "repeat", "the plan says", put("repeat", to=2)),
            ("attempt", "attempt", "the file's name says", put("attempt", to=4)),
            ("place in the plan", "run", "the journal says", put("run", to=4)),
            ("status", "status", "the journal says", put("status", to="failed")),
            ("format", "schema", "the format says", put("schema", to="twotrees-run-v2")),
            ("seed on its command line", "argv", "the plan says", argument("--action-seed", "1")),
            ("size on its command line", "argv", "the plan says", argument("--num-envs", "8")),
            ("end of its command line", "argv", "the plan says", lambda r: r["argv"].append("--warmup") or cut_argv(r)),
            ("probe on its command line", "argv", "probes in a run", lambda r: r["argv"].append("--instrument")),
            ("exit", "exit", "its status says", put("exit", to=1)),
            ("signal", "signal", "its status says", put("signal", to="SIGKILL")),
            ("end", "end", "before it began", put("end", to="2026-08-26T12:00:01.000Z")),
            ("start", "start", "before the plan was hashed", put("start", to="2026-08-26T11:00:00.000Z")),
            ("calendar", "start", "not a time", put("start", to="2026-13-01T12:00:00Z")),
            ("clock", "start", "not of the form", put("start", to="2026-08-26 12:00:00")),
            (
                "environment before",
                "environment.before",
                "cannot be compared",
                put("environment", "before", to="0" * 64),
            ),
            ("environment after", "environment.after", "cannot be compared", put("environment", "after", to="0" * 64)),
            ("digest of an environment", "environment.after", "not of the form", put("environment", "after", to="?")),
            (
                "environment that is missing",
                "environment.after",
                "a string is expected",
                put("environment", "after", to=None),
            ),
            ("variable", "env.NUMBA", "unprintable", put("env", "NUMBA", to="1\n2")),
            ("result", "result", "an object is expected", put("result", to=None)),
        )
    }
)


def cut_argv(record: Json) -> None:
    """A flag at the very end, without its value; the sound one is taken away."""
    argv = record["argv"]
    at = argv.index("--warmup")
    del argv[at : at + 2]


@case("arms with different environments", "data/runs/0007.json", "cannot be compared")
def arms_in_two_environments(bench: Bench) -> None:
    for attempt in range(OTHER_ARM, 11):
        edit_json(bench.run(attempt), put("environment", to={"before": "1" * 64, "after": "1" * 64}))
    rechain(bench.bundle)
    reaggregate(bench.bundle)
    reseal(bench.bundle, KEY)


@case("an environment for each arm that no label tells", "data/plan.json: labels", "no label says")
def environments_untold(bench: Bench) -> None:
    edit_json(bench.bundle / "data" / "plan.json", put("environment", to="per-arm"))
    arms_in_two_environments(bench)


@case("an environment for each arm that changes within an arm", "data/runs/0008.json", "cannot be compared")
def environment_within_an_arm(bench: Bench) -> None:
    label = "environments differ: each arm was measured in one of its own"
    edit_json(bench.bundle / "data" / "plan.json", lambda plan: plan.update(environment="per-arm", labels=[label]))
    edit_json(bench.run(8), put("environment", to={"before": "2" * 64, "after": "2" * 64}))
    rechain(bench.bundle)
    reaggregate(bench.bundle)
    reseal(bench.bundle, KEY)
