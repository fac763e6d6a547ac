"""The stranger's check: four printed lines, in a bare shell, with ssh-keygen and sha256sum alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from synthetic.corpus import KEY, PRINCIPAL, SECOND_KEY, Bench
from synthetic.forge import reseal

from twotrees.bundle.sign import strangers_check


def accepts(bench: Bench) -> bool:
    """Whether all four lines, as printed, succeed in a shell that knows nothing but /usr/bin."""
    lines = strangers_check(KEY.file_name, PRINCIPAL).splitlines()
    assert len(lines) == 4
    (bench.bundle.parent / "allowed_signers").write_text(bench.allowed.read_text())
    lines[0] = lines[0].replace("-f allowed_signers", "-f ../allowed_signers")
    done = [
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", line],
            cwd=bench.bundle,
            env={"PATH": "/usr/bin:/bin"},
            capture_output=True,
            stdin=subprocess.DEVNULL,
        ).returncode
        for line in lines
    ]
    return done == [0, 0, 0, 0]


def test_a_sound_bundle_is_accepted(bench: Bench) -> None:
    assert accepts(bench)


def test_one_changed_byte_of_any_file_is_refused(bench: Bench) -> None:
    names = ["signatures/" + KEY.file_name, "bag-info.txt", "bagit.txt", "manifest-sha256.txt", "statement.json"]
    names += ["tagmanifest-sha256.txt", "data/plan.json", "data/runs/0001.json", "data/logs/0001.out", "data/report.md"]
    for name in names:
        path = bench.bundle / name
        original = path.read_bytes()
        path.write_bytes(original[:-3] + bytes([original[-3] ^ 1]) + original[-2:])
        assert not accepts(bench), name
        path.write_bytes(original)
    assert accepts(bench)


@pytest.mark.parametrize("name", ["data/extra.txt", "data/runs/0099.json"])
def test_an_extra_file_in_the_payload_is_refused(name: str, bench: Bench) -> None:
    bench.write(name, "{}\n")
    assert not accepts(bench)


def test_a_missing_file_is_refused(bench: Bench) -> None:
    bench.run(2).unlink()
    assert not accepts(bench)


def test_everything_made_again_by_another_signer_is_refused(bench: Bench) -> None:
    bench.write("data/report.md", "better numbers\n")
    reseal(bench.bundle, SECOND_KEY)
    assert not accepts(bench)


def test_the_lines_are_those_of_the_format(bench: Bench) -> None:
    assert strangers_check("FP.sshsig", "PRINCIPAL") == (
        "ssh-keygen -Y verify -f allowed_signers -I PRINCIPAL -n twotrees-bundle-v1 -s signatures/FP.sshsig"
        " < tagmanifest-sha256.txt\n"
        "sha256sum -c --strict --quiet tagmanifest-sha256.txt manifest-sha256.txt\n"
        "cut -c67- manifest-sha256.txt | cmp - <(find data -type f | LC_ALL=C sort)\n"
        'grep -q "$(sha256sum < manifest-sha256.txt | cut -c1-64)" statement.json\n'
    )
    assert isinstance(bench.bundle, Path)
