#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Links static libraries into one object that shows tilec_* alone, and puts it into an archive.
#   archive.sh OUTPUT SCRATCH LIBRARY…
set -eu
output=$1 scratch=$2
shift 2
mkdir -p "$scratch"
${LD:-ld} -r -o "$scratch/tilec.o" --whole-archive "$@" --no-whole-archive
${OBJCOPY:-objcopy} -w --keep-global-symbol='tilec_*' "$scratch/tilec.o"
rm -f "$output"
${AR:-ar} rcs "$output" "$scratch/tilec.o"
