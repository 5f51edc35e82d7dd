// SPDX-License-Identifier: Apache-2.0
// lower_strategy: recognizes nests that the strategy can split, from the program alone, and says why others can't be.
//
// A nest can be split if its jagged loops run over rows of one offsets array, `o[t + 1] - o[t]` or a `min` of it, and
// what each carries is joined by reductions (v op= reduce), or is the pair of an online softmax.
#include <string.h>

#include "lowering/axes.h"
#include "lowering/split.h"
#include "lowering/rescaled.h"

bool cannot_split(struct splitter *s, const struct ir_op *where, const char *reason) {
    bool flat = s->context->config->strategy == STRATEGY_FLAT;
    return refuse(s->context, flat ? "lowering.flat" : "lowering.chunks", where->span,
                  "rows can't be split into %s here: %s", flat ? "equal shares" : "chunks", reason);
}

static const struct ir_op *def_of(const struct ir_value *value) {
    return value->region ? NULL : value->def;
}

static const struct ir_op *def_with(const struct ir_value *value, enum ir_opcode code) {
    const struct ir_op *def = def_of(value);
    while (def && def->code == OP_CAST && code != OP_CAST)
        def = def_of(def->operands[0]);
    return def && def->code == code ? def : NULL;
}

// ---------------------------------------------------------------------------------------------- lengths of rows

static bool is_row_index(const struct splitter *s, const struct ir_value *value) {
    const struct ir_op *def = def_with(value, OP_INDEX);
    return def && def->axis == s->row_axis;
}

static bool is_row_index_plus_one(const struct splitter *s, const struct ir_value *value) {
    const struct ir_op *sum = def_with(value, OP_ADD);
    int64_t one;
    for (int i = 0; sum && i < 2; i++)
        if (is_row_index(s, sum->operands[i]) && is_integer_constant(sum->operands[1 - i], &one) && one == 1)
            return true;
    return false;
}

// The parameter p if the value is p[row + distance], else -1.
static int offset_param(const struct splitter *s, const struct ir_value *value, int distance) {
    const struct ir_op *load = def_with(value, OP_LOAD);
    if (!load || load->predicated || s->kernel->params[load->param].rank != 1 ||
        s->kernel->params[load->param].kind != PARAM_IN)
        return -1;
    bool matches = distance ? is_row_index_plus_one(s, load->operands[0]) : is_row_index(s, load->operands[0]);
    return matches ? load->param : -1;
}

static int length_param(const struct splitter *s, const struct ir_value *value) {
    const struct ir_op *least = def_with(value, OP_MIN), *difference = def_with(value, OP_SUB);
    for (int i = 0; least && i < 2; i++) {
        int param = length_param(s, least->operands[i]);
        if (param >= 0)
            return param;
    }
    if (!difference)
        return -1;
    int end = offset_param(s, difference->operands[0], 1), begin = offset_param(s, difference->operands[1], 0);
    return end == begin ? end : -1;
}

bool is_packed_position(const struct splitter *s, const struct ir_value *value, int axis) {
    const struct ir_op *sum = def_with(value, OP_ADD);
    for (int i = 0; sum && i < 2; i++) {
        const struct ir_op *index = def_with(sum->operands[1 - i], OP_INDEX);
        if (index && index->axis == axis && offset_param(s, sum->operands[i], 0) == s->offsets)
            return true;
    }
    return false;
}

static bool runs_along_row(struct splitter *s, const struct ir_op *op) {
    int64_t zero;
    if (op->code != OP_FOR || s->kernel->axes[op->axis].kind != AXIS_JAGGED)
        return false;
    if (!is_integer_constant(op->operands[0], &zero) || zero)
        return false;
    int param = length_param(s, op->operands[1]);
    if (param < 0 || (s->offsets >= 0 && param != s->offsets))
        return false;
    s->offsets = param;
    return true;
}

// ---------------------------------------------------------------------------------------------- what is carried

static bool match_slot(const struct splitter *s, const int *uses, const struct ir_region *region,
                       struct ir_value *argument, struct ir_value *next, enum ir_reduction *reduction);

static bool match_branch(const struct splitter *s, const int *uses, const struct ir_op *branch,
                         const struct ir_value *argument, int slot, enum ir_reduction *reduction) {
    if (branch->operands[1 + slot] != argument)
        return false;
    for (int r = 0; r < 2; r++) {
        struct ir_region *region = branch->regions[r];
        struct ir_value *inner = region->args[slot], *next = region->last->operands[slot];
        if (next != inner && !match_slot(s, uses, region, inner, next, reduction))
            return false;
    }
    return *reduction != RED_COUNT;
}

// Is `next` the argument, op'ed with reductions and nothing else? An inner loop or branch may do it.
static bool match_slot(const struct splitter *s, const int *uses, const struct ir_region *region,
                       struct ir_value *argument, struct ir_value *next, enum ir_reduction *reduction) {
    const struct ir_op *def = def_of(next);
    if (!def || def->parent != region)
        return false;
    if (def->code == OP_FOR && uses[argument->id] == 1) {
        int slot = next->index;
        const struct ir_region *body = def->regions[0];
        return def->region_count == 1 && def->operands[2 + slot] == argument &&
               match_slot(s, uses, body, body->args[slot], body->last->operands[slot], reduction);
    }
    if (def->code == OP_IF && uses[argument->id] == 1)
        return match_branch(s, uses, def, argument, next->index, reduction);
    if (def->code != OP_UPDATE || def->operands[0] != argument || uses[argument->id] != 2 || uses[next->id] != 1)
        return false;
    const struct ir_op *step = def_of(def->operands[1]);
    if (!step || step->operand_count != 2 || reduction_of(step->code) == RED_COUNT)
        return false;
    int at = step->operands[0] == argument ? 0 : step->operands[1] == argument ? 1 : -1;
    const struct ir_op *reduce = at < 0 ? NULL : def_of(step->operands[1 - at]);
    if (!reduce || reduce->code != OP_REDUCE) {
        const struct ir_op *dot = at < 0 ? NULL : def_of(step->operands[1 - at]);
        if (!dot || dot->code != OP_DOT || step->code != OP_ADD)
            return false;
    } else if (reduce->reduction != reduction_of(step->code)) {
        return false;
    }
    if (*reduction != RED_COUNT && *reduction != reduction_of(step->code))
        return false;
    *reduction = reduction_of(step->code);
    return true;
}

static bool match_each(struct splitter *s, const int *uses, struct phase *phase) {
    const struct ir_region *body = phase->loop->regions[0];
    phase->join = JOIN_EACH;
    for (int i = 0; i < phase->loop->result_count; i++) {
        phase->reductions[i] = RED_COUNT;
        if (!match_slot(s, uses, body, body->args[i], body->last->operands[i], &phase->reductions[i]))
            return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------- joining

static void join_rescaled(struct splitter *s, struct ir_map *map, struct ir_builder *b, const struct phase *phase,
                          axes_t over, struct ir_value *const *arguments, struct ir_value *const *loaded,
                          struct ir_value **next) {
    const struct ir_region *body = phase->loop->regions[0];
    const struct rescaled *pair = &phase->pair;
    int m = pair->highest, t = pair->total;
    ir_map_set(s->kernel, map, body->args[m], arguments[m]);
    ir_map_set(s->kernel, map, body->args[t], arguments[t]);
    ir_map_set(s->kernel, map, pair->max_step->results[0], ir_reduce(b, pair->reduction, over, loaded[m], NULL));
    next[m] = copy_expression(b, map, pair->top, body);
    struct ir_value *mine =
        copy_scale(b, map, pair, pair->scale, pair->sum_step->operands[0], body->args[m], loaded[m], body);
    struct ir_value *sum = ir_reduce(b, RED_SUM, over, ir_binary(b, OP_MUL, loaded[t], mine), NULL);
    struct ir_value *scale = copy_expression(b, map, pair->scale, body);
    next[t] = ir_binary(b, OP_ADD, ir_binary(b, OP_MUL, arguments[t], scale), sum);
}

static struct ir_value *sum_over(void *data, struct ir_builder *b, struct ir_value *value) {
    return ir_reduce(b, RED_SUM, *(axes_t *)data, value, NULL);
}

void join_partials(struct splitter *s, struct ir_map *map, struct ir_builder *b, const struct phase *phase, axes_t over,
                   struct ir_value *const *arguments, struct ir_value *const *loaded, struct ir_value **next) {
    if (phase->join == JOIN_RESCALED) {
        join_rescaled(s, map, b, phase, over, arguments, loaded, next);
        return;
    }
    if (phase->join == JOIN_MOMENTS) {
        struct ir_value *all[MOMENTS];
        sum_moments(b, loaded, sum_over, &over, all);
        join_moments(b, arguments, all, next);
        return;
    }
    for (int i = 0; i < phase->loop->result_count; i++) {
        struct ir_value *all = ir_reduce(b, phase->reductions[i], over, loaded[i], NULL);
        next[i] = ir_binary(b, opcode_of(phase->reductions[i]), arguments[i], all);
    }
}

// ---------------------------------------------------------------------------------------------- the nest

bool is_around_phases(const struct splitter *s, const struct ir_op *op) {
    return s->phase_count && op->region_count && is_inside(s->phases[0].loop, op->regions[0]);
}

struct offence {
    const struct splitter *s;
    const struct ir_op *found;
    int axis;
};

// Tiles of the rows, and tiles counted along a row, change with the split.
static void find_offence(void *data, struct ir_op *op) {
    struct offence *offence = data;
    bool tile = op->code == OP_BEGIN || op->code == OP_ID || (op->code == OP_END && op->axis == offence->s->row_axis);
    if (tile && op->axis == offence->axis)
        offence->found = op;
    bool reduces = op->code == OP_REDUCE || op->code == OP_DOT;
    if ((op->code == OP_SCAN || (reduces && offence->axis == offence->s->row_axis)) &&
        (op->over & AXIS_BIT(offence->axis)))
        offence->found = op;
}

static bool check_tiles(struct splitter *s, int axis) {
    struct offence offence = {.s = s, .axis = axis};
    walk_ops(s->top->regions[0], find_offence, &offence);
    return !offence.found || cannot_split(s, offence.found, "this depends on how the loop is cut into tiles");
}

static bool match_pair(struct phase *phase) {
    if (!match_rescaled(phase->loop, &phase->pair))
        return false;
    phase->join = JOIN_RESCALED;
    phase->reductions[phase->pair.highest] = phase->pair.reduction;
    phase->reductions[phase->pair.total] = RED_SUM;
    return true;
}

static bool match_moments(struct phase *phase) {
    phase->join = JOIN_MOMENTS;
    for (int slot = 0; phase->loop->moments && slot < MOMENTS; slot++)
        phase->reductions[slot] = RED_SUM;
    return phase->loop->moments;
}

static bool add_phase(struct splitter *s, const int *uses, struct ir_op *loop) {
    if (s->phase_count == MAX_PHASES || loop->result_count > MAX_CARRIED)
        return cannot_split(s, loop, "there are too many loops along the rows, or they carry too many values");
    if (loop->region_count == 2)
        return cannot_split(s, loop, "a loop with `while` runs its tiles one after the other");
    struct phase *phase = &s->phases[s->phase_count++];
    *phase = (struct phase){.loop = loop};
    if (loop->result_count && !match_moments(phase) && !match_pair(phase) && !match_each(s, uses, phase))
        return cannot_split(s, loop,
                  "what the loop carries isn't joined by reductions (v += sum[t](…), v = max(v, max[t](…)), an online "
                  "softmax)");
    return check_tiles(s, loop->axis);
}

// Goes down to the region that holds the jagged loops: through loops that carry nothing and stand alone.
static bool find_phases(struct splitter *s, const int *uses, struct ir_region *region) {
    struct ir_op *only = NULL;
    int loops = 0;
    for (struct ir_op *op = region->first; op; op = op->next) {
        if (runs_along_row(s, op) && !add_phase(s, uses, op))
            return false;
        if (op->code == OP_FOR) {
            loops++;
            only = op;
        }
    }
    if (s->phase_count)
        return true;
    if (loops != 1 || only->result_count || only->region_count == 2)
        return cannot_split(s, s->top,
                  "no loop runs along rows given by an offsets array: for t in jagged_tile(o[b + 1] - o[b])");
    return find_phases(s, uses, only->regions[0]);
}

static bool has_effects_beside(const struct splitter *s, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        bool phase = false;
        for (int i = 0; i < s->phase_count; i++)
            phase |= s->phases[i].loop == op;
        if (phase)
            continue;
        if (is_around_phases(s, op)
                ? has_effects_beside(s, op->regions[0])
                : op->code == OP_STORE || op->code == OP_ATOMIC || op->code == OP_ASSERT || op->code == OP_PRINT)
            return true;
        for (int r = 0; !is_around_phases(s, op) && r < op->region_count; r++)
            if (has_effects_beside(s, op->regions[r]))
                return true;
    }
    return false;
}

// What is stored beside the phases is stored in the last launch. Launches before it must not want to read it.
struct reader {
    const struct splitter *s;
    bool in_phase, *stored;         // by parameter
    const struct ir_op **loaded;
};

static void note_access(void *data, struct ir_op *op) {
    struct reader *reader = data;
    if (op->code == OP_LOAD)
        reader->loaded[op->param] = op;
    else if (op->code == OP_STORE && !reader->in_phase)
        reader->stored[op->param] = true;
}

// Up to the last phase; what comes behind it is in the last launch alone.
static void note_until_last_phase(struct reader *reader, struct ir_region *region) {
    const struct splitter *s = reader->s;
    for (struct ir_op *op = region->first; op; op = op->next) {
        if (is_around_phases(s, op)) {
            note_until_last_phase(reader, op->regions[0]);
            return;
        }
        reader->in_phase = false;
        for (int i = 0; i < s->phase_count; i++)
            reader->in_phase |= s->phases[i].loop == op;
        note_access(reader, op);
        for (int r = 0; r < op->region_count; r++)
            walk_ops(op->regions[r], note_access, reader);
        if (s->phases[s->phase_count - 1].loop == op)
            return;
    }
}

static bool check_reads(struct splitter *s) {
    struct reader reader = {.s = s};
    reader.stored = ARENA_ARRAY(s->context->arena, bool, s->kernel->param_count);
    reader.loaded = ARENA_ARRAY(s->context->arena, const struct ir_op *, s->kernel->param_count);
    note_until_last_phase(&reader, s->top->regions[0]);
    for (int p = 0; p < s->kernel->param_count; p++)
        if (reader.stored[p] && reader.loaded[p])
            return cannot_split(s, reader.loaded[p], "what is stored beside the loop along the row is loaded as well");
    return true;
}

// ---------------------------------------------------------------------------------------------- extents

// A number at the front of the kernel that is what `value` is; NULL if the host can't work it out.
struct ir_value *number_at_front(struct splitter *s, struct ir_builder *b, struct ir_map *map, struct ir_value *value) {
    struct ir_value *known = ir_map_get(map, value);
    if (known != value)
        return known;
    if (!ir_is_host_number(value))
        return NULL;
    for (int i = 0; i < value->def->operand_count; i++)
        number_at_front(s, b, map, value->def->operands[i]);
    return ir_op_clone(b, value->def, map)->results[0];
}

struct bound_search {
    struct splitter *s;
    int axis;
    bool with_start;  // the index is a sum with the row's start
    struct ir_value *extent;
};

static bool is_summand(const struct splitter *s, const struct ir_value *value, int axis, bool *start) {
    const struct ir_op *def = def_of(value);
    if (!def)
        return false;
    if (offset_param(s, value, 0) == s->offsets && s->offsets >= 0)
        *start = true;
    if (def->code == OP_INDEX)
        return def->axis == axis;
    if (def->code != OP_ADD)
        return false;
    bool a = is_summand(s, def->operands[0], axis, start), b = is_summand(s, def->operands[1], axis, start);
    return a || b;
}

static void find_bound(void *data, struct ir_op *op) {
    struct bound_search *search = data;
    if (op->code != OP_LOAD && op->code != OP_STORE && op->code != OP_ATOMIC)
        return;
    const struct ir_param *param = &search->s->kernel->params[op->param];
    for (int i = 0; i < param->rank; i++) {
        bool start = false;
        if (is_summand(search->s, op->operands[i], search->axis, &start) && start == search->with_start)
            search->extent = param->extents[i];
    }
}

// The extent of the dimension that the axis indexes.
static struct ir_value *indexed_extent(struct splitter *s, int axis, bool with_start) {
    struct bound_search search = {.s = s, .axis = axis, .with_start = with_start};
    walk_ops(s->top->regions[0], find_bound, &search);
    return search.extent;
}

static bool find_extents(struct splitter *s, struct ir_builder *b) {
    struct ir_map *map = ir_map_new(s->kernel);
    for (int p = 0; p < s->phase_count; p++)
        for (int i = 0; i < s->phases[p].loop->result_count; i++)
            for (int a = 0; a < s->kernel->axis_count; a++) {
                axes_t axes = s->phases[p].loop->results[i]->axes;
                if (!(axes & AXIS_BIT(a)) || a == s->row_axis || s->extent[a])
                    continue;
                const struct ir_axis *axis = &s->kernel->axes[a];
                struct ir_value *extent = axis->kind == AXIS_JAGGED ? indexed_extent(s, a, false) : axis->hi;
                s->extent[a] = extent ? number_at_front(s, b, map, extent) : NULL;
                if (!s->extent[a])
                    return cannot_split(s, s->phases[p].loop,
                              "it carries a value along an axis whose extent isn't known at launch");
            }
    struct ir_value *points = indexed_extent(s, s->phases[0].loop->axis, true);
    if (!points)
        return cannot_split(s, s->phases[0].loop,
                  "nothing that it loads or stores is indexed by the row's start plus its position");
    s->rows = number_at_front(s, b, map, s->top->operands[1]);
    s->points = number_at_front(s, b, map, points);
    return true;
}

static bool try_split(struct pass_context *context, struct ir_op *top) {
    struct splitter *s = ARENA_NEW(context->arena, struct splitter);
    int64_t zero;
    *s = (struct splitter){
        .context = context, .kernel = context->kernel, .top = top, .row_axis = top->axis, .offsets = -1};
    s->chunk = context->config->chunk;
    s->lag = context->out && context->out->options.target.kind == TARGET_CPU ? 0 : context->config->lag;
    if (top->result_count || top->region_count == 2 || !is_integer_constant(top->operands[0], &zero) || zero)
        return cannot_split(s, top, "the loop at the top hands values on, or doesn't begin at 0");
    if (!find_phases(s, count_uses(context->arena, context->kernel), top->regions[0]) || !check_tiles(s, s->row_axis) ||
        !check_reads(s))
        return false;
    bool ends_in_reduction = s->phases[s->phase_count - 1].loop->result_count > 0;
    s->effects_last = !ends_in_reduction && has_effects_beside(s, top->regions[0]);
    struct ir_builder before = builder_before(context->kernel, top);
    if (!find_extents(s, &before))
        return false;
    if (!add_meshes(s))
        return false;
    if (context->config->strategy == STRATEGY_FLAT ? !split_into_shares(s) : !split_into_chunks(s))
        return false;
    remove_nest(s);
    if (context->out)
        context->out->ascending |= (uint64_t)1 << s->offsets;
    return true;
}

bool strategy_applies(struct arena *arena, const struct ir_kernel *kernel, const struct config *wish,
                      struct status *why) {
    struct config config = {.strategy = wish->strategy, .chunk = wish->chunk, .search = wish->search,
                            .stage = wish->stage, .lag = wish->lag};
    struct pass_context context = {.arena = arena, .config = &config, .status = STATUS_OK};
    context.kernel = ir_kernel_clone(arena, kernel);
    // As lower() has it by then: what nothing uses doesn't say where a row's elements lie.
    bool applies = opt_simplify(&context) && opt_moments(&context) && lower_strategy(&context);
    if (why)
        *why = context.status;
    return applies;
}

static void explain(struct text *out, struct arena *arena, const struct ir_kernel *kernel, const struct config *wish) {
    struct status why;
    bool applies = strategy_applies(arena, kernel, wish, &why);
    text_printf(out, "  %-6s  %-6s  %s", config_strategy_name(wish->strategy), wish->stage ? "staged" : "",
                applies ? "applies\n" : "doesn't apply: ");
    if (applies)
        return;
    text_add(out, why.reason);
    if (why.span.source)
        text_printf(out, " (line %d)", source_position(why.span.source, why.span.begin).line);
    text_add(out, "\n");
}

void config_explain_strategies(struct text *out, struct arena *arena, const struct ir_kernel *kernel,
                               const struct config *config) {
    text_printf(out, "%s: %s", kernel->name, config_strategy_name(config->strategy));
    if (config->strategy != STRATEGY_ROWS)
        text_printf(out, " of %d%s%s", config->chunk, config->search ? ", by search" : "", config->stage ? ", staged" : "");
    text_add(out, "\n");
    for (int i = 0; i < STRATEGY_COUNT; i++) {
        struct config wish = {.strategy = (enum config_strategy)i,
                              .chunk = config->chunk ? config->chunk : LEAST_CHUNK};
        explain(out, arena, kernel, &wish);
    }
    struct config staged = {.strategy = STRATEGY_FLAT, .chunk = config->chunk ? config->chunk : LEAST_CHUNK,
                            .stage = true};
    explain(out, arena, kernel, &staged);
}

bool may_split(struct arena *arena, const struct ir_kernel *kernel) {
    return strategy_applies(arena, kernel, &(struct config){.strategy = STRATEGY_CHUNKS, .chunk = LEAST_CHUNK}, NULL);
}

bool lower_strategy(struct pass_context *context) {
    bool any = false;
    struct ir_region *body = context->kernel->body;
    if (context->config->strategy == STRATEGY_ROWS)
        return true;
    for (struct ir_op *op = body->first, *next; op; op = next) {
        next = op->next;
        if (op->code == OP_FOR && try_split(context, op))
            any = true;
    }
    if (any)
        context->status = STATUS_OK;
    return any;
}
