"""Rights that the program's file has and its caller has not: never those of what the caller names."""
import os
import shutil
import subprocess

import support
from support import NOBODY, Case, clean_environment, doctor, need_program, need_root

STATUS = """
#include <stdio.h>
__attribute__((constructor)) static void tell(void) {
  FILE *status = fopen("/proc/self/status", "r");
  for (char line[256]; fgets(line, sizeof line, status);) fputs(line, stderr);
}
"""


# What Yama answers to who is no ancestor and has no capability (kernel.yama.ptrace_scope 1 to 3): maps and files are
# read as ever, memory is refused. Preloaded, since a kernel may be without it and 3 could not be taken back.
YAMA = """
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from, unsigned long m, unsigned long flags) {
  (void)pid, (void)to, (void)n, (void)from, (void)m, (void)flags;
  errno = EPERM;
  return -1;
}
int openat(int folder, const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  int mode = va_arg(more, int);
  va_end(more);
  if (strcmp(path, "mem") != 0) return (int)syscall(SYS_openat, folder, path, flags, mode);
  errno = EACCES;
  return -1;
}
"""


class MemoryRefused(Case):
    def look(self, *loads):
        support.need_no_sanitizer(self)
        yama = self.compile("libyama.so", YAMA)
        victim = self.victim(*(f"load({str(each)!r})" for each in loads))
        return doctor("--pid", victim.pid, "--probe", "off", "-v", env=clean_environment(LD_PRELOAD=str(yama)))

    def test_what_was_not_seen_is_said_with_the_remedy(self):
        ended = self.look(self.runtime("12.8"))
        text = " ".join(ended.text.split())
        self.assertRegex(text, "UNSEEN load order: /proc/[0-9]+/mem: (Permission denied|Operation not permitted); needs CAP_SYS_PTRACE, "
                               "or the same user where kernel.yama.ptrace_scope is 0")

    def test_what_maps_tell_is_found_all_the_same(self):
        ended = self.look(*(self.runtime("12.8", folder=name) for name in ("a", "b")))
        self.assertEqual(ended.code, 1)
        self.assertIn("RT05", ended.text)


class Gained(Case):
    def setUp(self):
        super().setUp()
        need_root(self)
        self.program = self.folder / "cudart-doctor"
        shutil.copyfile(support.DOCTOR, self.program)
        os.chmod(self.program, 0o755)

    def as_nobody(self, *arguments):
        return subprocess.run([self.program, *map(str, arguments)], capture_output=True, timeout=60, check=False, cwd="/",
                              stdin=subprocess.DEVNULL, env=clean_environment(), user=NOBODY, group=NOBODY, extra_groups=[])

    def set_mode(self, mode):
        os.chmod(self.program, mode)
        if os.statvfs(self.program).f_flag & os.ST_NOSUID:
            self.skipTest("the folder for temporary files is mounted nosuid")

    def test_set_user_id_is_refused(self):
        support.need_no_sanitizer(self)
        for mode in (0o4755, 0o2755):
            self.set_mode(mode)
            ended = self.as_nobody("--version")
            self.assertEqual((ended.returncode, ended.stdout), (2, b""))
            self.assertIn(b"refuses to run set-user-ID", ended.stderr)

    def test_a_library_that_is_named_has_no_capability_of_the_file(self):
        need_program(self, "setcap")
        self.set_mode(0o755)
        subprocess.run(["setcap", "cap_sys_ptrace+ep", self.program], check=True)
        server = self.victim()  # root's
        self.assertIn(self.as_nobody("--pid", server.pid, "--probe", "off").returncode, (0, 1), "the capability is in force")
        library = self.compile("libtell.so", STATUS)
        os.chmod(library, 0o755)
        ended = self.as_nobody("--load", library, "--probe", "off", "-v")
        status = dict(line.split(":\t", 1) for line in ended.stderr.decode().splitlines() if ":\t" in line)
        self.assertEqual({status[name] for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")}, {"0" * 16}, ended.stderr)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Uid"].split(), [str(NOBODY)] * 4)

    def test_nor_has_one_that_is_named_to_the_programs_own_children(self):
        """The words by which the program starts itself can be typed."""
        need_program(self, "setcap")
        self.set_mode(0o755)
        subprocess.run(["setcap", "cap_sys_ptrace+ep", self.program], check=True)
        library = self.compile("libtell.so", STATUS)
        os.chmod(library, 0o755)
        commands = self.folder / "commands"
        commands.write_bytes(bytes(library) + b"\0")
        with open(commands, "rb") as three, open(os.devnull, "wb") as four:
            ended = subprocess.run(["sh", "-c", 'exec "$0" __self-target 3<&8 4>&9', self.program], capture_output=True,
                                   preexec_fn=lambda: (os.dup2(three.fileno(), 8), os.dup2(four.fileno(), 9)), pass_fds=(8, 9),
                                   timeout=60, check=False, stdin=subprocess.DEVNULL, env=clean_environment(), user=NOBODY,
                                   group=NOBODY, extra_groups=[])
        status = dict(line.split(":\t", 1) for line in ended.stderr.decode().splitlines() if ":\t" in line)
        self.assertEqual(status.get("CapPrm"), "0" * 16, ended)


if __name__ == "__main__":
    support.main()
