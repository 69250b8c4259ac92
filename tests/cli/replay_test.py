"""A snapshot replays to the same bytes, anywhere, and says what the live report said."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import support
from support import Case, DOCTOR, NOBODY, clean_environment, doctor, need_root

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


class Replay(Case):
    def setUp(self):
        super().setUp()
        library = self.compile("libcudart.so.12", "int cudaFree(void *p) { return p != 0; }")
        gone = self.compile("libcudart_stub.so", "int cudaMalloc(void) { return 3; }")
        self.target = self.victim(f"load({str(library)!r})", f"load({str(gone)!r})",
                                  env=clean_environment(CUDA_VISIBLE_DEVICES="0"))
        gone.unlink()
        self.snapshot = self.take("one")

    def take(self, name):
        folder = self.folder / name
        ended = doctor("snapshot", "--pid", self.target.pid, "--dir", folder)
        self.assertEqual((ended.code, ended.out), (0, b""))
        self.assertEqual(ended.message, f"cudart-doctor: kept pid {self.target.pid} in {folder}; "
                         f"its report: cudart-doctor --from {folder}\n")
        return folder

    def replay(self, *arguments, folder=None, **options):
        ended = doctor("--from", folder or self.snapshot, *arguments, **options)
        self.assertIn(ended.code, (0, 1), ended.message)
        self.assertEqual(ended.err, b"")
        return ended.out

    def test_the_same_bytes_every_time(self):
        for form in ([], ["-v"], ["--json"], ["--policy", "flashinfer-2026-09"]):
            self.assertEqual(self.replay(*form), self.replay(*form))

    def test_two_looks_at_a_quiet_process_differ_in_time_only(self):
        other = self.take("two")
        self.assertEqual((self.snapshot / "maps").read_bytes(), (other / "maps").read_bytes())
        one, two = ((folder / "snapshot.json").read_text() for folder in (self.snapshot, other))
        self.assertEqual(TIME.sub("TIME", one), TIME.sub("TIME", two))
        self.assertEqual(len(TIME.findall(one)), 1)
        for form in ([], ["--json"]):
            one, two = (TIME.sub("TIME", self.replay(*form, folder=folder).decode())
                        for folder in (self.snapshot, other))
            self.assertEqual(one, two)

    def test_a_replay_says_what_the_live_report_said(self):
        live = self.report("--pid", self.target.pid)
        replayed = self.report("--from", self.snapshot)
        del live["generated_at"], replayed["generated_at"]
        self.assertEqual(live, replayed)
        text = doctor("--pid", self.target.pid, "-v").text
        self.assertEqual(TIME.sub("TIME", text), TIME.sub("TIME", self.replay("-v").decode()))

    def test_a_selection_is_explained(self):
        text = self.replay("--explain-selection", "vllm-legacy").decode()
        self.assertEqual([line for line in text.splitlines() if line.startswith("HOW ")],
                         ["HOW vLLM before #47586 CHOOSES (rule vllm-legacy)"])
        every = self.replay("--explain-selection", "all").decode()
        rules = doctor("policies", "--json").out
        self.assertEqual(every.count("\nHOW "), len(json.loads(rules)["policies"]))
        headline = self.report("--from", self.snapshot)["headline"]["policy"]
        self.assertIn(f"(rule {headline})", self.replay("--explain-selection").decode())
        self.assertNotIn("\nHOW ", self.replay().decode())

    def test_nothing_but_the_folder_is_looked_at(self):
        before = self.replay("-v")
        self.target.end()
        os.unlink(self.folder / "libcudart.so.12")
        moved = self.folder / "else/where"
        shutil.copytree(self.snapshot, moved)
        shutil.rmtree(self.snapshot)
        self.assertEqual(self.replay("-v", folder=moved), before)
        self.assertEqual(self.replay("-v", folder=".", cwd=moved), before)
        self.assertEqual(self.replay("-v", folder=moved, env={}), before)
        self.assertEqual(
            self.replay("-v", folder=moved, env={
                "VLLM_CUDART_SO_PATH": "/x", "LD_LIBRARY_PATH": "/y", "TZ": "Asia/Tokyo",
                "LC_ALL": "C.UTF-8", "VIRTUAL_ENV": "/z"}), before)

    def test_by_another_user_and_without_proc(self):
        need_root(self)
        support.need_program(self, "unshare")
        before = self.replay("--json")
        self.assertEqual(doctor("--from", self.snapshot, user=NOBODY).code, 2)  # Private.
        for each in (self.snapshot, *self.snapshot.iterdir()):
            os.chmod(each, 0o755)
        self.assertEqual(self.replay("--json", user=NOBODY), before)
        done = subprocess.run(
            ["unshare", "-m", "sh", "-ec", 'mount -t tmpfs none /proc; "$1" --json --from "$2"',
             "sh", DOCTOR, self.snapshot], capture_output=True, timeout=30)
        self.assertEqual(done.stdout, before)
        # Without /proc a sanitizer, where one is built in, has complaints of its own.
        self.assertNotIn(b"cudart-doctor: ", done.stderr)

    def test_the_files_are_private(self):
        self.assertEqual(self.snapshot.stat().st_mode & 0o777, 0o700)
        for each in self.snapshot.iterdir():
            self.assertEqual(each.stat().st_mode & 0o777, 0o600)

    def test_secrets_stay_out(self):
        victim = self.victim(
            "import sys", f"kept.append(__import__('subprocess').Popen([sys.executable, '-I', "
            f"{str(self.folder / 'victim.py')!r}, '--api-key', 'very-secret'], stdin=-1))",
            env=clean_environment(HF_TOKEN="very-secret", NVIDIA_API_KEY="very-secret",
                                  CUDA_CACHE_PATH="/c"))
        child = int((pathlib.Path(f"/proc/{victim.pid}/task/{victim.pid}/children")).read_text())
        # It has started when it has what it imports; before, one look is not like the next.
        self.wait_until(lambda: "_ctypes" in pathlib.Path(f"/proc/{child}/maps").read_text())
        folder = self.folder / "secret"
        self.assertEqual(doctor("snapshot", "--pid", child, "--dir", folder).code, 0)
        live = self.report("--pid", child)
        victim.do("kept[-1].kill()")
        self.assertEqual(live["target"], self.report("--from", folder)["target"])
        self.assertEqual(live["environment"], self.report("--from", folder)["environment"])
        for form in (["--json"], ["-v"]):
            self.assertNotIn(b"very-secret", self.replay(*form, folder=folder))
        kept = (folder / "snapshot.json").read_text()
        self.assertFalse("very-secret" in kept)
        self.assertTrue('"CUDA_CACHE_PATH","/c"' in kept)

    def test_what_the_process_may_not_read_stays_out(self):
        need_root(self)
        site = self.folder / "venv/lib/python3.11/site-packages"
        scan = site / "flashinfer/comm/cuda_ipc.py"
        scan.parent.mkdir(parents=True)
        (site / "flashinfer_python-0.6.17.dist-info").mkdir()
        (self.folder / "venv/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.0\n")
        private = self.folder / "private"
        private.write_text("very-private\n")
        scan.symlink_to(private)
        for folder in (self.folder, *self.folder.parents[:1]):
            folder.chmod(0o755)
        victim = subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=NOBODY,
                                  env=clean_environment(VIRTUAL_ENV=str(self.folder / "venv")))
        self.addCleanup(victim.communicate)
        for mode, there in ((0o600, False), (0o644, True)):
            private.chmod(mode)
            folder = self.folder / f"private-{mode}"
            self.assertEqual(doctor("snapshot", "--pid", victim.pid, "--dir", folder).code, 0)
            self.assertEqual("very-private" in (folder / "snapshot.json").read_text(), there)


support.main()
