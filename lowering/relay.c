// SPDX-License-Identifier: Apache-2.0
// lower_strategy, strategy `chunks` with a lag: where a row is read by two loops, the first to reduce it and the second to
// write it, one launch does both, and the second follows closely enough behind the first to find the row in the L2.
//
//     for i in tile(chunks) { plan[place of i in the first loop] = i;  plan[place of i in the second] = chunks + i }
//     for step in tile(2 * chunks), in order {
//         chunk, which = plan[step]
//         if the first loop's { partial[chunk] = …;  if it is the last of its row to arrive { join the row; announce it } }
//         else { await the row; the second loop over the chunk }
//     }
//
// note [order] The first loop's chunks come in order; chunk c of the second comes behind the `lag`-th one after the last of
// c's row. With e(c) that last one, first(r) as in chunks.c and F(i) the chunks of rows that end before i - lag:
//
//     place of i in the first loop: i + F(i);  place of c in the second: c + min(e(c) + lag + 1, chunks)
//
// Together these are every number below 2 * chunks once, if the offsets ascend; the launch before looks whether they do. A
// block takes the next number when it begins, so all that a step waits for has begun and waits for nothing itself: whatever
// order blocks are run in, there is an end. With other offsets nothing waits.
#include "lowering/split.h"

enum { STATE_BEGUN, STATE_UNSOUND, STATE_ROWS };  // the first elements of `state`; then how many of a row have arrived

struct relay {
    struct splitter *s;
    int plan, rows, state;      // workspace parameters: by step, which chunk it does, and how many rows begin until that
    struct ir_value *places;    // of state, for each row: one per tile of the loops in the grid, rounded up to their points
};

static struct ir_value *times(struct ir_builder *b, struct ir_value *x, struct ir_value *y) {
    return ir_binary(b, OP_MUL, x, y);
}

static struct ir_value *is_less(struct ir_builder *b, struct ir_value *x, struct ir_value *y) {
    return ir_binary(b, OP_LT, x, y);
}

static struct ir_value *row_before(struct splitter *s, struct ir_builder *b, struct ir_value *count) {
    struct ir_value *one = constant(b, 1);
    return greatest(b, least(b, minus(b, count, one), minus(b, s->rows, one)), constant(b, 0));
}

static struct ir_value *in_steps(struct splitter *s, struct ir_builder *b, struct ir_value *place) {
    struct ir_value *last = minus(b, plus(b, s->pieces, s->pieces), constant(b, 1));
    return greatest(b, least(b, place, last), constant(b, 0));
}

// ---------------------------------------------------------------------------------------------- before the launch

// Nothing has begun or arrived.
static bool write_clearing(struct relay *relay) {
    struct splitter *s = relay->s;
    struct ir_builder before = builder_before(s->kernel, s->top), inside;
    struct ir_value *index;
    struct ir_value *size = s->kernel->params[relay->state].extents[0];
    struct ir_op *loop = make_loop(s, &before, s->find, AXIS_TILE, 0, constant(&before, 0), size, &inside, &index);
    if (!loop)
        return false;
    ir_store(&inside, relay->state, &index, ir_integer(&inside, TYPE_I32, 0), NULL);
    end_loop(&inside, 0, NULL);
    return true;
}

// F(i) of note [order], from how many rows begin until i - lag.
static struct ir_value *finished_before(struct splitter *s, struct ir_builder *b, struct ir_value *behind,
                                        struct ir_value *count) {
    struct ir_value *zero = constant(b, 0), *row = row_before(s, b, count);
    struct ir_value *finished = ir_select(b, is_less(b, zero, row), first_chunk(s, b, row), zero);
    struct ir_value *all = ir_binary(b, OP_GE, behind, first_chunk(s, b, s->rows));
    finished = ir_select(b, all, s->pieces, finished);
    return ir_select(b, is_less(b, behind, zero), zero, finished);
}

static void store_step(struct relay *relay, struct ir_builder *b, struct ir_value *place, struct ir_value *step,
                       struct ir_value *count) {
    struct ir_value *at = in_steps(relay->s, b, place);
    ir_store(b, relay->plan, &at, ir_cast(b, TYPE_I32, step), NULL);
    ir_store(b, relay->rows, &at, ir_cast(b, TYPE_I32, count), NULL);
}

static struct ir_value *load_step(struct ir_builder *b, int tensor, struct ir_value *step) {
    return ir_cast(b, TYPE_I64, ir_load(b, tensor, &step, NULL));
}

// Says so where a row ends before it begins, or lies outside of the packed tensor.
static void check_row(struct relay *relay, struct ir_builder *b, struct ir_value *row) {
    struct splitter *s = relay->s;
    struct ir_builder known, wrong;
    struct ir_value *flag[1];
    make_branch(b, is_less(b, row, s->rows), &known, NULL);
    struct ir_value *begin = offset_at(s, &known, row, 0), *end = offset_at(s, &known, row, 1);
    struct ir_value *bad = ir_binary(&known, OP_OR, is_less(&known, begin, constant(&known, 0)),
                                     is_less(&known, end, begin));
    bad = ir_binary(&known, OP_OR, bad, is_less(&known, s->points, end));
    make_branch(&known, bad, &wrong, NULL);
    flag[0] = constant(&wrong, STATE_UNSOUND);
    ir_atomic(&wrong, RED_MAX, relay->state, flag, ir_integer(&wrong, TYPE_I32, 1), NULL);
}

static bool write_plan(struct relay *relay) {
    struct splitter *s = relay->s;
    struct ir_builder before = builder_before(s->kernel, s->top), b;
    struct ir_value *chunk, *sought[2], *count[2];
    s->found = -1;
    if (!make_loop(s, &before, s->find, AXIS_TILE, 0, constant(&before, 0), s->pieces, &b, &chunk))
        return false;
    struct ir_value *lag = constant(&b, s->lag), *behind = minus(&b, chunk, lag);
    sought[0] = chunk;
    sought[1] = behind;
    find_rows(s, &b, begins_until, 2, sought, count);
    store_step(relay, &b, plus(&b, chunk, finished_before(s, &b, behind, count[1])), chunk, count[0]);
    struct ir_value *row = row_before(s, &b, count[0]);
    struct ir_value *next = first_chunk(s, &b, plus(&b, row, constant(&b, 1)));
    struct ir_value *waits = least(&b, plus(&b, next, lag), s->pieces);
    store_step(relay, &b, plus(&b, chunk, waits), plus(&b, s->pieces, chunk), count[0]);
    check_row(relay, &b, chunk);
    end_loop(&b, 0, NULL);
    return true;
}

// ---------------------------------------------------------------------------------------------- the launch

// Where the blocks of a row (and of what is beside it in the grid) meet.
static struct ir_value *meeting_place(struct relay *relay, struct launch *launch, struct ir_builder *b) {
    struct splitter *s = relay->s;
    struct ir_value *place = launch->row;
    for (int i = 0; i < launch->outside_count; i++) {
        int axis = launch->outside[i]->axis;
        struct ir_value *tile = ir_axis_value(b, OP_BEGIN, launch->copying.axis[axis]);
        place = plus(b, times(b, place, s->extent[axis]), tile);
    }
    return plus(b, place, constant(b, STATE_ROWS));
}

static struct ir_value *arrive(struct relay *relay, struct ir_builder *b, struct ir_value *place) {
    struct ir_op *op = ir_op_new(b, OP_ARRIVE, 1, 1, 0);
    op->param = relay->state;
    op->operands[0] = place;
    ir_insert(b, op);
    return ir_result(b->kernel, op, 0, TYPE_I64, 0);
}

static void await(struct relay *relay, struct ir_builder *b, struct ir_value *place, struct ir_value *least) {
    struct ir_op *op = ir_op_new(b, OP_AWAIT, 2, 0, 0);
    op->param = relay->state;
    op->operands[0] = place;
    op->operands[1] = least;
    ir_insert(b, op);
}

static struct launch part_of(struct splitter *s, const struct launch *whole, int phase, work_fn *work) {
    struct launch launch = *whole;
    launch.phase = phase;
    launch.work = work;
    launch.copying.map = ir_map_new(s->kernel);
    return launch;
}

static bool write_part(struct splitter *s, const struct launch *whole, struct ir_builder *b, int phase, work_fn *work) {
    struct launch launch = part_of(s, whole, phase, work);
    return write_nest_region(s, &launch, b, s->top->regions[0]);
}

// Only chunks that a row owns matter: those before the first row and behind the last have nothing.
struct owner {
    struct ir_value *owned, *count;  // is it a row's; how many that row has
};

static struct owner owner_of(struct splitter *s, const struct launch *launch, struct ir_builder *b) {
    struct ir_value *first = first_chunk(s, b, launch->row);
    struct ir_value *next = first_chunk(s, b, plus(b, launch->row, constant(b, 1)));
    struct ir_value *before = is_less(b, launch->index, first), *in = is_less(b, launch->index, next);
    return (struct owner){ir_binary(b, OP_AND, ir_unary(b, OP_LNOT, before), in), minus(b, next, first)};
}

static bool write_first(struct relay *relay, struct launch *launch, struct ir_builder *b, const struct owner *owner) {
    struct splitter *s = relay->s;
    struct ir_builder owned, last;
    if (!write_part(s, launch, b, 0, write_chunk_loop))
        return false;
    make_branch(b, owner->owned, &owned, NULL);
    struct ir_value *place = meeting_place(relay, launch, &owned);
    struct ir_value *arrived = plus(&owned, arrive(relay, &owned, place), constant(&owned, 1));
    make_branch(&owned, ir_binary(&owned, OP_EQ, arrived, owner->count), &last, NULL);
    if (!write_part(s, launch, &last, 0, join_chunks))
        return false;
    arrive(relay, &last, meeting_place(relay, launch, &last));
    return true;
}

static bool write_second(struct relay *relay, struct launch *launch, struct ir_builder *b, const struct owner *owner) {
    struct ir_builder owned, waits;
    make_branch(b, owner->owned, &owned, NULL);
    struct ir_value *flag = constant(&owned, STATE_UNSOUND);
    struct ir_value *unsound = ir_cast(&owned, TYPE_I64, ir_load(&owned, relay->state, &flag, NULL));
    make_branch(&owned, ir_binary(&owned, OP_EQ, unsound, constant(&owned, 0)), &waits, NULL);
    await(relay, &waits, meeting_place(relay, launch, &waits), plus(&waits, owner->count, constant(&waits, 1)));
    return write_part(relay->s, launch, &owned, 1, write_chunk_loop);
}

static bool write_steps(struct relay *relay) {
    struct splitter *s = relay->s;
    struct launch launch = new_launch(s, 0, false);
    struct ir_builder before = builder_before(s->kernel, s->top), inside, first, second;
    struct ir_value *step, *steps = plus(&before, s->pieces, s->pieces);
    struct ir_op *loop = make_loop(s, &before, s->kernel->axes[s->row_axis].name, AXIS_TILE, 0, constant(&before, 0),
                                   steps, &inside, &step);
    if (!loop)
        return false;
    loop->param = relay->state;
    launch.axis = launch.copying.axis[s->row_axis] = loop->axis;
    if (!write_outside(s, &launch, s->top->regions[0], &inside))
        return false;
    struct ir_value *item = in_steps(s, &inside, load_step(&inside, relay->plan, step));
    struct ir_value *count = load_step(&inside, relay->rows, step);
    struct ir_value *is_first = is_less(&inside, item, s->pieces);
    launch.index = ir_select(&inside, is_first, item, minus(&inside, item, s->pieces));
    launch.index->name = "chunk";
    set_chunk(s, &launch, &inside, count);
    struct owner owner = owner_of(s, &launch, &inside);
    make_branch(&inside, is_first, &first, &second);
    if (!write_first(relay, &launch, &first, &owner) || !write_second(relay, &launch, &second, &owner))
        return false;
    end_outside(s, &launch, &inside);
    return true;
}

// ---------------------------------------------------------------------------------------------- whether it can be

static bool check_config(struct splitter *s) {
    const struct config *config = s->context->config;
    const struct config_axis *rows = config_axis_named(config, s->kernel->axes[s->row_axis].name);
    if (s->phase_count != 2 || !s->phases[0].loop->result_count || s->phases[1].loop->result_count || s->effects_last)
        return cannot_split(s, s->top, "a lag is for two loops along the row, one that reduces and one that only writes, "
                                       "with no effects beside them");
    if (config->search)
        return cannot_split(s, s->top, "with a lag a launch before finds the rows: search has to be false");
    return !rows || rows->block == 1 || cannot_split(s, s->top, "with a lag a block has one chunk: the rows' block has to be 1");
}

// How many places a row has where blocks meet, as a number at the front.
static bool find_places(struct relay *relay, struct ir_builder *b) {
    struct splitter *s = relay->s;
    struct ir_map *map = ir_map_new(s->kernel);
    relay->places = constant(b, 1);
    for (const struct ir_op *op = s->phases[0].loop->parent->owner; op && op != s->top; op = op->parent->owner) {
        if (!s->extent[op->axis])
            s->extent[op->axis] = number_at_front(s, b, map, op->operands[1]);
        if (!s->extent[op->axis])
            return cannot_split(s, op, "with a lag the loops around have to end at numbers");
        relay->places = times(b, relay->places, s->extent[op->axis]);
    }
    return true;
}

bool split_into_relay(struct splitter *s) {
    struct relay relay = {.s = s};
    struct ir_builder before = builder_before(s->kernel, s->top);
    if (!check_config(s) || !find_places(&relay, &before))
        return false;
    struct ir_value *steps = plus(&before, s->pieces, s->pieces);
    struct ir_value *size = plus(&before, times(&before, s->rows, relay.places), constant(&before, STATE_ROWS));
    relay.plan = workspace(s, "plan", TYPE_I32, 1, &steps);
    relay.rows = workspace(s, "row", TYPE_I32, 1, &steps);
    relay.state = workspace(s, "state", TYPE_I32, 1, &size);
    return write_clearing(&relay) && write_plan(&relay) && write_steps(&relay);
}
