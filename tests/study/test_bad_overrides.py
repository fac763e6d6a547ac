"""Bad input on the command line: each one clear line that names the key and the mend, and exit code 2."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twotrees.errors import EXIT_USAGE, UsageError
from twotrees.study import compose

# override -> what the one line must say
REFUSED = [
    # an unknown name, with the nearest that exists
    ("study=g1_updatestate", ["study=g1_updatestate", "there is no study 'g1_updatestate'", "mean g1_update_state?"]),
    ("study=zzz", ["there is no study 'zzz'", "use one of: g1_update_state"]),
    ("study=3", ["there is no study '3'"]),
    ("study=null", ["there is no study 'null'"]),
    ("study=[a,b]", ["there is no study '[a,b]'"]),
    ("backend=mujco", ["there is no backend 'mujco'", "did you mean mujoco?"]),
    ("protocol=interleavd", ["there is no protocol", "did you mean interleaved?"]),
    ("scale=qick", ["there is no scale", "did you mean quick?"]),
    ("host=strct", ["there is no host", "did you mean strict?"]),
    # an unknown key, with the nearest that exists
    ("protocol.detla=0.1", ["there is no key 'protocol.detla'", "did you mean protocol.delta?"]),
    ("protocl.delta=0.1", ["there is no key 'protocl.delta'", "did you mean protocol.delta?"]),
    ("foo=1", ["there is no key 'foo'", "use one of: backend, protocol"]),
    ("+foo=1", ["conf: foo: unknown key under the top", "use one of: study, backend"]),
    ("++protocol.detla=1", ["protocol.detla: unknown key under protocol", "did you mean delta?"]),
    ("+study.trees.before.ulr=x", ["study.trees.before.ulr: unknown key", "did you mean url?"]),
    ("study.options.mujoco.chunk=1", ["there is no key", "to add it, write +study.options.mujoco.chunk=1"]),
    ("study.parity=[]", ["there is no key", "to add it, write +study.parity=[]"]),
    # a sweep
    ("scale=smoke,quick", ["scale=smoke,quick: a sweep", "give one value"]),
    ("seeds.action=1,2", ["a sweep", "key=[a,b]"]),
    ("results=range(1,3)", ["a sweep"]),
    ("study.arms=choice(a,b)", ["a sweep"]),
    ("results=glob(*)", ["a sweep"]),
    # a value that has to be quoted, or that is nothing at all
    ("results=a=b", ["results=a=b: not an override", "key='a=b'"]),
    ("results=a#b", ["results=a#b: not an override", "quote a value"]),
    ("results=a,b c", ["a sweep"]),
    ("seeds", ["seeds: not an override", "write key=value"]),
    ("", ["not an override"]),
    ("=3", ["=3: not an override of one key"]),
    ("study@x=3", ["not an override of one key"]),
    ("results=", ["results: '' is not right"]),
    ("results=???", ["Missing mandatory value: results"]),
    ("results=null", ["results: None is not right", "valid string"]),
    ("results=${nope}", ["Interpolation key 'nope' not found"]),
    ("~seeds", ["~seeds: a deletion", "override its value"]),
    ("~study", ["~study: a deletion"]),
    ("hydra.run.dir=x", ["hydra.run.dir=x: Hydra's own settings change nothing here"]),
    ("hydra/job_logging=none", ["Hydra's own settings change nothing here"]),
    # a value of the wrong type
    ("seeds.action=007", ["seeds.action: '007' is not right", "valid integer", "without leading zeros or quotes"]),
    ("scale.num_envs='16'", ["scale.num_envs: '16' is not right", "without leading zeros or quotes"]),
    ("scale.num_envs=1e3", ["scale.num_envs: 1000.0 is not right"]),
    ("allow_drift=yes", ["allow_drift: 'yes' is not right", "valid boolean"]),
    ("allow_drift=1", ["allow_drift: 1 is not right", "valid boolean"]),
    ("protocol.delta=x", ["protocol.delta: 'x' is not right", "valid number"]),
    ("seeds=5", ["seeds: 5 is not right", "object"]),
    ("study.arms=before", ["study.arms: 'before' is not right", "array"]),
    ("backend.threads.numba=many", ["backend.threads.numba: 'many' is not right", "'auto'", "valid integer"]),
    ("+study.options.mujoco.x=3", ["study.options.mujoco.x: 3 is not right", "valid string"]),
    # a value out of its range
    ("scale.num_envs=0", ["scale.num_envs: 0 is not right", "greater than or equal to 1"]),
    ("scale.warmup=-1", ["scale.warmup: -1 is not right"]),
    ("protocol.delta=0", ["protocol.delta: 0 is not right", "greater than 0"]),
    ("protocol.delta=nan", ["protocol.delta: nan is not right"]),
    ("protocol.confidence=95", ["protocol.confidence: 95 is not right", "less than 1"]),
    ("protocol.timeout_s=inf", ["protocol.timeout_s: inf is not right", "finite"]),
    ("protocol.timeout_s=0", ["protocol.timeout_s: 0 is not right"]),
    ("backend.tolerance.absolute=inf", ["backend.tolerance.absolute: inf is not right", "finite"]),
    ("seeds.action=-1", ["seeds.action: -1 is not right"]),
    ("seeds.action=9007199254740992", ["seeds.action: 9007199254740992 is not right", "9007199254740991"]),
    ("host.monitor_hz=5", ["host.monitor_hz: 5 is not right", "less than or equal to 1"]),
    ("backend.device=gpu", ["backend.device: 'gpu' is not right"]),
    ("protocol.order=balance", ["protocol.order: 'balance' is not right", "'balanced'"]),
    ("backend.name=mjwrap", ["Interpolation key 'scale.envs_of.mjwrap' not found"]),
    ("+study.scripts.profiler_sha256=abc", ["study.scripts.profiler_sha256: 'abc' is not right"]),
    ("protocol.phase_runs=1001", ["protocol.phase_runs: 1001 is not right", "less than or equal to 1000"]),
    ("protocol.terms_runs=-1", ["protocol.terms_runs: -1 is not right"]),
    # a study that contradicts itself
    ("protocol.phase_runs=0", ["protocol.phase_runs: nothing would be timed", "protocol=lockstep"]),
    ("study.environment=shared", ["study.build: environment 'shared' needs it"]),
    ("environment=tree", ["study.build: environment 'tree' needs it"]),
    ("+study.decisions.chunk='('", ["study.decisions.chunk: is no regular expression"]),
    ("+study.decisions.chunk=chunk", ["study.decisions.chunk: has no group", "group 1 is the value"]),
    ("+study.wheels.robot.kind=wheel", ["study.wheels.robot.requirement: a tree of kind 'wheel' needs it"]),
    ("+study.serve=['{nope}']", ["study.serve: unknown placeholder {nope}"]),
    (
        "study.arms=[before,nope]",
        ["study.arms: arm 'nope' has no entry under", "use one of: before, after"],
    ),
    ("study.arms=[before]", ["study.arms: ['before'] is not right", "at least 2"]),
    ("study.arms=[before,before]", ["an arm is named twice", "nox -s calibrate"]),
    ("study.arms=[before,a/b]", ["study.arms.1: 'a/b' is not right"]),
    ("study.trees.before.kind=zip", ["study.trees.before.kind: 'zip' is not right", "'overlay'"]),
    ("study.trees.before.base=null", ["study.trees.before.base: a tree of kind 'overlay' needs it", "set it"]),
    ("study.trees.before.kind=git", ["study.trees.before.url: a tree of kind 'git' needs it"]),
    ("study.trees.before.kind=wheel", ["study.trees.before.requirement: a tree of kind 'wheel' needs it"]),
    ("study.trees.before.kind=path", ["study.trees.before.path: a tree of kind 'path' needs it"]),
    ("+study.trees.extra={kind: git, url: x}", ["study.trees.extra.commit: a tree of kind 'git' needs it"]),
    ("+study.trees.extra.url=x", ["study.trees.extra.kind: missing"]),
    ("study.command=['{outt}']", ["study.command: unknown placeholder {outt}", "use one of: action_seed, arm"]),
    ("study.command=['{}','{out}']", ["study.command: unknown placeholder {}"]),
    ("study.command=['{tree.parent}','{out}']", ["unknown placeholder {tree.parent}"]),
    ("study.command=['{arm:{nope}}','{out}']", ["unknown placeholder {arm:{nope}}"]),
    ("study.command=['{','{out}']", ["'{' has a brace that is neither opened nor closed", "{{ or }}"]),
    ("study.command=['x']", ["study.command: no token holds {out}", "add the flag"]),
    ("study.command=[]", ["study.command: [] is not right"]),
    ("study.command=['a{options}','{out}']", ["{options} must be a token of its own"]),
    ("+study.instrument=['{nope}']", ["study.instrument: unknown placeholder {nope}"]),
    ("+study.parity=[--parity]", ["study.parity: no token holds {trace}"]),
    ("+study.prepare=[[make,'{out}']]", ["study.prepare: unknown placeholder {out}", "use one of: arm, python, tree"]),
    ("study.options.mjwarp.device='{gpu}'", ["options.mjwarp.device: unknown placeholder {gpu}", "device, physics"]),
]


@pytest.mark.parametrize(("override", "told"), REFUSED, ids=[override for override, _ in REFUSED])
def test_a_bad_override_is_refused_in_one_line_that_names_it_and_the_mend(override: str, told: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        compose([override])
    line = str(caught.value)
    assert [part for part in told if part not in line] == []
    assert "\n" not in line
    assert caught.value.mend
    assert caught.value.exit_code == EXIT_USAGE == 2


def test_the_bad_one_of_several_overrides_is_the_one_that_is_named() -> None:
    with pytest.raises(UsageError, match=r"^protocol\.detla=1: "):
        compose(["scale=smoke", "backend=mjwarp", "protocol.detla=1", "seeds.action=3"])


def test_after_a_refusal_the_next_composition_is_untouched_by_it() -> None:
    with pytest.raises(UsageError):
        compose(["study=zzz"])
    assert compose([])[0].study.name == "g1_update_state"


def refusal(override: str) -> str:
    """The one line with which an override is refused; empty when it is not."""
    try:
        compose([override])
    except UsageError as error:
        return str(error)
    return ""


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF), max_size=24))
def test_no_text_at_all_brings_another_error_or_a_second_line(text: str) -> None:
    assert "\n" not in refusal(text)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["results", "scale", "seeds.action", "study.arms", "protocol.timeout_s", "study.command"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF), max_size=12),
)
def test_no_value_of_a_known_key_brings_another_error_or_a_second_line(key: str, value: str) -> None:
    assert "\n" not in refusal(f"{key}={value}")
