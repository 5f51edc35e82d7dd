// SPDX-License-Identifier: Apache-2.0
// Looks through a checked kernel for what its axes are used for, by name.
#include "lowering/axes.h"

#include <string.h>

#include "lowering/pass.h"

static struct axis_use *use_of(struct axis_list *list, const char *name) {
    for (int i = 0; i < list->count; i++)
        if (!strcmp(list->items[i].name, name))
            return &list->items[i];
    list->items[list->count] = (struct axis_use){.name = name};
    return &list->items[list->count++];
}

bool axis_listed(const struct axis_list *list, const char *name) {
    for (int i = 0; i < list->count; i++)
        if (!strcmp(list->items[i].name, name))
            return true;
    return false;
}

static void look_at_region(struct axis_list *list, const struct ir_kernel *kernel, struct ir_region *region,
                           int depth) {
    for (struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_FOR) {
            struct axis_use *use = use_of(list, kernel->axes[op->axis].name);
            use->loops++;
            use->top |= depth == 0;
            use->inner |= depth > 0;
            use->depth = depth > use->depth ? depth : use->depth;
            use->spreadable = use->loops == 1 && depth > 0 && may_spread(kernel, op);
        }
        for (int r = 0; r < op->region_count; r++)
            look_at_region(list, kernel, op->regions[r], depth + (op->code != OP_IF));
    }
}

struct axis_list axis_list(const struct ir_kernel *kernel) {
    struct axis_list list = {0};
    int contiguous[IR_MAX_AXES];
    count_contiguous((struct ir_kernel *)kernel, contiguous);
    for (int a = 0; a < kernel->axis_count; a++) {
        const struct ir_axis *axis = &kernel->axes[a];
        struct axis_use *use = use_of(&list, axis->name);
        int64_t lo = 0, hi;
        use->contiguous += contiguous[a];
        use->full |= axis->kind == AXIS_FULL;
        use->jagged |= axis->kind == AXIS_JAGGED;
        if (axis->hi && is_integer_constant(axis->hi, &hi) && (!axis->lo || is_integer_constant(axis->lo, &lo)) &&
            hi - lo > use->extent)
            use->extent = hi - lo;
    }
    look_at_region(&list, kernel, kernel->body, 0);
    return list;
}

// ---------------------------------------------------------------------------------------------- which axes matter

enum { SHORT_EXTENT = 32 };  // a loop that can't keep the warps of a block busy

int contiguous_axis(const struct axis_list *list) {
    int columns = -1;
    for (int i = 0; i < list->count; i++)
        if (list->items[i].contiguous && (columns < 0 || list->items[i].contiguous >= list->items[columns].contiguous))
            columns = i;
    return columns;
}

static bool is_short(const struct axis_use *use) {
    return use->extent > 0 && use->extent < SHORT_EXTENT;
}

// The deepest loop that isn't the columns'; one over a few points only if there is no other.
int deepest_loop(const struct axis_list *list, int columns, bool inner) {
    int deepest = -1;
    for (int i = 0; i < list->count; i++) {
        const struct axis_use *use = &list->items[i], *best = deepest < 0 ? NULL : &list->items[deepest];
        if (i == columns || !use->loops || (inner && !use->inner))
            continue;
        if (!best || is_short(best) > is_short(use) || (is_short(best) == is_short(use) && use->depth >= best->depth))
            deepest = i;
    }
    return deepest;
}

int cluster_axis(const struct axis_list *list) {
    return deepest_loop(list, contiguous_axis(list), true);
}

const char *config_cluster_axis(const struct ir_kernel *kernel) {
    struct axis_list list = axis_list(kernel);
    int axis = cluster_axis(&list);
    return axis >= 0 ? list.items[axis].name : NULL;
}
