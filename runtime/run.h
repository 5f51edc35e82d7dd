// SPDX-License-Identifier: Apache-2.0
// What run.c, check.c and tune_prepare.c share: one run under way. Private to these files.
#ifndef TILEC_RUNTIME_RUN_H
#define TILEC_RUNTIME_RUN_H

#include "runtime/data.h"

struct running {
    struct arena *arena;
    const struct run_request *request;
    struct run_result *result;
    struct bound *bound;
    int64_t check_points;
    bool other_rows;  // of a sample: as many of those that the first one left out
    // For the check, by parameter: what the reference computes, and what inout tensors held before.
    struct tensor *references, *before;
    const bool *rows; // of the sample, NULL: all were evaluated, in so many steps
    int64_t steps;
    bool by_row;      // rows can be evaluated by themselves
    double **errors;   // of the references, by element; an entry is NULL where none are known. malloc'ed
};

// Copies what the execution will overwrite.
struct status check_prepare(struct running *running);
// How an output is to be compared with its reference.
struct check_rule {
    bool compared;                   // false: the sample of rows says nothing about it
    bool needs_all;                  // what a row finds there depends on other rows, or on the fill
    struct compare_options options;
};
// Evaluates the reference, all of it or a sample of rows, into running->references; a rule for each of the result's outputs.
struct status check_evaluate(struct running *running, struct check_rule *rules);
// Evaluates the reference, all of it or a sample of rows, and compares every output. Not ok: the evaluator's own status.
struct status check_outputs(struct running *running);
// Evaluates into `outputs` (by parameter), of `rows` (NULL: all); `errors` as in ir_evaluation. Keeps the count of steps.
struct status evaluate_under(struct running *running, struct tensor *outputs, const bool *rows, enum ir_cut cut, double *const *errors);
// In a sample, elements of an inout tensor that the rows didn't change become poison: they are not compared.
void forget_unchanged(const struct tensor *reference, const struct tensor *before);
// Behind check_evaluate: result->cut, if another cut has another result (check_cut.c).
struct status check_cut(struct running *running, const struct check_rule *rules);
void check_free(struct running *running);

#endif
