#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""due.py [--profile P] [DIR]: the scenario files of DIR that are due, one path a line, as due.txt beside this file says.

due.py --profiles [DIR]: the profiles that have due files, one a line.
"""
import argparse, json, pathlib, re, sys

here = pathlib.Path(__file__).resolve().parent
ap = argparse.ArgumentParser()
ap.add_argument("dir", nargs="?", default=str(here))
ap.add_argument("--profile", help="only scenarios of this profile")
ap.add_argument("--profiles", action="store_true")
a = ap.parse_args()

have, needs, excluded = set(), [], []
for number, line in enumerate((here / "due.txt").read_text().splitlines(), 1):
    words = line.split()
    if not words or words[0].startswith("#"): continue
    if words[0] == "controller" and len(words) == 2: have.add(words[1])
    elif words[0] == "needs" and len(words) > 2: needs.append((re.compile(words[1]), set(words[2:])))
    elif words[0] == "not" and len(words) > 2: excluded.append(re.compile(words[1]))
    else: sys.exit(f"due.txt:{number}: not understood: {line}")

files, profiles = [], []
for path in sorted(pathlib.Path(a.dir).rglob("*.json")):
    scenario = json.loads(path.read_text())
    name = scenario["name"]
    wanted = {"serviceaccount-controller"} | set(scenario["covers"])
    for pattern, more in needs:
        if pattern.search(name): wanted |= more
    if wanted - have or any(p.search(name) for p in excluded): continue
    profile = (scenario.get("needs") or {}).get("profile", "std")
    if profile not in profiles: profiles.append(profile)
    if a.profile in (None, profile): files.append(str(path))
print("\n".join(profiles if a.profiles else files))
