"""The whole fingerprint: the same form everywhere, nobody's name in it, no crash."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from twotrees import strict_json
from twotrees.digest import canonical_json
from twotrees.host import fingerprint, fingerprint_of, rows
from twotrees.host.facet import Facet
from twotrees.host.facts import Kind

MAC = "machdep.cpu.brand_string: Apple M3\nhw.physicalcpu: 8\nhw.logicalcpu: 8\nkern.osproductversion: 14.5\n"


def _form(taken: dict[str, Any]) -> dict[str, set[str]]:
    return {facet: set(facts) for facet, facts in taken["facets"].items()}


def _unknowns(value: Any) -> list[str]:
    if isinstance(value, dict):
        if set(value) == {"unknown"}:
            return [value["unknown"]]
        return [reason for item in value.values() for reason in _unknowns(item)]
    return []


def test_this_host_gives_json_that_every_reader_understands_alike() -> None:
    taken = fingerprint(repo=Path(__file__).resolve().parents[2])
    assert taken["schema"] == "twotrees-host-v1"
    assert strict_json.loads(strict_json.dumps(taken)) == taken
    assert canonical_json(taken)
    assert taken["facets"]["packages"]["installed"]["numpy"]
    assert taken["facets"]["python"]["version"]
    assert not [reason for reason in _unknowns(taken) if "collector" in reason]


def test_the_form_is_the_same_on_an_empty_host_a_desktop_a_mac_and_an_arm_board(
    host: Any, busy_box: Any, tmp_path: Path
) -> None:
    mac = host.prints("sysctl", MAC).sources(system="Darwin", machine="arm64", root=tmp_path / "nothing")
    hosts = [
        fingerprint_of(host.sources(root=tmp_path / "nothing")),
        fingerprint_of(busy_box.sources()),
        fingerprint_of(mac),
        fingerprint_of(host.sources(root=tmp_path / "nothing", machine="aarch64")),
    ]
    assert all(_form(taken) == _form(hosts[0]) for taken in hosts)
    assert all(not [reason for reason in _unknowns(taken) if "collector" in reason] for taken in hosts)


def test_on_an_empty_host_nothing_unknown_is_given_as_zero_or_as_nothing(host: Any) -> None:
    taken = fingerprint_of(host.sources())
    hardware = ("processor", "frequency", "memory", "power", "load", "gpu", "security")
    values = [(facet, fact, value) for facet in hardware for fact, value in taken["facets"][facet].items()]
    empty = [item for item in values if item[2] in (0, 0.0, "", None, {})]
    assert empty == []
    assert all(_unknowns(taken["facets"][facet]) for facet in hardware)


def test_a_collector_that_fails_becomes_the_reason_of_its_own_facts_only(host: Any) -> None:
    def broken(_: Any) -> dict[str, Any]:
        raise RuntimeError("the probe fell off")

    facets = (
        Facet("good", lambda _: {"a": 1, "more": 2}, {"a": Kind.SPEED, "b": Kind.STATE}),
        Facet("bad", broken, {"c": Kind.SPEED, "d": Kind.LABEL}),
    )
    assert fingerprint_of(host.sources(), facets=facets)["facets"] == {
        "good": {"a": 1, "b": {"unknown": "the collector gave no answer"}, "more": 2},
        "bad": {
            "c": {"unknown": "the collector failed: RuntimeError: the probe fell off"},
            "d": {"unknown": "the collector failed: RuntimeError: the probe fell off"},
        },
    }


def test_host_user_and_home_appear_nowhere_unless_asked_for(busy_box: Any) -> None:
    environ = {
        "PATH": str(busy_box.programs),
        "PYTHONPATH": "/home/mallory/src:/data/mallory/lib:/home/mallory2/x",
        "CUDA_CACHE_PATH": "/scratch/lab-7/cache",
        "OMP_FLAGS": "-I/home/mallory/include",
    }
    sources = busy_box.sources(environ=environ)
    text = json.dumps(fingerprint_of(sources))
    assert "lab-7" not in text
    assert "/home/mallory/" not in text
    assert "/mallory/" not in text
    assert "/home/mallory2/x" in text
    named = fingerprint_of(sources, identify=True)["facets"]
    assert named["identity"] == {"host": "lab-7", "user": "mallory", "home": "/home/mallory"}
    assert named["variables"]["set"]["PYTHONPATH"] == environ["PYTHONPATH"]


def test_what_the_kernel_hands_to_init_is_not_recorded(busy_box: Any) -> None:
    busy_box.files({"/proc/cmdline": "quiet mitigations=off -- --token=secret\n"})
    assert fingerprint_of(busy_box.sources())["facets"]["kernel"]["command_line"] == "quiet mitigations=off"


def test_pseudonyms_agree_on_one_machine_and_cannot_be_confirmed_from_another(busy_box: Any) -> None:
    first = fingerprint_of(busy_box.sources())["facets"]["identity"]
    assert fingerprint_of(busy_box.sources())["facets"]["identity"] == first
    busy_box.file("/etc/machine-id", "fedcba9876543210\n")
    second = fingerprint_of(busy_box.sources())["facets"]["identity"]
    assert all(first[fact] != second[fact] for fact in ("host", "user", "home"))


def test_only_variables_that_numeric_libraries_obey_are_recorded_and_no_secret(host: Any, facts: Any) -> None:
    environ = {
        "NUMBA_NUM_THREADS": "2",
        "OMP_NUM_THREADS": "",
        "MUJOCO_GL": "egl",
        "PYTHONHASHSEED": "0",
        "WARP_API_KEY": "hush",
        "LD_PRELOAD": "x",
        "MYOMP": "x",
    }
    found = facts("variables", host.sources(environ=environ))["set"]
    assert found == {
        "MUJOCO_GL": "egl",
        "NUMBA_NUM_THREADS": "2",
        "OMP_NUM_THREADS": "",
        "PYTHONHASHSEED": "0",
        "WARP_API_KEY": {"unknown": "not recorded, its name looks like a secret's"},
    }


def test_the_git_facet_tells_the_commit_and_hides_credentials(host: Any, facts: Any, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*argv: str) -> str:
        done = subprocess.run(["git", "-C", str(repo), *argv], env=environ, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    repo.mkdir()
    git("init", "-q", "-b", "main")
    (repo / "a").write_text("a")
    git("add", "a")
    git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "-m", "one")
    git("remote", "add", "origin", "https://alice:token@forge.example/r.git")
    found = facts("git", host.sources(environ=environ, repo=repo))
    assert found["commit"] == git("rev-parse", "HEAD")
    assert (found["branch"], found["clean"]) == ("main", True)
    assert found["remote"] == "https://forge.example/r.git"
    (repo / "b").write_text("b")
    assert facts("git", host.sources(environ=environ, repo=repo))["clean"] is False
    outside = facts("git", host.sources(environ=environ, repo=tmp_path))
    assert "not a git repository" in outside["commit"]["unknown"]
    assert facts("git", host.sources())["version"] == {"unknown": "git is not installed"}


@pytest.mark.parametrize(
    ("script", "status", "expected"),
    [("kvm", 0, "kvm"), ("none", 1, "none"), ("", 1, None)],
)
def test_detect_virts_status_1_with_none_is_an_answer(
    host: Any, facts: Any, script: str, status: int, expected: str | None
) -> None:
    found = facts("virtualization", host.prints("systemd-detect-virt", script, status).sources())
    assert found["hypervisor"] == expected or set(found["hypervisor"]) == {"unknown"}
    assert (expected is None) is isinstance(found["hypervisor"], dict)


def test_a_container_is_known_by_its_mark_and_no_mark_proves_nothing(host: Any, facts: Any) -> None:
    assert "proves nothing" not in str(facts("virtualization", host.file("/.dockerenv").sources())["container"])
    assert facts("virtualization", host.sources())["container"] == "docker"


@pytest.mark.parametrize(
    ("supplies", "expected"),
    [
        ({"AC/type": "Mains", "AC/online": "1", "BAT0/type": "Battery", "BAT0/status": "Full"}, "mains"),
        ({"AC/type": "Mains", "AC/online": "0", "BAT0/type": "Battery", "BAT0/status": "Discharging"}, "battery"),
        ({"ucsi/type": "USB", "ucsi/online": "0"}, None),
        ({"mouse/type": "Battery", "mouse/status": "Discharging", "mouse/scope": "Device"}, None),
    ],
)
def test_the_power_supply(host: Any, facts: Any, supplies: dict[str, str], expected: str | None) -> None:
    host.files({f"/sys/class/power_supply/{name}": f"{text}\n" for name, text in supplies.items()})
    supply = facts("power", host.sources())["supply"]
    assert supply == expected or (expected is None and set(supply) == {"unknown"})


def test_an_interpreter_that_does_not_answer_is_unknown_in_every_fact(host: Any, facts: Any, tmp_path: Path) -> None:
    host.prints("python-x", "Segmentation fault\n", 139)
    sources = host.sources(interpreter=host.programs / "python-x")
    assert facts("python", sources)["version"] == {"unknown": "Segmentation fault"}
    assert set(facts("packages", sources)["installed"]) == {"unknown"}


def test_the_blas_pools_of_the_measuring_interpreter_are_listed(host: Any, facts: Any) -> None:
    pools = facts("python", host.sources())["blas_pools"]
    assert isinstance(pools, list)
    assert all(pool["num_threads"] >= 1 and "/" not in pool["library"] for pool in pools)


def test_a_table_has_one_row_for_each_known_or_unknown_fact(busy_box: Any) -> None:
    table = rows(fingerprint_of(busy_box.sources()))
    assert ("frequency", "governor", "performance") in table
    assert ("security", "mitigations.meltdown", "Not affected") in table
    assert ("kernel", "isolated_cpus", "none") in table
    assert ("processor", "sockets", "unknown (lscpu: lscpu is not installed)") in table
    assert all(isinstance(cell, str) and cell for row in table for cell in row)
