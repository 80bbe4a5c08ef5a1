#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/abi-lint sees what it is there for: each test breaks a copy of the headers in one way. Usage: lint_test.py SOURCE_DIR"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", ".."))
LINT = os.path.join(ROOT, "tools", "abi-lint")
FROZEN = os.path.join(ROOT, "tests", "abi", "frozen", "1.0")


class Lint(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        shutil.copytree(os.path.join(ROOT, "abi", "include", "kcm"), os.path.join(self.dir, "kcm"))

    def change(self, header, old, new):
        path = pathlib.Path(self.dir, "kcm", header)
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1))

    def lint(self, *args):
        run = subprocess.run([LINT, *args], capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def expect(self, code, text, *args):
        got, output = self.lint(*args)
        self.assertEqual((got, True), (code, text in output), output)

    def layout(self):
        return self.lint("layout", self.dir, os.path.join(ROOT, "tests", "abi", "layout.inc"))

    def test_unchanged_headers_pass(self):
        self.expect(0, "functions documented", "docs", self.dir)
        self.expect(0, "are kept", "prefix", FROZEN, self.dir)
        self.assertEqual(self.layout()[0], 0)

    def test_missing_line_of_a_function(self):
        self.change("queue.h", "   * Errors:    KCM_ERR_INVALID (queue, empty key), KCM_ERR_STOPPED: then nothing was added\n", "")
        self.expect(1, "queue.h: kcm_queue_api.add lacks Errors", "docs", self.dir)

    def test_function_without_comment(self):
        self.change("queue.h", "  /* append below", "  int32_t (*peek)(kcm_context* context);\n  /* append below")
        self.expect(1, "kcm_queue_api.peek lacks Threads, Ownership, Lifetime, Errors, Since", "docs", self.dir)

    def test_types_that_differ_between_machines(self):
        for bad in ("size_t extra;", "long extra;", "bool extra;", "enum kcm_x extra;", "int extra;"):
            self.change("clock.h", "  /* append below", f"  {bad}\n  /* append below")
            self.expect(1, "is no type of this interface", "docs", self.dir)
            self.change("clock.h", f"  {bad}\n", "")

    def test_struct_without_size(self):
        self.change("plugin.h", "typedef struct kcm_outcome {\n  uint32_t size;", "typedef struct kcm_outcome {\n  uint64_t length;")
        self.expect(1, "kcm_outcome does not start with uint32_t size", "docs", self.dir)

    def test_member_that_is_not_pinned(self):
        self.change("plugin.h", "  int64_t delay_ns; /* of KCM_OUTCOME_AFTER */", "  int64_t delay_ns;\n  int64_t jitter_ns;")
        code, output = self.layout()
        self.assertEqual(code, 1)
        self.assertIn("no KCM_OFFSET of kcm_outcome.jitter_ns", output)

    def test_growth_at_the_end_is_kept(self):
        self.change("plugin.h", "  int64_t delay_ns; /* of KCM_OUTCOME_AFTER */", "  int64_t delay_ns;\n  int64_t jitter_ns;")
        self.expect(0, "are kept", "prefix", FROZEN, self.dir)

    def test_changes_that_break_old_plugins(self):
        rows = [
            ("plugin.h", "  uint32_t kind;\n  int64_t delay_ns;", "  int64_t delay_ns;\n  uint32_t kind;", "kcm_outcome: member 1 was 'uint32_t kind'"),
            ("clock.h", "int64_t (*wall_ns)(kcm_context* context);", "int64_t (*wall_ns)(kcm_context* context, uint32_t zone);", "kcm_clock_api"),
            ("status.h", "#define KCM_ERR_CONFLICT 3", "#define KCM_ERR_CONFLICT 30", "KCM_ERR_CONFLICT was 3, is 30"),
            ("status.h", "#define KCM_ERR_CONFLICT 3\n", "", "KCM_ERR_CONFLICT was 3, is gone"),
            ("abi.h", "  uint64_t length; /* bytes */\n} kcm_str;", "  uint64_t length;\n  uint64_t hash;\n} kcm_str;", "kcm_str is a frozen value type"),
            ("queue.h", "KCM_QUEUE_API_ID \"kcm.queue/1\"", "KCM_QUEUE_API_ID \"kcm.queue/2\"", "KCM_QUEUE_API_ID was"),
        ]
        for header, old, new, want in rows:
            with self.subTest(want):
                self.change(header, old, new)
                self.expect(1, want, "prefix", FROZEN, self.dir)
                self.change(header, new, old) if new else None

    @unittest.skipUnless(shutil.which("abidiff") and shutil.which("cc"), "needs abidiff and cc")
    def test_dump_sees_a_moved_member(self):
        self.change("plugin.h", "  uint32_t kind;\n  int64_t delay_ns;", "  int64_t delay_ns;\n  uint32_t kind;")
        library = os.path.join(self.dir, "surface.so")
        surface = os.path.join(ROOT, "tests", "abi", "dump", "surface.c")
        subprocess.check_call(["cc", "-std=c11", "-g", "-fPIC", "-shared", "-I", self.dir, surface, "-o", library])
        self.expect(1, "the interface differs", "dump", os.path.join(ROOT, "tests", "abi", "dump", "1.0.abi"), library, self.dir)

    def test_header_that_needs_another(self):
        self.change("metric.h", '#include "kcm/abi.h"\n', "")
        self.expect(1, "metric.h with", "headers", self.dir)

    def test_new_struct_must_be_in_the_dump(self):
        self.change("clock.h", "typedef uint64_t kcm_timer;", "typedef struct kcm_zone {\n  uint32_t size;\n} kcm_zone;\ntypedef uint64_t kcm_timer;")
        self.expect(1, "does not name kcm_zone", "surface", self.dir, os.path.join(ROOT, "tests", "abi", "dump", "surface.c"))


unittest.main()
