"""Rules with Python functions: runs, errors, resuming, workers, and where they are refused."""

from __future__ import annotations

import json
import sys

import pytest

import fieldmark as fm
from fieldmark.data.inputs import Inputs
from fieldmark.runs.run_options import options_of_run
from published.command_line import fieldmark
from row_files import write_rows

HOUSE = """
open("imported", "w").close()

def close(expected, candidate):
    return abs(float(expected) - float(candidate)) <= 1

def head(value):
    return value[:4].lower()

def odd(expected, candidate):
    return None
"""
RULES = """
fields:
  - {path: total, match: "house:close"}
  - {path: vendor, match: exact, normalize: "house.py:head"}
"""
EVAL = """
cases: truth.jsonl
candidates: candidate.jsonl
evaluators:
  - {type: field_accuracy, fields: [{path: total, match: "house:close"}]}
"""


def same(expected, candidate):
    return str(expected).lower() == str(candidate).lower()


def first_letter(value):
    return value[:1]


@pytest.fixture
def house(folder):
    """A directory with data and a module with functions."""
    (folder / "house.py").write_text(HOUSE)
    (folder / "rules.yaml").write_text(RULES)
    (folder / "eval.yaml").write_text(EVAL)
    return folder


class TestCommandLine:
    def test_functions_of_a_rules_file_run_with_permission(self, house):
        done = fieldmark(
            "score", "truth.jsonl", "candidate.jsonl", "--rules", "rules.yaml", "--allow-code",
            "--format", "json", "--no-save", cwd=house,
        )  # fmt: skip
        assert done.code == 0, done.err
        attributes = json.loads(done.out)["attributes"]
        assert attributes["total"]["tp"] == 2
        assert (attributes["vendor"]["tp"], attributes["vendor"]["fn"]) == (1, 1)

    @pytest.mark.parametrize(
        "words",
        [
            pytest.param(["score", "truth.jsonl", "candidate.jsonl", "--rules", "rules.yaml", "--no-save"], id="score"),
            pytest.param(["score", "truth.jsonl", "candidate.jsonl", "--match", "house:close", "--no-save"], id="default"),
            pytest.param(["eval", "eval.yaml", "--no-save"], id="eval"),
            pytest.param(["calibrate", "measure", "truth.jsonl", "--match", "house:close"], id="calibrate"),
            pytest.param(["validate", "rules.yaml", "eval.yaml"], id="validate"),
            pytest.param(["serve", "--rules", "rules.yaml", "--no-browser", "--port", "0"], id="serve"),
        ],
    )  # fmt: skip
    def test_nothing_is_imported_without_permission(self, house, command, monkeypatch, words):
        if words[0] == "calibrate":
            label = {"expected": 1, "candidate": 1, "verdict": True}
            (house / "truth.jsonl").write_text(json.dumps(label))
        monkeypatch.syspath_prepend(house)
        done = command(*words)
        assert done.code == (0 if words[0] == "validate" else 2)
        assert "'house:close' is a Python function" in done.err
        assert "--allow-code" in done.err
        assert "Traceback" not in done.err
        assert not (house / "imported").exists()

    def test_an_eval_file_may_name_functions_with_permission(self, house, command):
        done = command("eval", "eval.yaml", "--allow-code", "--no-save")
        assert done.code == 0, done.err
        assert (house / "imported").exists()

    def test_a_comparator_can_be_calibrated(self, command, house):
        labels = [
            {"expected": 1, "candidate": 2, "verdict": True},
            {"expected": 1, "candidate": 5, "verdict": False},
            {"expected": 1, "candidate": "x", "verdict": False},
        ]
        write_rows(house / "labels.jsonl", labels)
        done = command(
            "calibrate", "measure", "labels.jsonl", "--match", "house.py:close", "--allow-code"
        )
        assert done.code == 3
        assert "house.py:close: 2 pairs with human verdicts" in done.out
        assert "agreement 1.000" in done.out
        assert "1 pair could not be compared" in done.err

    @pytest.mark.parametrize(
        ("name", "problem"),
        [
            pytest.param("house:far", "has no attribute 'far'", id="function"),
            pytest.param("hose:close", "No module named 'hose'", id="module"),
        ],
    )
    def test_a_missing_function_stops_before_anything_runs(self, command, house, name, problem):
        (house / "rules.yaml").write_text(f"fields: [{{path: total, match: '{name}'}}]")
        done = command(
            "score", "truth.jsonl", "candidate.jsonl", "--rules", "rules.yaml", "--allow-code"
        )
        assert done.code == 2
        assert f"cannot load {name}" in done.err
        assert problem in done.err
        assert not (house / "runs").exists()

    def test_resuming_needs_permission_again(self, command, house):
        words = ["score", "truth.jsonl", "candidate.jsonl", "--rules", "rules.yaml", "--out", "run"]
        assert command(*words, "--allow-code").code == 0
        interrupt(house / "run")
        refused = command("score", "--resume", "run")
        assert (refused.code, "is a Python function" in refused.err) == (2, True)
        assert command("score", "--resume", "run", "--allow-code").code == 0

    def test_a_run_is_not_resumed_with_another_function(self, command, house):
        words = ["score", "truth.jsonl", "candidate.jsonl", "--rules", "rules.yaml", "--out", "run"]
        assert command(*words, "--allow-code").code == 0
        interrupt(house / "run")
        (house / "house.py").write_text(HOUSE.replace("<= 1", "<= 2"))
        sys.modules.pop("house", None)
        done = command("score", "--resume", "run", "--allow-code")
        assert done.code == 2
        assert "different settings or files: providers" in done.err


def interrupt(run):
    """Make a complete run one that was interrupted after its first rows."""
    (run / "summary.json").unlink()
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "status": "running"}))


@pytest.fixture(autouse=True)
def _forget_house():
    yield
    sys.modules.pop("house", None)


class TestErrors:
    def test_an_exception_is_an_error_of_its_field_and_never_a_score(self):
        def fails(expected, candidate):
            raise KeyError("tax")

        pairs = [({"total": 1, "vendor": "a"}, {"total": 1, "vendor": "a"})]
        run = fm.score(pairs, rules={"total": {"match": fails}})
        assert run.attributes["total"].errors == 1
        assert (run.attributes["total"].tp, run.attributes["total"].fn) == (0, 0)
        assert run.attributes["vendor"].tp == 0
        assert run.summary.bounds.of_attribute("vendor", "f1") == (1.0, 1.0)
        assert run.summary.cases.errors == 1
        assert not run.passed
        assert "KeyError: 'tax'" in run.summary.warnings[0]

    @pytest.mark.parametrize("key", ["match", "normalize"])
    def test_a_wrong_return_value_is_an_error(self, key):
        run = fm.score([({"total": 1}, {"total": 1})], rules={"total": {key: lambda *_: b"1"}})
        assert run.attributes["total"].errors == 1
        assert "returned bytes" in run.summary.warnings[0]

    def test_values_are_not_in_messages_without_values(self, house):
        secret = "SECRET-4711"
        (house / "secret.jsonl").write_text(json.dumps({"id": "a", "expected": {"total": secret}}))
        (house / "found.jsonl").write_text(json.dumps({"id": "a", "candidate": {"total": 1}}))
        done = fieldmark(
            "score", "secret.jsonl", "found.jsonl", "--rules", "rules.yaml", "--allow-code",
            "--no-values", "--out", "run", cwd=house,
        )  # fmt: skip
        assert done.code == 3
        written = "".join(path.read_text() for path in (house / "run").iterdir() if path.is_file())
        assert secret not in done.out + done.err + written

    def test_items_are_aligned_although_a_function_fails(self):
        def fails_on_text(expected, candidate):
            return expected + 0 == candidate + 0

        lines = [{"n": 1}, {"n": "x"}, {"n": 3}]
        result = fm.compare(
            {"lines": lines},
            {"lines": [{"n": 3}, {"n": "y"}, {"n": 1}]},
            rules={"lines[*].n": {"match": fails_on_text}},
        )
        matched = {field.path for field in result.fields if field.outcome == "match"}
        assert matched == {"lines[0].n", "lines[2].n"}


class TestPython:
    def test_every_function_of_the_library_accepts_functions(self):
        rules = {"vendor": {"match": same}, "code": {"normalize": first_letter}}
        expected = {"vendor": "Acme", "code": "a1"}
        candidate = {"vendor": "ACME", "code": "a2"}
        assert fm.compare(expected, candidate, rules=rules).score == 1
        assert fm.compare_many(expected, [candidate], rules=rules).best.score == 1
        assert fm.score([(expected, candidate)], rules=rules).micro.f1 == 1
        case = {"id": "1", "expected": expected, "candidate": candidate}
        fields = [{"path": path, **each} for path, each in rules.items()]
        by_rules = fm.evaluate({"cases": [case], "rules": rules})
        by_evaluator = fm.evaluate(
            {"cases": [case], "evaluators": [{"type": "field_accuracy", "fields": fields}]}
        )
        assert by_rules.mean_score == by_evaluator.mean_score == 1

    @pytest.mark.parametrize("allowed", [True, False])
    def test_names_of_functions_need_permission(self, house, allowed):
        calls = [
            lambda rules: fm.compare({"total": 1}, {"total": 2}, rules=rules, allow_code=allowed),
            lambda rules: fm.compare_many({"total": 1}, [2], rules=rules, allow_code=allowed),
            lambda rules: fm.score([({"total": 1}, {"total": 2})], rules=rules, allow_code=allowed),
            lambda rules: fm.evaluate(
                {"cases": [{"id": 1, "expected": 1, "candidate": 1}], "rules": rules},
                allow_code=allowed,
            ),
            lambda rules: fm.calibrate(
                [{"expected": 1, "candidate": 1, "verdict": True}],
                rules=rules,
                path="total",
                allow_code=allowed,
            ),
        ]
        for call in calls:
            rules = {"total": {"match": "house.py:close"}}
            if allowed:
                assert call(rules) is not None
            else:
                with pytest.raises(fm.ConfigError, match="allow_code=True"):
                    call(rules)
        assert (house / "imported").exists() is allowed

    def test_a_document_may_not_contain_a_function(self):
        case = {"id": "1", "expected": {"match": same}, "candidate": {}}
        with pytest.raises(TypeError, match=r"cases\[0\]\.expected\.match: function is not"):
            fm.evaluate({"cases": [case]})

    def test_equal_values_reach_the_function_also_in_files(self, folder):
        (folder / "candidate.jsonl").write_text(
            (folder / "truth.jsonl").read_text().replace('"expected"', '"candidate"')
        )
        run = fm.score(
            "truth.jsonl", "candidate.jsonl", rules={"vendor": {"match": lambda *_: False}}
        )
        assert (run.attributes["vendor"].tp, run.attributes["total"].tp) == (0, 2)

    def test_the_hash_of_the_rules_names_the_function(self):
        def hash_of(match):
            run = fm.score([({"a": 1}, {"a": 1})], rules={"a": {"match": match}})
            return run.summary.convention.comparison_sha256

        assert hash_of(same) == hash_of(same)
        assert len({hash_of(same), hash_of(first_letter), hash_of("exact")}) == 3


class TestSavedRuns:
    def test_the_manifest_names_functions_with_the_hash_of_their_file(self, folder):
        run = fm.score(
            "truth.jsonl", "candidate.jsonl", rules={"vendor": {"match": same}}, out="run"
        )
        manifest = json.loads((folder / "run" / "manifest.json").read_text())
        (provider,) = manifest["providers"]
        assert provider["options"] == {"function": f"{__name__}:same"}
        assert len(provider["sha256"]) == 64
        assert manifest["options"]["rules"] == {"vendor": {"match": f"{__name__}:same"}}
        assert not any("cannot be resumed" in note for note in run.notes)

    def test_a_manifest_cannot_give_permission(self, folder):
        fm.score("truth.jsonl", "candidate.jsonl", out="run")
        manifest = json.loads((folder / "run" / "manifest.json").read_text())
        manifest["options"]["allow_code"] = True
        (folder / "run" / "manifest.json").write_text(json.dumps(manifest))
        assert "allow_code" not in options_of_run(folder / "run", "score")

    def test_a_run_with_an_unnamed_function_says_how_it_can_be_resumed(self, folder):
        rules = {"vendor": {"match": lambda *_: True}}
        run = fm.score("truth.jsonl", "candidate.jsonl", rules=rules, out="run")
        assert any("only in Python with the same rules" in note for note in run.notes)
        interrupt(folder / "run")
        with pytest.raises(fm.ConfigError, match="its rules were Python objects"):
            options_of_run(folder / "run", "score")
        again = fm.score("truth.jsonl", "candidate.jsonl", rules=rules, out="run", resume=True)
        assert again.to_dict() == run.to_dict()
        assert fm.rescore(again, options={"wrong_value": "fp"}).micro.tp == run.micro.tp


class TestWorkers:
    @pytest.fixture
    def large(self, tmp_path):
        """Two files that are large enough for several processes."""
        for name in ("truth", "found"):
            rows = ({"id": str(n), "vendor": f"Vendor {n} " + "x" * 9_000} for n in range(300))
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (tmp_path / f"{name}.jsonl").write_text(text.replace("Vendor", name))
        return tmp_path / "truth.jsonl", tmp_path / "found.jsonl"

    def test_named_functions_run_in_worker_processes(self, large):
        tmp_path = large[0].parent
        (tmp_path / "house.py").write_text(
            "from multiprocessing import parent_process\n"
            "def digits(value):\n"
            "    open('in-main' if parent_process() is None else 'in-worker', 'w').close()\n"
            "    return [each for each in value if each.isdigit()]\n"
        )
        (tmp_path / "rules.yaml").write_text("vendor: {normalize: 'house:digits'}")
        done = fieldmark(
            "score", "truth.jsonl", "found.jsonl", "--rules", "rules.yaml", "--allow-code",
            "--workers", "2", "--no-save", "--format", "json", cwd=tmp_path,
        )  # fmt: skip
        assert done.code == 0, done.err
        assert json.loads(done.out)["attributes"]["vendor"]["tp"] == 300
        assert "one process" not in done.err
        assert [path.name for path in tmp_path.glob("in-*")] == ["in-worker"]

    def test_a_function_that_cannot_be_sent_runs_in_one_process_with_a_note(self, large):
        rules = {"vendor": {"match": lambda *_: True}}
        run = fm.score(*large, rules=rules, workers=2, inputs=Inputs())
        assert run.micro.f1 == 1
        assert any(note.startswith("compared in one process: the rules") for note in run.notes)

    def test_a_function_is_not_called_again_for_the_tables_of_a_run(self, large):
        run = fm.score(*large, rules={"vendor": {"match": same}}, workers=2)
        assert any(note.startswith("compared in one process: its cases") for note in run.notes)
        assert len(run.cases) == 300
