#!/usr/bin/env python3
"""Writes cases.json: the cases of case_sources.py with what Python's jinja2 makes of them (pip install jinja2==3.1.6).

Run by hand after adding cases. The C++ test replays the file, with no Python needed.
"""
import json
import os

import jinja2

import case_sources
import jinja_environment

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    recorded = []
    for case in case_sources.cases():
        context = json.loads(json.dumps(case["context"]))
        answer = jinja_environment.render(case["templates"], case["main"], context)
        entry = {"name": case["name"], "main": case["main"], "templates": case["templates"]}
        entry.update({"error": True} if "error" in answer else answer)
        if " at 0x" in entry.get("output", ""):
            raise SystemExit("%s prints an address: %s" % (case["name"], entry["output"]))
        recorded.append(entry)
    with open(os.path.join(HERE, "cases.json"), "w", encoding="utf-8") as file:
        json.dump({"jinja2": jinja2.__version__, "context": case_sources.CONTEXT, "cases": recorded}, file,
                  indent=1, ensure_ascii=False)
        file.write("\n")
    errors = sum("error" in entry for entry in recorded)
    print("%d cases, %d of them errors" % (len(recorded), errors))


if __name__ == "__main__":
    main()
