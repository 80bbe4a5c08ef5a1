#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes devcluster/kinds/rbac_seeds.inc: the stock ClusterRoles of controllers.

    tools/gen-rbac-seeds.py rbac.json > devcluster/kinds/rbac_seeds.inc

rbac.json maps a role's name to its rules, as a real API server has them. One row a role: name, rules as JSON.
"""
import json
import sys

roles = json.load(open(sys.argv[1]))
print("// SPDX-License-Identifier: Apache-2.0")
print("// Made by tools/gen-rbac-seeds.py; do not edit.")
for name in sorted(roles):
    print('{"%s", R"([' % name)
    print(",\n".join("  " + json.dumps(rule, separators=(",", ":"), sort_keys=True) for rule in roles[name]))
    print('])"},')
