// SPDX-License-Identifier: Apache-2.0
// In: the words of a launch. Out: its dimensions, scalars and tensors, or the argument that is wrong.
//
// Each dimension is learnt from one extent, the one that the program's IR names; then every extent of every tensor is
// compared with what it must be. Both are a few integer operations per extent.
#include <string.h>

#include "runtime/call.h"

int64_t call_number(const struct call *call, const struct number_rule *rule)
{
    if (rule->value) return ir_evaluate_number(rule->value, &call->bindings).integer;
    return rule->dim < 0 ? rule->offset : rule->scale * call->dims[rule->dim] + rule->offset;
}

bool call_extent(const struct call *call, const struct number_rule *rule, int64_t *extent)
{
    if (rule->value) return ir_evaluate_integer(rule->value, &call->bindings, extent);
    *extent = rule->offset;
    return rule->dim < 0 || (!__builtin_mul_overflow(rule->scale, call->dims[rule->dim], extent) &&
                             !__builtin_add_overflow(*extent, rule->offset, extent));
}

static const struct ir_param *param_of(const struct call *call, int index)
{
    return &call->bound->kernel->ir->params[index];
}

// ---------------------------------------------------------------------------------------------- scalars

static tilec_result read_scalar(struct call *call, int index)
{
    enum ir_type type = param_of(call, index)->type;
    const uint64_t *word = &call->words[call->bound->params[index].word];
    struct ir_scalar *scalar = &call->scalars[index];
    *scalar = (struct ir_scalar){0};
    if (ir_type_is_float(type)) {
        memcpy(&scalar->number, word, sizeof scalar->number);
        scalar->number = ir_round_to(type, scalar->number);
        return TILEC_OK;
    }
    scalar->integer = (int64_t)*word;
    if (type == TYPE_BOOL ? *word < 2 : ir_wrap_to(type, scalar->integer) == scalar->integer) return TILEC_OK;
    return report_failed(call->report, "launch.argument", NULL, "'%s' is declared as %s, which can't be %lld", param_of(call, index)->name,
                         ir_type_name(type), (long long)scalar->integer);
}

// ---------------------------------------------------------------------------------------------- dimensions

static tilec_result wrong_dim(const struct call *call, int dim, int64_t extent)
{
    const struct ir_dim *rule = &call->bound->kernel->ir->dims[dim];
    const struct ir_param *param = param_of(call, rule->param);
    return report_failed(call->report, "launch.dimension", NULL, "'%s' has %lld elements in dimension %d, which is declared as %s: no %s gives that",
                         param->name, (long long)extent, rule->position + 1, param->extent_text[rule->position], rule->name);
}

static bool is_extent(uint64_t word)
{
    return word <= (uint64_t)DIMENSION_MOST;
}

static tilec_result impossible_extent(const struct call *call, int index, int position, int64_t extent)
{
    const char *why = extent < 0 ? "it is negative" : "the tensor would be larger than any memory";
    return report_failed(call->report, "launch.dimension", NULL, "'%s' can't have the extent %lld in dimension %d: %s",
                         param_of(call, index)->name, (long long)extent, position + 1, why);
}

static tilec_result learn_dim(struct call *call, int dim)
{
    const struct ir_dim *rule = &call->bound->kernel->ir->dims[dim];
    if (rule->is_static) return call->dims[dim] = rule->value, TILEC_OK;
    if (rule->param < 0)
        return report_failed(call->report, "launch.dimension", NULL, "the arguments don't tell the dimension %s", rule->name);
    int64_t extent = (int64_t)call->words[call->bound->params[rule->param].word + 1 + rule->position], rest;
    if (!is_extent((uint64_t)extent)) return impossible_extent(call, rule->param, rule->position, extent);
    rest = extent - rule->offset;
    if (rule->scale != 1) {
        if (rule->scale == 0 || rest % rule->scale != 0) return wrong_dim(call, dim, extent);
        rest /= rule->scale;
    }
    call->dims[dim] = rest;
    return rest < 0 ? wrong_dim(call, dim, extent) : TILEC_OK;
}

// ---------------------------------------------------------------------------------------------- tensors

static tilec_result wrong_extent(const struct call *call, int index, int position, int64_t extent, int64_t wanted)
{
    const struct ir_param *param = param_of(call, index);
    const struct number_rule *rule = &call->bound->params[index].extents[position];
    bool compiled_in = rule->dim >= 0 && call->bound->kernel->ir->dims[rule->dim].is_static;
    return report_failed(call->report, "launch.dimension", compiled_in ? "the extent is compiled in: check and bind the kernel for this one" : NULL,
                         "'%s' (dimension %d) is %lld, but it is declared as %s, which is %lld", param->name, position + 1, (long long)extent,
                         param->extent_text[position], (long long)wanted);
}

tilec_result call_extent_failed(const struct call *call, int index, int position)
{
    const struct ir_param *param = param_of(call, index);
    return report_failed(call->report, "launch.dimension", NULL, EXTENT_TOO_LARGE, param->name, param->extent_text[position], position + 1);
}

static tilec_result read_tensor(struct call *call, int index, bool check)
{
    const struct call_param *laid = &call->bound->params[index];
    const uint64_t *words = &call->words[laid->word];
    struct ir_tensor *tensor = &call->tensors[index];
    int64_t bytes = laid->bytes;
    bool empty = false;
    tensor->data = laid->present ? (void *)(uintptr_t)words[0] : NULL;
    tensor->type = param_of(call, index)->type;
    tensor->rank = laid->rank;
    if (!laid->present && words[0])
        return report_failed(call->report, "launch.argument", NULL, "'%s' is given, but the kernel is bound without it", param_of(call, index)->name);
    for (int d = 0; laid->present && d < laid->rank; d++) {
        int64_t extent = (int64_t)words[1 + d];
        tensor->shape[d] = extent;
        empty |= extent == 0;
        if (!is_extent(words[1 + d]) || __builtin_mul_overflow(bytes, extent, &bytes))
            return impossible_extent(call, index, d, extent);
        if (!check) continue;
        int64_t wanted;
        if (!call_extent(call, &laid->extents[d], &wanted)) return call_extent_failed(call, index, d);
        if (extent != wanted) return wrong_extent(call, index, d, extent, wanted);
    }
    if (!check || !laid->present || words[0] || empty) return TILEC_OK;
    return report_failed(call->report, "launch.argument", NULL, "'%s' is missing: its address is NULL", param_of(call, index)->name);
}

// What a kernel writes may lie over nothing else that it uses.
static tilec_result check_overlap(const struct call *call, int output)
{
    const struct tilec_bound *bound = call->bound;
    uintptr_t begin = (uintptr_t)call->tensors[output].data, end = begin;
    int64_t bytes = bound->params[output].bytes;
    for (int d = 0; d < bound->params[output].rank; d++) bytes *= call->tensors[output].shape[d];
    end += (uintptr_t)bytes;
    for (int i = 0; i < bound->param_count; i++) {
        const struct call_param *other = &bound->params[i];
        if (i == output || other->kind == PARAM_SCALAR || !call->tensors[i].data) continue;
        uintptr_t from = (uintptr_t)call->tensors[i].data, size = (uintptr_t)other->bytes;
        for (int d = 0; d < other->rank; d++) size *= (uintptr_t)call->tensors[i].shape[d];
        if (from < end && begin < from + size)
            return report_failed(call->report, "launch.overlap", NULL, "'%s', which the kernel writes, shares memory with '%s'",
                                 param_of(call, output)->name, param_of(call, i)->name);
    }
    return TILEC_OK;
}

static tilec_result check_loops(const struct call *call)
{
    for (int i = 0; i < call->bound->loop_count; i++) {
        const struct call_loop *loop = &call->bound->loops[i];
        int64_t bound = call_number(call, &loop->bound);
        if (plan_is_too_far(bound))
            return report_failed(call->report, "launch.bounds", NULL, LOOP_TOO_FAR, loop->name, (long long)bound,
                                 (long long)DIMENSION_MOST, (long long)DIMENSION_MOST);
    }
    return TILEC_OK;
}

tilec_result call_read(struct call *call, const tilec_bound *bound, const uint64_t *words, int without, tilec_report *report)
{
    const struct ir_kernel *kernel = bound->kernel->ir;
    tilec_result result = TILEC_OK;
    call->bound = bound;
    call->words = words;
    call->report = report;
    call->bindings = (struct ir_bindings){call->dims, call->scalars};
    for (int i = 0; i < bound->param_count && result == TILEC_OK; i++)
        if (bound->params[i].kind == PARAM_SCALAR) result = read_scalar(call, i), call->tensors[i].data = NULL;
    for (int i = 0; i < kernel->dim_count && result == TILEC_OK; i++) result = learn_dim(call, i);
    for (int i = 0; i < bound->param_count && result == TILEC_OK; i++)
        if (bound->params[i].kind != PARAM_SCALAR) result = read_tensor(call, i, without < 0 || (i != without && bound->params[i].kind != PARAM_OUT));
    for (int i = 0; i < bound->param_count && result == TILEC_OK && without < 0; i++)
        if ((bound->params[i].kind == PARAM_OUT || bound->params[i].kind == PARAM_INOUT) && call->tensors[i].data) result = check_overlap(call, i);
    return result == TILEC_OK ? check_loops(call) : result;
}
