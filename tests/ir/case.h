// SPDX-License-Identifier: Apache-2.0
// A program with arguments and right values, as the cases.json files have them, run through the front end and the
// reference evaluator.
//
//   case       name                    kernel  file beside the JSON file      entry  kernel in it, if it has several
//   args       name: {type, shape, data} or {type, value}; a missing optional tensor is absent
//   expect     name: {type, shape, data, rows: [first, last) of what is compared, else all}
//   tolerance  relative to the larger of 1 and the right value; integers are exact
//   before     name: what each element of an output holds before (else NaN, or -77)
//   fault      {code, says}: the evaluator stops, with this code and these words somewhere in the reason
//   cuts       names of the cuts to run, else all
// `data` is a nested or flat list of numbers, true, false, "nan", "inf", "-inf"; or {"from": a} (a, a + 1, …), or {"all": a}.
#ifndef TILEC_TESTS_IR_CASE_H
#define TILEC_TESTS_IR_CASE_H

#include <cjson/cJSON.h>

#include "frontend/frontend.h"
#include "ir/ir.h"
#include "tests/unit.h"

// The whole file, NUL-terminated, in the arena; NULL if it can't be read.
char *read_file(struct arena *arena, const char *path, size_t *length);
// Parsed, to be freed with cJSON_Delete; NULL with a line printed if it is no JSON.
cJSON *read_json(const char *path);

// Checks the case's program and runs it under every cut, with dimensions compiled in and (where the program has no
// full axis) without. `folder` is where its file is.
void run_case(struct unit *unit, const char *folder, const cJSON *description);

// The parts, for tests that do more.
struct bound_case {
    const cJSON *description;
    struct ast_file *file;
    struct signature *signature;
    struct ir_kernel *kernel;
    struct ir_tensor *tensors;
    struct ir_scalar *scalars;
    int64_t *dims;
};
// Parses, checks and binds; false with the reason printed. Dimensions that are extents as such are compiled in if `fixed`.
bool bind_case(struct unit *unit, struct bound_case *bound, const char *folder, const cJSON *description, bool fixed);
// Arguments as given and outputs as before.
void reset_case(struct unit *unit, struct bound_case *bound);
// The same, then one run.
struct status evaluate_case(struct unit *unit, struct bound_case *bound, enum ir_cut cut, uint64_t seed, struct text *printed);
// Compares every output that the case expects.
void compare_case(struct unit *unit, const struct bound_case *bound, const char *how);
double tensor_element(const struct ir_tensor *tensor, int64_t index);

#endif
