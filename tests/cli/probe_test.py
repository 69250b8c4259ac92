"""The probe, on a machine without a GPU: real runtimes, and drivers that are missing or broken."""
import os
import pathlib
import re
import signal
import subprocess

import support
from support import Case, DOCTOR, clean_environment, doctor, findings, need_program, need_root

# A driver whose first call answers a code: all that a runtime asks before it gives up.
DRIVER = """
int cuInit(unsigned flags) { (void)flags; return CODE; }
int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }
int cuGetProcAddress(const char *name, void **out, int v, unsigned long f) {
  (void)name; (void)out; (void)v; (void)f; return 500; }
"""


def probe_children():
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if b"__probe-child" in (entry / "cmdline").read_bytes():
                    found.append(entry.name)
            except OSError:
                pass
    return found


def stages(runtime):
    return {(stage["stage"], stage["side"]): stage["outcome"] for stage in runtime["stages"]}


class WithoutGpu(Case):
    def setUp(self):
        super().setUp()
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is a GPU here: scripts/gpu-check is for it")
        self.path = self.runtime("12.8")
        self.victim_process = self.victim(f"load({str(self.path)!r})")
        self.target = ["--pid", str(self.victim_process.pid)]

    def probed(self, *arguments, **options):
        return self.report(*self.target, "--probe", "on", *arguments, **options)

    def test_by_itself_nothing_is_run_and_nothing_found(self):
        report = self.report(*self.target)
        self.assertEqual(report["probe"]["decision"], "impossible")
        self.assertEqual(report["probe"]["verdict"]["outcome"], "not_run")
        self.assertIn("no NVIDIA GPU", report["probe"]["reason"])
        self.assertEqual(report["verdict"]["exit_code"], 0)
        self.assertIn("PROBE    not run: no NVIDIA GPU here", doctor(*self.target).text)

    def test_off_is_said(self):
        report = self.report(*self.target, "--probe", "off")
        self.assertEqual(report["probe"]["decision"], "not_asked")
        self.assertIn("--probe off", report["probe"]["reason"])

    def test_on_loads_the_very_file_and_finds_no_driver(self):
        report = self.probed()
        self.assertEqual(findings(report)["DR02"], "critical")
        runtime, = report["probe"]["runtimes"]
        seen = stages(runtime)
        for side in ("exporter", "importer"):
            self.assertEqual(seen["load", side], "pass")
            self.assertEqual(seen["symbols", side], "pass")
            self.assertEqual(seen["devices", side], "fail")
        self.assertEqual(report["probe"]["verdict"]["code"], 35)
        self.assertEqual(report["probe"]["verdict"]["code_name"], "cudaErrorInsufficientDriver")
        self.assertEqual(runtime["driver_version"], 0)
        self.assertNotIn("IP09", findings(report))

    def test_a_deleted_runtime_is_probed_by_its_own_bytes(self):
        need_root(self)
        self.path.unlink()
        runtime, = self.probed()["probe"]["runtimes"]
        self.assertEqual(runtime["opened_by"], "map_files")
        self.assertEqual(stages(runtime)["symbols", "exporter"], "pass")

    def test_a_runtime_in_memory_is_skipped_with_that_reason(self):
        self.target[1] = str(self.victim(f"load_from_memory({str(self.path)!r}, 'runtime')").pid)
        report = self.report(*self.target, "--probe", "on")
        self.assertIn("memory", str(report["probe"]["reason"]) +
                      str([each["skipped"] for each in report["probe"]["runtimes"]]))

    def test_require_fails_where_nothing_can_be_run(self):
        plain = self.victim("pass")
        ended = doctor("--pid", plain.pid, "--probe", "require", "--json")
        self.assertEqual(ended.code, 3)
        self.assertIn("required", ended.document["verdict"]["undecided"])

    def test_names_that_a_genuine_runtime_lost_are_named(self):
        # One letter of a name in the symbol table: look-ups of the old name fail.
        data = self.path.read_bytes()
        changed = data.replace(b"\0cudaIpcOpenMemHandle\0", b"\0cudaIpcOpenMemHandlX\0")
        self.assertNotEqual(data, changed)
        self.path.unlink()
        self.path.write_bytes(changed)
        self.target[1] = str(self.victim(f"load({str(self.path)!r})").pid)
        runtime, = self.probed()["probe"]["runtimes"]
        self.assertEqual(runtime["missing"], ["cudaIpcOpenMemHandle"])

    def test_a_name_that_a_preloaded_library_answers_to_is_named(self):
        hook = self.compile("libhook.so", "int cudaMalloc(void) { return 2; }")
        env = clean_environment(LD_PRELOAD=str(hook))
        self.target[1] = str(self.victim(f"load({str(self.path)!r})", env=env).pid)
        report = self.probed()
        genuine = [each for each in report["probe"]["runtimes"] if not each["look_alike"]]
        self.assertIn("libhook.so", " ".join(genuine[0]["elsewhere"]))
        self.assertIn("IP08", findings(report))

    def test_a_look_alike_is_asked_for_its_symbols_only(self):
        stub = self.runtime("tilelang-0.1.11")
        self.target[1] = str(self.victim(f"load({str(self.path)!r})",
                                         f"load({str(stub)!r})").pid)
        alike, = [each for each in self.probed()["probe"]["runtimes"] if each["look_alike"]]
        self.assertEqual(alike["missing"], ["cudaDeviceReset"])
        self.assertEqual({stage for stage, _ in stages(alike)} - {"start", "file"},
                         {"load", "symbols"})

    def test_a_snapshot_replays_the_probe(self):
        folder = self.folder / "snapshot"
        done = doctor("snapshot", *self.target, "--probe", "on", "--dir", folder)
        self.assertEqual(done.code, 0, done.message)
        report = self.report("--from", folder)
        self.assertEqual(report["probe"]["decision"], "run")
        self.assertEqual(findings(report)["DR02"], "critical")
        self.assertEqual(doctor("--from", folder, "--json").out,
                         doctor("--from", folder, "--json").out)

    def test_the_children_have_the_target_s_environment_and_no_more(self):
        env = clean_environment(CUDA_VISIBLE_DEVICES="1,0", LD_LIBRARY_PATH="/nowhere")
        self.target[1] = str(self.victim(f"load({str(self.path)!r})", env=env).pid)
        report = self.probed(env=clean_environment(CUDA_VISIBLE_DEVICES="7", CUDA_MINE="1"))
        seen = {each["name"]: each["value"] for each in report["probe"]["environment"]}
        self.assertEqual(seen, {"CUDA_VISIBLE_DEVICES": "1,0", "LD_LIBRARY_PATH": "/nowhere",
                                "CUDA_CACHE_DISABLE": "1"})

    def spinning_target(self):
        """Its look-alike leaves a daemon in a session of its own, then never returns."""
        need_program(self, "gcc")
        (self.folder / "spin").mkdir()
        spin = self.compile("spin/libcudart.so.12", """
            #include <string.h>
            #include <unistd.h>
            int cudaMalloc(void) { return 0; }
            int cudaFree(void) { return 0; }
            int cudaMemcpy(void) { return 0; }
            __attribute__((constructor)) static void spin(void) {
              char name[4096] = {0};
              if (readlink("/proc/self/exe", name, sizeof name - 1) < 0) return;
              if (strstr(name, "doctor") == 0) return;
              if (fork() == 0) setsid();
              for (;;) pause();
            }""")
        return self.victim(f"load({str(self.path)!r})", f"load({str(spin)!r})")

    @staticmethod
    def stay(count):
        """So many children are there, and the same a moment later."""
        before = probe_children()
        if len(before) != count:
            return False
        for _ in range(20):
            if probe_children() != before:
                return False
        return True

    def test_no_process_is_left_after_a_signal(self):
        target = self.spinning_target()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(signal=number):
                running = subprocess.Popen([DOCTOR, "--pid", str(target.pid), "--probe", "on"],
                                           env=clean_environment(), stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
                # The child that spins and the daemon that its library left: the two that stay.
                self.wait_until(lambda: self.stay(2))
                running.send_signal(number)
                self.assertEqual(running.wait(10), -number)
                self.wait_until(lambda: not probe_children(), 10)

    def test_an_nvml_and_a_library_that_hang_cost_no_report(self):
        self.spinning_target().end()
        (self.folder / "nvml").mkdir()
        self.compile("nvml/libnvidia-ml.so.1", """
            #include <unistd.h>
            __attribute__((constructor)) static void hang(void) { for (;;) pause(); }""")
        env = clean_environment(LD_LIBRARY_PATH=str(self.folder / "nvml"))
        target = self.victim(f"load({str(self.path)!r})",
                             f"load({str(self.folder / 'spin/libcudart.so.12')!r})", env=env)
        report = self.report("--pid", str(target.pid), "--probe", "on", "--timeout", "4")
        self.assertEqual(report["probe"]["decision"], "run")
        self.assertIn("NVML", report["probe"]["gate"]["note"])
        ends = [each["exporter"]["end"] for each in report["probe"]["runtimes"]
                if each["look_alike"]]
        self.assertEqual(ends, ["timed_out"])

    def test_the_doctor_itself_maps_no_cuda_library(self):
        support.need_program(self, "strace")
        trace = self.folder / "trace"
        done = subprocess.run(["strace", "-f", "-y", "-e", "trace=mmap,execve,execveat", "-o",
                               trace, DOCTOR, *self.target, "--probe", "on"],
                              env=clean_environment(), capture_output=True)
        if b"Operation not permitted" in done.stderr:
            self.skipTest("strace may not trace here")
        lines = trace.read_text().splitlines()
        children = {line.split()[0] for line in lines
                    if "__probe-child" in line or "__gate-child" in line}
        self.assertGreaterEqual(len(children), 2)
        bad = [line for line in lines if line.split()[0] not in children and
               re.search(r"mmap\(.*(libcudart|libcuda\.|libnv)", line)]
        self.assertEqual(bad, [])


class Drivers(Case):
    """Drivers that answer a code, found by the target's LD_LIBRARY_PATH."""

    def probed(self, env):
        victim = self.victim(f"load({str(self.runtime('12.8'))!r})", env=env)
        return self.report("--pid", str(victim.pid), "--probe", "on")

    def with_driver(self, code, version=12080):
        folder = self.folder / f"driver-{code}"
        folder.mkdir()
        source = DRIVER.replace("CODE", str(code)).replace("VERSION", str(version))
        self.compile(f"driver-{code}/libcuda.so.1", source, "-Wl,-soname,libcuda.so.1")
        return self.probed(clean_environment(LD_LIBRARY_PATH=str(folder)))

    def test_a_code_at_the_start_of_cuda_is_one_finding_and_names_itself(self):
        for code, id in ((802, "DR09"), (804, "DR06")):
            with self.subTest(code=code):
                report = self.with_driver(code)
                self.assertEqual(report["probe"]["verdict"]["code"], code)
                self.assertIn(id, findings(report))
                self.assertNotIn("IP09", findings(report))
                self.assertNotIn("SY05", findings(report))

    def test_an_empty_driver_library(self):
        folder = self.folder / "empty"
        folder.mkdir()
        (folder / "libcuda.so.1").touch()
        report = self.probed(clean_environment(LD_LIBRARY_PATH=str(folder)))
        self.assertIn("DR03", findings(report))
        self.assertNotIn("DR02", findings(report))

    def test_the_toolkit_s_stub(self):
        stub = pathlib.Path("/usr/local/cuda/lib64/stubs/libcuda.so")
        if not stub.exists():
            self.skipTest("no CUDA toolkit here")
        folder = self.folder / "stub"
        folder.mkdir()
        (folder / "libcuda.so.1").symlink_to(stub)
        report = self.probed(clean_environment(LD_LIBRARY_PATH=str(folder)))
        self.assertEqual(report["probe"]["verdict"]["code"], 34)
        self.assertEqual(findings(report)["DR01"], "critical")


class CommandLine(Case):
    def test_slips_are_usage_errors(self):
        for arguments, word in ((["--probe", "maybe"], "maybe"),
                                (["--devices", "0,0"], "twice"),
                                (["--devices", "x"], "neither all nor"),
                                (["--pairs", "some"], "none of all, none")):
            with self.subTest(arguments=arguments):
                ended = doctor(*arguments)
                self.assertEqual(ended.code, 2)
                self.assertIn(word, ended.message)

    def test_a_replay_cannot_be_asked_for_a_probe(self):
        victim = self.victim("pass")
        folder = self.folder / "snapshot"
        self.assertEqual(doctor("snapshot", "--pid", victim.pid, "--dir", folder).code, 0)
        ended = doctor("--from", folder, "--probe", "on")
        self.assertEqual(ended.code, 2)
        self.assertIn("a replay runs no probe", ended.message)


support.main()
