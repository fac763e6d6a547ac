"""The environment as its users see it: the attributes that probes rely on, timings, refusals."""

import tracemalloc

import numpy as np
import pytest

from g1_tracking.config import compose_config

PHASES = ("apply_action", "step_core", "update_state", "reset_done")


def zeros(env):
    return np.zeros((env.num_envs, 29), dtype=np.float32)


def test_it_has_what_the_published_profiler_reads(env):
    assert env.action_space.shape == (29,)
    assert env.common_step_counter == 7
    assert env._autoreset_reset_active is False
    for manager in (env.reward_manager, env.termination_manager):
        assert len(manager._term_names) == len(manager._term_cfgs) == len(manager.active_terms)
        assert all(callable(term.func) and isinstance(term.params, dict) for term in manager._term_cfgs)
    names = env.observation_manager._group_obs_term_names
    assert {group: len(cfgs) for group, cfgs in env.observation_manager._group_obs_term_cfgs.items()} == {
        group: len(of_group) for group, of_group in names.items()
    }
    motion = env.command_manager.get_term("motion")
    assert motion._robot_cache_step == 7
    assert not hasattr(motion, "_copy_robot_body_state")
    assert callable(env._map_observations)


def test_the_published_terms_are_there_under_their_names(env):
    assert env.reward_manager.active_terms == [
        "motion_global_root_pos",
        "motion_global_root_ori",
        "motion_body_pos",
        "motion_body_ori",
        "motion_body_lin_vel",
        "motion_body_ang_vel",
        "action_rate_l2",
        "joint_limit",
        "undesired_contacts",
    ]
    assert env.termination_manager.active_terms == [
        "time_out",
        "motion_clip_end",
        "anchor_pos",
        "anchor_ori",
        "ee_body_pos",
    ]
    assert list(env.observation_manager.active_terms) == ["actor", "critic"]


def test_a_callable_replaced_after_init_is_the_one_that_runs(env):
    calls = []

    def replaced(owner, attribute, name):
        inner = getattr(owner, attribute)
        setattr(owner, attribute, lambda *args, **kwargs: (calls.append(name), inner(*args, **kwargs))[1])

    for manager, kind in ((env.reward_manager, "reward"), (env.termination_manager, "termination")):
        for name, term in zip(manager._term_names, manager._term_cfgs, strict=True):
            replaced(term, "func", f"{kind}/{name}")
    for group, terms in env.observation_manager._group_obs_term_cfgs.items():
        for name, term in zip(env.observation_manager._group_obs_term_names[group], terms, strict=True):
            replaced(term, "func", f"obs/{group}/{name}")
    replaced(env.command_manager, "compute", "manager/command_compute")
    replaced(env.command_manager, "post_compute", "manager/command_post_compute")
    replaced(env.observation_manager, "compute", "manager/observation_compute")
    replaced(env.observation_manager, "compute_group", "manager/observation_compute_group")
    replaced(env, "_map_observations", "manager/map_observations")
    env.motion.time_steps[:] = 0
    env.step(zeros(env))
    assert len(set(calls)) == 9 + 5 + 18 + 5
    assert calls.count("reward/motion_body_pos") == 1
    assert calls.index("termination/anchor_pos") < calls.index("reward/motion_body_pos")
    assert calls.index("manager/command_compute") < calls.index("manager/observation_compute")


def test_a_step_refreshes_the_robots_twice_first_for_the_anchor_then_by_force(make_env):
    env = make_env()
    env.init_state()
    motion, effective = env.motion, []
    inner = motion._refresh_robot_state

    def refresh(*args, **kwargs):
        if not env._autoreset_reset_active and (
            kwargs.get("force") or motion._robot_cache_step != env.common_step_counter
        ):
            effective.append("force" if kwargs.get("force") else "first_read")
        return inner(*args, **kwargs)

    motion._refresh_robot_state = refresh
    env.step(zeros(env))
    assert effective == ["first_read", "force"]


def test_the_phases_are_timed_in_whole_nanoseconds_and_add_up_to_no_more_than_the_step(env):
    timing = env.step(zeros(env)).info["timing"]
    assert set(timing) == {
        "env_step_total_ms",
        *(f"{phase}_ms" for phase in PHASES),
        "reset_done_count",
        "backend_physics_ms",
        "backend_refresh_cache_ms",
    }
    for name, value in timing.items():
        assert isinstance(value, float)
        if name != "reset_done_count":
            assert round(value * 1e6) / 1e6 == value
    assert sum(timing[f"{phase}_ms"] for phase in PHASES) == pytest.approx(timing["env_step_total_ms"], abs=1e-6)
    assert timing["backend_physics_ms"] + timing["backend_refresh_cache_ms"] <= timing["step_core_ms"]


def test_the_state_is_a_batch_of_plain_arrays(env):
    state = env.step(zeros(env))
    assert (state.reward.shape, state.reward.dtype) == ((6,), np.float32)
    assert state.terminated.dtype == state.truncated.dtype == bool
    later = env.step(np.ones((6, 29), dtype=np.float32))
    assert not np.shares_memory(state.reward, later.reward)


def test_a_step_before_the_first_reset_is_refused(make_env):
    with pytest.raises(RuntimeError, match="init_state"):
        make_env().step(np.zeros((6, 29), dtype=np.float32))


def test_actions_of_a_wrong_shape_are_refused(env):
    with pytest.raises(ValueError, match=r"\(6, 29\)"):
        env.step(np.zeros((6, 28), dtype=np.float32))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunk": "4"}, "unknown option 'chunk'"),
        ({"task.control.sim_dtt": "1"}, "sim_dtt"),
        ({"threads": "0"}, "threads"),
        ({"chunk_size": "0"}, "chunk_size"),
    ],
)
def test_an_option_that_means_nothing_is_refused_by_name(make_env, options, message):
    with pytest.raises(ValueError, match=message):
        make_env(**options)


def test_an_unknown_backend_is_refused_with_the_known_ones(trees):
    with pytest.raises(ValueError, match="mjwarp, mujoco"):
        compose_config(trees["before"].path, "isaac", 1, 0, {})


def test_an_option_reaches_the_composed_configuration(make_env):
    env = make_env(**{"task.control.substeps": "2", "threads": "1"})
    assert env.config["task"]["control"]["substeps"] == 2
    assert env.config["backend"]["threads"] == 1
    assert env.config["num_envs"] == 6
    assert env.workload["substeps_per_step"] == 2
    assert env.threads == {"mujoco_pool": 1}


def test_nothing_grows_from_step_to_step(env):
    tracemalloc.start()
    try:
        for _ in range(3):
            env.step(zeros(env))
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(25):
            env.step(zeros(env))
        grown = tracemalloc.get_traced_memory()[0] - start
    finally:
        tracemalloc.stop()
    assert grown < 20_000
