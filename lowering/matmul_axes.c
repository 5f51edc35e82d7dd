// SPDX-License-Identifier: Apache-2.0
// Which axes are rows and which are columns of products, and whether a config deals them out as the matrix units want.
//
// In: a kernel, checked or lowered, and a config. Out: a role for every axis of a product. The one idea: every product
// says that its two free axes differ, an operand that is computed has to be the row operand, and what is summed over
// there is laid out as columns; a colouring with two colours that obeys all of it, or the reason why there is none.
#include "lowering/matmul.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lowering/axes.h"
#include "lowering/pass.h"

enum { MAX_PRODUCTS = 64 };

struct product {
    const struct ir_op *op;
    int free[2];  // the axis of each operand that stays
    int summed;
    bool computed[2];
};

struct colouring {
    struct arena *arena;
    const struct ir_kernel *kernel;
    axes_t single;  // axes of one point a tile
    bool tf32;      // of f32, not of f16 and bf16
    int count;
    struct product products[MAX_PRODUCTS];
    struct matmul_axes *axes;
    struct status status;
};

static bool no(struct colouring *c, const char *code, const struct ir_op *op, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static bool no(struct colouring *c, const char *code, const struct ir_op *op, const char *format, ...) {
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    c->status = (struct status){false, code, arena_copy(c->arena, reason, strlen(reason)), op->span};
    return false;
}

// Axes of one name are one here: the first of them.
static int axis_named_as(const struct ir_kernel *kernel, int axis) {
    int first = 0;
    while (strcmp(kernel->axes[first].name, kernel->axes[axis].name))
        first++;
    return first;
}

static bool one_axis(const struct colouring *c, axes_t axes, int *axis) {
    axes &= ~c->single;
    if (!axes || (axes & (axes - 1)))
        return false;
    *axis = axis_named_as(c->kernel, __builtin_ctzll(axes));
    return true;
}

static const char *name_of(const struct colouring *c, int axis) {
    return c->kernel->axes[axis].name;
}

static bool is_loaded(const struct ir_value *value) {
    while (!value->region && (value->def->code == OP_BROADCAST))
        value = value->def->operands[0];
    return !value->region && value->def->code == OP_LOAD;
}

// ---------------------------------------------------------------------------------------------- products

static bool is_half(enum ir_type type) {
    return type == TYPE_F16 || type == TYPE_BF16;
}

static bool check_types(struct colouring *c, const struct ir_op *op) {
    enum ir_type a = op->operands[0]->type, b = op->operands[1]->type;
    if (a == b && (c->tf32 ? a == TYPE_F32 : is_half(a)))
        return true;
    return no(c, "lowering.mma-type", op, "%s, not %s by %s",
              c->tf32 ? "with dot \"tf32\" the matrix units multiply f32 by f32"
                      : "the matrix units multiply f16 by f16 and bf16 by bf16",
              ir_type_name(a), ir_type_name(b));
}

static bool add_product(struct colouring *c, const struct ir_op *op) {
    struct product product = {.op = op};
    if (!check_types(c, op))
        return false;
    if (c->count == MAX_PRODUCTS)
        return no(c, "lowering.mma-count", op, "there are more than %d products", MAX_PRODUCTS);
    if (!one_axis(c, op->over, &product.summed))
        return no(c, "lowering.mma-axes", op, "the matrix units sum over one axis with tiles of %d points or more",
                  MATMUL_DEPTH);
    axes_t a = op->operands[0]->axes & ~c->single, b = op->operands[1]->axes & ~c->single;
    axes_t both = a & b & ~op->over;
    if (both)
        return no(c, "lowering.mma-batch", op, "both operands have the axis %s: its block has to be 1",
                  name_of(c, __builtin_ctzll(both)));
    if (!(a & op->over) || !(b & op->over))
        return no(c, "lowering.mma-axes", op, "one operand lacks the axis %s", name_of(c, product.summed));
    if (!one_axis(c, a & ~op->over, &product.free[0]) || !one_axis(c, b & ~op->over, &product.free[1]))
        return no(c, "lowering.mma-axes", op, "each operand needs exactly one axis of its own beside %s",
                  name_of(c, product.summed));
    if ((op->results[0]->axes & ~c->single) != ((a | b) & ~op->over))
        return no(c, "lowering.mma-axes", op, "a condition on another axis decides what is summed");
    if (product.free[0] == product.free[1])
        return no(c, "lowering.mma-axes", op, "both operands have an axis named %s: give them different names",
                  name_of(c, product.free[0]));
    for (int i = 0; i < 2; i++)
        product.computed[i] = !is_loaded(op->operands[i]);
    if (product.computed[0] && product.computed[1])
        return no(c, "lowering.mma-operand", op, "one operand at least has to be loaded from memory as it is");
    c->products[c->count++] = product;
    return true;
}

static bool find_products(struct colouring *c, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_DOT && !add_product(c, op))
            return false;
        for (int r = 0; r < op->region_count; r++)
            if (!find_products(c, op->regions[r]))
                return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------- colours

static bool give_role(struct colouring *c, const struct product *product, int axis, enum matmul_role role) {
    enum matmul_role *known = &c->axes->roles[axis];
    if (*known == ROLE_NONE)
        *known = role;
    if (*known == role)
        return true;
    return no(c, "lowering.mma-roles", product->op,
              "the axis %s would be rows of one product and columns of another: give it two names",
              name_of(c, axis));
}

static enum matmul_role other_role(enum matmul_role role) {
    return role == ROLE_ROWS ? ROLE_COLUMNS : ROLE_ROWS;
}

// What one product says of its axes, given the roles so far.
static bool spread_roles(struct colouring *c, const struct product *product, bool *changed) {
    enum matmul_role before[2] = {c->axes->roles[product->free[0]], c->axes->roles[product->free[1]]};
    for (int i = 0; i < 2; i++) {
        if (product->computed[i] && (!give_role(c, product, product->free[i], ROLE_ROWS) ||
                                     !give_role(c, product, product->summed, ROLE_COLUMNS)))
            return false;
        enum matmul_role role = c->axes->roles[product->free[i]];
        if (role != ROLE_NONE && !give_role(c, product, product->free[1 - i], other_role(role)))
            return false;
    }
    *changed |= before[0] != c->axes->roles[product->free[0]] || before[1] != c->axes->roles[product->free[1]];
    return true;
}

static bool spread_all(struct colouring *c) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (int i = 0; i < c->count; i++)
            if (!spread_roles(c, &c->products[i], &changed))
                return false;
    }
    return true;
}

// Free choices: columns are the axis along which memory is contiguous, so that neighbours are stored together.
static bool choose_roles(struct colouring *c) {
    int contiguous[IR_MAX_AXES];
    count_contiguous((struct ir_kernel *)c->kernel, contiguous);
    for (int i = 0; i < c->count; i++) {
        const struct product *product = &c->products[i];
        if (!spread_all(c))
            return false;
        int column = contiguous[product->free[0]] > contiguous[product->free[1]] ? 0 : 1;
        if (c->axes->roles[product->free[column]] == ROLE_NONE)
            c->axes->roles[product->free[column]] = ROLE_COLUMNS;
    }
    return spread_all(c);
}

// What is summed over has the layout of columns where nothing wants it otherwise; no value in registers is on it then.
static bool place_summed(struct colouring *c) {
    for (int i = 0; i < c->count; i++) {
        int axis = c->products[i].summed;
        c->axes->summed[axis] = true;
        if (c->axes->roles[axis] == ROLE_ROWS)
            return no(c, "lowering.mma-roles", c->products[i].op,
                      "the axis %s is summed over here and rows of another product: give it two names",
                      name_of(c, axis));
        c->axes->roles[axis] = ROLE_COLUMNS;
    }
    return true;
}

static void spread_names(struct colouring *c) {
    for (int a = 0; a < c->kernel->axis_count; a++) {
        int first = axis_named_as(c->kernel, a);
        c->axes->roles[a] = c->axes->roles[first];
        c->axes->summed[a] = c->axes->summed[first];
    }
}

struct status matmul_axes(struct arena *arena, const struct ir_kernel *kernel, const struct config *config,
                          struct matmul_axes *axes) {
    struct colouring *c = ARENA_NEW(arena, struct colouring);
    *axes = (struct matmul_axes){0};
    *c = (struct colouring){.arena = arena, .kernel = kernel, .axes = axes, .status = STATUS_OK};
    c->tf32 = config->dot == DOT_TF32;
    for (int a = 0; a < kernel->axis_count; a++) {
        const struct config_axis *axis = config_axis_named(config, kernel->axes[a].name);
        if (axis && axis->block == 1)
            c->single |= AXIS_BIT(a);
    }
    if (find_products(c, kernel->body) && choose_roles(c) && place_summed(c))
        spread_names(c);
    axes->count = c->count;
    return c->status;
}

// ---------------------------------------------------------------------------------------------- configs

bool uses_matrix_units(const struct config *config, const struct target *target) {
    return config->dot != DOT_FMA && target->kind == TARGET_CUDA;
}

static bool has_half_product(const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_DOT && op->operands[0]->type == op->operands[1]->type && is_half(op->operands[0]->type))
            return true;
        for (int r = 0; r < op->region_count; r++)
            if (has_half_product(op->regions[r]))
                return true;
    }
    return false;
}

bool may_multiply(const struct ir_kernel *kernel) {
    return has_half_product(kernel->body);
}

struct shape {
    int vector, lanes, least;  // least: points of a tile per warp
};

static struct shape shape_of(const struct matmul_axes *axes, int axis) {
    if (axes->roles[axis] == ROLE_ROWS)
        return (struct shape){1, ROW_LANES, MATMUL_ROWS};
    if (axes->roles[axis] == ROLE_COLUMNS)
        return (struct shape){COLUMN_VECTOR, COLUMN_LANES_OF_MATMUL,
                              axes->summed[axis] ? MATMUL_DEPTH : MATMUL_COLUMNS};
    return (struct shape){1, 1, 1};
}

static struct status check_axis(struct arena *arena, const struct matmul_axes *axes, int axis,
                                const struct config_axis *given, bool groups) {
    static const char *const words[] = {"is no part of a product", "is rows of a product", "is columns of a product"};
    struct shape shape = shape_of(axes, axis);
    const char *part = axes->summed[axis] ? "is summed over by a product" : words[axes->roles[axis]];
    if (given->vector != shape.vector || given->lanes != shape.lanes)
        return config_wrong(arena, "config.mma", "axes.%s %s: with dot \"mma\" its vector is %d and its lanes are %d",
                     given->name, part, shape.vector, shape.lanes);
    if (axes->summed[axis] && given->warps > 1)
        return config_wrong(arena, "config.mma", "axes.%s %s: with dot \"mma\" its warps are 1", given->name, part);
    if (groups && axes->roles[axis] == ROLE_ROWS && given->warps % GROUP_WARPS)
        return config_wrong(arena, "config.mma", "axes.%s %s: with dot \"wgmma\" its warps are a multiple of %d", given->name,
                     part, GROUP_WARPS);
    if (groups && axes->roles[axis] == ROLE_COLUMNS && (given->warps > 1 || given->block > GROUP_COLUMNS))
        return config_wrong(arena, "config.mma", "axes.%s %s: with dot \"wgmma\" its warps are 1 and its block is at most %d",
                     given->name, part, GROUP_COLUMNS);
    if (given->block < shape.least * given->warps)
        return config_wrong(arena, "config.mma", "axes.%s %s: with dot \"mma\" its block is at least %d for each of its warps",
                     given->name, part, shape.least);
    return STATUS_OK;
}

static int first_axis_named(const struct ir_kernel *kernel, const char *name) {
    for (int a = 0; a < kernel->axis_count; a++)
        if (!strcmp(kernel->axes[a].name, name))
            return a;
    return -1;
}

struct status matmul_check(struct arena *arena, const struct ir_kernel *kernel, const struct config *config) {
    struct matmul_axes axes;
    struct status status = matmul_axes(arena, kernel, config, &axes);
    if (status.ok && !axes.count)
        return config_wrong(arena, "config.mma", "dot is \"%s\", but the kernel %s has no dot", config_dot_name(config->dot), kernel->name);
    for (int i = 0; status.ok && i < config->axis_count; i++) {
        int axis = first_axis_named(kernel, config->axes[i].name);
        if (axis >= 0)
            status = check_axis(arena, &axes, axis, &config->axes[i], config->dot == DOT_WGMMA);
    }
    return status;
}

// Blocks by the parts that axes play in the products, so that these have roles at all.
static void size_blocks(const struct ir_kernel *kernel, const struct ir_region *region, struct config *config) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        axes_t a = op->code == OP_DOT ? op->operands[0]->axes : 0, b = op->code == OP_DOT ? op->operands[1]->axes : 0;
        for (int i = 0; (a | b) && i < kernel->axis_count; i++) {
            struct config_axis *axis = config_axis_named(config, kernel->axes[i].name);
            bool batch = (a & b & ~op->over) & AXIS_BIT(i);
            if (!((a | b) & AXIS_BIT(i)) || kernel->axes[i].kind == AXIS_FULL)
                continue;
            int warps = batch ? 1 : axis->warps;
            *axis = (struct config_axis){axis->name, batch ? 1 : MATMUL_ROWS * warps, 1, 1, warps, 1};
        }
        for (int r = 0; r < op->region_count; r++)
            size_blocks(kernel, op->regions[r], config);
    }
}

static void take_shape(const struct ir_kernel *kernel, const struct matmul_axes *axes, struct config_axis *given) {
    int axis = first_axis_named(kernel, given->name);
    struct shape shape = axis < 0 ? (struct shape){1, 1, 1} : shape_of(axes, axis);
    bool full = axis >= 0 && kernel->axes[axis].kind == AXIS_FULL;
    given->vector = shape.vector;
    given->lanes = shape.lanes;
    if (axis >= 0 && (axes->summed[axis] || axes->roles[axis] == ROLE_NONE))
        given->warps = 1;
    while (full && given->warps > 1 && given->block < shape.least * given->warps)
        given->warps /= 2;
    if (!full)
        given->block = shape.least * given->warps;
}

bool matmul_shape(struct arena *arena, const struct ir_kernel *kernel, struct config *config) {
    struct matmul_axes axes;
    struct config_axis *saved = ARENA_ARRAY(arena, struct config_axis, config->axis_count);
    memcpy(saved, config->axes, sizeof *saved * (size_t)config->axis_count);
    enum config_dot dot = config->dot;
    config->dot = DOT_MMA;
    size_blocks(kernel, kernel->body, config);
    bool possible = matmul_axes(arena, kernel, config, &axes).ok && axes.count;
    for (int i = 0; possible && i < config->axis_count; i++)
        take_shape(kernel, &axes, &config->axes[i]);
    if (possible && matmul_check(arena, kernel, config).ok)
        return true;
    memcpy(config->axes, saved, sizeof *saved * (size_t)config->axis_count);
    config->dot = dot;
    return false;
}

static bool take_group(const struct ir_kernel *kernel, const struct matmul_axes *axes, struct config_axis *given) {
    int axis = first_axis_named(kernel, given->name);
    if (axis < 0 || axes->roles[axis] == ROLE_NONE)
        return true;
    given->warps = axes->roles[axis] == ROLE_ROWS ? GROUP_WARPS : 1;
    if (kernel->axes[axis].kind != AXIS_FULL)
        given->block = GROUP_CELLS;
    return given->block >= GROUP_CELLS;
}

bool matmul_groups(struct arena *arena, const struct ir_kernel *kernel, struct config *config) {
    struct matmul_axes axes;
    struct config_axis *saved = ARENA_ARRAY(arena, struct config_axis, config->axis_count);
    memcpy(saved, config->axes, sizeof *saved * (size_t)config->axis_count);
    enum config_dot dot = config->dot;
    bool possible = matmul_axes(arena, kernel, config, &axes).ok;
    for (int i = 0; possible && i < config->axis_count; i++)
        possible = take_group(kernel, &axes, &config->axes[i]);
    config->dot = DOT_WGMMA;
    if (possible && matmul_check(arena, kernel, config).ok)
        return true;
    memcpy(config->axes, saved, sizeof *saved * (size_t)config->axis_count);
    config->dot = dot;
    return false;
}
