"""`run` among signals, full disks, other users and odd programs: nothing is lost, nothing left."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

import support
from support import (DOCTOR, NOBODY, PYTHON, clean_environment, doctor, need_program,
                     need_root)
from run_support import LOADS, RunCase, SLEEPS, WAITS, python, run


class Signals(RunCase):
    def start(self, *options, command, **more):
        process = subprocess.Popen([DOCTOR, "run", *options, "--", *map(str, command)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **{"env": clean_environment(), **more})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_sigterm_is_the_commands(self):
        place, env = self.own_place()
        process = self.start(command=python(WAITS, *self.bad()), env=env)
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 143)
        self.assertIn(b"RT05", err)
        self.assertEqual(list(place.iterdir()), [])

    # Each waits for SIGTERM by sigwait: a handler in Python would run in the middle of print().
    TAKES = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
for number in range(int(sys.argv[1])):
    print(number, flush=True)
    signal.sigwait({signal.SIGTERM})
os._exit(6)
"""

    def test_what_the_command_makes_of_each_sigterm_counts(self):
        for signals in (1, 2):
            process = self.start(command=python(self.TAKES, signals))
            for number in range(signals):
                self.assertEqual(process.stdout.readline(), b"%d\n" % number)
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
            self.assertEqual(process.returncode, 6)

    def test_the_command_does_not_outlive_a_killed_doctor(self):
        code = WAITS.replace('print("waiting"', 'import os; print(os.getpid()')
        process = self.start(command=python(code, *self.good()))
        pid = int(process.stdout.readline())
        process.kill()
        self.wait_until(lambda: not alive(pid))

    def test_the_next_run_takes_away_what_a_killed_one_left(self):
        place, env = self.own_place()
        process = self.start(command=python(WAITS, *self.good()), env=env)
        process.stdout.readline()
        process.kill()
        process.communicate()
        self.assertEqual(len(list(place.iterdir())), 1)
        run(command=["true"], env=env)
        self.assertEqual(list(place.iterdir()), [])

    def test_a_link_in_the_place_of_the_recorders_folder_is_not_followed(self):
        for after in ("", "(sleep 1 &)"):
            with self.subTest(after):
                place, env = self.own_place()
                strange = self.folder / ("kept" + str(len(after)))
                (strange / "folder").mkdir(parents=True)
                for name in ("socket", "recorder.so", "other", "folder/socket"):
                    (strange / name).touch()
                script = ('d=$(dirname "${LD_AUDIT##*:}"); mv "$d" "$d.moved" && '
                          f'ln -s {strange} "$d" && echo laid; {after}')
                ended = run(env=env, command=["sh", "-c", script])
                self.assertEqual(ended.out, b"laid\n", ended.message)
                self.assertEqual(sorted(each.name for each in strange.rglob("*")),
                                 ["folder", "other", "recorder.so", "socket", "socket"])
                moved = next(place.glob("*.moved"))
                self.assertEqual([each.name for each in moved.iterdir()],
                                 ["recorder.so"] if after else [])

    def test_what_a_stranger_laid_like_a_recorder_is_left(self):
        place, env = self.own_place()
        process = self.start(command=python(WAITS, *self.good()), env=env)
        process.stdout.readline()
        process.kill()
        process.communicate()
        folder = next(place.iterdir())
        (folder / "mine").touch()
        run(command=["true"], env=env)
        self.assertEqual(len(list(folder.iterdir())), 3)
        (folder / "mine").unlink()
        folder.rename(place / "elsewhere")
        folder.symlink_to("elsewhere")
        run(command=["true"], env=env)
        self.assertEqual(len(list((place / "elsewhere").iterdir())), 2)

    def test_no_place_in_which_another_user_could_lay_a_library(self):
        need_root(self)
        place, env = self.own_place()
        below = place / "below"
        below.mkdir(mode=0o755)
        # The owner and the mode of the folder above, and of the place.
        for above, own in (((65534, 0o755), (0, 0o755)), ((0, 0o755), (65534, 0o755)),
                           ((0, 0o755), (0, 0o777)), ((0, 0o777), (0, 0o755))):
            with self.subTest(above=above, own=own):
                for folder, (owner, mode) in ((place, above), (below, own)):
                    os.chown(folder, owner, owner)
                    folder.chmod(mode)
                ended = run(env={**env, "TMPDIR": str(below)},
                            command=["sh", "-c", 'echo "${LD_AUDIT%/*/*}"'])
                self.assertNotEqual(ended.out, f"{below}\n".encode())
                self.assertNotEqual(ended.out, b"\n")
        os.chown(place, 0, 0)
        for mode in (0o755, 0o1777):
            below.chmod(mode)
            place.chmod(0o755)
            ended = run(env={**env, "TMPDIR": str(below)},
                        command=["sh", "-c", 'echo "${LD_AUDIT%/*/*}"'])
            self.assertEqual(ended.out, f"{below}\n".encode())

    def test_what_a_run_that_goes_on_uses_is_left_to_it(self):
        place, env = self.own_place()
        process = self.start(command=python(WAITS, *self.good()), env=env)
        process.stdout.readline()
        run(command=["true"], env=env)
        self.assertEqual(len(list(place.iterdir())), 1)


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Scarce(RunCase):
    def test_a_small_stack_is_enough(self):
        place, env = self.own_place()
        ended = doctor("-c", 'ulimit -s 64; exec "$@"', "sh", DOCTOR, "run", "--", "/bin/true",
                       program=["sh"], env=env)
        self.assertEqual(ended.code, 0, ended.message)
        self.assertEqual(list(place.iterdir()), [])

    def test_a_killed_worker_leaves_nothing(self):
        for _ in range(20):
            place, env = self.own_place()
            process = subprocess.Popen([DOCTOR, "run", "--", "/bin/true"], env=env,
                                       stderr=subprocess.PIPE)
            killed = kill_a_worker_with_a_child(process)
            process.communicate(timeout=50)
            self.assertEqual(list(place.iterdir()), [])
            if killed:
                return
        self.fail("no worker was met")


def children(pid):
    try:
        return [int(each) for each in
                pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def kill_a_worker_with_a_child(process):
    own = [DOCTOR, "run"]
    while process.poll() is None:
        for child in children(process.pid):
            try:
                words = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [os.fsencode(each) for each in own] and children(child):
                os.kill(child, signal.SIGKILL)
                return True
    return False


class Output(RunCase):
    def test_a_full_disk_is_no_matter_of_the_command(self):
        for options, expected in (([], 7), (["--judge-exit"], 1)):
            ended = run(*options, "-o", "/dev/full", command=python(LOADS, 7, *self.good()))
            self.assertEqual(ended.code, 7)
            self.assertIn("/dev/full", ended.message)
        self.assertEqual(run("--judge-exit", "-o", "/dev/full", command=["true"]).code, 2)

    def test_a_folder_that_is_there_no_longer(self):
        folder = self.folder / "gone"
        folder.mkdir()
        ended = run("-o", folder / "report", command=["rmdir", folder])
        self.assertEqual(ended.code, 0)
        self.assertIn(str(folder / "report"), ended.message)

    def test_a_report_that_nobody_takes_is_given_up(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        ended = run("--timeout", "0.5", "-o", fifo, command=["false"])
        self.assertEqual(ended.code, 1)
        self.assertIn("not written in time", ended.message)

    def test_stdout_where_it_is_asked_for(self):
        ended = run("-o", "-", command=python(LOADS, 0, *self.bad()))
        self.assertTrue(ended.text.startswith("loaded\n"), ended.text)
        self.assertIn("RT05", ended.text)
        self.assertEqual(ended.message, "")

    def test_what_was_recorded_is_kept_and_replayed(self):
        folder = self.folder / "kept"
        ended = run("--record", folder, command=python(LOADS, 0, *self.bad()))
        self.assertIn("kept the recording", ended.message)
        shown = ended.message[:ended.message.index("cudart-doctor: kept")] if \
            ended.message.startswith("cudart-doctor: kept") is False else \
            ended.message.split("\n", 1)[1]
        replayed = doctor("--from", folder)
        self.assertEqual(replayed.code, 1)
        # What is to be typed next differs, since the command is not started again for it, and with
        # it the room that lists have.
        self.assertEqual(replayed.text.split("SEEN")[0], shown.split("SEEN")[0])
        self.assertIn("STORY", replayed.text)
        self.assertIn("--from", shown.split("MORE")[1])
        document = self.report("--from", folder)
        self.assertGreater(len(document["run"]["events"]), 1)

    def test_a_command_that_closes_everything_is_reported_on(self):
        code = "import os; os.closerange(0, 100)\n" + LOADS.replace('print("loaded", flush=True)', "")
        ended = run(command=python(code, 3, *self.bad()))
        self.assertEqual(ended.code, 3)
        self.assertIn("RT05", ended.message)

    def test_descriptors_and_environment_are_the_callers(self):
        code = ("import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:-1],"
                "sorted(set(os.environ) - {'LD_AUDIT', 'LC_CTYPE'}))")
        alone = subprocess.run(python(code), env=clean_environment(), stdin=subprocess.DEVNULL,
                               capture_output=True)
        self.assertEqual(run(command=python(code)).out, alone.stdout)

    def test_the_command_ends_although_children_keep_its_output(self):
        place, env = self.own_place()
        ended = run("--ready-when", "output:nothing", env=env,
                    command=["sh", "-c", "sleep 3 & echo done"], timeout=20)
        self.assertEqual((ended.code, ended.out), (0, b"done\n"))
        # Programs that they start still find the library that LD_AUDIT names.
        self.assertEqual(len(list(place.glob("doctor-run-*/*.so"))), 1)

    def test_a_folder_that_was_kept_goes_once_nobody_needs_it(self):
        place, env = self.own_place()
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        with subprocess.Popen([DOCTOR, "run", "-o", "/dev/null", "--", "/bin/sh", "-c",
                               f"exec 3<&{read}; (read line <&3) >/dev/null 2>&1 & exit 0"],
                              env=env, pass_fds=[read], stdin=subprocess.DEVNULL) as started:
            self.assertEqual(started.wait(20), 0)
        (kept,) = place.glob("doctor-run-*")
        self.assertEqual(run(env=env, command=["true"]).code, 0)
        self.assertTrue(kept.is_dir(), "it is young")
        os.utime(kept, (0, 0))
        self.assertEqual(run(env=env, command=["true"]).code, 0)
        self.assertTrue(kept.is_dir(), "a process has the library mapped")
        os.close(write)
        deadline = time.monotonic() + 20
        while kept.is_dir() and time.monotonic() < deadline:
            self.assertEqual(run(env=env, command=["true"]).code, 0)
        self.assertFalse(kept.is_dir())


class Programs(RunCase):
    def build(self, name, code, *flags):
        need_program(self, "gcc")
        target = self.folder / name
        subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", target, *map(str, flags)],
                       input=code.encode(), check=True)
        return target

    def large(self, size):
        """A library whose thread-local variables have to be in the block that is laid out first."""
        code = (f'__thread char block[{size}] __attribute__((tls_model("initial-exec")));'
                "char* place(void) { return block; }")
        return self.build(f"liblarge{size}.so", code, "-shared", "-fPIC")

    def test_libraries_with_large_thread_local_variables_fit_where_the_command_brings_them(self):
        large = self.large(800_000)
        program = self.build("program", "char* place(void); int main(void) { return *place(); }",
                             "-Wl,-rpath,$ORIGIN", f"-L{self.folder}", "-llarge800000")
        script = self.folder / "script"
        script.write_text(f"#!/bin/sh\nexport LD_PRELOAD='{large}'\nexec true\n")
        script.chmod(0o755)
        for command in ([program], ["env", program], ["env", f"LD_PRELOAD={large}", "true"],
                        ["sh", "-c", f"LD_PRELOAD={large} env"], [script], ["sh", script]):
            with self.subTest(command=command):
                ended = run(command=command)
                self.assertEqual(ended.code, 0, ended.message)
        ended = run(command=["true"], env=clean_environment(LD_PRELOAD=str(large)))
        self.assertEqual(ended.code, 0, ended.message)

    def test_room_for_thread_local_variables_is_taken_only_where_it_is_needed(self):
        shown = ["sh", "-c", 'echo "${GLIBC_TUNABLES-none}"']
        self.assertEqual(run(command=shown).out, b"none\n")
        for size, room in ((100, b"none\n"), (2640, b"glibc.rtld.optional_static_tls=3200\n")):
            env = clean_environment(LD_PRELOAD=str(self.large(size)))
            self.assertEqual(run(command=shown, env=env).out, room)

    def test_threads_with_small_stacks_have_all_of_them(self):
        # Nearly all that such a thread has without a doctor.
        small = self.build("small", """
            #include <pthread.h>
            static void* work(void* unused) {
              volatile char room[11000];
              for (int i = 10999; i >= 0; i -= 64) room[i] = 1;
              return (void*)(long)(room[0] - 1 + (unused != 0));
            }
            int main(void) {
              pthread_attr_t attributes;
              pthread_t thread;
              pthread_attr_init(&attributes);
              if (pthread_attr_setstacksize(&attributes, 16384) != 0) return 2;
              return pthread_create(&thread, &attributes, work, 0) || pthread_join(thread, 0);
            }""", "-pthread")
        if subprocess.run([small]).returncode != 0:
            self.skipTest("16 KiB are too little here without a doctor too")
        self.assertEqual(run(command=[small]).code, 0)

    def judged(self, document):
        return [each for each in document["run"]["processes"] if each["judged"] != "none"]

    def test_a_child_without_the_environment_is_found_all_the_same(self):
        ended, document = self.document("--ready-when", "mapped:second/libcudart", "--then", "stop",
                                        command=["env", "-i", *python(SLEEPS, *self.bad())])
        self.assertEqual(ended.code, 1)
        self.assertIn("RT05", [each["id"] for each in document["findings"]])

    def test_a_static_program_is_watched_with_its_children(self):
        need_program(self, "gcc")
        target = self.folder / "static"
        source = b"#include <unistd.h>\nint main(int n, char** v) { (void)n; execv(v[1], v + 1); return 9; }"
        subprocess.run(["gcc", "-static", "-x", "c", "-", "-o", target], input=source, check=True)
        ended, document = self.document(command=[target, *python(LOADS, 5, *self.bad())])
        self.assertEqual(ended.code, 5)
        self.assertIn("RT05", [each["id"] for each in document["findings"]])

    def test_every_process_is_judged_and_the_gravest_is_told(self):
        shell = '"$0" -I -c "$1" 0 "$2"; "$0" -I -c "$1" 0 "$3" "$4"; "$0" -I -c "$1" 0 "$2"'
        ended, document = self.document(command=["sh", "-c", shell, PYTHON, LOADS, *self.good(),
                                                 *self.bad()])
        judged = self.judged(document)
        self.assertEqual(len(judged), 3)
        self.assertEqual(document["run"]["judged_pid"], judged[1]["pid"])
        self.assertIn("RT05", [each["id"] for each in document["findings"]])

    def test_a_copy_that_loads_nothing_is_not_judged_again(self):
        code = LOADS.replace('print("loaded", flush=True)', "os.fork() or os._exit(0); os.wait()")
        ended, document = self.document(command=python(code, 0, *self.good()))
        self.assertEqual(len(self.judged(document)), 1)

    def test_a_copy_that_loads_more_is_judged_itself(self):
        first, second = self.bad()
        code = """
import ctypes, os, sys
ctypes.CDLL(sys.argv[1])
if os.fork() == 0:
    ctypes.CDLL(sys.argv[2])
    os._exit(0)
os.wait()
"""
        ended, document = self.document(command=python(code, first, second))
        self.assertEqual(len(self.judged(document)), 2)
        self.assertIn("RT05", [each["id"] for each in document["findings"]])

    def test_every_way_to_end_is_held(self):
        for end in ("os._exit(4)", "os.abort()", "os.kill(os.getpid(), 15)", "sys.exit(4)"):
            code = LOADS.replace("sys.exit(int(sys.argv[1]))", end)
            ended, document = self.document(command=python(code, 0, *self.bad()))
            self.assertIn("RT05", [each["id"] for each in document["findings"]], end)
            self.assertEqual(self.judged(document)[0]["judged"], "exit")

    def test_without_ptrace_the_last_load_is_judged(self):
        ended, document = self.document("--no-ptrace", command=python(LOADS, 0, *self.bad()))
        self.assertIn("RT05", [each["id"] for each in document["findings"]])
        self.assertEqual(self.judged(document)[0]["judged"], "load")

    def test_one_run_in_another(self):
        inner = self.folder / "inner"
        ended = run(command=[DOCTOR, "run", "-o", inner, "--", *python(LOADS, 7, *self.bad())])
        self.assertEqual(ended.code, 7)
        self.assertIn("RT05", ended.message)
        self.assertIn("RT05", inner.read_text())

    def test_nothing_is_left(self):
        place, env = self.own_place()
        run(command=python(LOADS, 0, *self.bad()), env=env)
        run("--gate", command=python(LOADS, 0, *self.bad()), env=env)
        run(command=["/nonexistent"], env=env)
        self.assertEqual(list(place.iterdir()), [])


class Users(RunCase):
    def unprivileged(self, *arguments):
        need_root(self)
        program = self.folder / "cudart-doctor"
        shutil.copy(DOCTOR, program)
        return doctor(*arguments, program=[program], user=NOBODY, group=NOBODY, extra_groups=[])

    def test_a_user_without_rights_judges_his_own_command(self):
        for options in ([], ["--no-ptrace"]):
            ended = self.unprivileged("run", "--judge-exit", *options, "--",
                                      *python(LOADS, 0, *self.bad()))
            self.assertEqual(ended.code, 1, ended.message)
            self.assertIn("RT05", ended.message)

    def test_the_gate_needs_no_rights(self):
        marker = self.folder / "marker"
        ended = self.unprivileged("run", "--gate", "--", *python(LOADS, 0, *self.bad()))
        self.assertEqual((ended.code, ended.out), (1, b""), ended.message)

    def test_where_no_recorder_can_be_laid_proc_tells(self):
        need_root(self)
        need_program(self, "unshare")
        places = "/tmp /dev/shm /var/tmp"
        script = (f"for p in {places}; do mount -t tmpfs -o ro none $p || exit 99; done; exec \"$@\"")
        home = pathlib.Path(shutil.copytree(self.folder, f"/opt/doctor-test-{os.getpid()}"))
        self.addCleanup(shutil.rmtree, home)
        libraries = [home / each.relative_to(self.folder) for each in self.bad()]
        shutil.copytree(self.folder, home, dirs_exist_ok=True)
        ended = doctor("-m", "sh", "-c", script, "sh", DOCTOR, "run", "--judge-exit", "--",
                       *python(LOADS, 0, *libraries), program=["unshare"])
        if ended.code == 99:
            self.skipTest("no mount namespace")
        self.assertEqual(ended.code, 1, ended.message)
        self.assertIn("RT05", ended.message)


if __name__ == "__main__":
    support.main()
