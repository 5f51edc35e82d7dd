#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A text file below its head of two lines as a C array of its lines:  embed.sh FILE NAME >HEADER
printf '// Made from %s.\nstatic const char *const %s[] = {\n' "${1##*/}" "$2"
sed -e 1,2d -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n",/' "$1"
printf '    0};\n'
