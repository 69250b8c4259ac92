"""Time and memory of `explain -` on a log, beside grep. Started by scripts/bench, which has the help.

Both read the same file from the page cache, in turn; ratios are taken within a round, and the median over the rounds
is shown.
"""

import argparse
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import tempfile

MEASURE = pathlib.Path(__file__).resolve().parent.parent / "tests" / "bench" / "measure.c"
LOG_BYTES = 100_000_000
RATIO_LIMIT = 3
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


def make_log(path, colour, symptom_every):
    """Lines as vLLM, SGLang and NCCL write them, and a symptom now and then."""
    chance = random.Random(1)
    block = []
    for number in range(20_000):
        if number % symptom_every == symptom_every - 1:
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
        for _ in range(LOG_BYTES // len(text) + 1):
            file.write(text)


def sample(measure, log, command):
    """(nanoseconds, KiB) of one run. The output goes to a file: into /dev/null grep stops at the first line."""
    run = subprocess.run(
        [measure, "-i", log, "-o", log + ".out", *command], check=True, capture_output=True, text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    wall, rss, status = map(int, run.stdout.split())
    if status != 0:
        sys.exit(f"bench: could not measure: {command[0]} ended with {status}")
    return wall, rss


def compare(options, measure, log):
    commands = {"doctor": [options.binary, "explain", "-"], "grep": ["grep", "-c", WANTED]}
    samples = {name: [] for name in commands}
    for number in range(options.rounds + 1):
        for name in sorted(commands, reverse=number % 2 == 1):
            taken = sample(measure, log, commands[name])
            if number > 0:  # round 0 warms the caches
                samples[name].append(taken)
    return samples


def report(title, samples):
    print(f"\n### {title}\n\n| command | median ms | min | max | peak RSS MiB |\n|---|--:|--:|--:|--:|")
    for name, shown in (("doctor", "cudart-doctor explain -"), ("grep", f"grep -c '{WANTED}'")):
        walls = [wall / 1e6 for wall, _ in samples[name]]
        rss = max(size for _, size in samples[name]) / 1024
        print(f"| `{shown}` | {statistics.median(walls):.1f} | {min(walls):.1f} | {max(walls):.1f} | {rss:.1f} |")
    ratio = statistics.median(a[0] / b[0] for a, b in zip(samples["doctor"], samples["grep"]))
    rss = max(size for _, size in samples["doctor"]) / 1024
    print(f"\ndoctor / grep: {ratio:.2f} (target: at most {RATIO_LIMIT}: {'yes' if ratio <= RATIO_LIMIT else 'NO'}); "
          f"memory (target: under {RSS_LIMIT_MIB} MiB: {'yes' if rss < RSS_LIMIT_MIB else 'NO'})", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    print(f"## explain\n\nLinux {platform.release()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.2f} at the "
          f"start; logs of {LOG_BYTES // 1_000_000} MB")
    results = {}
    with tempfile.TemporaryDirectory(prefix="doctor-bench.") as folder:
        measure, log = f"{folder}/measure", f"{folder}/log"
        subprocess.run(["cc", "-std=gnu11", "-O2", str(MEASURE), "-o", measure], check=True)
        for title, colour, symptom_every in (
            ("a server's log", False, 10_000),
            ("the same with colours", True, 10_000),
            ("a symptom in every tenth line", False, 10),
        ):
            make_log(log, colour, symptom_every)
            results[title] = compare(options, measure, log)
            report(title, results[title])
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"benchmark": "explain", "logs": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
