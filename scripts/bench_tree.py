"""Time and memory of `cudart-doctor --all` on a node of many processes, beside the least that any such look must do
(tests/bench/tree_floor.c), lsof and a Python scan. Started by scripts/bench, which has the help.

Two nodes: the ordinary one, where 16 processes hold a runtime (one of them a stub), and one where all do.
"""

from bench_common import BARE_PYTHON, FLOOR, Bench, CannotMeasure, Case, Row, fixture, options_of, run, runtime_fixture
from bench_victims import make_libraries, victims, write_list

WITH_CUDA = 16
FLOOR_TARGET = 1.5
SCAN = """
import glob
for maps in glob.glob('/proc/[0-9]*/maps'):
    try:
        with open(maps, errors='surrogateescape') as file:
            if any('libcudart' in line for line in file): print(maps)
    except OSError:
        pass
"""


class Tree(Bench):
    programs = ("measure", "tree_floor", "victim")

    def __init__(self, options, folder):
        super().__init__(options, folder)
        libraries = make_libraries(folder, self.sized(100, 5))
        runtime = [runtime_fixture()]
        other = fixture("cudart-13.0/nvidia/cu13/lib/libcudart.so.13")
        stub = fixture("tilelang-0.1.11/tilelang/lib/libcudart_stub.so")
        if not (other and stub):
            raise CannotMeasure("the runtimes of scripts/fetch-fixtures are not there")
        self.plain = write_list(folder, "plain", libraries)
        self.cuda = write_list(folder, "cuda", runtime + libraries)
        # Of any node two processes differ.
        self.odd = [write_list(folder, "cuda-13", other + libraries),
                    write_list(folder, "stub", stub + runtime + libraries)]
        self.each = f"{len(libraries)} libraries each"

    def look(self):
        return [
            self.doctor("--all", "--timeout", "120", name="cudart-doctor --all", statuses=(0, 1, 3)),
            Row("floor", [str(self.folder / "tree_floor")], FLOOR, FLOOR_TARGET,
                less="reads the maps of all processes once, and knows nothing"),
        ]

    def peers(self):
        return [
            Row("lsof -d mem", ["lsof", "-n", "-w", "-d", "mem"], statuses=(0, 1), less="names of the files only"),
            Row("Python scan of all maps", [*BARE_PYTHON, "-c", SCAN], less="PIDs with libcudart only"),
        ]

    def run(self):
        processes = self.sized(1000, 20)
        for title, usual in ((f"{WITH_CUDA} with CUDA", self.plain), ("all with CUDA", self.cuda)):
            few = [self.cuda] * (WITH_CUDA - 2) + self.odd
            with victims(self.folder) as add:
                add([usual] * (processes - WITH_CUDA) + few)
                self.measure(Case(f"{processes:,} processes, {title}", [*self.look(), *self.peers()], facts=self.each))

    def growth(self):
        started = WITH_CUDA
        with victims(self.folder) as add:
            add([self.cuda] * (WITH_CUDA - 2) + self.odd)
            for processes in self.sized((125, 250, 500, 1000, 2000), (20, 40)):
                add([self.plain] * (processes - started))
                started = processes
                self.measure(Case(f"{processes:,} processes", self.look(), axis="processes", size=processes,
                                  facts=f"{WITH_CUDA} with CUDA, {self.each}"))


if __name__ == "__main__":
    run("tree", Tree, options_of(__doc__).parse_args())
