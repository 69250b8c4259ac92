"""The files of docs/integrations, read by the schemas and tools of those that they are for."""
import json
import pathlib
import re
import shutil
import subprocess

import jsonschema
import yaml

import support
from support import SOURCE, Case, fixture, need_program

FILES = SOURCE / "docs/integrations"
SCRIPTS = [*FILES.glob("wrappers/*"), *FILES.glob("*/*.sh")]


def everything():
    return [path for path in sorted(FILES.rglob("*")) if path.is_file() and path.name != "README.md"]


class Files(Case):
    def test_each_is_listed_and_says_what_to_adapt_and_how_it_ends(self):
        listed = (FILES / "README.md").read_text()
        for path in everything():
            with self.subTest(path.name):
                text = path.read_text()
                self.assertIn(path.suffix if path.suffix == ".timer" else str(path.relative_to(FILES)), listed)
                if path.suffix not in (".json", ".timer", ".nhc") and path.name != "Containerfile":
                    self.assertRegex(text, "Adapt")
                    self.assertRegex(text, "(?i)exit code")

    def test_kubernetes_takes_the_manifests_strictly(self):
        definitions = fixture(self, "kubernetes", "**/_definitions.json").parent
        for path in FILES.glob("kubernetes/*.yaml"):
            for document in yaml.safe_load_all(path.read_text()):
                schema = definitions / f"{document['kind'].lower()}-apps-v1.json"
                def local(url):
                    return json.loads((definitions / url.rsplit("/", 1)[1]).read_text())
                resolver = jsonschema.RefResolver(schema.as_uri(), local(schema.as_uri()),
                                                  handlers={"https": local, "http": local, "file": local})
                check = jsonschema.Draft7Validator(resolver.referrer, resolver=resolver)
                check.validate(document)
                document["spec"]["template"]["spec"]["containers"][0]["volumeMount"] = []
                self.assertFalse(check.is_valid(document), "the schema takes anything")

    def test_github_and_gitlab_take_the_jobs(self):
        for path, name in ((FILES / "github/cudart-doctor.yml", "github-workflows"),
                           (FILES / "gitlab/cudart-doctor.gitlab-ci.yml", "gitlab-ci")):
            schema = json.loads(fixture(self, "ci-schemas", f"**/{name}.json").read_text())
            # YAML 1.1 reads the key `on` as true.
            document = {"on" if key is True else key: value for key, value in yaml.safe_load(path.read_text()).items()}
            check = jsonschema.Draft7Validator(schema)
            check.validate(document)
            job = document.get("jobs", document)["cudart-doctor"]
            job["script" if "script" in job else "steps"] = 7
            self.assertFalse(check.is_valid(document), "the schema takes anything")

    def test_systemd_takes_the_units(self):
        need_program(self, "systemd-analyze")
        shutil.copytree(FILES / "systemd", self.folder / "units")
        (self.folder / "units/vllm.service").write_text("[Service]\nExecStart=/bin/true\n")
        for path in (self.folder / "units").rglob("*.*"):
            if path.is_file():
                path.write_text(path.read_text().replace("/usr/local/bin/cudart-doctor", support.DOCTOR))
        units = sorted(str(path) for path in (self.folder / "units").glob("*.*") if path.is_file())
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_scripts_pass_shellcheck(self):
        need_program(self, "shellcheck")
        subprocess.run(["shellcheck", *SCRIPTS], check=True)
        subprocess.run(["shellcheck", "-s", "bash", FILES / "slurm/cudart.nhc"], check=True)

    def test_node_problem_detector_waits_longer_than_the_doctor(self):
        config = json.loads((FILES / "node-problem-detector/cudart-doctor.json").read_text())
        seconds = lambda text: int(re.fullmatch(r"(\d+)s", text)[1])
        conditions = {each["type"] for each in config["conditions"]}
        self.assertEqual(config["plugin"], "custom")
        for rule in config["rules"]:
            own = int(rule["args"][rule["args"].index("--timeout") + 1])
            self.assertGreater(seconds(rule["timeout"]), own + 2)
            self.assertLessEqual(seconds(rule["timeout"]), seconds(config["pluginConfig"]["timeout"]))
            self.assertIn(rule["condition"], conditions)


if __name__ == "__main__":
    support.main()
