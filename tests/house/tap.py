# SPDX-License-Identifier: Apache-2.0
"""The Test Anything Protocol for tests in Python: checks come in, lines and an exit status come out."""

import sys


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def check(self, good, name, complaints=()):
        self.count += 1
        self.failed += not good
        print(f"{'' if good else 'not '}ok {self.count} - {name}")
        for complaint in () if good else complaints:
            print(f"# {complaint}")

    def empty(self, complaints, name):
        """Passes if there is nothing to complain about."""
        complaints = list(complaints)
        self.check(not complaints, name, complaints)

    def skip(self, name, reason):
        """A test that this machine can't run."""
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {reason}")

    def end(self):
        print(f"1..{self.count}", flush=True)
        sys.exit(1 if self.failed or not self.count else 0)
