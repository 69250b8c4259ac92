"""Time and memory of the shortest commands, beside /bin/true and Python. Started by scripts/bench, which has the help."""

from bench_common import BARE_PYTHON, FLOOR, PART, PYTHON, ROOT, Bench, Case, Row, options_of, run, runtime_fixture

SNAPSHOT = ROOT / "tests" / "golden" / "stub_first"
PARSE = "import json, sys\njson.load(open(sys.argv[1]))"
OPEN = "import ctypes, sys\nctypes.CDLL(sys.argv[1])"


class Start(Bench):
    def look(self, title, facts, *rows):
        """Each takes some milliseconds, so that chance weighs more, and more rounds cost little."""
        program, *others = rows
        floor = Row("floor", ["/bin/true"], FLOOR, less="/bin/true, starts and ends")
        self.measure(Case(title, [program, floor, *others], facts=facts), self.sized(4, 1) * self.options.rounds)

    def run(self):
        self.look("start-up", "",
                  self.doctor("--version", name="cudart-doctor --version"),
                  self.doctor("--help", name="cudart-doctor --help", role=PART),
                  Row("python3 -I -S -c ''", [*BARE_PYTHON, "-c", ""], less="starts and ends"),
                  Row("python3 -c ''", [PYTHON, "-c", ""], less="starts and ends, with the hooks of its site-packages"))
        self.look("a snapshot", f"{SNAPSHOT.name} of tests/golden",
                  self.doctor("--from", SNAPSHOT, name="cudart-doctor --from"),
                  Row("json.load of Python", [*BARE_PYTHON, "-c", PARSE, str(SNAPSHOT / "snapshot.json")],
                      less="parses it, and judges nothing"))
        runtime = runtime_fixture()
        self.look("this environment", "one runtime, of CUDA 12.8",
                  self.doctor("--probe", "off", "--load", runtime, name="cudart-doctor --probe off"),
                  Row("Python that opens it", [*BARE_PYTHON, "-c", OPEN, runtime], less="says only whether it opens"))


if __name__ == "__main__":
    run("start", Start, options_of(__doc__).parse_args())
