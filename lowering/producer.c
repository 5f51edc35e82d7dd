// SPDX-License-Identifier: Apache-2.0
// lower_producer: with the config's producers, warps of their own copy the tiles of products, and a block does tile
// after tile of the grid.
//
// In: staged loads, where they ended up. Out: for each launch that has any, which tensors are copied and how (maps),
// what of the program says where to (a slice of it, which those warps run), a workspace for both, and the size of the
// grid. The one idea: the copying engine takes boxes of a tensor and fills what is outside with zeros; a row of a tile
// lies along two dimensions of the same stride, so that the end of a jagged row is an end of the first of them.
#include "lowering/matmul.h"
#include "lowering/producer.h"

enum { MAP_ROWS = 256, MAP_RANK = 4, MAP_VECTOR = 8, STATE_WORDS = MAP_BYTES / 4 };

bool uses_producers(const struct config *config, const struct lower_options *options) {
    return config->producers && config->dot == DOT_WGMMA && options->target.kind == TARGET_CUDA && !options->index64 &&
           !options->unaligned;
}

bool cannot_produce(struct producing *p, struct span span, const char *reason) {
    if (p->good)
        refuse(p->context, "lowering.producers", span, "producers can't copy here: %s", reason);
    return p->good = false;
}

// ---------------------------------------------------------------------------------------------- places and limits

// Whether a bound is so far out that what it holds back is outside of every tensor.
static bool is_far(const struct ir_value *value, bool below) {
    int64_t number;
    return is_integer_constant(value, &number) && (below ? number <= -INDEX_LIMIT : number >= INDEX_LIMIT);
}

bool grows_by_one(const struct ir_value *value, int axis) {
    const struct ir_op *def = value->region ? NULL : value->def;
    if (!def || !(value->axes & AXIS_BIT(axis)))
        return false;
    if (def->code == OP_INDEX)
        return def->axis == axis;
    if (def->code == OP_CAST || def->code == OP_BROADCAST)
        return grows_by_one(def->operands[0], axis);
    if (def->code == OP_CLAMP)
        return is_far(def->operands[1], true) && is_far(def->operands[2], false) &&
               grows_by_one(def->operands[0], axis);
    if (def->code != OP_ADD)
        return false;
    const struct ir_value *a = def->operands[0], *b = def->operands[1];
    bool in_a = a->axes & AXIS_BIT(axis), in_b = b->axes & AXIS_BIT(axis);
    return in_a != in_b && grows_by_one(in_a ? a : b, axis);
}

static const struct ir_value *without_casts(const struct ir_value *value) {
    while (!value->region && (value->def->code == OP_CAST || value->def->code == OP_BROADCAST))
        value = value->def->operands[0];
    return value;
}

static bool same_place(const struct ir_value *a, const struct ir_value *b) {
    a = without_casts(a);
    b = without_casts(b);
    if (a == b)
        return true;
    return !a->region && !b->region && a->def->code == OP_INDEX && b->def->code == OP_INDEX &&
           a->def->axis == b->def->axis;
}

// The end of the columns is that of the tensor's last dimension.
static bool is_last_end(const struct ir_kernel *kernel, const struct ir_op *load, const struct ir_op *less) {
    const struct ir_param *param = &kernel->params[load->param];
    int64_t end, extent;
    return same_place(less->operands[0], load->operands[param->rank - 1]) &&
           is_integer_constant(without_casts(less->operands[1]), &end) &&
           is_integer_constant(param->extents[param->rank - 1], &extent) && end == extent;
}

static bool add_limit(const struct ir_kernel *kernel, const struct ir_op *load, const struct ir_value *value, int rows,
                      int columns, struct tile_limits *limits) {
    const struct ir_op *def = value->region ? NULL : value->def;
    bool in_rows = value->axes & AXIS_BIT(rows), in_columns = value->axes & AXIS_BIT(columns);
    if (def && def->code == OP_BROADCAST)
        return add_limit(kernel, load, def->operands[0], rows, columns, limits);
    if (def && def->code == OP_LAND)
        return add_limit(kernel, load, def->operands[0], rows, columns, limits) &&
               add_limit(kernel, load, def->operands[1], rows, columns, limits);
    if (limits->row_count == MOST_LIMITS || limits->condition_count == MOST_LIMITS)
        return false;
    if (!in_rows && !in_columns) {
        limits->conditions[limits->condition_count++] = value;
        return !value->axes;
    }
    if (!def || def->code != OP_LT || (def->operands[1]->axes & (AXIS_BIT(rows) | AXIS_BIT(columns))))
        return false;
    if (in_columns)
        return !in_rows && is_last_end(kernel, load, def);
    limits->rows[limits->row_count++] = def;
    return grows_by_one(def->operands[0], rows);
}

bool tile_limits(const struct ir_kernel *kernel, const struct ir_op *load, int rows, int columns,
                 struct tile_limits *limits) {
    *limits = (struct tile_limits){0};
    return !load->predicated || add_limit(kernel, load, load->operands[load->operand_count - 1], rows, columns, limits);
}

// ---------------------------------------------------------------------------------------------- maps

// The tile's axes, and the dimension that its rows are along; false if it isn't a part of the tensor as it lies.
static bool find_tile(const struct producing *p, const struct ir_op *load, int *rows, int *columns, int *outer) {
    const struct ir_param *param = &p->kernel->params[load->param];
    axes_t axes = load->results[0]->axes;
    *rows = *columns = *outer = -1;
    for (int a = 0; a < p->kernel->axis_count; a++)
        if (axes & AXIS_BIT(a))
            *(grows_by_one(load->operands[param->rank - 1], a) ? columns : rows) = a;
    if (*rows < 0 || *columns < 0 || axes != (AXIS_BIT(*rows) | AXIS_BIT(*columns)) ||
        load->operands[param->rank - 1]->axes != AXIS_BIT(*columns))
        return false;
    for (int i = 0; i + 1 < param->rank; i++) {
        if (!load->operands[i]->axes)
            continue;
        if (*outer >= 0 || load->operands[i]->axes != AXIS_BIT(*rows) || !grows_by_one(load->operands[i], *rows))
            return false;
        *outer = i;
    }
    return *outer >= 0;
}

static int map_number(struct producing *p, struct tile_map map) {
    struct produced *produced = p->produced;
    for (int i = 0; i < produced->map_count; i++) {
        const struct tile_map *known = &produced->maps[i];
        if (known->param == map.param && known->outer == map.outer && known->rows == map.rows &&
            known->columns == map.columns && known->inner == map.inner)
            return i;
    }
    ARENA_PUSH(p->context->arena, produced->maps, produced->map_count, p->map_capacity, map);
    return produced->map_count - 1;
}

// The engine takes tensors of few dimensions whose rows lie at multiples of 16 bytes.
static void look_for_boxes(void *data, struct ir_op *load) {
    struct producing *p = data;
    int64_t extent;
    if (load->code != OP_LOAD || !load->staged)
        return;
    const struct ir_param *param = &p->kernel->params[load->param];
    bool known = is_integer_constant(param->extents[param->rank - 1], &extent);
    p->produced->by_threads |= param->rank > MAP_RANK || (known && extent % MAP_VECTOR);
}

static void map_load(void *data, struct ir_op *load) {
    struct producing *p = data;
    if (load->code != OP_LOAD || !load->staged || !p->good)
        return;
    const struct ir_param *param = &p->kernel->params[load->param];
    int rows, columns, outer;
    int64_t extent;
    struct tile_limits limits;
    if (param->rank < 2)
        cannot_produce(p, load->span, "a tensor has no fewer than 2 dimensions");
    else if (!is_integer_constant(param->extents[param->rank - 1], &extent))
        cannot_produce(p, load->span, "the last extent has to be known when compiling");
    else if (!find_tile(p, load, &rows, &columns, &outer))
        cannot_produce(p, load->span, "a tile isn't a part of rows and columns of its tensor");
    else if (p->context->out->axes[rows].block > MAP_ROWS)
        cannot_produce(p, load->span, "a tile has at most 256 rows");
    else if (!tile_limits(p->kernel, load, rows, columns, &limits))
        cannot_produce(p, load->span, "more decides what is inside than ends of rows and columns");
    else if (!p->produced->by_threads && limits.condition_count)
        cannot_produce(p, load->span, "a tile that is wanted once isn't always wanted");
    else
        load->map = 1 + map_number(p, (struct tile_map){load->param, outer, p->context->out->axes[rows].block,
                                                        p->context->out->axes[columns].block,
                                                        !contains_code(load->parent, OP_FOR)});
}

// ---------------------------------------------------------------------------------------------- the slice

static void need_value(struct producing *p, const struct ir_value *value);

// What decides whether and how often the operation's regions run.
static void need_ways(struct producing *p, const struct ir_op *op) {
    for (; op; op = op->parent->owner) {
        int count = op->code == OP_IF ? 1 : 2;
        if (op->code != OP_IF && op->code != OP_FOR && op->code != OP_RANGE)
            continue;
        for (int i = 0; i < count; i++)
            need_value(p, op->operands[i]);
        if (op->code == OP_FOR && op->region_count == 2)
            cannot_produce(p, op->span, "a loop's condition is found out inside of it");
    }
}

// A value that is carried: what it starts as, what each region takes and yields.
static void need_carried(struct producing *p, const struct ir_op *op, int slot) {
    need_ways(p, op);
    need_value(p, op->results[slot]);
    need_value(p, op->operands[(op->code == OP_IF ? 1 : 2) + slot]);
    for (int r = 0; r < op->region_count; r++) {
        const struct ir_region *region = op->regions[r];
        need_value(p, region->args[region->arg_count - op->result_count + slot]);
        need_value(p, region->last->operands[slot]);
    }
}

static int slot_of(const struct ir_value *value) {
    int i = 0;
    if (value->region) {
        while (value->region->args[i] != value)
            i++;
        return i - (value->region->arg_count - value->region->owner->result_count);
    }
    while (value->def->results[i] != value)
        i++;
    return i;
}

static bool is_copied_in(const struct ir_op *def) {
    return def->code == OP_LOAD && def->staged;
}

static void need_value(struct producing *p, const struct ir_value *value) {
    if (p->produced->needed[value->id] || !p->good)
        return;
    p->produced->needed[value->id] = true;
    const struct ir_op *def = value->region ? value->region->owner : value->def;
    if (def->region_count) {
        int slot = slot_of(value);
        need_ways(p, def);
        if (slot >= 0)
            need_carried(p, def, slot);
        return;
    }
    bool threads = def->code == OP_REDUCE || def->code == OP_SCAN || def->code == OP_MMA || is_copied_in(def);
    if (threads || (value->axes && def->code == OP_LOAD)) {
        cannot_produce(p, def->span, "where to is decided by values that are spread over threads");
        return;
    }
    if (def->parent->owner)
        need_ways(p, def->parent->owner);
    for (int i = 0; i < def->operand_count; i++)
        need_value(p, def->operands[i]);
}

void need_place(struct producing *p, const struct ir_op *load) {
    need_ways(p, load->parent->owner);
    for (int i = 0; i < load->operand_count; i++)
        need_value(p, load->operands[i]);
}

static void slice_load(void *data, struct ir_op *op) {
    struct producing *p = data;
    if (op->map && p->good)
        need_place(p, op);
}

// ---------------------------------------------------------------------------------------------- what else there is

static bool crosses_warps(const struct producing *p, axes_t over) {
    for (int a = 0; a < p->kernel->axis_count; a++)
        if ((over & AXIS_BIT(a)) && p->context->out->axes[a].warps > 1)
            return true;
    return false;
}

static void look_at(void *data, struct ir_op *op) {
    struct producing *p = data;
    bool barrier = op->code == OP_SCAN || op->code == OP_ARRIVE || op->code == OP_AWAIT || op->code == OP_FETCH ||
                   op->code == OP_FETCHED ||
                   (op->code == OP_REDUCE && !op->results[0]->partial && crosses_warps(p, op->over));
    if (barrier)
        cannot_produce(p, op->span, "all threads of a block would have to wait for each other");
    if (op->code == OP_LOAD && is_stored(p->kernel, op->param) && p->kernel->params[op->param].kind != PARAM_WORKSPACE)
        cannot_produce(p, op->span, "a tensor is read and stored to");
    if ((op->code == OP_LOAD || op->code == OP_STORE) && p->kernel->params[op->param].local)
        cannot_produce(p, op->span, "a block keeps something in its own memory");
}

// ---------------------------------------------------------------------------------------------- the grid

static struct ir_value *product_of(struct ir_builder *b, struct ir_value *x, struct ir_value *y) {
    int64_t one = 0, other = 0;
    if (is_integer_constant(x, &one) && one == 1)
        return y;
    if (is_integer_constant(y, &other) && (other == 1 || one))
        return other == 1 ? x : ir_integer(b, TYPE_I64, one * other);
    return ir_binary(b, OP_MUL, x, y);
}

struct ir_value *grid_tiles(struct ir_builder *b, const struct ir_op *loop, int block) {
    int64_t lo, hi;
    bool from = is_integer_constant(loop->operands[0], &lo), to = is_integer_constant(loop->operands[1], &hi);
    if (from && to)
        return ir_integer(b, TYPE_I64, hi > lo ? (hi - lo + block - 1) / block : 0);
    struct ir_value *range = ir_cast(b, TYPE_I64, loop->operands[1]);
    if (!from || lo)
        range = ir_binary(b, OP_SUB, range, ir_cast(b, TYPE_I64, loop->operands[0]));
    range = ir_binary(b, OP_MAX, range, ir_integer(b, TYPE_I64, 0));
    return block == 1 ? range : ir_binary(b, OP_CDIV, range, ir_integer(b, TYPE_I64, block));
}

struct counting {
    struct producing *p;
    struct ir_builder builder;
    struct ir_value *tiles;
};

static void count_tiles(void *data, struct ir_op *op) {
    struct counting *c = data;
    const struct axis_layout *layout = op->code == OP_FOR ? &c->p->context->out->axes[op->axis] : NULL;
    if (layout && layout->place == PLACE_GRID)
        c->tiles = product_of(&c->builder, c->tiles, grid_tiles(&c->builder, op, layout->block));
}

static void size_grid(struct producing *p, struct ir_op *top) {
    struct counting counting = {.p = p, .builder = builder_before(p->kernel, top)};
    struct ir_builder *b = &counting.builder;
    counting.tiles = ir_integer(b, TYPE_I64, 1);
    count_tiles(&counting, top);
    for (int r = 0; r < top->region_count; r++)
        walk_ops(top->regions[r], count_tiles, &counting);
    p->produced->tiles = counting.tiles;
    p->produced->blocks = ir_binary(b, OP_MIN, counting.tiles, ir_integer(b, TYPE_I64, p->context->config->producers));
}

static void add_state(struct producing *p, struct ir_op *top) {
    struct ir_builder b = builder_before(p->kernel, top);
    struct ir_param param = {.kind = PARAM_WORKSPACE, .type = TYPE_I32, .rank = 1, .present = true};
    param.name = arena_printf(p->context->arena, "state_%d", p->kernel->param_count);
    param.extents[0] = ir_integer(&b, TYPE_I64, (1 + p->produced->map_count) * STATE_WORDS);
    param.extent_text[0] = "…";
    p->produced->state = ir_param_new(p->kernel, param);
}

static bool produce(struct producing *p, struct ir_op *top) {
    if (p->context->out->cluster > 1)
        return cannot_produce(p, top->span, "blocks of a cluster share out what one of them computes");
    if (top->code != OP_FOR || top->param >= 0)
        return cannot_produce(p, top->span, "the launch isn't one of tiles that stand alone");
    for (int r = 0; r < top->region_count; r++)
        walk_ops(top->regions[r], look_at, p);
    size_grid(p, top);
    add_state(p, top);
    p->produced->needed = ARENA_ARRAY(p->context->arena, bool, p->kernel->value_count + 1);
    for (int r = 0; r < top->region_count; r++)
        walk_ops(top->regions[r], slice_load, p);
    return p->good;
}

int64_t produced_bytes(const struct produced *produced, int stages) {
    int64_t bytes = PRODUCED_PAGE;
    for (int i = 0; i < produced->map_count; i++) {
        const struct tile_map *map = &produced->maps[i];
        int places = map->inner || stages < OUTER_PLACES ? stages : OUTER_PLACES;
        bytes += (int64_t)map->rows * map->columns * 2 * places;
    }
    return bytes;
}

bool lower_producer(struct pass_context *context) {
    struct lowered *out = context->out;
    struct producing p = {.context = context, .kernel = context->kernel, .good = true};
    int capacity = 0;
    if (!uses_producers(context->config, &out->options))
        return true;
    for (struct ir_op *top = context->kernel->body->first; top && p.good; top = top->next) {
        struct produced produced = {.top = top};
        p.produced = &produced;
        p.map_capacity = 0;
        for (int r = 0; r < top->region_count; r++) {
            walk_ops(top->regions[r], look_for_boxes, &p);
            walk_ops(top->regions[r], map_load, &p);
        }
        if (!produced.map_count || !p.good || !produce(&p, top))
            continue;
        ARENA_PUSH(context->arena, out->produced, out->produced_count, capacity, produced);
    }
    return p.good;
}
