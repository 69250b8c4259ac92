"""Validates the reports that write_reports makes against the published schema.

usage: schema_test.py WRITE_REPORTS SCHEMA
Exit 77 (skipped) where python3-jsonschema is missing; a failure under CI=true.
"""
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(1 if os.environ.get("CI") == "true" else 77)


def main():
    program, schema_path = sys.argv[1:3]
    schema = json.loads(pathlib.Path(schema_path).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True)
        embedded = pathlib.Path(folder, "schema.json").read_text()
        if embedded != pathlib.Path(schema_path).read_text():
            sys.exit("the embedded schema is not the published one")
        paths = sorted(pathlib.Path(folder).glob("*.report.json"))
        if not paths:
            sys.exit("no report was written")
        for path in paths:
            document = json.loads(path.read_text(encoding="utf-8"))
            validator.validate(document)
        failure = {"schema_version": 1, "tool": document["tool"],
                   "error": {"kind": "gone", "message": "it ended"}, "verdict": {"exit_code": 3, "exit_style": "default"}}
        validator.validate(failure)
        # The schema must be able to say no.
        for change in (lambda d: d.pop("capture"), lambda d: d.update(extra=1),
                       lambda d: d["verdict"].update(exit_code=2),
                       lambda d: d["verdict"].update(fail_on="fatal"),
                       lambda d: d["verdict"].update(state="usage"),
                       lambda d: d.update(error=failure["error"])):
            broken = copy.deepcopy(document)
            change(broken)
            if validator.is_valid(broken):
                sys.exit("the schema accepts a broken report")
    print(f"{len(paths)} reports are valid")


main()
