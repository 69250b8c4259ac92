"""The recorder in processes that fork, have threads, close descriptors, or are none of its business."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import recorded
from recorded import VICTIM, RecorderCase
from support import NOBODY, need_root

PYTHON = "/usr/bin/python3"


class Processes(RecorderCase):
    def test_threads_that_open_at_once(self):
        toys = [self.toy(f"libcuda_{i}.so") for i in range(3)]
        recording = self.do("threads", 8, toys[0], "open", toys[1], "threads", 8, toys[2])
        # Whoever opens what is open already loads nothing: how often depends on the threads.
        loads = [each for each in recording.loads if each["path"] == str(toys[0])]
        unloads = [each for each in recording.of("unload") if each["path"] == str(toys[0])]
        self.assertEqual(len(loads), len(unloads))
        self.assertGreater(len({each["tid"] for each in loads}), 0)
        self.assertEqual(len(recording.of("sync")), 1)
        self.assertEqual(recording.of("lost"), [])

    def test_ten_thousand_loads(self):
        toy = self.toy()
        recording = self.do("loop", 10000, toy)
        # First, so that a failure tells whether what is missing was counted.
        self.assertEqual(recording.of("lost"), [])
        self.assertEqual(len(recording.loads), 10000)
        self.assertEqual(len(recording.of("unload")), 10000)
        orders = [int(each["order"]) for each in recording.loads]
        self.assertEqual(orders, sorted(set(orders)))

    def test_no_descriptor_stays_open(self):
        toy = self.toy()
        without = subprocess.run([VICTIM, "open", toy, "fds"], capture_output=True, check=True)
        self.assertEqual(self.do("open", toy, "fds").out, without.stdout)

    def test_errno_stays(self):
        self.do("errno", self.toy())

    def test_descriptors_that_are_closed_do_no_harm(self):
        toy, other = self.toy(), self.toy("libcudart.so.13")
        recording = self.do("open", toy, "close-fds", "open", other)
        self.assertEqual(len(recording.loads), 2)

    def test_a_fork_that_loads_says_so_in_its_own_name_and_waits_once(self):
        toy, other = self.toy(), self.toy("libcudart.so.13")
        recording = self.do("open", toy, "fork", "open", other)
        before, after = recording.load(toy), recording.load(other)
        self.assertNotEqual(before["pid"], after["pid"])
        self.assertEqual(after["pid"], str(after.sender))
        self.assertEqual([each["pid"] for each in recording.of("sync")],
                         [before["pid"], after["pid"]])
        # It is no program of its own.
        self.assertEqual([each["pid"] for each in recording.of("start")], [before["pid"]])
        self.assertGreater(int(after["order"]), int(before["order"]))

    def test_a_fork_that_loads_nothing_is_quiet(self):
        recording = self.do("open", self.toy(), "fork", "fds")
        self.assertEqual(len({each["pid"] for each in recording.records}), 1)

    def grandchild(self, call):
        """What a program says that Python starts by `call`."""
        toy = self.toy()
        script = f"import os, subprocess\ncommand = [{VICTIM!r}, 'open', {str(toy)!r}]\n{call}"
        recording = self.record(PYTHON, "-I", "-c", script)
        load = recording.load(toy)
        start = [each for each in recording.of("start") if each["pid"] == load["pid"]]
        self.assertEqual(len(start), 1)
        return recording

    def test_fork_and_exec(self):
        self.grandchild("if os.fork() == 0: os.execv(command[0], command)\nos.wait()")

    def test_vfork_with_descriptors_closed(self):
        self.grandchild("subprocess.run(command, check=True, close_fds=True)")

    def test_posix_spawn(self):
        self.grandchild("os.waitpid(os.posix_spawn(command[0], command, os.environ), 0)")

    def test_without_descriptors_and_in_a_session_of_its_own(self):
        self.grandchild("subprocess.run(command, check=True, start_new_session=True,"
                        " stdin=subprocess.DEVNULL, cwd='/')")

    def test_a_shell_between(self):
        self.grandchild("subprocess.run('exec \"$@\"', shell=True)\n"
                        "os.system(' '.join(command))")

    def test_an_emptied_environment_is_not_recorded(self):
        toy = self.toy()
        recording = self.record("/usr/bin/env", "-i", VICTIM, "open", toy)
        self.assertEqual(recording.loads, [])
        self.assertEqual(len(recording.of("start")), 1)

    def test_an_audit_library_of_the_users_works_beside(self):
        log = self.folder / "log"
        own = self.compile("own.so", f"""
            #include <link.h>
            #include <stdio.h>
            unsigned la_version(unsigned offered) {{ return offered; }}
            unsigned la_objopen(struct link_map* map, Lmid_t space, uintptr_t* cookie) {{
              FILE* log = fopen("{log}", "a");
              fprintf(log, "%s\\n", map->l_name);
              fclose(log);
              *cookie = 42;
              return 0;
            }}""", "-D_GNU_SOURCE")
        toy = self.toy()
        recording = self.do("open", toy, env={"LD_AUDIT": str(own)})
        self.assertEqual(recording.load(toy)["cause"], "opened")
        self.assertIn(str(toy), log.read_text().splitlines())

    def test_a_preloaded_allocator_with_much_thread_local_storage_still_fits(self):
        # As jemalloc has it: found by a fixed distance, so that it must be in the first block.
        big = self.compile("bigtls.so", """
            static __thread char block[3000] __attribute__((tls_model("initial-exec")));
            char* place(void) { return block; }""")
        toy = self.toy()
        self.do("threads", 4, toy, env={"LD_PRELOAD": str(big)})

    def test_threads_with_the_smallest_stacks_still_start(self):
        program = self.folder / "small"
        subprocess.run(["gcc", "-x", "c", "-", "-o", program, "-pthread"], check=True, input=b"""
            #include <limits.h>
            #include <pthread.h>
            static void* work(void* argument) { return argument; }
            int main(void) {
              pthread_attr_t attributes;
              pthread_t thread;
              pthread_attr_init(&attributes);
              if (pthread_attr_setstacksize(&attributes, 16384) != 0) return 2;
              return pthread_create(&thread, &attributes, work, 0) || pthread_join(thread, 0);
            }""")
        self.record(program)

    def test_a_program_that_runs_with_other_rights_is_left_alone(self):
        need_root(self)
        # Not below /tmp where that ignores the bit.
        folder = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, folder)
        folder.chmod(0o755)
        program = folder / "program"
        shutil.copyfile(VICTIM, program)
        program.chmod(0o4755)
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            self.skipTest("set-ID programs have no effect there")
        toy = self.toy()
        run = f"import os\nos.setgid({NOBODY})\nos.setuid({NOBODY})\n" \
              f"os.execv({str(program)!r}, ['program', 'open', {str(toy)!r}])"
        recording = self.record(PYTHON, "-I", "-c", run)
        self.assertEqual(recording.loads, [])

    def test_another_user(self):
        need_root(self)
        toy = self.toy()
        run = f"import os\nos.setgid({NOBODY})\nos.setuid({NOBODY})\n" \
              f"os.execv({VICTIM!r}, ['victim', 'open', {str(toy)!r}])"
        if subprocess.run(["setpriv", f"--reuid={NOBODY}", "test", "-x", VICTIM]).returncode != 0:
            self.skipTest("another user cannot reach the program")
        self.record(PYTHON, "-I", "-c", run).load(toy)

    def test_what_did_not_arrive_is_counted(self):
        toys = [self.toy(f"libcuda_{i}.so") for i in range(4)]
        script = ("import ctypes, os\n"
                  "socket = os.path.join(os.path.dirname(os.environ['LD_AUDIT']), 'socket')\n"
                  f"toys = {list(map(str, toys))!r}\n"
                  "ctypes.CDLL(toys[0])\nos.rename(socket, socket + '.away')\n"
                  "ctypes.CDLL(toys[1])\nctypes.CDLL(toys[2])\n"
                  "os.rename(socket + '.away', socket)\nctypes.CDLL(toys[3])\n")
        recording = self.record(PYTHON, "-I", "-c", script)
        told = [(each["kind"], each.get("path", each.get("count"))) for each in recording.records]
        self.assertEqual(told[1:], [("load", str(toys[0])), ("sync", None), ("load", str(toys[3])),
                                    ("lost", "2")])

    def test_a_launcher_that_is_gone_stops_nothing(self):
        toy = self.toy()
        recording = self.do("open", toy, "loop", 1000, toy, "fork", "open", toy, answer="leave",
                            timeout=20)
        self.assertEqual(len(recording.records), 1)

    def test_a_launcher_that_ends_while_it_is_waited_for(self):
        toy = self.toy()
        recording = self.do("open", toy, "close", "open", toy, answer="leave-at-sync", timeout=20)
        self.assertEqual([each["kind"] for each in recording.records], ["start", "load", "sync"])

    def test_a_launcher_that_has_ended_leaves_no_word_on_stderr(self):
        # The library of a program that runs is mapped; that its file is gone does not matter.
        toy = self.toy()
        self.do("open", toy, "close", "open", toy, answer="leave")

    def test_every_batch_waits_where_that_is_asked_for(self):
        toys = [self.toy(f"libcuda_{i}.so") for i in range(3)]
        recording = self.do(*(part for toy in toys for part in ("open", toy)), answer="hold")
        self.assertEqual([each["kind"] for each in recording.records],
                         ["start"] + ["load", "sync"] * 3)

    def test_signals_do_not_break_off_what_is_said(self):
        toy = self.toy()
        recording = self.do("alarms", "loop", 500, toy, answer="hold")
        self.assertEqual(len(recording.of("sync")), 500)
        self.assertEqual(recording.of("lost"), [])


if __name__ == "__main__":
    recorded.main()
