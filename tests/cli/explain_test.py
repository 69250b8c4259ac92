"""`explain`: from a finding, a code or an error text to its causes, and what stands in a process."""
import json
import os
import re
import subprocess
from random import Random

import support
from support import Case, DOCTOR, clean_environment, doctor

STUB = b"AttributeError: /x/tilelang/lib/libcudart_stub.so: undefined symbol: cudaDeviceReset\n"


def explain(*arguments, text=b""):
    """A run with `text` on stdin."""
    done = subprocess.run([DOCTOR, "explain", *map(str, arguments)], input=text,
                          capture_output=True, timeout=60, env=clean_environment())
    return support.Ended(done.returncode, done.stdout, done.stderr)


def document(*arguments, text=b""):
    ended = explain("--json", *arguments, text=text)
    answer = json.loads(ended.out)
    assert answer["exit_code"] == ended.code, ended.message
    return answer


class Words(Case):
    def test_without_a_word_all_findings_are_listed(self):
        ended = explain()
        self.assertEqual(ended.code, 0)
        catalogue = (support.SOURCE / "docs/findings.md").read_text()
        ids = [line[3:7] for line in catalogue.splitlines() if line.startswith("## ")]
        self.assertGreater(len(ids), 30)
        self.assertEqual([line[:4] for line in ended.text.splitlines()
                          if line[:2] in ("DR", "IP", "MP", "RT", "SY")], ids)
        self.assertEqual([line for line in ended.text.splitlines() if len(line) > 80], [])
        self.assertEqual([row["id"] for row in document()["findings"]], ids)

    def test_a_finding_by_id_and_by_slug(self):
        by_id = explain("rt04")
        self.assertEqual(by_id.code, 0)
        self.assertIn("RT04 lookalike-selected", by_id.text)
        self.assertIn("do not drain", by_id.text)
        self.assertIn("libcudart_stub.so ... undefined symbol: cuda", by_id.text)
        self.assertEqual(explain("Lookalike-Selected").out, by_id.out)
        self.assertEqual(document("RT04")["finding"]["owner"], "image")

    def test_a_code_by_number_and_by_name(self):
        by_number = explain("201")
        self.assertEqual(by_number.code, 0)
        for finding in ("IP02", "IP03", "IP07"):
            self.assertIn(finding, by_number.text)
        for name in ("cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT"):
            self.assertEqual(explain(name).out, by_number.out)
        self.assertEqual(document("201")["code"]["code"], 201)
        self.assertEqual(document("700")["code"]["causes"], [])

    def test_an_unknown_word_names_the_near_ones(self):
        for word, near in (("RT4", "RT04"), ("lookalike", "lookalike-selected"),
                           ("cudaErrorInvalidValu", "cudaErrorInvalidValue"),
                           ("", "explain"), ("1000", "explain"), ("\x1b[31m", "explain")):
            with self.subTest(word):
                self.assertIn(near, self.failure(2, "explain", word))
                self.assertNotIn("\x1b", explain(word).message)

    def test_two_words_and_a_process_without_a_word_are_slips(self):
        self.failure(2, "explain", "RT04", "RT05")
        self.assertIn("name a finding", self.failure(2, "explain", "--pid", "1"))


class Logs(Case):
    def test_a_known_text_is_named_with_its_causes(self):
        ended = explain("-", text=b"noise\n" + STUB + b"noise\n" + STUB)
        self.assertEqual(ended.code, 0)
        self.assertIn("1 known symptom in 4 lines", ended.text)
        self.assertIn("in 2 lines, the first is 2", ended.text)
        self.assertIn("RT04 lookalike-selected", ended.text)
        self.assertIn("cudart-doctor --pid PID", ended.text)
        symptom, = document("-", text=STUB)["log"]["symptoms"]
        self.assertEqual(symptom["symptom"], "stub-lacks-symbol")
        self.assertEqual(symptom["text"], STUB.decode().strip())
        self.assertEqual([each["finding"] for each in symptom["causes"]], ["RT04", "RT07", "RT11"])
        self.assertEqual({each["here"] for each in symptom["causes"]}, {None})

    def test_nothing_known_is_said_and_has_an_exit_code(self):
        for text in (b"", b"all is well\n", b"\0" * 1000, bytes(range(256)) * 100):
            ended = explain("-", text=text)
            self.assertEqual((ended.code, ended.message), (3, ""))
            self.assertIn("no known symptom", ended.text)
            self.assertEqual(document("-", text=text)["log"]["symptoms"], [])

    def test_what_terminals_and_editors_add_does_not_hide_a_text(self):
        for text in (b"\x1b[31m" + STUB.replace(b"undefined", b"\x1b[1mundefined\x1b[0m"),
                     STUB.replace(b"\n", b"\r\n"), STUB.decode().encode("utf-16"),
                     b"\xff\xfe\x80" + STUB, b"x" * 1_000_000 + STUB,
                     json.dumps({"log": (b"a\n" + STUB).decode()}).encode()):
            ended = explain("-", text=text)
            self.assertEqual(ended.code, 0, text[:80])
            self.assertIn("stub-lacks-symbol", ended.text)
            self.assertNotIn("\x1b", ended.text)

    @support.native
    def test_a_log_is_read_up_to_a_limit_and_an_endless_stream_ends(self):
        with subprocess.Popen(["yes", ""], stdout=subprocess.PIPE) as source:
            done = subprocess.run([DOCTOR, "explain", "-"], stdin=source.stdout,
                                  capture_output=True, timeout=120, env=clean_environment())
            source.stdout.close()
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"no known symptom in 4294967296 lines", done.stdout)
        self.assertIn(b"only the first 4 GiB", done.stdout)

    @support.native
    def test_memory_does_not_grow_with_the_log(self):
        support.need_no_sanitizer(self)
        for text in (b"x" * 99 + b"\n", b"x", STUB, b"\x1b[31m", b"x\0", b"x\r"):
            done = subprocess.run(["sh", "-c", 'ulimit -v 262144 && exec "$0" explain -', DOCTOR],
                                  input=text * ((32 << 20) // len(text)), capture_output=True,
                                  timeout=60, env=clean_environment())
            self.assertEqual((done.returncode, done.stderr), (0 if text == STUB else 3, b""))

    def test_a_reader_that_closes_the_pipe_is_no_error(self):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([DOCTOR, "explain", "-"], input=STUB, stdout=writing,
                              stderr=subprocess.PIPE, timeout=60, env=clean_environment())
        os.close(writing)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_stdin_is_not_waited_for_beyond_the_timeout(self):
        for arguments in (["explain", "-"], ["diff", "-", self.folder]):
            with self.subTest(arguments):
                silent, kept_open = os.pipe()
                done = subprocess.run([DOCTOR, *arguments, "--timeout", "0.2"], stdin=silent,
                                      capture_output=True, timeout=30, env=clean_environment())
                os.close(silent)
                os.close(kept_open)
                self.assertEqual(done.returncode, 3)
                self.assertIn(b"no answer within the deadline during: read stdin", done.stderr)

    def test_stdin_that_cannot_be_read(self):
        folder = os.open("/", os.O_RDONLY)
        self.addCleanup(os.close, folder)
        self.assertIn("cannot read stdin", self.failure(3, "explain", "-", stdin=folder))


def signatures():
    """(symptom, regular expression) for each pattern of the program's table, in its order."""
    for family in ("runtime", "sharing", "driver", "symbol"):
        source = support.SOURCE / f"src/analyze/explain_signatures_{family}.cpp"
        for symptom, texts in re.findall(r'\.id = "([^"]+)",\s*\.patterns = \{(.*?)\}',
                                         source.read_text(), re.DOTALL):
            for pattern in re.findall(r'"([^"]*)"', texts):
                yield symptom, pattern


def expression(pattern):
    """A pattern in Python's language: the oracle of what it means."""
    pieces = []
    for piece in pattern.split("*"):
        text = re.escape(piece.strip("|"))
        begin = r"(?<![A-Za-z0-9_])" if piece.startswith("|") else ""
        end = r"(?![A-Za-z0-9_])" if piece.endswith("|") else ""
        pieces.append(begin + text + end)
    return re.compile(".{0,512}?".join(pieces).encode(), re.IGNORECASE | re.DOTALL)


class Oracle(Case):
    """Python's regular expressions over the same table give the same lines."""

    TABLE = [(symptom, pattern, expression(pattern)) for symptom, pattern in signatures()]

    def lines(self, random):
        noise = (b"INFO 11-30 10:00:00 [loggers.py:1] GPU KV cache usage: 3%, CUDA graph: True",
                 b"Found nccl from library libnccl.so.2", b"", b"\xff\xfe", b"x" * 3000)
        for _ in range(6_000):
            text = random.choice(noise)
            if random.random() < 0.3:
                known = random.choice(self.TABLE)[1].replace("|", "").encode()
                known = known.replace(b"*", b"-" * random.choice((0, 1, 9, 500, 512, 513)))
                cut = random.randrange(len(known) + 1)
                known = random.choice((known, known.upper(), known[:cut] + known[cut + 1:],
                                       known + b"_x", known[:cut] + b" " + known[cut:]))
                at = random.randrange(len(text) + 1)
                text = text[:at] + known + text[at:]
            yield text

    def test_the_same_lines_are_recognised(self):
        self.assertGreater(len(self.TABLE), 80)
        random = Random(5)
        lines = list(self.lines(random))
        expected = {}
        for number, line in enumerate(lines, 1):
            fits = [symptom for symptom, _, regular in self.TABLE if regular.search(line)]
            if fits:
                first, count = expected.get(fits[0], (number, 0))
                expected[fits[0]] = (first, count + 1)
        log = document("-", text=b"\n".join(lines))["log"]
        found = {each["symptom"]: (each["first_line"], each["count"])
                 for each in log["symptoms"] if each["symptom"]}
        self.assertGreater(len(found), 25)
        self.assertEqual(found, expected)


class Processes(Case):
    """With a process the causes are looked for in it."""

    def setUp(self):
        super().setUp()
        self.stub = self.compile("libcudart_stub.so", "int cudaFree(void *p) { return p != 0; }")
        self.target = self.victim(f"load({str(self.stub)!r})")

    def standing(self, finding, *arguments):
        """What is said of one finding, in text and in JSON."""
        text = explain(finding, *arguments)
        self.assertEqual(text.code, 0, text.message)
        answer = document(finding, *arguments)
        self.assertEqual(answer["looked_at_pid"], self.target.pid)
        here = answer["finding"]["here"]
        words = {"confirmed": "confirmed here: " + finding, "not_found": "not found here",
                 "unseen": "could not be seen here: "}
        self.assertIn(words[here["state"]], text.text)
        return here["state"]

    def test_what_stands_is_confirmed_and_what_was_not_seen_is_not_cleared(self):
        pid = ("--pid", self.target.pid)
        self.assertEqual(self.standing("RT03", *pid), "confirmed")
        self.assertEqual(self.standing("MP01", *pid), "not_found")
        self.assertEqual(self.standing("IP09", *pid), "unseen")
        self.assertEqual(self.standing("IP02", *pid), "unseen")
        self.stub.unlink()
        self.assertEqual(self.standing("MP01", *pid), "confirmed")

    def test_a_log_beside_a_process(self):
        symptom, = document("-", "--pid", self.target.pid, text=STUB)["log"]["symptoms"]
        # A rule would take the stub, but no consumer that has the rule is here.
        self.assertEqual(symptom["causes"][0]["here"]["state"], "noted")
        self.assertIn("noted here only, info: ",
                      explain("-", "--pid", self.target.pid, text=STUB).text)
        self.assertEqual(explain("-", "--pid", self.target.pid, text=b"x").code, 3)

    def test_no_probe_is_run_unasked(self):
        reason = document("IP09", "--pid", self.target.pid)["finding"]["here"]["reason"]
        self.assertIn("--probe", reason)

    def test_a_snapshot_gives_the_same_answers(self):
        folder = self.folder / "snapshot"
        self.assertEqual(doctor("snapshot", "--pid", self.target.pid, "--dir", folder,
                                "--probe", "off").code, 0)
        for subject in ("RT03", "MP01", "201"):
            self.assertEqual(explain(subject, "--from", folder).out,
                             explain(subject, "--pid", self.target.pid).out)

    def test_a_process_that_is_not_there_is_an_error(self):
        child = subprocess.Popen(["true"])
        child.wait()
        self.failure(3, "explain", "RT04", "--pid", child.pid)
        self.failure(2, "explain", "RT04", "--from", self.folder / "nothing")


support.main()
