"""What `conf/` composes to, and how a study of the user's own joins it."""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from pathlib import Path

import pytest

from twotrees.digest import sha256_json
from twotrees.errors import UsageError
from twotrees.study import CampaignConfig, compose, toolkit_root, typed
from twotrees.study.compose import GROUPS
from twotrees.study.model import PUBLISHED_PROFILER

CONF = toolkit_root() / "conf"

OWN_STUDY = """\
name: mine
title: A library of my own
arms: [old, new]
trees:
  old: {kind: git, url: ../library, commit: v1.0}
  new: {kind: path, path: ../library}
environment: toolkit
scripts: {profiler: bench.py, aggregator: tools/aggregate_update_state.py}
command: ["{python}", "{profiler}", --repo, "{tree}", "--out={out}"]
parity: []
"""


def options(group: str) -> list[str]:
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def own_conf(folder: Path, text: str = OWN_STUDY, name: str = "mine") -> Path:
    (folder / "study").mkdir(parents=True)
    (folder / "study" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def test_the_defaults_compose_to_the_embedded_study_on_mujoco() -> None:
    config, data = compose([])
    assert config.study.name == data["study"]["name"] == "g1_update_state"
    assert config.study.arms[0] == "before"
    assert (config.backend.name, config.protocol.name, config.scale.name) == ("mujoco", "documented", "quick")
    assert (config.protocol.phase_runs, config.protocol.terms_runs) == (3, 3)
    assert config.scale.num_envs == config.scale.envs_of["mujoco"]
    assert (config.allow_drift, config.allow_dirty) == (False, False)


def test_the_published_seeds_are_the_defaults() -> None:
    config, _ = compose([])
    assert (config.seeds.action, config.seeds.env) == (20260826, 123)


def test_scale_paper_is_the_published_workload_on_both_backends() -> None:
    for backend in ("mujoco", "mjwarp"):
        config, _ = compose([f"backend={backend}", "scale=paper"])
        assert (config.scale.num_envs, config.scale.warmup, config.scale.measure) == (8192, 10, 100)


@pytest.mark.parametrize(("group", "option"), [(group, option) for group in GROUPS for option in options(group)])
def test_every_file_under_conf_composes(group: str, option: str) -> None:
    config, _ = compose([f"{group}={option}"])
    assert getattr(config, group).name == option


def test_every_combination_of_backend_protocol_scale_and_host_composes() -> None:
    groups = GROUPS[1:]
    for choice in itertools.product(*map(options, groups)):
        config, _ = compose([f"{group}={option}" for group, option in zip(groups, choice, strict=True)])
        assert tuple(getattr(config, group).name for group in groups) == choice


def test_a_folder_under_conf_is_a_group_that_is_tested_here() -> None:
    assert {path.name for path in CONF.iterdir() if path.is_dir()} - {"claims"} == set(GROUPS)


def test_an_override_reaches_the_typed_value_and_the_stored_data_alike() -> None:
    config, data = compose(["scale.num_envs=64", "study.arms=[after,before]", "results='a=b, #c d'"])
    assert config.scale.num_envs == data["scale"]["num_envs"] == 64
    assert list(config.study.arms) == data["study"]["arms"] == ["after", "before"]
    assert config.results == data["results"] == "a=b, #c d"


def test_the_last_of_two_overrides_of_one_key_wins() -> None:
    assert compose(["scale=paper", "scale=smoke"])[0].scale.name == "smoke"


def test_no_interpolation_is_left_in_the_data_that_is_hashed() -> None:
    assert "${" not in str(compose([])[1])


def test_composing_twice_gives_equal_data_whatever_was_composed_between() -> None:
    first = compose(["scale=smoke"])
    compose(["backend=mjwarp", "scale=paper"])
    again = compose(["scale=smoke"])
    assert sha256_json(first[1]) == sha256_json(again[1])
    assert first[0] == again[0]


def test_stored_data_gives_the_same_campaign_back() -> None:
    config, data = compose(["protocol=interleaved"])
    assert typed(data) == config


def test_a_composed_campaign_cannot_be_changed() -> None:
    config: CampaignConfig = compose([])[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.scale.num_envs = 1  # type: ignore[misc]


def test_an_option_of_the_study_can_be_added() -> None:
    assert compose(["+study.options.mujoco.chunk_size='24'"])[0].study.options["mujoco"]["chunk_size"] == "24"


def test_a_key_that_only_the_types_know_can_be_added() -> None:
    assert compose(["+study.instrument=[--probe]"])[0].study.instrument == ("--probe",)


@pytest.mark.parametrize("folder", ["conf", "my conf", "it's, a=b #1 (new)", "中文"])
def test_a_study_of_the_users_own_is_found_beside_the_toolkits(tmp_path: Path, folder: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config, _ = compose(["study=mine", "scale=smoke"], own_conf=own_conf(tmp_path / folder))
    assert config.study.title == "A library of my own"
    assert config.study.command[-1] == "--out={out}"
    assert config.study.trees["old"].commit == "v1.0"
    assert config.scale.name == "smoke"


def test_a_backend_and_a_scale_of_the_users_own_are_found_too(tmp_path: Path) -> None:
    folder = own_conf(tmp_path / "conf")
    (folder / "scale").mkdir()
    (folder / "scale" / "tiny.yaml").write_text("defaults: [smoke]\nname: tiny\nnum_envs: 3\n", encoding="utf-8")
    assert compose(["scale=tiny"], own_conf=folder)[0].scale.num_envs == 3


def test_the_users_folder_is_named_when_it_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere: no such folder"):
        compose([], own_conf=tmp_path / "nowhere")


def test_a_users_file_that_the_toolkit_would_hide_is_refused_by_name(tmp_path: Path) -> None:
    folder = own_conf(tmp_path / "conf", name="g1_update_state")
    with pytest.raises(UsageError, match=r"g1_update_state\.yaml: the toolkit has a file of this name"):
        compose([], own_conf=folder)


def test_a_configuration_of_the_users_project_beside_the_study_is_left_alone(tmp_path: Path) -> None:
    folder = own_conf(tmp_path / "conf")
    (folder / "config.yaml").write_text("defaults: [nothing]\n")
    (folder / "sac").mkdir()
    (folder / "sac" / "config.yaml").write_text("x: 1\n")
    assert compose(["study=mine"], own_conf=folder)[0].study.name == "mine"


def test_the_nearest_name_may_be_a_study_of_the_users_own(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean mine"):
        compose(["study=mein"], own_conf=own_conf(tmp_path / "conf"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: mine\n  title: [\n", r"mine\.yaml: line \d: not YAML: "),
        (OWN_STUDY + "title: again\n", r"mine\.yaml: line \d+: not YAML: found duplicate key title"),
        (OWN_STUDY.replace("title:", "tittle:"), r"study\.tittle: unknown key under study; did you mean title\?"),
        (OWN_STUDY.replace("environment: toolkit\n", ""), r"study\.environment: missing; set it"),
        (OWN_STUDY.replace("commit: v1.0", "commit: 1.0"), r"study\.trees\.old\.commit: 1\.0 is not right"),
        (OWN_STUDY.replace("kind: path, path", "kind: path, url"), r"study\.trees\.new\.path: a tree of kind 'path'"),
    ],
)
def test_a_fault_in_the_users_study_is_named_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        compose(["study=mine"], own_conf=own_conf(tmp_path / "conf", text))


def test_a_users_file_in_another_encoding_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = own_conf(tmp_path / "conf")
    (folder / "study" / "mine.yaml").write_bytes(b"name: \xff\xfe\n")
    with pytest.raises(UsageError) as caught:
        compose(["study=mine"], own_conf=folder)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not (toolkit_root() / "README.md").is_file(), reason="the README does not travel in the wheel")
def test_the_study_that_the_readme_shows_composes_as_it_stands(tmp_path: Path) -> None:
    shown = (toolkit_root() / "README.md").read_text(encoding="utf-8").split("```yaml\n", 1)[1].split("```", 1)[0]
    study = compose(["study=mine"], own_conf=own_conf(tmp_path / "conf", shown))[0].study
    assert study.arms == ("before", "after")


# --- a study on the published profiler ------------------------------------------------------------------------------

PINNED = OWN_STUDY.replace('"--out={out}"', '--out, "{out}"').replace(
    "profiler: bench.py", f"profiler: bench.py, profiler_sha256: {PUBLISHED_PROFILER}"
)


def test_a_study_may_pin_the_published_profiler_which_compares_no_outputs(tmp_path: Path) -> None:
    study = compose(["study=mine"], own_conf=own_conf(tmp_path / "conf", PINNED))[0].study
    assert study.scripts.published
    assert not study.compares_outputs


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (
            ["study.command=['{python}','{out}',--parity]"],
            "study.command: the published profiler does not know",
        ),
        (["+study.instrument=[--trace]"], "study.command: the published profiler does not know --trace"),
        (["+study.options.mujoco.threads='2'"], "study.options: the published profiler takes no options"),
        (["+backend.options.threads=2"], "study.options: the published profiler takes no options"),
        (["seeds.env=7"], "seeds.env: the published profiler knows no other seed than 123"),
        (["protocol=lockstep"], "protocol.lockstep: the published profiler cannot be a lockstep worker"),
    ],
)
def test_what_the_published_profiler_cannot_do_is_refused_before_it_is_asked(
    tmp_path: Path, overrides: list[str], told: str
) -> None:
    with pytest.raises(UsageError) as caught:
        compose(["study=mine", *overrides], own_conf=own_conf(tmp_path / "conf", PINNED))
    assert told in str(caught.value)
