"""What goes wrong for people who do this job, cases 1 to 8 of the list, replayed with a real importing interpreter."""

from __future__ import annotations

import hashlib
import json
import subprocess

import pytest

from twotrees import trees
from twotrees.errors import PinsDiffer, UsageError

FILES = {"src/p/__init__.py": "from p.terms import VALUE\n", "src/p/terms.py": "VALUE = 1\n"}


@pytest.fixture
def subject(new_repository):
    repository = new_repository()
    repository.commit(FILES)
    return repository


@pytest.fixture
def tree(subject, source, tmp_path):
    commit = subject.git("rev-parse", "main")
    return trees.make(source("git", path="subject", commit=commit), "before", tmp_path / "work", base=tmp_path)


def lines(findings) -> list[str]:
    return [finding.line for finding in findings if finding.refuses]


def test_an_honest_run_has_no_findings(tree, imported):
    report = imported(tree.path, "p")
    assert [line["path"] for line in report["lines"]] == ["src/p/__init__.py", "src/p/terms.py"]
    assert trees.provenance(tree, report["lines"]) == ()


def test_case_1_an_editable_install_never_wins_over_the_tree(tree, subject, imported):
    package = f"{subject.path}/src/p"
    finder = f"""
import importlib.util
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "p":
            where = dict(location="{package}/__init__.py", submodule_search_locations=["{package}"])
            return importlib.util.spec_from_file_location(name, **where)
sys.meta_path.insert(0, Finder)
"""
    report = imported(tree.path, "p", environment={"BEFORE_IMPORT": finder})
    found = lines(trees.provenance(tree, report["lines"]))
    assert f"module p was imported from {subject.path}/src/p/__init__.py, outside the tree of arm before" in found[0]
    assert "editable install" in found[0]
    with pytest.raises(PinsDiffer):
        trees.refuse("before", trees.provenance(tree, report["lines"]))


def test_case_1_a_link_in_the_tree_to_another_checkout_does_not_pass(tree, subject, imported):
    (tree.path / "src/p/terms.py").unlink()
    (tree.path / "src/p/terms.py").symlink_to(subject.path / "src/p/terms.py")
    report = imported(tree.path, "p")
    assert any("outside the tree" in line for line in lines(trees.provenance(tree, report["lines"])))
    as_if_inside = [{**line, "path": "src/p/terms.py"} for line in report["lines"] if "terms" in line["module"]]
    assert any("outside the tree" in line for line in lines(trees.provenance(tree, as_if_inside)))


def test_case_1_a_link_to_another_file_of_the_same_tree_does_not_pass(subject, source, tmp_path):
    subject.commit({"src/p/other.py": "VALUE = 5\n"})
    tree = trees.make(source("git", path="subject", commit="HEAD"), "before", tmp_path / "work", base=tmp_path)
    (tree.path / "src/p/terms.py").unlink()
    (tree.path / "src/p/terms.py").symlink_to("other.py")
    data = (tree.path / "src/p/other.py").read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    report = {"module": "p.terms", "path": "src/p/terms.py", "sha256": hashlib.sha256(data).hexdigest(), "blob": blob}
    assert "through the link src/p/terms.py" in lines(trees.provenance(tree, [report]))[0]


def test_case_1_a_run_that_reports_nothing_is_refused(tree):
    assert "reports no imported module" in lines(trees.provenance(tree, []))[0]


def test_case_2_stale_bytecode_is_in_no_fresh_tree_and_bytecode_alone_is_refused(tree, imported):
    assert not list(tree.path.rglob("*.pyc"))
    report = {"module": "p.terms", "path": "src/p/terms.pyc", "sha256": "0" * 64, "blob": "0" * 40}
    assert "from bytecode without source" in lines(trees.provenance(tree, [report]))[0]


def test_case_3_a_tree_with_numba_caches_is_refused(tree):
    (tree.path / "src/p/__pycache__").mkdir()
    (tree.path / "src/p/__pycache__/terms.f-1.py311.nbi").write_bytes(b"x")
    with pytest.raises(PinsDiffer, match="numba cache in the tree"):
        trees.refuse("before", trees.scan(tree))


@pytest.mark.parametrize("hidden", [None, "--assume-unchanged", "--skip-worktree"])
def test_case_4_an_edited_file_is_found_even_if_git_is_told_to_look_away(tree, imported, hidden):
    if hidden:
        subprocess.run(["git", "update-index", hidden, "src/p/terms.py"], cwd=tree.path, check=True)
    (tree.path / "src/p/terms.py").write_text("VALUE = 9\n")
    status = subprocess.run(["git", "status", "--porcelain"], cwd=tree.path, check=True, capture_output=True)
    assert bool(status.stdout) == (hidden is None)
    report = imported(tree.path, "p")
    assert report["value"] == 9
    (line,) = lines(trees.provenance(tree, report["lines"]))
    assert line.startswith("src/p/terms.py was edited after checkout")
    assert tree.commit in line and tree.blobs()["src/p/terms.py"] in line


def test_case_4_an_imported_untracked_file_is_named(tree, imported):
    (tree.path / "src/p/extra.py").write_text("X = 1\n")
    (tree.path / ".gitignore").write_text("*\n")
    (line,) = lines(trees.provenance(tree, imported(tree.path, "p", "p.extra")["lines"]))
    assert line.startswith("src/p/extra.py was imported (p.extra) but is not in commit")


def test_case_4_a_file_edited_after_the_run_read_it_is_named(tree, imported):
    report = imported(tree.path, "p")
    (tree.path / "src/p/terms.py").write_text("VALUE = 9\n")
    (line,) = lines(trees.provenance(tree, report["lines"]))
    assert "is not what the run imported" in line


def test_case_4_a_dirty_run_on_request_is_labelled_with_its_diff(tree, imported):
    (tree.path / "src/p/terms.py").write_text("VALUE = 9\n")
    dirty = trees.as_dirty(tree)
    report = imported(dirty.path, "p")
    assert lines(trees.provenance(dirty, report["lines"])) == []
    assert "dirty tree" in trees.labels(dirty)
    assert "+VALUE = 9" in trees.diff(dirty)
    (tree.path / "src/p/terms.py").write_text("VALUE = 10\n")
    assert (
        "changed after the dirty tree was taken"
        in lines(trees.provenance(dirty, imported(dirty.path, "p")["lines"]))[0]
    )


def test_case_4_line_endings_that_the_tree_itself_asks_for_are_no_edit(new_repository, source, tmp_path, imported):
    repository = new_repository()
    repository.commit({**FILES, ".gitattributes": "src/p/terms.py text eol=crlf\nsrc/p/__init__.py ident\n"})
    tree = trees.make(source("git", path="subject", commit="HEAD"), "before", tmp_path / "work", base=tmp_path)
    assert (tree.path / "src/p/terms.py").read_bytes() == b"VALUE = 1\r\n"
    findings = trees.provenance(tree, imported(tree.path, "p")["lines"])
    assert lines(findings) == []
    assert [(finding.kind, finding.path) for finding in findings] == [("filtered", "src/p/terms.py")]


def test_case_4_what_the_prepare_commands_built_is_known_and_an_edit_of_it_is_not(tree, imported):
    (tree.path / "src/p/_version.py").write_text("V = 1\n")
    ready = trees.prepared(tree)
    findings = trees.provenance(ready, imported(tree.path, "p", "p._version")["lines"])
    assert [(finding.kind, finding.refuses) for finding in findings] == [("prepared", False)]
    assert list(trees.describe(ready)["prepared"]) == ["src/p/_version.py"]
    (tree.path / "src/p/_version.py").write_text("V = 2\n")
    assert lines(trees.provenance(ready, imported(tree.path, "p", "p._version")["lines"]))


def test_case_5_each_arm_measures_the_commit_that_it_names(subject, source, tmp_path, imported):
    first = subject.git("rev-parse", "main")
    second = subject.commit({"src/p/terms.py": "VALUE = 2\n"})
    values = []
    for arm, commit in (("before", first), ("after", second)):
        tree = trees.make(source("git", path="subject", commit=commit), arm, tmp_path / "work", base=tmp_path)
        report = imported(tree.path, "p")
        assert trees.provenance(tree, report["lines"]) == ()
        values.append(report["value"])
    assert values == [1, 2]


def test_case_6_an_lfs_pointer_is_told_as_what_it_is(new_repository, source, tmp_path):
    repository = new_repository()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'ab' * 32}\nsize 99\n"
    repository.commit({**FILES, "assets/a.npz": pointer})
    tree = trees.make(source("git", path="subject", commit="HEAD"), "before", tmp_path / "work", base=tmp_path)
    with pytest.raises(PinsDiffer, match=r"LFS object not fetched: assets/a\.npz"):
        trees.refuse("before", trees.scan(tree))
    assert trees.describe(tree)["lfs"] == [{"path": "assets/a.npz", "sha256": "ab" * 32, "size": 99, "fetched": False}]


def test_case_7_a_shallow_clone_says_which_commit_is_missing_and_how_to_get_it(subject, source, tmp_path):
    first = subject.git("rev-parse", "main")
    subject.commit({"src/p/terms.py": "VALUE = 2\n"})
    subject.git("clone", "-q", "--depth=1", subject.url, str(tmp_path / "shallow"))
    with pytest.raises(
        UsageError, match=f"commit {first} is not in shallow.*git fetch --unshallow or git fetch origin {first}"
    ):
        trees.resolve(source("git", path="shallow", commit=first), base=tmp_path)
    found = trees.resolve(source("git", path="shallow", commit="main"), base=tmp_path)
    assert len(found.commit) == 40


def test_case_8_both_arms_lie_side_by_side_and_share_no_file(subject, source, tmp_path, imported):
    commit = subject.git("rev-parse", "main")
    made = [
        trees.make(source("git", path="subject", commit=commit), arm, tmp_path / "work", base=tmp_path)
        for arm in ("before", "again")
    ]
    (made[0].path / "src/p/terms.py").write_text("VALUE = 9\n")
    assert imported(made[1].path, "p")["value"] == 1
    report = imported(made[1].path, "p")["lines"]
    assert lines(trees.provenance(made[0], report))


def test_the_record_of_a_tree_holds_what_the_bundle_needs_and_no_path_of_this_machine(tree, imported, tmp_path):
    report = imported(tree.path, "p")["lines"]
    outside = {"module": "q", "path": f"{tmp_path}/elsewhere/q.py", "sha256": "0" * 64, "blob": "0" * 40}
    record = trees.describe(tree, [*report, *report, outside])
    assert str(tmp_path) not in json.dumps(record)
    assert record["commit"] == tree.commit and record["tree"] == tree.tree_id and record["arm"] == "before"
    inside = [row for row in record["imported"] if row["module"] != "q"]
    assert [row["path"] for row in inside] == ["src/p/__init__.py", "src/p/terms.py"]
    assert all(row["blob"] == row["commit_blob"] for row in inside)
    assert trees.describe(tree, report) == trees.describe(tree, list(reversed(report)))
