"""`--all`: every process of the node, beside whatever else runs here."""
import json
import os
import pathlib
import re
import subprocess

import tree_support as tree
from tree_support import Server, doctor, groups_by_pid, support

try:
    from prometheus_client.parser import text_string_to_metric_families
except ImportError:
    text_string_to_metric_families = None

AS_NOBODY = ("setpriv", f"--reuid={support.NOBODY}", f"--regid={support.NOBODY}", "--clear-groups",
             support.DOCTOR)


class TheNode(tree.TreeCase):
    def test_all_of_it_is_counted_and_what_holds_cuda_is_judged(self):
        python, runtime, stub = self.stub_world()
        server = Server(self, python, [[stub, runtime]] * 2 + [[runtime, stub]])
        document = self.many("--all", codes=(1,))
        counts = dict(document["counts"])
        self.assertEqual(counts.pop("processes"), sum(counts.values()))
        listed = {each["pid"]: each for each in document["processes"]}
        for pid in server.ranks():
            self.assertEqual(listed[pid]["state"], "judged")
        self.assertNotIn(server.pid, listed)
        groups = groups_by_pid(document)
        first, second, odd = server.ranks()
        self.assertEqual(groups[first], groups[second])
        self.assertNotEqual(groups[first], groups[odd])
        # Worst first.
        order = ["critical", "error", "warning", "info", None]
        places = [order.index(each["worst"]) for each in document["groups"]
                  if not each["undecided"]]
        self.assertEqual(places, sorted(places))

    def test_the_kernels_threads_are_those_without_a_program(self):
        with open("/proc/2/stat") as stat:
            if "(kthreadd)" not in stat.read():
                self.skipTest("the kernel's threads are not visible here")
        document = self.many("--all")
        threads = 0
        for folder in pathlib.Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    flags = int((folder / "stat").read_text().rpartition(")")[2].split()[6])
                except OSError:
                    continue
                threads += bool(flags & 0x200000)
        self.assertLess(abs(document["counts"]["kernel_thread"] - threads), 20)
        self.assertGreater(document["counts"]["kernel_thread"], 0)

    def test_what_belongs_to_others_decides_nothing_beside_one_that_was_judged(self):
        support.need_root(self)
        victim = self.victim(uid=support.NOBODY)
        document = self.many("--all", program=AS_NOBODY, codes=(3,))
        self.assertGreater(document["counts"]["unread"], 0)
        self.assertIn("nothing of CUDA was seen", document["verdict"]["undecided"])
        victim.do("load(%r)" % str(self.runtime("12.8")))
        ended = doctor("--all", program=AS_NOBODY)
        self.assertEqual(ended.code, 0)
        self.assertIn("of what could be read", " ".join(ended.text.split()))
        self.assertLessEqual(len(ended.text.splitlines()), 40)

    def test_where_nothing_can_be_read_nothing_is_decided(self):
        support.need_root(self)
        alone = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c",
                 'sleep 60 & "$@"; code=$?; kill $!; exit $code', "sh", *AS_NOBODY)
        document = self.many("--all", program=alone, codes=(3,))
        self.assertEqual(document["verdict"]["undecided"], "not a single process could be read")

    def test_a_user_sees_what_is_his_own(self):
        support.need_root(self)
        victim = self.victim(uid=support.NOBODY)
        victim.do("load(%r)" % str(self.runtime("12.8")))
        document = self.many("--all", program=AS_NOBODY)
        (process,) = [each for each in document["processes"] if each["pid"] == victim.pid]
        self.assertEqual((process["state"], process["uid"]), ("judged", support.NOBODY))

    def test_hidden_processes_are_spoken_of(self):
        support.need_root(self)
        # A procfs of its own: to remount would hide processes from the whole machine.
        script = 'mount -t proc -o hidepid=2 proc /proc || exit 77; exec "$@"'
        program = ("unshare", "--mount", "--pid", "--fork", "sh", "-c", script, "sh", *AS_NOBODY)
        ended = doctor("--all", "--json", program=program)
        if ended.code == 77:
            self.skipTest("hidepid cannot be set here")
        notes = " ".join(json.loads(ended.out)["notes"])
        self.assertIn("hidepid=", notes)
        self.assertIn("PID namespace", notes)

    def test_a_process_with_a_hundred_thousand_mappings_is_one_of_many(self):
        limit = pathlib.Path("/proc/sys/vm/max_map_count")
        room = int(limit.read_text()) - 1000
        victim = self.victim(f"crowd({min(room, 60_000)})")
        victim.do("load(%r)" % str(self.runtime("12.8")))
        document = self.tree(victim.pid)
        self.assertEqual(document["counts"]["judged"], 1)

    def test_a_line_for_a_monitor_has_eighty_bytes(self):
        self.victim("load(%r)" % str(self.runtime("12.8")))
        ended = doctor("--all", "--format", "line")
        self.assertRegex(ended.text, r"^(OK|INFO|WARNING|ERROR|CRITICAL|UNKNOWN) .*\n$")
        self.assertLessEqual(len(ended.out), 81)

    def test_the_metrics_parse_and_name_no_process(self):
        if text_string_to_metric_families is None:
            support.missing(self, "python3-prometheus-client is not installed")
        victim = self.victim("load(%r)" % str(self.runtime("12.8")))
        text = doctor("--all", "--format", "prometheus").text
        families = {each.name: each for each in text_string_to_metric_families(text)}
        states = {sample.labels["state"]: sample.value
                  for sample in families["cudart_doctor_processes"].samples}
        self.assertGreaterEqual(states["judged"], 1)
        for family in families.values():
            for sample in family.samples:
                self.assertFalse(re.search(r"\b%d\b" % victim.pid, str(sample.labels)))

    def test_the_doctor_does_not_look_at_itself(self):
        document = self.many("--all", "--deep")
        self.assertNotIn(os.path.basename(support.DOCTOR) + " --all",
                         " ".join(each["title"] for each in document["processes"]))

    def test_promtool_finds_nothing_to_say(self):
        done = subprocess.run(["sh", "-c", "command -v promtool"], capture_output=True)
        if done.returncode != 0:
            self.skipTest("promtool is not installed (Debian: prometheus)")
        checked = subprocess.run(["promtool", "check", "metrics"],
                                 input=doctor("--all", "--format", "prometheus").out,
                                 capture_output=True)
        self.assertEqual((checked.returncode, checked.stderr), (0, b""))


if __name__ == "__main__":
    tree.main()
