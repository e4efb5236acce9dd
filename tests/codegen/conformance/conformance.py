#!/usr/bin/env python3
"""Compares the engine with Python's jinja2, live and byte for byte.

    conformance.py RENDER_BATCH TEMPLATE_DIR [--seed N] [--count N]

(a) the corpus of case_sources.py, (b) random templates, (c) every template under TEMPLATE_DIR for the contexts of
contexts.json ("context", and "vary": the other values that each name can have). Where jinja2 raises, the engine must report an error, and the other way round. Exits 77 (skipped) where
jinja2 is not installed.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys

try:
    import jinja2
except ImportError:
    print("SKIPPED: Python's jinja2 is not installed (apt install python3-jinja2, or pip install jinja2)")
    sys.exit(77)

import case_sources
import jinja_environment
import random_templates

HERE = os.path.dirname(os.path.abspath(__file__))

# What the engine answers with a typed error though jinja2 gives text; each is in src/codegen/README.md.
OUTSIDE_SUBSET = re.compile(
    "outside the supported subset|does not fit in 64|cannot be printed|is complex, which|sameas compares"
    "|works in Jinja2 only outside|is half of a surrogate|fit in 64 bits|needs more than|more than .* (steps|bytes)")
# Text that holds a memory address cannot be compared.
ADDRESS = re.compile(" at 0x[0-9a-f]+>")


def corpus():
    for case in case_sources.cases():
        yield case["name"], case["templates"], case["main"], case["context"]


def random_cases(seed, count):
    for i in range(count):
        yield "random %d" % (seed + i), random_templates.template(seed + i), "main", random_templates.CONTEXT


def project_templates(directory):
    templates = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                templates[os.path.relpath(path, directory)] = file.read()
    with open(os.path.join(HERE, "contexts.json"), encoding="utf-8") as file:
        entries = json.load(file)
    chooser = random.Random(1)
    for i, entry in enumerate(entries):
        # The context as it is, with each single change of "vary", and with random ones of all of them at once.
        vary = entry.get("vary", {})
        changes = [{}] + [{key: value} for key, values in vary.items() for value in values]
        changes += [{key: chooser.choice(values) for key, values in vary.items()} for _ in range(20 if vary else 0)]
        for change in changes:
            yield "contexts.json %d %s" % (i, change), templates, entry["template"], {**entry["context"], **change}


def as_json(context):
    """The context as both sides see it: a fresh copy."""
    return json.loads(json.dumps(context))


def compare(title, cases, render_batch):
    cases = list(cases)
    requests = "".join(json.dumps({"main": main, "templates": templates, "context": context}) + "\n"
                       for _, templates, main, context in cases)
    process = subprocess.run([render_batch], input=requests, capture_output=True, encoding="utf-8")
    answers = process.stdout.split("\n")[:-1]
    if process.returncode != 0 or len(answers) != len(cases):
        print("%s: %s stopped after %d of %d cases (exit %d)\n%s" % (title, render_batch, len(answers), len(cases), process.returncode, process.stderr))
        if len(answers) < len(cases):
            print(cases[len(answers)])
        return 1
    different = errors = outside = 0
    for (name, templates, main, context), answer in zip(cases, answers):
        ours = json.loads(answer)
        expected = jinja_environment.render(templates, main, as_json(context))
        errors += "error" in expected
        if "output" in expected and "error" in ours and (OUTSIDE_SUBSET.search(ours["error"]) or ADDRESS.search(expected["output"])):
            outside += 1
            continue
        if expected.get("folding") and "output" in ours:
            outside += 1
            continue
        if ours.get("output") != expected.get("output"):
            different += 1
            if different <= 10:
                print("%s differs: %s\n  jinja2: %r\n  engine: %r" % (name, json.dumps(templates.get(main)), expected.get("output", "ERROR " + expected.get("error", "")), ours.get("output", "ERROR " + ours.get("error", ""))))
    print("%s: %d cases, %d of them errors in both, %d outside the subset, %d differ" % (title, len(cases), errors, outside, different))
    return different


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("render_batch")
    parser.add_argument("template_dir")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2400)
    options = parser.parse_args()
    print("jinja2 %s, Python %s" % (jinja2.__version__, sys.version.split()[0]))
    different = compare("corpus", corpus(), options.render_batch)
    different += compare("random templates", random_cases(options.seed, options.count), options.render_batch)
    different += compare("project templates", project_templates(options.template_dir), options.render_batch)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
