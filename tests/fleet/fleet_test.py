"""200 nodes under a real Prometheus: the alerts of docs/integrations/prometheus fire for the right ones.

fleet_test.py PROGRAM [unittest arguments]

Reports are made by the program from recorded snapshots, one textfile a node, served on loopback. promtool,
prometheus and prometheus-node-exporter are searched in PATH and in the fixtures (scripts/fetch-fixtures).
"""
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = SOURCE / "docs/integrations/prometheus"
if len(sys.argv) < 2:
    sys.exit(__doc__)
DOCTOR = os.path.abspath(sys.argv.pop(1))
FIXTURES = pathlib.Path(os.environ.get("CUDART_DOCTOR_FIXTURES") or os.path.expanduser(
    os.environ.get("XDG_CACHE_HOME", "~/.cache") + "/cudart-doctor/fixtures"))
WHERE = f"{FIXTURES}/prometheus/usr/bin:{os.environ.get('PATH', '')}"
LIMIT_S = 60
NODES = 200
MISSING = 80               # the node that is up and has no textfile
STUB, MAJOR = 17, 133      # the node with a stub, and the one with a runtime of another major
SILENT, BLIND = 60, 99     # the node that was looked at long ago, and the one that could not be


def program(name):
    path = shutil.which(name, path=WHERE)
    if path is None:
        if os.environ.get("CI") in ("true", "1"):
            raise AssertionError(f"no {name} here (scripts/fetch-fixtures)")
        raise unittest.SkipTest(f"no {name} here")
    return path


def looked_at(text, seconds):
    """The textfile with another time of its look (a replay has the recording's)."""
    return re.sub(r"^(cudart_doctor_last_run_timestamp_seconds) .*$", rf"\1 {int(seconds)}", text, flags=re.MULTILINE)


def textfile(*arguments):
    """What the program says, as if it had looked just now."""
    done = subprocess.run([DOCTOR, *arguments, "--probe", "off", "--format", "prometheus"], capture_output=True,
                          text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL, check=False)
    return looked_at(done.stdout, time.time())


def snapshot(name):
    return textfile("--from", SOURCE / "tests/golden" / name)


def fleet():
    """The 200 textfiles by node."""
    files = {f"node-{i:03}": text for text in [snapshot("healthy")] for i in range(NODES)}
    files[f"node-{STUB:03}"] = snapshot("stub_first")
    files[f"node-{MAJOR:03}"] = re.sub(r'major="12"', 'major="13"', snapshot("healthy"))
    files[f"node-{SILENT:03}"] = looked_at(snapshot("healthy"), time.time() - 7200)
    files[f"node-{BLIND:03}"] = textfile("--from", SOURCE / "tests/golden/no-such-folder")
    files[f"node-{MISSING:03}"] = "node_textfile_scrape_error 0\n"
    return files


class Nodes(http.server.BaseHTTPRequestHandler):
    """Every node's textfile by its name."""
    files = {}

    def do_GET(self):  # noqa: N802 (the name that the base class calls)
        body = self.files.get(self.path.strip("/"), "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def served(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def fetched(url):
    with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
        return answer.read().decode()


def free_port():
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        return server.server_port


def wait_until(condition):
    """Polls another process; what it raises while it starts is 'not yet'."""
    end = time.monotonic() + LIMIT_S
    while True:
        try:
            if found := condition():
                return found
        except (OSError, KeyError):
            pass
        if time.monotonic() > end:
            raise AssertionError("the other process did not get there")
        time.sleep(0.1)


class Started(unittest.TestCase):
    def start(self, *command, cwd=None):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=cwd)
        self.addCleanup(process.wait, LIMIT_S)
        self.addCleanup(process.kill)

    def new_folder(self):
        folder = tempfile.TemporaryDirectory(prefix="cudart-doctor-fleet.")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        return pathlib.Path(folder.name)


class Rules(unittest.TestCase):
    def test_promtool_accepts_them_and_their_tests_pass(self):
        for arguments in (("check", "rules", "cudart-doctor.rules.yml"), ("test", "rules", "cudart-doctor.rules.test.yml")):
            done = subprocess.run([program("promtool"), *arguments], cwd=HERE, capture_output=True, text=True,
                                  timeout=LIMIT_S, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_ids_of_the_node_are_those_of_the_findings(self):
        of_node = re.findall(r"^\| \[([A-Z]+\d+)\].*\| node \|$", (SOURCE / "docs/findings.md").read_text(), re.MULTILINE)
        self.assertGreater(len(of_node), 5)
        rules = (HERE / "cudart-doctor.rules.yml").read_text()
        ids = [each.split("|") for each in re.findall(r'code=~"([^"]+)"', rules)]
        # Of the node alone, and of the node or a process: each once.
        self.assertEqual(len(ids), 2)
        self.assertEqual(sorted(sum(ids, [])), of_node)
        self.assertEqual([each.split("|") for each in re.findall(r'code!~"([^"]+)"', rules)], [of_node])


class Prometheus(Started):
    def query(self, expression):
        return json.loads(fetched(f"{self.url}/api/v1/query?" + urllib.parse.urlencode({"query": expression})))["data"]["result"]

    def test_the_right_nodes_of_200_are_named(self):
        prometheus, folder = program("prometheus"), self.new_folder()
        Nodes.files = fleet()
        server = served(Nodes)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        # Waiting for `for` is promtool's part; here each fires at once.
        rules = re.sub(r"^ +for: .*\n", "", (HERE / "cudart-doctor.rules.yml").read_text(), flags=re.MULTILINE)
        (folder / "rules.yml").write_text(rules)
        jobs = [{"targets": [f"127.0.0.1:{server.server_port}"], "labels": {"instance": node, "__metrics_path__": "/" + node}}
                for node in Nodes.files]
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "5s", "evaluation_interval": "2s"}, "rule_files": ["rules.yml"],
            "scrape_configs": [{"job_name": "gpu", "static_configs": jobs}]}))
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.start(prometheus, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                   f"--web.listen-address=127.0.0.1:{port}")
        wait_until(lambda: len(self.query("cudart_doctor_build_info")) == NODES - 1)
        wanted = {("CudaFindingOfImage", f"node-{STUB:03}"), ("CudaFleetDrift", f"node-{MAJOR:03}"),
                  ("CudaFleetDrift", f"node-{STUB:03}"), ("CudaDoctorSilent", f"node-{SILENT:03}"),
                  ("CudaDoctorUndecided", f"node-{BLIND:03}"), ("CudaDoctorMissing", f"node-{MISSING:03}")}

        def firing():
            return {(each["metric"]["alertname"], each["metric"]["instance"])
                    for each in self.query('ALERTS{alertstate="firing"}')}
        wait_until(lambda: firing() >= wanted)
        self.assertEqual(firing(), wanted)
        dashboard = json.loads((HERE / "cudart-doctor.dashboard.json").read_text())
        expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        self.assertGreater(len(expressions), 4)
        for expression in expressions:
            with self.subTest(expression):
                self.assertNotEqual(self.query(expression.replace("$job", "gpu")), [])


class NodeExporter(Started):
    def test_it_takes_several_files_of_different_states_together(self):
        exporter, folder, port = program("prometheus-node-exporter"), self.new_folder(), free_port()
        for name in ("healthy", "stub_first", "static_only", "no-such-folder"):
            # A label that tells the targets apart is what separate files lack: one sample each may stand.
            text = textfile("--from", SOURCE / "tests/golden" / name)
            (folder / f"cudart-{name}.prom").write_text(
                re.sub(r"^(cudart_doctor_\w+?)(?:\{(.*)\})? (\S+)$", lambda m: f'{m[1]}{{{m[2] + "," if m[2] else ""}target="{name}"}} {m[3]}', text,
                       flags=re.MULTILINE))
        self.start(exporter, f"--web.listen-address=127.0.0.1:{port}", "--collector.disable-defaults",
                   "--collector.textfile", f"--collector.textfile.directory={folder}")
        text = wait_until(lambda: fetched(f"http://127.0.0.1:{port}/metrics"))
        self.assertIn("node_textfile_scrape_error 0", text)
        self.assertEqual(len(re.findall(r"^node_textfile_mtime_seconds\{", text, re.MULTILINE)), 4)
        self.assertIn('cudart_doctor_findings{code="RT04",severity="critical",target="stub_first"} 1', text)


class Reader(Started):
    def test_a_reader_never_sees_a_part_of_a_file(self):
        folder = self.new_folder()
        file = folder / "cudart.prom"
        golden = SOURCE / "tests/golden"
        whole = set()
        for name in ("healthy", "stub_first"):
            subprocess.run([DOCTOR, "--from", golden / name, "--format", "prometheus", "-o", file], check=False)
            whole.add(file.read_text())
        self.assertEqual(len(whole), 2)
        seen, stop = set(), threading.Event()

        def read():
            while not stop.is_set():
                seen.add(file.read_text())
        reader = threading.Thread(target=read)
        reader.start()
        try:
            for name in ("healthy", "stub_first") * 10:
                subprocess.run([DOCTOR, "--from", golden / name, "--format", "prometheus", "-o", file], check=False)
        finally:
            stop.set()
            reader.join()
        self.assertEqual(seen, whole)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
