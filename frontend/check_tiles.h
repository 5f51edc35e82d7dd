// SPDX-License-Identifier: Apache-2.0
// What the rules of "Tiles and results" share: for every value, sets of axes that say how it depends on the cut of their
// loops (check_facts.c). On them stand the rules for assignments (check_tiles.c) and for stores and atomics
// (check_access.c). Private to the checker.
#ifndef TILEC_FRONTEND_CHECK_TILES_H
#define TILEC_FRONTEND_CHECK_TILES_H

#include "frontend/check.h"

struct facts {
    axes_t reduced;  // covers the present tile: a reduction, scan or dot over the axis
    axes_t scanned;  // a scan along it
    axes_t exposed;  // its begin, end, size or id
    axes_t carried;  // a variable that the axis's loop changes
    axes_t steered;  // which value it is, or how often it was computed, was decided by a variable that the loop changes
};

struct rules {
    struct checker *checker;
    struct facts *facts;  // by value id
    int *visited;         // by value id: the number of the last search that came by
    int *opened;          // by parameter: the number of the last search that looked at what is stored to it
    int searches;
    bool changed;
    bool *loaded;         // by parameter: somewhere in the kernel
};

// Facts of all values; they must be there before anything else is asked.
void find_facts(struct rules *rules);
struct facts facts_of(const struct rules *rules, const struct ir_value *value);
struct facts facts_joined(struct facts a, struct facts b);
// Of the conditions between an operation and a loop around it: `if`s, and the bounds and `while`s of inner loops.
struct facts facts_of_conditions(const struct rules *rules, const struct ir_op *op, const struct ir_op *loop);

bool lies_inside(const struct ir_op *op, const struct ir_op *loop);
const struct ir_value *without_cast(const struct ir_value *value);
// Whether min, max, && and || join nothing but values: done again with the same, they change nothing.
bool is_idempotent_code(enum ir_opcode code);
// Whether `value` is computed from `wanted`.
bool depends_on(struct rules *rules, const struct ir_value *value, const struct ir_value *wanted);
// Whether it is computed from what a load of the tensor in `loop` gives, be it by way of other tensors stored there.
bool depends_on_load(struct rules *rules, const struct ir_value *value, int param, const struct ir_op *loop);

void check_access_rules(struct rules *rules);

enum { CHAIN_LONGEST = 16 };  // operations in a row that a rule looks through

#endif
