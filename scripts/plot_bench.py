"""Draws the plots of docs/performance.md and writes its tables. Started by scripts/plot-bench, which has the help."""

import argparse
import json
import pathlib
import sys

import bench_page
from bench_common import FLOOR, PART, PEER, PROGRAM, ROOT, median_ms

DRAWN = ("start", "inspect", "explain", "diff", "tree")
# Each stands out 3 to 1 and more on white and on a dark page: the plots have no ground of their own.
COLOURS = {PROGRAM: "#2f7ed8", FLOOR: "#808080", PEER: "#c8702a"}
TEXT = "#787878"
BARS_BEGIN_MS = 0.5
MARKERS = {PROGRAM: "o", FLOOR: "s", PEER: "^"}
STYLE = {
    # The same samples give the same bytes, and text stays text.
    "svg.hashsalt": "cudart-doctor", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9,
    "text.color": TEXT, "axes.labelcolor": TEXT, "axes.edgecolor": TEXT, "xtick.color": TEXT, "ytick.color": TEXT,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "axes.grid": True,
    "grid.color": TEXT, "grid.alpha": 0.3, "grid.linewidth": 0.5, "legend.frameon": False,
    "figure.constrained_layout.use": True, "savefig.transparent": True,
}
NO_METADATA = {"Date": None, "Creator": None}


def plots():
    """pyplot, which only drawing needs."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update(STYLE)
    from matplotlib import pyplot
    return pyplot


def shown_rows(case):
    return [row for row in case.rows if not row.problem and row.role != PART]


def draw_bars(pyplot, cases):
    heights = [len(shown_rows(case)) + 2 for case in cases]
    figure, all_axes = pyplot.subplots(len(cases), figsize=(7, 0.24 * sum(heights) + 0.4), sharex=True, squeeze=False,
                                       gridspec_kw={"height_ratios": heights})
    for axes, case in zip(all_axes[:, 0], cases):
        rows = shown_rows(case)
        times = [median_ms(row) for row in rows]
        bars = axes.barh([row.name for row in rows], times, color=[COLOURS[row.role] for row in rows])
        axes.bar_label(bars, [f"{value:.3g} ms" if value < 100 else f"{value:.0f} ms" for value in times], padding=3)
        axes.set_title(case.title, loc="left")
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.grid(axis="y", visible=False)
    # The same beginning in all plots: a logarithmic bar has no natural one. To the right, room for the longest's label.
    longest = max(median_ms(row) for case in cases for row in shown_rows(case))
    all_axes[-1, 0].set_xlim(BARS_BEGIN_MS, longest * 3)
    all_axes[-1, 0].set_xlabel("median, milliseconds")
    all_axes[-1, 0].xaxis.set_major_formatter("{x:g}")
    return figure


def draw_growth(pyplot, axis, cases):
    figure, axes = pyplot.subplots(figsize=(4.6, 3))
    for first in shown_rows(cases[0]):
        points = [(case.size, median_ms(row)) for case in cases for row in shown_rows(case) if row.name == first.name]
        axes.plot(*zip(*points), color=COLOURS[first.role], marker=MARKERS[first.role], markersize=4, label=first.name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_xticks([case.size for case in cases], [f"{case.size:,}" for case in cases])
    axes.yaxis.get_major_locator().set_params(subs=(1, 2, 5))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(axis)
    axes.set_ylabel("median, milliseconds")
    axes.legend()
    return figure


def draw(samples, folder):
    pyplot = plots()
    figures = {}
    for name in DRAWN:
        cases = [case for case in bench_page.cases_of(samples, name) if shown_rows(case)]
        if cases:
            figures[name] = draw_bars(pyplot, cases)
    for axis, cases in bench_page.series(samples).items():
        figures["growth-" + axis.lower().replace(" ", "-")] = draw_growth(pyplot, axis, cases)
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.svg", metadata=NO_METADATA)
        pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("samples", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "performance.md")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    samples = {}
    for path in options.samples:
        samples.update(json.loads(path.read_text()))
    before = options.page.read_text()
    after = bench_page.fill(before, samples)
    if options.check:
        if after != before:
            sys.exit(f"plot-bench: the figures of {options.page} are not those of the samples")
        print(f"The figures of {options.page} are those of the samples.")
        return
    draw(samples, options.out)
    options.page.write_text(after)


if __name__ == "__main__":
    main()
