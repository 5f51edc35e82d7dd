#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Times the examples at the sizes where memory is the limit, on even and on skewed rows: one line per kernel, data and
# config, as each is done. Times are medians; the share is that of the speed of copying, measured in the same run.
#
#   bench/speed.sh TILEC [--device DEVICE] [--only WORD] [--config KERNEL=FILE]… [--tune SECONDS] [--out FOLDER] [--check]
#
# --only: cases whose "KERNEL DATA" holds this. --config: a further config for a kernel, beside its default.
# The default is what no heuristic file has chosen: the programs are taken from a copy without these.
# --tune: searches so long in each case, and times the best, "tuned.json", as well.
# --out: a folder that gets KERNEL.DATA.N.json of each. --check: compares a sample of rows with the reference, which
# takes some seconds more for each case.
set -euo pipefail

examples=$(cd "$(dirname "$0")/../examples" && pwd)
[ $# -ge 1 ] || { sed -n '3,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
tilec=$(realpath "$1")
device=cuda only='' out='' check=() configs=() tune=0
shift
while [ $# -gt 0 ]; do
    case $1 in
        --check) check=(--check); shift; continue ;;
        --device) device=$2 ;;
        --only) only=$2 ;;
        --config) configs+=("$2") ;;
        --out) out=$2 ;;
        --tune) tune=$2 ;;
        *) echo "speed.sh: no such option: $1" >&2; exit 2 ;;
    esac
    shift 2
done
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp "$examples"/*.tile "$copy"
examples=$copy
if [ -n "$out" ]; then mkdir -p "$out"; else out=$copy/out; mkdir "$out"; fi

# Kernel, file, name of the data, rows, then the other arguments. skewed: the k-th longest row has 1/k of the longest's
# length, up to a cap, in a random order; what the cap cuts off is left out. Types are f32.
cases() {
    local matrix="dim:B=1024 dim:M=256 x=randn"
    for data in "uniform uniform(1,2047)" "zipf zipf(1048576,131072)"; do
        echo "jagged_sum jagged_sum.tile $data $matrix"
        echo "jagged_mean jagged_mean.tile $data $matrix features=randint(1,257)"
        echo "jagged_softmax jagged_softmax.tile $data $matrix"
        echo "jagged_layer_norm jagged_layer_norm.tile $data $matrix"
    done
    echo "jagged_sum_1d jagged_sum.tile uniform uniform(1,511) dim:B=1048576 x=randn"
    echo "jagged_sum_1d jagged_sum.tile zipf zipf(268435456,1048576) dim:B=1048576 x=randn"
    echo "jagged_dense_add jagged_dense_add.tile uniform uniform(1,8192) dim:B=16384 dim:N=8192 x=randn y=randn"
    echo "jagged_dense_add jagged_dense_add.tile zipf zipf(16777216,8192) dim:B=16384 dim:N=8192 x=randn y=randn"
}

# One line of the table from the JSON of a run; with --head the line above them.
row() {
    python3 -c '
import json, sys
layout = "{:18} {:8} {:24} {:>9} {:>9} {:>9} {:>8} {:>9} {:>7} {:>5} {:>7}  {}"
if sys.argv[1] == "--head":
    print(layout.format("kernel", "data", "config", "ms", "p10", "p90", "GB/s", "floor ms", "share", "regs", "spills", "check"))
    sys.exit()
data, path = sys.argv[2:4]
bench = json.load(open(path))
result = bench["results"][0]
kernels = result["kernels"]
print(layout.format(
    bench["kernel"], data, result["label"].rsplit("/", 1)[-1][-24:], *("%.4f" % result[key] for key in ("median_ms", "p10_ms", "p90_ms")),
    "%.0f" % result["gb_per_s"], "%.4f" % bench["floor_ms"], "%.1f%%" % (100 * result["share_of_copy"]),
    "/".join(str(k["registers"]) for k in kernels) or "-", "/".join(str(k["spill_store_bytes"]) for k in kernels) or "-",
    {True: "right", False: "WRONG"}.get(bench.get("check"), "-")), flush=True)' "$@"
}

# What the program wants to know of a case, in `options`.
describe() {
    local kernel=$1 rows=$2 word
    shift 2
    options=(--kernel "$kernel" --device "$device" --arg "offsets=offsets($rows)" --dim "nnz=total(offsets)" --colour never)
    for word in "$@"; do
        case $word in
            dim:*) options+=(--dim "${word#dim:}") ;;
            *) options+=(--arg "$word") ;;
        esac
    done
}

# The best config that a search finds for a case, as a file.
search() {
    local kernel=$1 file=$2 data=$3 rows=$4 best
    shift 4
    mkdir -p "$out/$kernel.$data"
    best=$out/$kernel.$data/tuned.json
    describe "$kernel" "$rows" "$@"
    timeout $((tune + 120)) "$tilec" tune "$examples/$file" "${options[@]}" --budget "$tune" -o "$best" >"$best.log" 2>&1 || return 1
    echo "$best"
}

# A case under one config: "default" or a path.
measure() {
    local number=$1 config=$2 kernel=$3 file=$4 data=$5 rows=$6 json result=0 options
    shift 6
    describe "$kernel" "$rows" "$@"
    json=$out/$kernel.$data.$number.json
    [ "$config" = default ] || options+=(--config "$config")
    timeout 120 "$tilec" bench "$examples/$file" "${options[@]}" "${check[@]}" --json >"$json" 2>"$json.log" || result=$?
    [ "$result" -eq 0 ] || failed=1
    if [ -s "$json" ]; then
        row --line "$data" "$json"
    else
        printf '%-18s %-8s %-24s failed, exit %s: %s\n' "$kernel" "$data" "${config##*/}" "$result" "$(head -c 300 "$json.log" | head -n 1)"
    fi
}

failed=0
row --head
while read -r line; do
    read -r kernel file data rest <<<"$line"
    case "$kernel $data" in *"$only"*) ;; *) continue ;; esac
    number=0
    # shellcheck disable=SC2086 # the words of a case have no spaces
    measure "$number" default "$kernel" "$file" "$data" $rest
    if [ "$tune" -gt 0 ]; then
        number=$((number + 1))
        # shellcheck disable=SC2086
        if best=$(search "$kernel" "$file" "$data" $rest); then measure "$number" "$best" "$kernel" "$file" "$data" $rest; else failed=1; fi
    fi
    for config in "${configs[@]}"; do
        [ "${config%%=*}" = "$kernel" ] || continue
        number=$((number + 1))
        # shellcheck disable=SC2086
        measure "$number" "${config#*=}" "$kernel" "$file" "$data" $rest
    done
done < <(cases)
first=$(find "$out" -maxdepth 1 -name '*.json' -size +0 | head -n 1)
if [ -n "$first" ]; then
    python3 -c '
import json, sys
b = json.load(open(sys.argv[1]))
print("%s, driver %s, %s; %d MHz, memory %d MHz; copying %d MiB: %.0f GB/s; seed %d; tilec %s" % (b["device"], b["driver"] or "-", b["toolkit"],
      b["clock_mhz"], b["memory_clock_mhz"], b["copy_bytes"] >> 20, b["copy_gb_per_s"], b["seed"], b["tilec"]))' "$first"
fi
exit "$failed"
