"""Commands of many processes: forked, spawned, piped, with and without an environment, with
programs between them into which no recorder can go."""
import os
import signal
import subprocess

import support
from watching import RunCase, mapped
from support import PYTHON, NOBODY, findings, need_root

SPAWN = """
import ctypes, json, multiprocessing, os, sys

def work(path, told):
    if path:
        ctypes.CDLL(path)
    with open("/proc/self/maps") as maps:
        text = maps.read()
    with open(told, "w") as file:
        json.dump({"pid": os.getpid(), "ppid": os.getppid(), "maps": text}, file)

if __name__ == "__main__":
    method, here, there, told = sys.argv[1:]
    if here:
        ctypes.CDLL(here)
    context = multiprocessing.get_context(method)
    child = context.Process(target=work, args=(there, told))
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""
# Starts its arguments; waits for them, and ends as they do.
STARTER = """
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) { execv(argv[1], argv + 1); _exit(100); }
  while (waitpid(child, &status, 0) < 0) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}
"""


class Trees(RunCase):
    def setUp(self):
        super().setUp()
        self.first = self.runtime("12.8", folder="a")
        self.second = self.runtime("13.0", folder="b")

    def load(self, path):
        return f"load({str(path)!r})"

    def both_in_one(self, name="it"):
        """Pieces of a program that holds both runtimes in the end, which is a finding (RT06)."""
        return [self.load(self.first), self.load(self.second), f"tell('{name}')"]

    def assert_found_in(self, ended, name="it"):
        told = self.told(name)
        self.assertEqual(ended.run["judged_pid"], told["pid"])
        self.assertEqual(findings(ended.report)["RT06"], "warning")
        self.assertEqual({each["path"] for each in ended.report["runtimes"] if each["mapped"]},
                         mapped(told, self.first.name) | mapped(told, self.second.name))

    def test_a_child_that_runs_another_program_is_a_process_of_its_own(self):
        inner = [self.load(self.second), "tell('child')", "sys.exit(3)"]
        ended = self.watch(*self.python(self.load(self.first), "tell('parent')",
                                        f"sys.exit(again(*{inner!r}))"))
        self.assertEqual(ended.code, 3, ended.err)
        parent, child = self.told("parent"), self.told("child")
        self.assertEqual([(each["pid"], each["path"]) for each in ended.run["events"]
                          if "libcudart" in each["path"]],
                         [(parent["pid"], str(self.first)), (child["pid"], str(self.second))])
        self.assertEqual(ended.process(child["pid"])["parent_pid"], parent["pid"])
        self.assertEqual({ended.process(each["pid"])["judged"] for each in (parent, child)},
                         {"exit"})

    def test_multiprocessing_by_spawn(self):
        script = self.folder / "spawn.py"
        script.write_text(SPAWN)
        ended = self.watch(PYTHON, "-I", script, "spawn", self.first, self.second,
                           self.told_folder / "child.json")
        self.assertEqual(ended.code, 0, ended.err)
        child = self.told("child")
        self.assertEqual({(each["pid"], each["path"]) for each in ended.run["events"]
                          if "libcudart" in each["path"]},
                         {(child["ppid"], str(self.first)), (child["pid"], str(self.second))})

    def test_a_forked_copy_that_loads_nothing_is_not_judged_again(self):
        script = self.folder / "spawn.py"
        script.write_text(SPAWN)
        ended = self.watch(PYTHON, "-I", script, "fork", self.first, "",
                           self.told_folder / "child.json")
        self.assertEqual(ended.code, 0, ended.err)
        child = self.told("child")
        self.assertEqual(mapped(child, self.first.name), {str(self.first)})
        self.assertEqual(ended.run["judged_pid"], child["ppid"])
        for each in ended.run["processes"]:
            if each["pid"] == child["pid"]:
                self.assertEqual((each["judged"], each["copy_of"]), ("none", child["ppid"]))

    def test_a_forked_copy_that_loads_another_is_judged(self):
        script = self.folder / "spawn.py"
        script.write_text(SPAWN)
        ended = self.watch(PYTHON, "-I", script, "fork", self.first, self.second,
                           self.told_folder / "child.json")
        self.assertEqual(ended.code, 0, ended.err)
        self.assert_found_in(ended, "child")

    def test_a_pipeline(self):
        def part(pieces):
            return " ".join(map(repr, map(str, self.python(*pieces))))
        script = self.folder / "pipeline.sh"
        quoted = [[piece.replace("'", '"') for piece in pieces] for pieces in (
            [self.load(self.first), "tell('left')", "print('through')"],
            [self.load(self.second), "tell('right')", "print(sys.stdin.read().upper(), end='')"])]
        script.write_text(f"{part(quoted[0])} | {part(quoted[1])} | cat\n")
        ended = self.watch("/bin/sh", script)
        self.assertEqual((ended.code, ended.out), (0, b"THROUGH\n"), ended.err)
        self.assertEqual({(each["pid"], each["path"]) for each in ended.run["events"]
                          if "libcudart" in each["path"]},
                         {(self.told("left")["pid"], str(self.first)),
                          (self.told("right")["pid"], str(self.second))})
        for name in ("left", "right"):
            self.assertEqual(ended.process(self.told(name)["pid"])["judged"], "exit")

    def test_grandchildren_without_inherited_descriptors(self):
        inner = self.both_in_one()
        middle = [f"sys.exit(again(*{inner!r}, close_fds=True))"]
        ended = self.watch(*self.python(f"sys.exit(again(*{middle!r}, close_fds=True))"))
        self.assertEqual(ended.code, 0, ended.err)
        self.assert_found_in(ended)

    def test_an_orphan_that_outlives_its_parent(self):
        pieces = ["if os.fork() == 0: wait_for(lambda: os.getppid() != first); "
                  f"{'; '.join(self.both_in_one())}; os._exit(0)"]
        told = self.told_folder / "it.json"
        # Its recorder stays for what was left behind: in the test's own folder.
        ended = self.watch(*self.python("first = os.getpid()", *pieces, "sys.exit(6)"),
                           env=self.environment(TMPDIR=str(self.folder)))
        self.assertEqual(ended.code, 6, ended.err)
        # The command's end is not held up by what it left behind.
        self.wait_until(told.exists)

    def test_a_child_with_an_empty_environment_is_found_without_the_recorder(self):
        ended = self.watch("/usr/bin/env", "-i", f"TOLD={self.told_folder}",
                           *self.python(*self.both_in_one(), "be_seen()", "sys.exit(2)"))
        self.assertEqual(ended.code, 2, ended.err)
        self.assert_found_in(ended)
        self.assertFalse(ended.judged["recorded"])

    def test_a_static_program_that_starts_a_child(self):
        starter = self.executable("starter", STARTER, "-static")
        ended = self.watch(starter, *self.python(*self.both_in_one(), "sys.exit(5)"))
        self.assertEqual(ended.code, 5, ended.err)
        self.assert_found_in(ended)
        self.assertTrue(ended.judged["recorded"])
        self.assertEqual(ended.events(self.first.name)[0]["pid"], self.told("it")["pid"])

    def test_a_musl_program_that_starts_a_child(self):
        for flags in ((), ("-static",)):
            with self.subTest(flags=flags):
                starter = self.executable("starter-musl", STARTER, *flags, compiler="musl-gcc")
                ended = self.watch(starter, *self.python(*self.both_in_one(), "sys.exit(5)"))
                self.assertEqual((ended.code, ended.err), (5, b""))
                self.assert_found_in(ended)

    def test_a_set_user_id_program_keeps_its_rights_and_its_code(self):
        need_root(self)
        starter = self.executable("starter", STARTER.replace(
            "int status", "if (geteuid() != 0) return 102; int status"))
        starter.chmod(0o4755)
        command = [starter, *self.python("tell('it')", "print(os.geteuid())", "sys.exit(5)")]
        ended = self.watch_as_nobody(*command)
        self.assertEqual((ended.code, ended.out), (5, b"0\n"), ended.err)
        self.assertNotIn(b"ld.so", ended.err)
        self.assertFalse(ended.process(ended.run["root_pid"])["recorded"])
        self.assertTrue(ended.process(ended.run["root_pid"])["unrecorded"])

    def watch_as_nobody(self, *command, **more):
        return self.watch(*command, user=NOBODY, group=NOBODY, extra_groups=[], **more)

    def test_an_unprivileged_user_sees_as_much(self):
        need_root(self)
        ended = self.watch_as_nobody(*self.python(*self.both_in_one(), "print(os.geteuid())",
                                                  "sys.exit(5)"))
        self.assertEqual((ended.code, ended.out), (5, b"%d\n" % NOBODY), ended.err)
        self.assert_found_in(ended)
        self.assertEqual(ended.judged["judged"], "exit")

    def test_the_odd_one_of_several_is_the_one_reported(self):
        """Three that are in order, and one that is not."""
        fine = [self.load(self.first)]
        pieces = [f"again(*{fine!r})", f"again(*{self.both_in_one('odd')!r})", f"again(*{fine!r})",
                  f"again(*{fine!r})"]
        ended = self.watch(*self.python(*pieces), options=("--fail-on", "warning", "--judge-exit"))
        self.assertEqual(ended.code, 1, ended.err)
        self.assert_found_in(ended, "odd")
        self.assertEqual(sorted(each["judged"] for each in ended.run["processes"]
                                if each["judged"] != "none"), ["exit"] * 4)

    def test_a_signal_to_the_doctor_reaches_the_command_once(self):
        report = self.told_folder / "report.json"
        process = subprocess.Popen(
            [support.DOCTOR, "run", "--json", "-o", report, "--",
             *map(str, self.python(
                 "got = []", "signal.signal(signal.SIGTERM, lambda *_: got.append(1))",
                 *self.both_in_one(), "wait_for(lambda: got)", "time.sleep(0.2)",
                 "print(len(got), flush=True)", "signal.signal(signal.SIGTERM, signal.SIG_DFL)",
                 "os.kill(os.getpid(), signal.SIGTERM)", "time.sleep(20)"))],
            env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        self.wait_until((self.told_folder / "it.json").exists)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (128 + signal.SIGTERM, b"1\n"), err)
        document = support.json.loads(report.read_text())
        self.assertEqual(findings(document)["RT06"], "warning")
        self.assertFalse(os.path.exists(f"/proc/{self.told('it')['pid']}"))


support.main()
