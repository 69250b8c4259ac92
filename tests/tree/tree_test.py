"""`tree`: real servers with real runtimes; who is alike, who is odd, and what could not be seen."""
import ctypes
import json
import os
import re
import signal
import subprocess
import time

import tree_support as tree
from tree_support import Server, by_pid, doctor, groups_by_pid, support

COLUMNS, LINES = 80, 40


class AServer(tree.TreeCase):
    def text(self, pid, *arguments, **options):
        ended = doctor("tree", "--pid", pid, *arguments, **options)
        lines = ended.text.splitlines()
        self.assertLessEqual(max(map(len, lines)), COLUMNS)
        self.assertLessEqual(len(lines), LINES)
        return ended

    def odd_server(self):
        python, runtime, stub = self.stub_world()
        good, bad = [stub, runtime], [runtime, stub]  # The last one lies lowest, and is taken.
        return Server(self, python, [good, good, bad, good], engine=[runtime])

    def test_the_odd_rank_is_named_and_processes_of_another_kind_are_not_odd(self):
        server = self.odd_server()
        document = self.tree(server.pid, codes=(1,))
        self.assertEqual(document["counts"]["processes"], 7)
        states = {role: by_pid(document, pid)["state"] for role, pid in server.pids.items()}
        self.assertEqual(states, {"api": "without_cuda", "tracker": "without_cuda",
                                  **{role: "judged" for role in
                                     ("engine", "rank0", "rank1", "rank2", "rank3")}})
        ranks = server.ranks()
        (of_ranks,) = document["ranks"]
        self.assertEqual(of_ranks["pids"], sorted(ranks))
        groups = groups_by_pid(document)
        self.assertEqual(of_ranks["majority"], groups[ranks[0]])
        self.assertEqual(len({groups[ranks[i]] for i in (0, 1, 3)}), 1)
        (odd,) = of_ranks["odd"]
        self.assertEqual(odd["pids"], [ranks[2]])
        self.assertIn("order", {each["area"] for each in odd["changes"]})
        self.assertEqual(document["headline"]["pid"], ranks[2])
        self.assertEqual(document["headline"]["finding"]["id"], "RT04")

    def test_each_process_has_the_verdict_that_a_look_at_it_alone_has(self):
        server = self.odd_server()
        document = self.tree(server.pid)
        for role in ("engine", "rank0", "rank2"):
            alone = self.report("--pid", server.pids[role], "--probe", "off")
            verdict = by_pid(document, server.pids[role])["verdict"]
            self.assertEqual(verdict["worst"], alone["verdict"]["worst"])
            self.assertEqual(verdict["state"], alone["verdict"]["state"])
            self.assertEqual(verdict["sentence"], alone["headline"]["sentence"])
            self.assertEqual([each["id"] for each in verdict["findings"]],
                             [each["id"] for each in alone["findings"]])

    def test_groups_are_those_of_diff_but_for_each_ranks_own_variables(self):
        server = self.odd_server()
        groups = groups_by_pid(self.tree(server.pid))
        files = []
        for pid in server.ranks():
            files.append(self.folder / f"{pid}.json")
            files[-1].write_bytes(doctor("--pid", pid, "--probe", "off", "--json").out)
        compared = json.loads(doctor("diff", "--json", *files,
                                     "--ignore", "environment:CUDA_VISIBLE_DEVICES").out)
        by_diff = [[server.ranks()["ABCD".index(label)] for label in group["reports"]]
                   for group in compared["groups"]]
        by_tree = {}
        for pid in server.ranks():
            by_tree.setdefault(groups[pid], []).append(pid)
        self.assertEqual(sorted(by_diff), sorted(by_tree.values()))

    def test_the_text_says_who_is_odd_and_what_to_do_on_one_screen(self):
        server = self.odd_server()
        ended = self.text(server.pid)
        self.assertEqual(ended.code, 1)
        odd = server.ranks()[2]
        self.assertTrue(ended.text.startswith(f"CRITICAL RT04  pid {odd} VLLM::Worker_TP2"))
        flat = " ".join(ended.text.split())
        self.assertIn(f"ODD VLLM::Worker_TP2 (pid {odd}) differs from 3 of 4 ranks", flat)
        self.assertIn("it takes libcudart_stub.so instead of libcudart.so.12", flat)
        self.assertRegex(flat, "FIX 1 TileLang 0.1.12 or later")
        self.assertRegex(ended.text, r"no CUDA +%d python serve.py" % server.pid)

    def test_ranks_that_agree_are_said_to(self):
        python, runtime, _ = self.stub_world()
        server = Server(self, python, [[runtime]] * 3)
        ended = self.text(server.pid)
        self.assertEqual(ended.code, 0, ended.text)
        self.assertTrue(ended.text.startswith("OK  "), ended.text)
        self.assertIn("RANKS    all 3 are alike", ended.text)
        self.assertNotIn("ODD", ended.text)

    def test_a_rank_that_holds_nothing_is_named(self):
        python, runtime, _ = self.stub_world()
        server = Server(self, python, [[runtime], [runtime], [], [runtime]])
        pid = server.pids["rank2"]
        ended = self.text(server.pid)
        self.assertIn(f"ODD VLLM::Worker_TP2 (pid {pid}) holds neither a GPU nor a runtime, unlike 3",
                      " ".join(ended.text.split()))
        (of_ranks,) = self.tree(server.pid)["ranks"]
        self.assertEqual(of_ranks["without"], [pid])

    def test_a_look_at_one_process_tells_of_those_that_it_started(self):
        python, runtime, _ = self.stub_world()
        server = Server(self, python, [[runtime]] * 4, engine=[runtime])
        for role, count in (("api", 2), ("engine", 4), ("rank0", 0)):
            pid = server.pids[role]
            self.assertEqual(self.report("--pid", pid, "--probe", "off")["target"]["children"], count)
            words = f"{count} processes that it started: cudart-doctor tree --pid {pid}"
            text = doctor("--pid", pid, "--probe", "off").text
            self.assertEqual(words in text, count != 0)
            # The parent holds no runtime: that nothing was found there must not sound like an answer for all.
            self.assertEqual(f"No CUDA runtime is mapped here; {count} processes below not looked at." in text,
                             role == "api", text)
            self.assertEqual(f"FIX Look at the processes below it: cudart-doctor tree --pid {pid}" in text, role == "api")
            line = doctor("--pid", pid, "--probe", "off", "--format", "line").text
            self.assertEqual(f"; {count} below not looked at (pid" in line, count != 0, line)

    def test_two_hundred_ranks_fit_on_a_screen(self):
        python, runtime, stub = self.stub_world()
        ranks = [[stub, runtime]] * 59 + [[runtime, stub]]
        server = Server(self, python, ranks)
        ended = self.text(server.pid, "--timeout", 60, timeout=70)
        self.assertRegex(ended.text, r"\.\.\. \d+ more like \d+")
        document = self.tree(server.pid, "--timeout", 60, timeout=70)
        self.assertEqual([odd["pids"] for odd in document["ranks"][0]["odd"]],
                         [[server.pids["rank59"]]])
        whole = doctor("tree", "--pid", server.pid, "-v", "--timeout", 60, timeout=70).text
        for pid in server.ranks():
            self.assertIn(f" {pid} VLLM::Worker_TP", whole)

    def test_the_pid_in_its_own_namespace_is_shown(self):
        support.need_root(self)
        python, runtime, _ = self.stub_world()
        server = Server(self, python, [[runtime]],
                        prefix=("unshare", "--pid", "--fork", "--kill-child"))
        document = self.tree(server.process.pid)
        inner = {each["inner_pid"] for each in document["processes"]
                 if each["pid"] != each["inner_pid"]}
        self.assertEqual(inner, set(server.pids.values()))

    def test_the_server_is_found_by_its_port(self):
        victim = self.victim("import socket; kept.append(socket.create_server(('127.0.0.1', 0)))")
        victim.do("open(%r, 'w').write(str(kept[0].getsockname()[1]))" % str(self.folder / "port"))
        document = self.many("tree", "--port", (self.folder / "port").read_text())
        self.assertEqual((document["root"], document["counts"]["processes"]), (victim.pid, 1))

    def test_a_title_cannot_steer_the_terminal(self):
        python, runtime, _ = self.stub_world()
        evil = "\x1b[2J\x1b]0;x\x07 \u202e#"
        server = Server(self, python, [[runtime]], titles={"rank": evil, "tracker": evil})
        ended = self.text(server.pid)
        self.assertNotRegex(ended.text, "[\x00-\x09\x0b-\x1f\x7f\u202e]")
        self.assertIn(r"\x1b[2J", ended.text)

    def test_redaction_leaves_no_name_and_the_same_groups(self):
        python, runtime, stub = self.stub_world()
        server = Server(self, python, [[stub, runtime], [runtime, stub]],
                        env={"USER": "gretchen", "HOME": "/home/gretchen"},
                        titles={"rank": "worker --data /home/gretchen/set#"})
        document = self.tree(server.pid, "--redact")
        shown = json.dumps(document)
        self.assertNotIn("gretchen", shown)
        self.assertNotIn(json.dumps(os.uname().nodename), shown)
        self.assertEqual(groups_by_pid(document), groups_by_pid(self.tree(server.pid)))

    def test_allowed_findings_and_fail_on_decide_the_exit_code(self):
        server = self.odd_server()
        self.tree(server.pid, "--allow", "RT04", codes=(0,))
        self.tree(server.pid, "--allow", "RT04", "--fail-on", "warning", codes=(1,))
        nagios = doctor("tree", "--pid", server.pid, "--format", "line", "--exit-style", "nagios")
        self.assertEqual(nagios.code, 2)
        self.assertRegex(nagios.text, r"^CUDART CRITICAL - RT04 .{5,}\| critical=1;;;0 ")


class WhoIsAlike(tree.TreeCase):
    def family(self, *pieces):
        """Children of one process, each after its piece of Python; their PIDs in order."""
        told = self.folder / "told"
        told.mkdir()
        parent = self.victim("import time")
        for number, piece in enumerate(pieces):
            mark = str(told / str(number))
            parent.do(f"os.fork() or ({piece}, open({mark!r}, 'w').write(str(os.getpid())), "
                      "time.sleep(600))")
            self.wait_until((told / str(number)).exists)
        self.addCleanup(subprocess.run, ["pkill", "-P", str(parent.pid)])
        self.wait_until(lambda: all((told / str(i)).read_text() for i in range(len(pieces))))
        return parent.pid, [int((told / str(i)).read_text()) for i in range(len(pieces))]

    def test_those_that_are_alike_are_looked_at_once_and_share_the_verdict(self):
        good, other = str(self.runtime("12.8")), str(self.runtime("13.0", folder="other"))
        top, pids = self.family(f"load({good!r})", f"load({good!r})", f"load({other!r})",
                                f"(load({good!r}), load({other!r}))",
                                f"(load({other!r}), fill_holes(), load({good!r}))",
                                f"load({good!r})")
        document = self.tree(top)
        shared = {each["pid"]: each["judged_as"] for each in document["processes"]}
        one, two, alone, both, order, again = pids
        first = min(one, two, again)
        self.assertEqual(shared[first], None)
        self.assertEqual({shared[pid] for pid in (one, two, again) if pid != first}, {first})
        for pid in (alone, both, order):
            self.assertEqual(shared[pid], None)
        for pid in pids:
            verdict = by_pid(document, pid)["verdict"]
            report = self.report("--pid", pid, "--probe", "off")
            self.assertEqual((verdict["sentence"], verdict["worst"], verdict["state"]),
                             (report["headline"]["sentence"], report["verdict"]["worst"],
                              report["verdict"]["state"]))

    def test_another_directory_or_right_makes_another(self):
        support.need_root(self)
        good = str(self.runtime("12.8"))
        top, pids = self.family(f"load({good!r})", f"(load({good!r}), os.chdir('/usr'))",
                                f"(load({good!r}), os.setgroups([1, 2]))")
        document = self.tree(top)
        for pid in pids:
            self.assertEqual(by_pid(document, pid)["judged_as"], None)

    def test_a_card_whose_node_is_mapped_is_named(self):
        support.need_root(self)
        script = 'mount -t tmpfs none /dev && cp /proc/version /dev/nvidia3 && exec "$@"'
        victim = support.Victim(self, prefix=("unshare", "--mount", "sh", "-c", script, "sh"))
        victim.do("map_file('/dev/nvidia3')")
        document = self.tree(victim.pid)
        self.assertEqual(by_pid(document, victim.pid)["gpus"], ["nvidia3"])
        self.assertEqual(by_pid(document, victim.pid)["state"], "judged")
        self.assertIn("nvidia3", doctor("tree", "--pid", victim.pid).text)


class WhatCannotBeSeen(tree.TreeCase):
    def test_without_the_right_to_read_nothing_is_called_healthy(self):
        support.need_root(self)
        python, runtime, _ = self.stub_world()
        server = Server(self, python, [[runtime]])
        program = ("setpriv", f"--reuid={support.NOBODY}", f"--regid={support.NOBODY}",
                   "--clear-groups", support.DOCTOR)
        document = self.tree(server.pid, program=program, codes=(3,))
        self.assertEqual(document["counts"]["unread"], 4)
        self.assertEqual({each["reason"] for each in document["processes"]}, {"permission"})
        ended = doctor("tree", "--pid", server.pid, program=program)
        self.assertEqual(ended.code, 3)
        self.assertIn("None of 4 processes could be read.", ended.text)
        self.assertIn("no permission", ended.text)

    def test_a_zombie_is_one_and_leaves_nothing_open(self):
        victim = self.victim("pid = os.fork() or os._exit(0)", "kept.append(pid)")
        victim.do("import time; time.sleep(0.05)")
        document = self.tree(victim.pid, codes=(0,))
        self.assertEqual(document["counts"]["zombie"], 1)

    def test_a_process_that_is_gone_at_once_is_an_error(self):
        process = subprocess.Popen(["true"])
        process.wait()
        ended = doctor("tree", "--pid", process.pid, "--json")
        self.assertEqual(ended.code, 3)
        self.assertEqual(ended.document["error"]["kind"], "not_found")

    def test_processes_that_come_and_go_are_no_error(self):
        support.need_program(self, "sh")
        forks = subprocess.Popen(["sh", "-c", "while :; do sh -c 'true & true' ; done"],
                                 start_new_session=True)
        self.addCleanup(forks.wait)
        self.addCleanup(os.killpg, forks.pid, signal.SIGKILL)
        for _ in range(10):
            self.tree(forks.pid, codes=(0,))

    def test_a_file_system_that_never_answers_costs_its_own_process_only(self):
        support.need_root(self)
        if not os.path.exists("/dev/fuse"):
            self.skipTest("needs /dev/fuse")
        silent = self.runtime("12.8", folder="silent")
        parent = self.victim()
        # Children of one process, with a runtime each.
        for path in (silent, self.runtime("13.0", folder="well")):
            parent.do(f"os.fork() or (load({str(path)!r}), __import__('time').sleep(600))")
        self.wait_until(lambda: self.tree(parent.pid)["counts"]["judged"] == 2)
        libc = ctypes.CDLL(None, use_errno=True)
        fuse = os.open("/dev/fuse", os.O_RDWR)
        mounted = libc.mount(b"silent", os.fsencode(silent.parent), b"fuse", 0,
                             b"fd=%d,rootmode=40000,user_id=0,group_id=0" % fuse)
        self.addCleanup(subprocess.run, ["pkill", "-P", str(parent.pid)])
        self.addCleanup(libc.umount2, os.fsencode(silent.parent), 2)
        self.addCleanup(os.close, fuse)
        if mounted != 0:
            self.skipTest("a FUSE mount is not allowed here")
        began = time.monotonic()
        document = self.tree(parent.pid, "--timeout", 6)
        self.assertLess(time.monotonic() - began, 9)
        well = [each for each in document["processes"]
                if each["verdict"] and not each["verdict"]["unread"]]
        self.assertEqual(len(well), 1)
        self.assertEqual(document["counts"]["judged"] + document["counts"]["unjudged"], 2)
        # Whichever it came to: the one that does not answer is never healthy.
        self.assertIn(document["verdict"]["state"], ("undecided", "findings"))


class TheCommandLine(tree.TreeCase):
    def test_what_has_no_meaning_is_refused(self):
        for arguments, words in (
                (["tree"], "--pid PID"), (["tree", "--all"], "--all"),
                (["tree", "--pid", 1, "--probe", "on"], "never probes"),
                (["--all", "--probe", "require"], "never probes"),
                (["--all", "--format", "html"], "text, json, line or prometheus"),
                (["tree", "--pid", 1, "--format", "junit"], "text, json, line or prometheus"),
                (["tree", "--pid", 1, "--from", "x"], "--from"),
                (["--all", "--pid", 1], "--all"),
                (["--all", "--peer", 1], "--peer"),
                (["--all", "--explain-selection"], "--explain-selection"),
                (["tree", "--pid", 1, "--github"], "--github"),
                (["snapshot", "--all", "--dir", "x"], "--all"),
                (["run", "--all", "--", "true"], "--all")):
            ended = doctor(*arguments)
            self.assertEqual(ended.code, 2, arguments)
            self.assertIn(words, ended.message)

    def test_probe_auto_and_off_are_taken(self):
        for mode in ("auto", "off"):
            self.tree(os.getpid(), "--probe", mode)

    def test_a_page_names_the_command(self):
        self.assertTrue(re.search(r"\n +tree +A process", doctor("--help").text))


if __name__ == "__main__":
    tree.main()
