#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every example on a GPU against the reference evaluator: four element types, four kinds of rows, the default config
# and some random ones. Ends with 0 if nothing is wrong; a config that the kernel can't be lowered for isn't wrong.
#
#   bench/gpu_check.sh TILEC [--configs N] [--jobs N] [--seconds N] [--device DEVICE] [--keep FOLDER] [--sanitizer TOOL]
#
# --configs: random configs per case (10). --jobs: at once (3/4 of the cores). --seconds: no run is started after (150).
# --keep: where the runs' messages are left (a temporary folder, removed at the end). --sanitizer: memcheck, racecheck,
# synccheck or initcheck: each run is under this tool of compute-sanitizer, and what it finds is wrong.
set -euo pipefail

examples=$(cd "$(dirname "$0")/../examples" && pwd)

# ------------------------------------------------------------------------------------------------ one run

# Arguments: number, seed of the config ("default": that one), then the words of the case. One line to FOLDER/NUMBER.
one() {
    local number=$1 seed=$2 file=$3 kernel=$4 type=$5 options=() result=0 word config="$folder/$1.json"
    shift 5
    local specialization=("$file" --kernel "$kernel" --type "T=$type") inner=()
    for word in "$@"; do
        case $word in
            inner:*) inner+=(--dim "${word#inner:}") ;;
            dim:*) options+=(--dim "${word#dim:}") ;;
            *) options+=(--arg "$word") ;;
        esac
    done
    if [ $(($(date +%s) - start)) -ge "$seconds" ]; then echo "late - $number" >"$folder/$number.line"; return; fi
    if [ "$seed" != default ]; then
        if ! timeout 20 "$tilec" config random "${specialization[@]}" "${inner[@]}" --seed "$seed" -o "$config" >"$folder/$number.log" 2>&1; then
            echo "config ${type} $kernel: config random ${specialization[*]} ${inner[*]} --seed $seed" >"$folder/$number.line"
            return
        fi
        options+=(--config "$config")
    fi
    # shellcheck disable=SC2086 # words of a command
    timeout "$limit" $under "$tilec" run "${specialization[@]}" "${inner[@]}" "${options[@]}" --device "$device" --check --colour never \
        >"$folder/$number.log" 2>&1 || result=$?
    printf '%s %s %s' "$result" "$(sed -n 's/.*error\[\([^]]*\)\].*/\1/p' "$folder/$number.log" | head -n 1 | grep . || echo -)" \
        "tilec run" >"$folder/$number.line"
    printf ' %q' "${specialization[@]}" "${inner[@]}" "${options[@]}" --device "$device" --check >>"$folder/$number.line"
    [ "$seed" = default ] || printf '   # the config: tilec config random … --seed %s' "$seed" >>"$folder/$number.line"
    echo >>"$folder/$number.line"
    [ "$result" -eq 0 ] && rm -f "$config"
    return 0
}

if [ "${1:-}" = --one ]; then
    shift
    one "$@"
    exit 0
fi

# ------------------------------------------------------------------------------------------------ the cases

configs=10 seconds=150 device=cuda keep='' under='' limit=30
jobs=$((($(nproc) * 3 + 3) / 4))
[ $# -ge 1 ] || { sed -n '3,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
tilec=$(realpath "$1")
shift
while [ $# -gt 1 ]; do
    case $1 in
        --configs) configs=$2 ;;
        --jobs) jobs=$2 ;;
        --seconds) seconds=$2 ;;
        --device) device=$2 ;;
        --keep) keep=$2 ;;
        --sanitizer)
            command -v compute-sanitizer >/dev/null || { echo "gpu_check.sh: there is no compute-sanitizer on the PATH" >&2; exit 3; }
            under="compute-sanitizer --tool $2 --target-processes all --error-exitcode 9"
            limit=120 ;;
        *) echo "gpu_check.sh: no such option: $1" >&2; exit 2 ;;
    esac
    shift 2
done
if [ -n "$keep" ]; then
    mkdir -p "$keep"
    folder=$(realpath "$keep")
else
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi

# For each case a line: file, kernel, type, then arguments. The rows: even ones, skewed ones with an odd number of
# columns, many short ones of which some are empty, a few long ones.
cases() {
    local type rows columns
    for type in f32 f16 bf16 f64; do
        while read -r rows B M N; do
            columns="offsets=offsets($rows) dim:B=$B dim:nnz=total(offsets)"
            echo "jagged_sum.tile jagged_sum $type x=randn $columns inner:M=$M"
            echo "jagged_sum.tile jagged_sum_1d $type x=randn $columns"
            echo "jagged_softmax.tile jagged_softmax $type x=randn $columns inner:M=$M"
            echo "jagged_layer_norm.tile jagged_layer_norm $type x=randn $columns inner:M=$M"
            echo "jagged_mean.tile jagged_mean $type x=randn features=randint(0,$((M + 1))) $columns inner:M=$M"
            echo "jagged_dense_add.tile jagged_dense_add $type x=randn y=randn $columns inner:N=$N"
        done <<'END'
uniform(0,60) 100 64 64
zipf(4000,2000) 150 33 97
uniform(0,3) 700 16 8
const(700) 5 128 512
END
    done
}

# The default config of every case first, then each seed in turn: what was reached in time covers all cases.
list() {
    local number=0 seed line
    for seed in default $(seq 1 "$configs"); do
        while read -r line; do
            number=$((number + 1))
            # Every case has configs of its own.
            if [ "$seed" = default ]; then echo "$number default $examples/$line"; else echo "$number $((seed * 1000 + number)) $examples/$line"; fi
        done < <(cases)
    done
}

start=$(date +%s)
export tilec folder device seconds start under limit
list >"$folder/list"
read -r line <"$folder/list"
# shellcheck disable=SC2086 # the words of a case have no spaces
one $line
if [ "$(cut -d ' ' -f 1 "$folder/1.line")" = 3 ]; then cat "$folder/1.log" >&2; exit 3; fi
xargs -P "$jobs" -L 1 "$0" --one <"$folder/list" || true
took=$(($(date +%s) - start))

# ------------------------------------------------------------------------------------------------ the summary

awk -v seconds="$took" -v jobs="$jobs" '
    { count[$1]++; all++ }
    $1 != "0" && $1 != "4" && $1 != "late" { bad++; code[$1 " " $2]++; if (bad <= 12) line[bad] = $0 }
    $1 == "4" { refused[$2]++ }
    END {
        printf "%d runs in %d s, %d at once: %d right, %d configs refused, %d wrong or failed, %d not reached\n",
            all, seconds, jobs, count["0"], count["4"], bad, count["late"]
        for (c in refused) printf "  refused, %s: %d\n", c, refused[c]
        for (c in code) printf "  exit %s: %d\n", c, code[c]
        for (i = 1; i <= 12 && i <= bad; i++) print line[i]
        if (bad > 12) printf "and %d more\n", bad - 12
        exit bad > 0 || count["0"] == 0
    }' "$folder"/*.line && status=0 || status=$?
if [ "$status" -ne 0 ]; then
    for number in $(awk '$1 != "0" && $1 != "4" && $1 != "late" { name = FILENAME; sub(/.*\//, "", name); sub(/\.line/, "", name); print name }' "$folder"/*.line | sort -n | head -n 3); do
        echo "== messages of run $number"
        head -c 2000 "$folder/$number.log"
    done
fi
exit "$status"
