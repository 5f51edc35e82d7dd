// SPDX-License-Identifier: Apache-2.0
// lower_slabs: with the config's producers and the strategy rows, a warp of its own copies what is read along a row to
// shared memory, tile by tile, and goes on to the next row while the others are at this one.
//
// In: a loop over rows at the top, and loops along a row that load one tensor at the same places. Out: which loops make
// up a pass over the row, and what says where its tiles are from (a slice of the program, which the copying warp runs).
// The one idea: a row whose tiles all have room is read once, whatever the count of passes; of a longer one each pass
// has its tiles copied again.
#include "lowering/matmul.h"
#include "lowering/producer.h"

enum { COPIED_BYTES = 16, SLAB_SM = 90, MOST_LOOPS = 32 };

// A loop along the row, and its load.
struct reading {
    struct ir_op *loop, *load;
    int rows, columns;
};
struct finding {
    struct producing producing;
    struct ir_op *top;
    int count;
    struct reading readings[MOST_LOOPS];
};

bool uses_slabs(const struct config *config, const struct lower_options *options) {
    const struct target *target = &options->target;
    return config->producers && config->dot == DOT_FMA && target->kind == TARGET_CUDA &&
           (!target->sm || target->sm >= SLAB_SM) && !options->index64 && !options->unaligned;
}

// ---------------------------------------------------------------------------------------------- loads

static int axis_along(const struct ir_kernel *kernel, const struct ir_value *index) {
    for (int a = 0; a < kernel->axis_count; a++)
        if (grows_by_one(index, a) && index->axes == AXIS_BIT(a))
            return a;
    return -1;
}

// A tile's points lie one behind the other in memory: all columns of so many points.
static bool is_whole(const struct finding *f, const struct ir_op *load, int rows, int columns) {
    const struct ir_param *param = &f->producing.kernel->params[load->param];
    const struct axis_layout *across = &f->producing.context->out->axes[columns];
    int64_t extent, lo;
    struct tile_limits limits;
    const struct ir_value *from = f->producing.kernel->axes[columns].lo;
    bool at_start = across->place == PLACE_FULL || !from || (is_integer_constant(from, &lo) && lo == 0);
    return is_integer_constant(param->extents[1], &extent) && extent * ir_type_bytes(param->type) % COPIED_BYTES == 0 &&
           at_start && across->block >= extent && load->operands[1]->def->code == OP_INDEX &&
           tile_limits(f->producing.kernel, load, rows, columns, &limits);
}

static bool read_tile(const struct finding *f, struct ir_op *loop, struct ir_op *load, struct reading *reading) {
    const struct ir_kernel *kernel = f->producing.kernel;
    const struct ir_param *param = &kernel->params[load->param];
    if (param->rank != 2 || param->kind != PARAM_IN || load->operands[1]->region)
        return false;
    int rows = axis_along(kernel, load->operands[0]), columns = axis_along(kernel, load->operands[1]);
    bool along = rows == loop->axis && columns >= 0 && columns != rows && f->producing.context->out->axes[rows].vector == 1;
    *reading = (struct reading){loop, load, rows, columns};
    return along && is_whole(f, load, rows, columns);
}

// The one load of the loop that may come from a slab of the tensor; any tensor's for -1.
static bool find_load(const struct finding *f, struct ir_op *loop, int param, struct reading *reading) {
    int count = 0;
    for (struct ir_op *op = loop->regions[0]->first; op; op = op->next) {
        struct reading found;
        if (op->code != OP_LOAD || (param >= 0 && op->param != param) || !read_tile(f, loop, op, &found))
            continue;
        if (!count++)
            *reading = found;
    }
    return param < 0 ? count > 0 : count == 1;
}

static bool is_along_row(const struct finding *f, const struct ir_op *op) {
    return op->code == OP_FOR && op->region_count == 1 && f->producing.context->out->axes[op->axis].place == PLACE_LOOP;
}

// The tensor that the most loops read.
static bool find_readings(struct finding *f) {
    int best = -1, most = 0;
    for (struct ir_op *op = f->top->regions[0]->first; op; op = op->next) {
        struct reading reading;
        if (!is_along_row(f, op) || !find_load(f, op, -1, &reading) || reading.load->param == best)
            continue;
        int count = 0;
        for (struct ir_op *other = op; other; other = other->next) {
            struct reading same;
            count += is_along_row(f, other) && find_load(f, other, reading.load->param, &same);
        }
        if (count > most) {
            most = count;
            best = reading.load->param;
        }
    }
    for (struct ir_op *op = f->top->regions[0]->first; best >= 0 && op; op = op->next)
        if (f->count < MOST_LOOPS && is_along_row(f, op) && find_load(f, op, best, &f->readings[f->count]))
            f->count++;
    return f->count > 0;
}

// ---------------------------------------------------------------------------------------------- passes

static bool is_same(const struct ir_value *a, const struct ir_value *b, int axis_a, int axis_b) {
    if (a == b)
        return true;
    if (a->region || b->region || a->def->code != b->def->code)
        return false;
    const struct ir_op *x = a->def, *y = b->def;
    if (x->code == OP_CONST)
        return a->type == b->type && x->integer == y->integer;
    if (x->code == OP_INDEX)
        return x->axis == axis_a && y->axis == axis_b;
    if (x->code != OP_ADD && x->code != OP_CAST && x->code != OP_BROADCAST && x->code != OP_CLAMP)
        return false;
    for (int i = 0; i < x->operand_count; i++)
        if (!is_same(x->operands[i], y->operands[i], axis_a, axis_b))
            return false;
    return true;
}

static bool is_again(const struct finding *f, const struct reading *a, const struct reading *b) {
    const struct axis_layout *x = &f->producing.context->out->axes[a->rows], *y = &f->producing.context->out->axes[b->rows];
    return x->block == y->block && x->single == y->single && is_same(a->loop->operands[0], b->loop->operands[0], -1, -1) &&
           is_same(a->loop->operands[1], b->loop->operands[1], -1, -1) &&
           is_same(a->load->operands[0], b->load->operands[0], a->rows, b->rows);
}

// Whether a loop's bounds are known in front of all loops.
static bool is_known_before(const struct ir_value *value, const struct ir_op *first) {
    if (value->region || value->def->parent != first->parent)
        return true;
    for (const struct ir_op *op = first; op; op = op->next)
        if (op == value->def)
            return value->def->code == OP_CONST;
    return true;
}

// How many loops there are until the first one comes again, if the passes are all alike.
static int loops_of_pass(const struct finding *f) {
    int length = 1;
    while (length < f->count && !is_again(f, &f->readings[0], &f->readings[length]))
        length++;
    if (f->count % length)
        return 0;
    for (int i = length; i < f->count; i++)
        if (!is_again(f, &f->readings[i - length], &f->readings[i]))
            return 0;
    return length;
}

// ---------------------------------------------------------------------------------------------- how much work a row is

static const struct ir_op *without_casts(const struct ir_value *value) {
    while (!value->region && value->def->code == OP_CAST)
        value = value->def->operands[0];
    return value->region ? NULL : value->def;
}

static bool is_row(const struct finding *f, const struct ir_value *value, bool next) {
    const struct ir_op *def = without_casts(value);
    int64_t one;
    if (!def)
        return false;
    if (!next)
        return (def->code == OP_INDEX || def->code == OP_BEGIN) && def->axis == f->top->axis;
    for (int i = 0; def->code == OP_ADD && i < 2; i++)
        if (is_row(f, def->operands[i], false) && is_integer_constant(def->operands[1 - i], &one) && one == 1)
            return true;
    return false;
}

struct offsets_search {
    const struct finding *f;
    uint64_t here, next;  // by parameter
};

static void look_for_offsets(void *data, struct ir_op *op) {
    struct offsets_search *search = data;
    const struct producing *p = &search->f->producing;
    const struct ir_param *param = op->code == OP_LOAD ? &p->kernel->params[op->param] : NULL;
    if (!param || param->rank != 1 || param->kind != PARAM_IN || !p->produced->needed[op->results[0]->id] ||
        (param->type != TYPE_I32 && param->type != TYPE_I64))
        return;
    search->here |= (uint64_t)is_row(search->f, op->operands[0], false) << op->param;
    search->next |= (uint64_t)is_row(search->f, op->operands[0], true) << op->param;
}

static int find_offsets(const struct finding *f) {
    struct offsets_search search = {.f = f};
    walk_ops(f->top->regions[0], look_for_offsets, &search);
    for (int p = 0; p < f->producing.kernel->param_count; p++)
        if (search.here & search.next & (uint64_t)1 << p)
            return p;
    return -1;
}

// ---------------------------------------------------------------------------------------------- launches

static void look_at(void *data, struct ir_op *op) {
    struct producing *p = data;
    bool meets = op->code == OP_SCAN || op->code == OP_ARRIVE || op->code == OP_AWAIT || op->code == OP_FETCH ||
                 op->code == OP_FETCHED;
    if (meets)
        cannot_produce(p, op->span, "all threads of a block would have to wait for each other");
    if (op->code == OP_LOAD && is_stored(p->kernel, op->param))
        cannot_produce(p, op->span, "a tensor is read and stored to");
    if (op->code == OP_FOR && p->context->out->axes[op->axis].place == PLACE_GRID)
        cannot_produce(p, op->span, "a block has more than rows of its own: only the loop at the top may be spread over the grid");
}

static void size_grid(struct finding *f) {
    struct producing *p = &f->producing;
    struct ir_builder b = builder_before(p->kernel, f->top);
    int blocks = p->context->config->producers / p->context->config->cluster;
    struct ir_value *rows = grid_tiles(&b, f->top, 1);
    p->produced->tiles = rows;
    p->produced->blocks = ir_binary(&b, OP_MIN, rows, ir_integer(&b, TYPE_I64, blocks));
}

static const struct slab *make_slab(const struct finding *f, int loop_count) {
    struct arena *arena = f->producing.context->arena;
    struct slab *slab = ARENA_NEW(arena, struct slab);
    const struct reading *first = &f->readings[0];
    const struct ir_param *param = &f->producing.kernel->params[first->load->param];
    *slab = (struct slab){.param = first->load->param, .rows = first->rows, .columns = first->columns};
    slab->loops = ARENA_ARRAY(arena, const struct ir_op *, f->count);
    slab->loads = ARENA_ARRAY(arena, const struct ir_op *, f->count);
    for (int i = 0; i < f->count; i++) {
        slab->loops[i] = f->readings[i].loop;
        slab->loads[i] = f->readings[i].load;
    }
    is_integer_constant(param->extents[1], &slab->point_bytes);
    slab->point_bytes *= ir_type_bytes(param->type);
    slab->loop_count = loop_count;
    slab->pass_count = f->count / loop_count;
    slab->offsets = find_offsets(f);
    return slab;
}

static bool make_launch(struct finding *f) {
    struct producing *p = &f->producing;
    const struct axis_layout *rows = &p->context->out->axes[f->top->axis];
    int64_t zero, loop_count = loops_of_pass(f);
    if (rows->block != 1 || rows->place != PLACE_GRID || !is_integer_constant(f->top->operands[0], &zero) || zero)
        return cannot_produce(p, f->top->span, "a block has one row at a time, from the first on");
    if (!loop_count)
        return cannot_produce(p, f->readings[0].load->span, "the loops along a row don't pass over it alike");
    for (int r = 0; r < f->top->region_count; r++)
        walk_ops(f->top->regions[r], look_at, p);
    for (int i = 0; p->good && i < f->count; i++)
        for (int bound = 0; bound < 2; bound++)
            if (!is_known_before(f->readings[i].loop->operands[bound], f->readings[0].loop))
                cannot_produce(p, f->readings[i].loop->span, "where the loop ends is known only behind another one");
    if (!p->good)
        return false;
    size_grid(f);
    p->produced->needed = ARENA_ARRAY(p->context->arena, bool, p->kernel->value_count + 1);
    for (int i = 0; i < f->count; i++)
        need_place(p, f->readings[i].load);
    p->produced->slab = make_slab(f, (int)loop_count);
    if (p->produced->slab->offsets >= 0)
        p->context->out->ascending |= (uint64_t)1 << p->produced->slab->offsets;
    return p->good;
}

bool lower_slabs(struct pass_context *context) {
    struct lowered *out = context->out;
    int capacity = 0;
    if (!uses_slabs(context->config, &out->options))
        return true;
    for (struct ir_op *top = context->kernel->body->first; top; top = top->next) {
        struct produced produced = {.top = top, .state = -1};
        struct finding f = {.producing = {context, context->kernel, &produced, 0, true}, .top = top};
        if (top->code != OP_FOR || top->param >= 0 || !find_readings(&f))
            continue;
        if (!make_launch(&f))
            return false;
        ARENA_PUSH(context->arena, out->produced, out->produced_count, capacity, produced);
    }
    if (out->produced_count)
        return true;
    return refuse(context, "lowering.producers", context->kernel->span,
                  "producers can't copy here: no loop along rows reads all columns of each point of a tensor of rank 2, "
                  "with an extent known when compiling and a multiple of 16 bytes");
}
