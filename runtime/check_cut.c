// SPDX-License-Identifier: Apache-2.0
// Whether a result depends on how rows are cut into tiles. In: the reference, whose rows were each one tile. Out: the first
// output that the evaluator computes differently under a random cut, in words.
// The one idea: a config cuts as it likes, so a program that agrees with one cut may be wrong under another; the same
// evaluator under two cuts tells, on as many rows as cost little.
#include <string.h>

#include "runtime/run.h"

enum { STEPS_MOST = 400000 };  // operations at points; small tiles make each several times as slow

// As many of the evaluated rows as cost little. False: not even one does. *rows: NULL, all of them.
static bool choose_rows(const struct running *running, const bool **rows)
{
    int64_t all = running->result->all_rows, evaluated = running->result->checked_rows;
    *rows = running->rows;
    if (running->steps <= STEPS_MOST) return true;
    int64_t wanted = (int64_t)((double)evaluated * STEPS_MOST / (double)running->steps), taken = 0;
    if (!running->by_row || wanted < 1) return false;
    bool *few = ARENA_ARRAY(running->arena, bool, all);
    for (int64_t i = 0; i < all && taken < wanted; i++) {
        few[i] = !running->rows || running->rows[i];
        taken += few[i];
    }
    *rows = few;
    return true;
}

static struct status copy_outputs(const struct running *running, struct tensor *second)
{
    struct status status = STATUS_OK;
    for (int i = 0; i < running->bound->kernel->param_count && status.ok; i++) {
        const struct tensor *reference = &running->references[i];
        const char *name = running->bound->kernel->params[i].name;
        if (!reference->block) continue;
        status = tensor_copy(running->arena, name, running->before[i].block ? &running->before[i] : reference, &second[i]);
        if (status.ok && !running->before[i].block) tensor_poison(&second[i]);
    }
    return status;
}

static void compare_cuts(struct running *running, const struct check_rule *rules, const struct tensor *second, bool sampled)
{
    for (int i = 0; i < running->result->output_count && !running->result->cut; i++) {
        const struct run_output *output = &running->result->outputs[i];
        struct compare_options options = rules[i].options;
        if (!rules[i].compared || (sampled && rules[i].needs_all)) continue;
        options.scale = 2;  // each has rounding errors of its own
        options.sampled = sampled;
        if (sampled && running->before[output->param].block) forget_unchanged(&second[output->param], &running->before[output->param]);
        const struct ir_tensor *whole = &running->references[output->param].view;
        struct comparison comparison = compare_tensors(whole, &second[output->param].view, &options);
        if (comparison.ok) continue;
        struct text place = {0};
        tensor_print_place(&place, output->name, whole, comparison.where);
        running->result->cut = arena_printf(running->arena, "the program's result depends on how rows are cut into tiles: the evaluator computes "
                                                            "another %s in one piece than in several", place.data);
        text_free(&place);
    }
}

struct status check_cut(struct running *running, const struct check_rule *rules)
{
    const bool *rows = NULL;
    if (!choose_rows(running, &rows)) return STATUS_OK;
    struct tensor *second = ARENA_ARRAY(running->arena, struct tensor, running->bound->kernel->param_count + 1);
    struct status status = copy_outputs(running, second);
    if (status.ok) status = evaluate_under(running, second, rows, CUT_RANDOM, NULL);
    if (status.ok) compare_cuts(running, rules, second, rows != NULL);
    for (int i = 0; i < running->bound->kernel->param_count; i++) tensor_free(&second[i]);
    return status;
}
