"""Time and memory of `explain -` on a log, beside grep. Started by scripts/bench, which has the help.

Both read the same file from the page cache.
"""

import random

from bench_common import FLOOR, Bench, Case, Row, options_of, run

MEGABYTE = 1_000_000
GREP_TARGET = 3
RSS_LIMIT_MIB = 32
WANTED = "invalid resource handle"
SYMPTOMS = (
    f"RuntimeError: CUDA error: {WANTED}",
    "AttributeError: /opt/venv/lib/python3.12/site-packages/tilelang/lib/libcudart_stub.so: "
    "undefined symbol: cudaDeviceReset",
)
LINES = (
    "(EngineCore_DP0 pid={pid}) INFO 11-30 {time} [gpu_model_runner.py:{small}] Model loading took {real:.4f} GiB "
    "and {real:.6f} seconds",
    '(APIServer pid={pid}) INFO:     10.0.0.{byte}:{pid} - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    "(APIServer pid={pid}) INFO 11-30 {time} [loggers.py:{small}] Engine 000: Avg prompt throughput: {real:.1f} "
    "tokens/s, Running: {byte} reqs, Waiting: 0 reqs, GPU KV cache usage: {real:.1f}%",
    "[2026-11-30 {time} TP{rank}] Decode batch, #running-req: {byte}, #token: {small}, token usage: 0.{byte}, "
    "cuda graph: True, gen throughput (token/s): {real:.2f}, #queue-req: 0,",
    "[2026-11-30 {time} TP{rank}] Prefill batch, #new-seq: {rank}, #new-token: {small}, #cached-token: {byte}",
    "(Worker_TP{rank} pid={pid}) WARNING 11-30 {time} [custom_all_reduce.py:{small}] Custom allreduce is disabled "
    "because your platform lacks GPU P2P capability or P2P test failed.",
    "(Worker_TP{rank} pid={pid}) INFO 11-30 {time} [cuda_communicator.py:{small}] Found nccl from library "
    "libnccl.so.2",
    "node{byte}:{pid}:{small} [{rank}] NCCL INFO Channel 00/0 : 0[{rank}] -> 1[0] via P2P/IPC/read",
)


def make_log(path, size, colour, symptom_every):
    """Lines as vLLM, SGLang and NCCL write them, and a symptom now and then."""
    chance = random.Random(1)
    block = []
    for number in range(20_000):
        if number % symptom_every == 0:
            line = SYMPTOMS[number // symptom_every % len(SYMPTOMS)]
        else:
            line = chance.choice(LINES).format(
                pid=chance.randrange(1000, 60000),
                time=f"{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02}",
                small=chance.randrange(10000),
                byte=chance.randrange(256),
                rank=chance.randrange(8),
                real=chance.random() * 1000,
            )
        block.append(f"\x1b[1;36m{line[:20]}\x1b[0;0m{line[20:]}\n" if colour else line + "\n")
    text = "".join(block).encode()
    with open(path, "wb") as file:
        for _ in range(size // len(text)):
            file.write(text)
        file.write(text[: size % len(text)])


class Explain(Bench):
    def compare(self, title, length, lines, **more):
        """Of a log with these (colour, lines to a symptom)."""
        log = f"{self.folder}/log"
        make_log(log, length, *lines)
        given = {"stdin": log, "variables": {"LC_ALL": "C"}}
        rows = [
            self.doctor("explain", "-", name="cudart-doctor explain -", stdout=f"{log}.out", **given),
            Row("floor", ["cat"], FLOOR, less="cat: reads the log, and knows nothing", **given),
            # Into /dev/null it would stop at the first line.
            Row("grep -c", ["grep", "-c", WANTED], target=GREP_TARGET, less="one text, and a number as the answer",
                stdout=f"{log}.out", statuses=(0, 1), **given),
        ]
        self.measure(Case(title, rows, RSS_LIMIT_MIB, facts=f"a log of {length / MEGABYTE:g} MB", **more))

    def run(self):
        length = self.sized(100 * MEGABYTE, MEGABYTE)
        self.compare("a server's log", length, (False, 10_000))
        self.compare("the same with colours", length, (True, 10_000))
        self.compare("a symptom in every tenth line", length, (False, 10))

    def growth(self):
        for megabytes in self.sized((1, 3, 10, 30, 100, 300), (1, 2)):
            self.compare(f"{megabytes} MB", megabytes * MEGABYTE, (False, 10_000), axis="MB of log", size=megabytes)


if __name__ == "__main__":
    run("explain", Explain, options_of(__doc__).parse_args())
