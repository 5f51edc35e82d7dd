// SPDX-License-Identifier: Apache-2.0
// What choosing a config through a heuristic file costs: 1000 random shapes, asked one after the other, again and again.
//
//   dispatch SOURCE KERNEL HEURISTIC-FOLDER TARGET    the file that is found there for the target
//
// Prints the median of the rounds, the fastest and the slowest, in nanoseconds a choice, and what choices came of it.
// Ends with 1 where the median is over a microsecond. `./dev bench dispatch` makes a file with the most answers that one
// may have, and asks that, then those of the examples.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/tilec.h"

enum { SHAPES = 1000, ROUNDS = 301, DIMENSIONS = 64, CONFIGS = 64 };
static const double most_nanoseconds = 1000;

static int64_t shapes[SHAPES][DIMENSIONS], longest[SHAPES];

static uint64_t draw(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 11;
}

// Extents of all magnitudes up to a million; every other longest row isn't known.
static void draw_shapes(void) {
    uint64_t seed = 1;
    for (int i = 0; i < SHAPES; i++) {
        for (int d = 0; d < DIMENSIONS; d++)
            shapes[i][d] = (int64_t)(draw(&seed) % ((uint64_t)1 << (1 + draw(&seed) % 20)));
        longest[i] = i % 2 ? -1 : (int64_t)(draw(&seed) % 100000);
    }
}

static double nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static int measure(const tilec_heuristic *heuristic) {
    static double times[ROUNDS];
    static int chosen[CONFIGS + 1];
    for (int round = 0; round < ROUNDS; round++) {
        double begin = nanoseconds();
        for (int i = 0; i < SHAPES; i++)
            chosen[tilec_heuristic_choose(heuristic, shapes[i], longest[i])]++;
        times[round] = (nanoseconds() - begin) / SHAPES;
    }
    qsort(times, ROUNDS, sizeof *times, compare);
    printf("%s: %.1f ns a choice (%.1f to %.1f)", tilec_heuristic_path(heuristic), times[ROUNDS / 2], times[0],
           times[ROUNDS - 1]);
    for (int i = 0; i < tilec_heuristic_count(heuristic); i++)
        printf("%s %d", i ? "," : "; of 1000 shapes by config:", chosen[i] / ROUNDS);
    printf("\n");
    return times[ROUNDS / 2] > most_nanoseconds;
}

int main(int count, char **words) {
    tilec_report *report = tilec_report_new();
    tilec_program *program = NULL;
    tilec_kernel *kernel = NULL;
    tilec_heuristic *heuristic = NULL;
    if (count != 5 || !report)
        return fprintf(stderr, "usage: dispatch SOURCE KERNEL HEURISTIC-FOLDER TARGET\n"), 2;
    const struct tilec_cache_options cache = {.heuristics = words[3]};
    tilec_result result = tilec_program_load(words[1], report, &program);
    if (result == TILEC_OK)
        result = tilec_kernel_check(program, words[2], NULL, report, &kernel);
    if (result == TILEC_OK)
        result = tilec_heuristic_find(kernel, words[4], &cache, report, &heuristic);
    for (int i = 0; i < tilec_report_count(report); i++)
        fputs(tilec_report_message(report, i).plain, stderr);
    bool there = result == TILEC_OK && tilec_heuristic_path(heuristic);
    if (result == TILEC_OK && !there)
        fprintf(stderr, "no heuristic file for %s in %s\n", words[4], words[3]);
    draw_shapes();
    int failed = there ? measure(heuristic) : 2;
    tilec_heuristic_free(heuristic);
    tilec_kernel_free(kernel);
    tilec_program_free(program);
    tilec_report_free(report);
    return failed;
}
