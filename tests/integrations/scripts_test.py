"""The scripts of docs/integrations, run with a healthy and a faulty environment, and without a doctor."""
import os
import re
import shutil
import signal
import subprocess
import sys

import yaml

import support
from support import DOCTOR, SOURCE, Case, fixture

FILES = SOURCE / "docs/integrations"
SHELLS = [shell for shell in ("dash", "bash", "busybox sh") if shutil.which(shell.split()[0])]


class Scripts(Case):
    def setUp(self):
        super().setUp()
        self.bin = self.environment("cudart-12.8")

    def environment(self, *wheels):
        """The folder of programs of a virtual environment with what the wheels' fixtures hold."""
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        root = self.folder / f"venv{len(wheels)}"
        site = root / f"lib/python{version}/site-packages"
        site.mkdir(parents=True)
        (root / "bin").mkdir()
        (root / "bin/python3").symlink_to(os.path.realpath(sys.executable))
        (root / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {version}.0\n")
        for wheel in wheels:
            shutil.copytree(fixture(self, wheel, "*.dist-info").parent, site, dirs_exist_ok=True)
        (root / "bin/vllm").write_text('#!/bin/sh\necho "vllm $*"\nexit ${ENDS:-7}\n')
        (root / "bin/vllm").chmod(0o755)
        (site / "sglang").mkdir()
        (site / "sglang/launch_server.py").write_text("import sys\nprint('vllm serve', *sys.argv[1:])\nsys.exit(7)\n")
        return root / "bin"

    def faulty(self):
        return self.environment("cudart-12.8", "tilelang-0.1.11", "flashinfer-0.6.17")

    def start(self, script, *arguments, shell="dash", path=None, **variables):
        names = {"PATH": f"{path or self.bin}:/usr/bin:/bin", "HOME": "/", "CUDART_DOCTOR": DOCTOR, **variables}
        return subprocess.run([*shell.split(), FILES / script, *arguments], env=names, capture_output=True, text=True, timeout=60)

    def check(self, ended, code, out):
        self.assertEqual((ended.returncode, ended.stdout), (code, out), ended.stderr)

    def launches(self, script, arguments, out):
        """What holds of everything that stands in front of a command that prints `out` and ends with 7."""
        bad = self.faulty()
        for shell in SHELLS:
            for policy, path, doctor, code, shown in (
                    ("warn", None, DOCTOR, 7, out), ("gate", None, DOCTOR, 7, out),
                    ("warn", bad, DOCTOR, 7, out), ("gate", bad, DOCTOR, 1, ""), ("off", bad, "/none", 7, out),
                    ("warn", None, "/none", 7, out), ("gate", None, "/none", 127, ""),
                    ("odd", None, DOCTOR, 2, "")):
                with self.subTest(f"{shell} {policy} {path} {doctor}"):
                    ended = self.start(script, *arguments, shell=shell, path=path, CUDART_DOCTOR=doctor,
                                       CUDART_DOCTOR_POLICY=policy)
                    self.check(ended, code, shown)
                    if path is bad and policy != "off":
                        self.assertIn("RT04", ended.stderr)
                    if doctor == "/none" and policy != "off":
                        self.assertIn("127", ended.stderr)
        self.check(self.start(script, *arguments, CUDART_DOCTOR_OPTIONS="--wrong"), 7, out)
        self.check(self.start(script, *arguments, CUDART_DOCTOR_OPTIONS="--wrong", CUDART_DOCTOR_POLICY="gate"), 2, "")

        # "*" would be the files of the working directory, and "-o" what `run` takes too.
        for options in ("*", "--fail-on", "-o /dev/full", "--exit-style nagios --wrong", "--exit-style always-zero --wrong"):
            self.check(self.start(script, *arguments, CUDART_DOCTOR_OPTIONS=options), 7, out)

    def test_the_entry_point_keeps_to_its_policy_and_becomes_the_command(self):
        self.launches("docker/entrypoint.sh", ["vllm", "serve", "a b", "*"], "vllm serve a b *\n")
        self.assertEqual(self.start("docker/entrypoint.sh").returncode, 2)

    def test_the_wrapper_of_vllm_keeps_arguments_and_exit_code(self):
        self.launches("wrappers/vllm-serve", ["M", "--port", "8123", "a b"], "vllm serve M --port 8123 a b\n")

    def test_the_wrapper_of_sglang_keeps_arguments_and_exit_code(self):
        self.launches("wrappers/sglang-launch", ["--port=8123", "a b"], "vllm serve --port=8123 a b\n")

    def test_what_only_run_refuses_starts_the_server_alone(self):
        for script, arguments, out in (("vllm-serve", ["M"], "vllm serve M\n"), ("sglang-launch", [], "vllm serve\n")):
            for options in ("--deep --peer 1", "--format markdown --load /none"):
                ended = self.start(f"wrappers/{script}", *arguments, CUDART_DOCTOR_OPTIONS=options)
                self.check(ended, 7, out)
            for port in ("0", "65536", "99999999999999999999", "x", "", "-1"):
                self.check(self.start(f"wrappers/{script}", *arguments, "--port", port, CUDART_DOCTOR_POLICY="gate"), 7,
                           f"{out.rstrip()} --port {port}\n")

    def test_a_star_in_the_options_is_no_pattern(self):
        doctor = self.folder / "told"
        doctor.write_text('#!/bin/sh\nprintf "<%s>" "$@" >&2\nexit 1\n')
        doctor.chmod(0o755)
        for script in ("docker/entrypoint.sh", "wrappers/vllm-serve", "wrappers/sglang-launch"):
            self.assertIn("</*>", self.start(script, "vllm", CUDART_DOCTOR=doctor, CUDART_DOCTOR_OPTIONS="/*").stderr)

    def test_without_vllm_the_python_of_path_is_meant(self):
        (self.bin / "vllm").unlink()
        python = self.folder / "python3"
        python.write_text("#!/bin/sh\n")
        python.chmod(0o755)
        for doctor in (DOCTOR, "/none"):
            ended = subprocess.run(["/bin/sh", "-x", FILES / "wrappers/vllm-serve"], cwd=self.folder, capture_output=True,
                                   text=True, env={"PATH": f"{self.bin}:/usr/bin:/bin", "CUDART_DOCTOR": doctor})
            self.assertEqual(ended.returncode, 127)
            self.assertNotIn("./python3", ended.stderr)

    def test_the_task_prolog_prints_for_slurm_and_cancels_on_request_only(self):
        bad = self.faulty()
        for shell in SHELLS:
            def prolog(**more):
                return self.start("slurm/task_prolog.sh", shell=shell, **{"CUDA_VISIBLE_DEVICES": "0", **more})
            self.check(prolog(), 0, "")
            ended = prolog(path=bad)
            self.assertEqual(ended.returncode, 0)
            self.assertRegex(ended.stdout, r"\Aprint cudart-doctor: ERROR RT04 [^\n]*\n\Z")
            gated = prolog(path=bad, CUDART_DOCTOR_POLICY="gate", SLURM_LOCALID="1")
            self.assertEqual(gated.returncode, 1)
            for line in gated.stdout.splitlines():
                self.assertTrue(line.startswith("print "), line)
            self.check(prolog(path=bad, SLURM_LOCALID="1"), 0, "")
            self.check(prolog(path=bad, CUDA_VISIBLE_DEVICES=""), 0, "")
            self.assertIn("could not be run", prolog(CUDART_DOCTOR="/none").stdout)
            odd = prolog(CUDART_DOCTOR_POLICY="Gate")
            self.assertEqual(odd.returncode, 2)
            self.assertRegex(odd.stdout, r"\Aprint [^\n]*warn, gate or off\n\Z")
            self.assertIn("warn, gate or off", odd.stderr)

    def health_check(self, options, state, doctor=DOCTOR):
        """A copy, adapted as its head says, with a scontrol that writes down what it is told."""
        scontrol = self.folder / "scontrol"
        scontrol.write_text(f'#!/bin/sh\ncase $* in *show*) echo "NodeName=n1 {state}";;\n'
                            f'*) for word; do echo "$word"; done >>{self.folder}/told ;; esac\n')
        scontrol.chmod(0o755)
        text = (FILES / "slurm/health_check.sh").read_text()
        for name, value in (("doctor", doctor), ("scontrol", scontrol), ("options", options)):
            start = text.index(f"\n{name}=") + 1
            text = text[:start] + f'{name}="{value}"' + text[text.index("\n", start):]
        script = self.folder / "check.sh"
        script.write_text(text)
        told = self.folder / "told"
        told.unlink(missing_ok=True)
        done = subprocess.run(["/bin/sh", script], env={"SLURMD_NODENAME": "n1"}, capture_output=True, text=True)
        return done.returncode, told.read_text().splitlines() if told.exists() else []

    def test_the_health_check_drains_for_the_node_alone(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is a GPU here")
        support.need_program(self, "jq")
        IDLE, DRAINED = "State=IDLE ThreadsPerCore=1 Comment=State=DRAIN", "State=IDLE+DRAIN ThreadsPerCore=1"
        node = f"--probe on --load {self.runtime('12.8')}"
        reason = "reason=[node_problem] DR02 There is no CUDA driver library here."
        self.assertEqual(self.health_check(node, IDLE), (1, ["update", "nodename=n1", "state=drain", reason]))
        self.assertEqual(self.health_check(node, DRAINED), (1, []))
        self.assertEqual(self.health_check(node, "State=IDLE"), (1, ["update", "nodename=n1", "state=drain", reason]))
        self.assertEqual(self.health_check(node, "Reason=none"), (3, []))
        for silent in ("true", "echo"):
            self.assertEqual(self.health_check("", IDLE, silent), (3, []))
        self.assertEqual(self.health_check("--probe off", IDLE), (0, []))
        self.assertEqual(self.health_check(f"--python {self.faulty()}/python3", IDLE), (0, []))
        self.assertEqual(self.health_check("--wrong", IDLE), (3, []))
        self.assertEqual(self.health_check("", IDLE, "/none"), (3, []))

    def test_a_textfile_that_cannot_be_written_is_a_failure(self):
        """Of the folder that is not there, and not of what was found or could not be read."""
        pod = yaml.safe_load((FILES / "kubernetes/daemonset.yaml").read_text())["spec"]["template"]["spec"]
        loop = pod["containers"][0]["args"][0].replace("/usr/local/bin/cudart-doctor", DOCTOR)
        self.assertEqual(subprocess.run(["sh", "-c", loop.replace("/textfile/", f"{self.folder}/none/")],
                                        capture_output=True, timeout=60).returncode, 2)
        unit = (FILES / "systemd/cudart-doctor-textfile.service").read_text()
        command = re.search("^ExecStart=(.*)$", unit, re.MULTILINE)[1].split()
        folder = re.search("^ReadWritePaths=(.*)$", unit, re.MULTILINE)[1]
        success = ["0", *re.search("^SuccessExitStatus=(.*)$", unit, re.MULTILINE)[1].split()]
        for place, good in (("none", False), (".", True)):
            words = [word.replace(folder, f"{self.folder}/{place}") for word in [DOCTOR, *command[1:]]]
            ended = subprocess.run(words, capture_output=True, text=True, timeout=60)
            self.assertEqual(str(ended.returncode) in success, good, ended.stderr)
        self.assertIn("cudart_doctor_build_info", (self.folder / "cudart-doctor.prom").read_text())

    def test_a_signal_reaches_the_command_behind_a_wrapper(self):
        (self.bin / "vllm").write_text("#!/bin/sh\ntrap 'exit 9' TERM\necho up\nwhile :; do sleep 0.1; done\n")
        for script, arguments in (("wrappers/vllm-serve", []), ("docker/entrypoint.sh", ["vllm"])):
            process = subprocess.Popen(
                ["/bin/sh", FILES / script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env={"PATH": f"{self.bin}:/usr/bin:/bin", "CUDART_DOCTOR": DOCTOR})
            with process:
                self.assertEqual(process.stdout.readline(), b"up\n")
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(30), 9)

    def test_a_signal_while_the_doctor_looks_ends_both(self):
        doctor = self.folder / "looks"
        doctor.write_text("#!/bin/sh\necho $$ >&2\nexec tail -f /dev/null\n")
        doctor.chmod(0o755)
        for shell in SHELLS:
            for script in ("wrappers/vllm-serve", "wrappers/sglang-launch", "docker/entrypoint.sh"):
                for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
                    with self.subTest(f"{shell} {script} {number}"), subprocess.Popen(
                            [*shell.split(), FILES / script, "true"], stderr=subprocess.PIPE,
                            env={"PATH": f"{self.bin}:/usr/bin:/bin", "CUDART_DOCTOR": doctor}) as process:
                        process.stderr.readline()
                        process.send_signal(number)
                        self.assertEqual(process.wait(30), code)
                        # Its end is the end of stderr: it holds the pipe's other side.
                        self.assertEqual(process.stderr.read(), b"")


if __name__ == "__main__":
    support.main()
