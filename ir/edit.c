// SPDX-License-Identifier: Apache-2.0
// Changing IR: removing, moving, replacing and copying operations. In: a kernel. Out: the kernel changed, or a copy.
// The one idea: one copier serves both a whole kernel (ids kept, so that texts match) and one operation (new ids).
#include "ir/ir.h"

static void unlink_op(struct ir_op *op) {
    struct ir_region *region = op->parent;
    *(op->previous ? &op->previous->next : &region->first) = op->next;
    *(op->next ? &op->next->previous : &region->last) = op->previous;
    op->previous = op->next = NULL;
    op->parent = NULL;
}

void ir_remove(struct ir_op *op) {
    unlink_op(op);
}

void ir_move_before(struct ir_op *op, struct ir_op *before) {
    if (op == before)
        return;
    unlink_op(op);
    struct ir_builder builder = {.region = before->parent, .before = before};
    ir_insert(&builder, op);
}

static void replace_in(struct ir_region *region, struct ir_value *old, struct ir_value *value) {
    for (struct ir_op *op = region->first; op; op = op->next) {
        for (int i = 0; i < op->operand_count; i++) {
            if (op->operands[i] == old)
                op->operands[i] = value;
        }
        for (int i = 0; i < op->region_count; i++) {
            if (op->regions[i])
                replace_in(op->regions[i], old, value);
        }
    }
}

void ir_replace_uses(struct ir_kernel *kernel, struct ir_value *old, struct ir_value *value) {
    replace_in(kernel->body, old, value);
    for (int p = 0; p < kernel->param_count; p++) {
        struct ir_param *param = &kernel->params[p];
        for (int i = 0; i < param->rank; i++) {
            if (param->extents[i] == old)
                param->extents[i] = value;
        }
        if (param->fill == old)
            param->fill = value;
    }
    for (int a = 0; a < kernel->axis_count; a++) {
        if (kernel->axes[a].lo == old)
            kernel->axes[a].lo = value;
        if (kernel->axes[a].hi == old)
            kernel->axes[a].hi = value;
    }
}

// ---------------------------------------------------------------------------------------------- maps

struct ir_map *ir_map_new(struct ir_kernel *kernel) {
    struct ir_map *map = ARENA_NEW(kernel->arena, struct ir_map);
    map->capacity = kernel->value_count + 64;
    map->values = ARENA_ARRAY(kernel->arena, struct ir_value *, map->capacity);
    return map;
}

struct ir_value *ir_map_get(const struct ir_map *map, struct ir_value *value) {
    if (!value || value->id >= map->capacity || !map->values[value->id])
        return value;
    return map->values[value->id];
}

void ir_map_set(struct ir_kernel *kernel, struct ir_map *map, const struct ir_value *from, struct ir_value *to) {
    if (from->id >= map->capacity) {
        int capacity = 2 * from->id + 64;
        map->values = arena_grow(kernel->arena, map->values, (size_t)map->capacity * sizeof *map->values,
                                 (size_t)capacity * sizeof *map->values);
        map->capacity = capacity;
    }
    map->values[from->id] = to;
}

// ---------------------------------------------------------------------------------------------- copying

struct copier {
    struct ir_kernel *kernel;  // that owns the copies
    struct ir_map *map;
    bool keep_ids;
};

static struct ir_value *copy_value(struct copier *copier, const struct ir_value *value, struct ir_op *def,
                                   struct ir_region *region) {
    struct ir_value *copy = ARENA_NEW(copier->kernel->arena, struct ir_value);
    *copy = *value;
    copy->def = def;
    copy->region = region;
    if (!copier->keep_ids)
        copy->id = copier->kernel->value_count++;
    ir_map_set(copier->kernel, copier->map, value, copy);
    return copy;
}

static void copy_region(struct copier *copier, const struct ir_region *region, struct ir_region *copy);

static struct ir_op *copy_op(struct copier *copier, const struct ir_op *op) {
    struct arena *arena = copier->kernel->arena;
    struct ir_op *copy = ARENA_NEW(arena, struct ir_op);
    *copy = *op;
    copy->previous = copy->next = NULL;
    copy->parent = NULL;
    copy->operands = ARENA_ARRAY(arena, struct ir_value *, op->operand_count);
    copy->results = ARENA_ARRAY(arena, struct ir_value *, op->result_count);
    copy->regions = ARENA_ARRAY(arena, struct ir_region *, op->region_count);
    for (int i = 0; i < op->operand_count; i++)
        copy->operands[i] = ir_map_get(copier->map, op->operands[i]);
    for (int i = 0; i < op->region_count; i++) {
        if (!op->regions[i])
            continue;
        copy->regions[i] = ir_region_new(copier->kernel, copy);
        copy_region(copier, op->regions[i], copy->regions[i]);
    }
    for (int i = 0; i < op->result_count; i++)
        copy->results[i] = copy_value(copier, op->results[i], copy, NULL);
    // In a copied kernel the axes follow their loops; a second loop over an axis of the same kernel leaves it alone.
    if (copier->keep_ids && op->code == OP_FOR && op->axis >= 0 && copier->kernel->axes[op->axis].loop == op)
        copier->kernel->axes[op->axis].loop = copy;
    return copy;
}

static void copy_region(struct copier *copier, const struct ir_region *region, struct ir_region *copy) {
    copy->arg_count = region->arg_count;
    copy->args = ARENA_ARRAY(copier->kernel->arena, struct ir_value *, region->arg_count);
    for (int i = 0; i < region->arg_count; i++)
        copy->args[i] = copy_value(copier, region->args[i], copy->owner, copy);
    struct ir_builder builder = {.kernel = copier->kernel, .region = copy};
    for (const struct ir_op *op = region->first; op; op = op->next)
        ir_insert(&builder, copy_op(copier, op));
}

struct ir_op *ir_op_clone(struct ir_builder *builder, const struct ir_op *op, struct ir_map *map) {
    struct copier copier = {.kernel = builder->kernel, .map = map};
    struct ir_op *copy = copy_op(&copier, op);
    ir_insert(builder, copy);
    return copy;
}

static void copy_signature(struct ir_kernel *copy, const struct ir_kernel *kernel, const struct ir_map *map) {
    copy->params = ARENA_ARRAY(copy->arena, struct ir_param, kernel->param_count);
    copy->dims = ARENA_ARRAY(copy->arena, struct ir_dim, kernel->dim_count);
    copy->param_capacity = kernel->param_count;
    copy->dim_capacity = kernel->dim_count;
    for (int p = 0; p < kernel->param_count; p++) {
        copy->params[p] = kernel->params[p];
        for (int i = 0; i < kernel->params[p].rank; i++)
            copy->params[p].extents[i] = ir_map_get(map, kernel->params[p].extents[i]);
        copy->params[p].fill = ir_map_get(map, kernel->params[p].fill);
    }
    for (int d = 0; d < kernel->dim_count; d++)
        copy->dims[d] = kernel->dims[d];
}

// Names and texts are shared with the original, so its arena must live as long.
struct ir_kernel *ir_kernel_clone(struct arena *arena, const struct ir_kernel *kernel) {
    struct ir_kernel *copy = ARENA_NEW(arena, struct ir_kernel);
    *copy = *kernel;
    copy->arena = arena;
    struct copier copier = {.kernel = copy, .map = ir_map_new(copy), .keep_ids = true};
    copy->body = ir_region_new(copy, NULL);
    copy_region(&copier, kernel->body, copy->body);
    copy_signature(copy, kernel, copier.map);
    for (int a = 0; a < copy->axis_count; a++) {
        copy->axes[a].lo = ir_map_get(copier.map, kernel->axes[a].lo);
        copy->axes[a].hi = ir_map_get(copier.map, kernel->axes[a].hi);
    }
    return copy;
}
