"""Line charts as SVG text, without any package: used by the scripts of this folder.

    python3 bench/svg_lines.py peers.json > peers.svg       # the plot of a file that peers.py wrote
"""

import html
import json
import math
import sys

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8a7d1c"]  # Okabe and Ito
WIDTH, HEIGHT, LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT = 560, 340, 58, 34, 330, 256


def tick_of(top):
    power = 10 ** math.floor(math.log10(top / 5))
    return next(step * power for step in (1, 2, 5, 10) if top / 5 <= step * power)


def chart(title, y_title, labels, lines):
    """`lines`: name -> a value, or None, for each label. y begins at 0."""
    top = max((v for values in lines.values() for v in values if v is not None), default=1) or 1
    tick = tick_of(top)
    top = math.ceil(top / tick) * tick
    x = lambda i: LEFT + PLOT_WIDTH * (i + 0.5) / len(labels)
    y = lambda value: TOP + PLOT_HEIGHT * (1 - value / top)
    out = [f'<g font-family="sans-serif" font-size="12"><text x="{LEFT}" y="18" font-weight="bold">{html.escape(title)}</text>',
           f'<text transform="translate(14 {TOP + PLOT_HEIGHT / 2}) rotate(-90)" text-anchor="middle">{html.escape(y_title)}</text>']
    for step in range(round(top / tick) + 1):
        out.append(f'<path d="M{LEFT} {y(step * tick):.1f}h{PLOT_WIDTH}" stroke="#ddd"/>'
                   f'<text x="{LEFT - 6}" y="{y(step * tick) + 4:.1f}" text-anchor="end">{step * tick:g}</text>')
    for i, label in enumerate(labels):
        out.append(f'<text x="{x(i):.1f}" y="{TOP + PLOT_HEIGHT + 18}" text-anchor="middle">{html.escape(str(label))}</text>')
    for n, (name, values) in enumerate(lines.items()):
        colour, path, pen = COLOURS[n % len(COLOURS)], "", "M"
        for i, value in enumerate(values):
            if value is None:
                pen = "M"
                continue
            path += f"{pen}{x(i):.1f} {y(value):.1f}"
            pen = "L"
            out.append(f'<circle cx="{x(i):.1f}" cy="{y(value):.1f}" r="3" fill="{colour}"/>')
        legend = TOP + 6 + 16 * n
        out.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>' if path else "")
        out.append(f'<path d="M{LEFT + PLOT_WIDTH + 8} {legend}h18" stroke="{colour}" stroke-width="2"/>'
                   f'<text x="{LEFT + PLOT_WIDTH + 32}" y="{legend + 4}">{html.escape(name)}</text>')
    return "\n".join(out) + "</g>\n"


def page(charts, columns):
    rows = -(-len(charts) // columns)
    placed = "".join(f'<g transform="translate({WIDTH * (i % columns)} {HEIGHT * (i // columns)})">{c}</g>\n'
                     for i, c in enumerate(charts))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH * min(columns, len(charts))}" height="{HEIGHT * rows}">\n'
            f'<rect width="100%" height="100%" fill="white"/>\n{placed}</svg>\n')


def plot_of(rows):
    """Rows as peers.py makes them: a chart for each task and head dim, a line for each contender."""
    charts = []
    rows = [row for row in rows if "ms" in row]
    for task, d in dict.fromkeys((row["task"], row["d"]) for row in rows):
        some = [row for row in rows if (row["task"], row["d"]) == (task, d)]
        lengths = sorted({row["n"] for row in some})
        lines = {name: [next((r["tflops"] for r in some if r["contender"] == name and r["n"] == n), None) for n in lengths]
                 for name in dict.fromkeys(row["contender"] for row in some)}
        charts.append(chart(f"{task}, D = {d}", "TFLOP/s", lengths, lines))
    return page(charts, columns=2)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        sys.stdout.write(plot_of(json.load(file)["rows"]))
