#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Puts the program into a folder that runs on another machine of the same kind: the program with its worker, the shared
# libraries that they need beside those of glibc, and a script `tilec` that starts it with them. The C library there must
# not be older.
#
#   bench/carry.sh BUILD FOLDER        then, there: FOLDER/tilec …
set -euo pipefail

if [ $# -ne 2 ] || [ ! -x "$1/cli/tilec" ]; then
    echo "usage: bench/carry.sh BUILD FOLDER, where BUILD/cli/tilec has been built" >&2
    exit 2
fi
mkdir -p "$2/lib"
for program in "$1/cli/tilec" "$1/runtime/tilec-worker"; do
    [ -x "$program" ] || continue
    cp "$program" "$2/lib/"
    strip "$2/lib/${program##*/}" 2>/dev/null || true
done
ldd "$1/cli/tilec" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | grep -Ev '/(libc|libm|libdl|libpthread|ld-linux[^/]*)\.so' |
    while read -r library; do cp -L "$library" "$2/lib/"; done
cat >"$2/tilec" <<'END'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$here/lib/tilec" "$@"
END
chmod +x "$2/tilec"
"$2/tilec" --version
du -sh "$2" | cut -f 1
