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
