// SPDX-License-Identifier: Apache-2.0
// One top-level loop is one launch: a function with what it uses as parameters, the block's place in the grid, the
// body.
#include <string.h>

#include "codegen/matmul.h"

// ---------------------------------------------------------------------------------------------- what a launch uses

struct usage {
    axes_t axes;
    bool *values;                 // by id: top-level values that it needs
    const struct ir_op *slowest;  // of the loops in the grid: no block asks for its end
};

static void use_value(struct usage *usage, const struct ir_value *value) {
    if (value->region || usage->values[value->id])
        return;
    usage->values[value->id] = true;
    for (int i = 0; i < value->def->operand_count; i++)
        use_value(usage, value->def->operands[i]);
    if (value->def->axis >= 0)
        usage->axes |= AXIS_BIT(value->def->axis);
}

static void use_op(const struct emitter *emitter, struct usage *usage, const struct ir_op *op) {
    if (op->axis >= 0)
        usage->axes |= AXIS_BIT(op->axis);
    for (int i = 0; i < op->operand_count; i++)
        if (op != usage->slowest || i != 1)
            use_value(usage, op->operands[i]);
    if (op->code == OP_LOAD || op->code == OP_STORE || op->code == OP_ATOMIC || op->code == OP_ARRIVE ||
        op->code == OP_AWAIT)
        for (int i = 1; i < emitter->kernel->params[op->param].rank; i++)
            use_value(usage, emitter->kernel->params[op->param].extents[i]);
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            use_op(emitter, usage, inner);
}

// ---------------------------------------------------------------------------------------------- the start of a
// function

static void start_function(struct emitter *emitter) {
    const struct ir_kernel *kernel = emitter->kernel;
    emitter->name_count = emitter->name_capacity = 0;
    emitter->names = NULL;
    emitter->tensors = emitter->scalars = emitter->dims = emitter->stored = emitter->fetched = 0;
    emitter->needs_thread = emitter->needs_lane = emitter->needs_warp = emitter->needs_rank = false;
    emitter->cluster = 1;
    emitter->position_count = 0;
    emitter->shared_bytes = emitter->exchange_bytes = emitter->stage_top = emitter->stage_bytes = 0;
    emitter->placed = 0;
    memset(emitter->axis_place, 0, sizeof emitter->axis_place);
    memset(emitter->forms, 0, sizeof *emitter->forms * (size_t)kernel->value_count);
    memset(emitter->axis_base, 0, sizeof emitter->axis_base);
    memset(emitter->axis_thread, 0, sizeof emitter->axis_thread);
    memset(emitter->axis_offset, 0, sizeof emitter->axis_offset);
    emitter->param_names = ARENA_ARRAY(emitter->arena, const char *, kernel->param_count + 1);
    emitter->dim_names = ARENA_ARRAY(emitter->arena, const char *, kernel->dim_count + 1);
    for (int p = 0; p < kernel->param_count; p++)
        emitter->param_names[p] = unique_name(emitter, kernel->params[p].name);
    for (int d = 0; d < kernel->dim_count; d++) {
        bool scalar = false;
        for (int p = 0; p < kernel->param_count; p++)
            if (!strcmp(kernel->params[p].name, kernel->dims[d].name)) {
                emitter->dim_names[d] = emitter->param_names[p];
                scalar = true;
            }
        if (!scalar)
            emitter->dim_names[d] = unique_name(emitter, kernel->dims[d].name);
    }
}

const char *bits_text(struct emitter *emitter, const char *from, int shift, int count, int all) {
    if (shift == 0 && count == all)
        return from;
    return shift ? print(emitter, "(%s >> %d & %d)", from, shift, count - 1)
                 : print(emitter, "(%s & %d)", from, count - 1);
}

bool has_threads(const struct axis_layout *layout) {
    return layout->lanes * layout->warps * layout->blocks > 1;
}

static const char *offset_text(struct emitter *emitter, const struct axis_layout *layout) {
    const char *text = NULL;
    if (layout->blocks > 1) {
        text = layout->warps > 1 ? print(emitter, "rank * %d", layout->warps) : "rank";
        emitter->needs_rank = true;
    }
    if (layout->warps > 1) {
        const char *warp = bits_text(emitter, "warp", layout->warp_shift, layout->warps, emitter->lowered->warps);
        text = text ? print(emitter, "%s + %s", text, warp) : warp;
        emitter->needs_warp = true;
    }
    bool sum = layout->blocks > 1 && layout->warps > 1;
    if (layout->lanes > 1) {
        const char *lane = bits_text(emitter, "lane", layout->lane_shift, layout->lanes, 32);
        int apart = layout->paired ? 2 * layout->lanes : layout->lanes;
        text = text ? print(emitter, sum ? "(%s) * %d + %s" : "%s * %d + %s", text, apart, lane) : lane;
        sum |= layout->warps > 1 || layout->blocks > 1;
        emitter->needs_lane = true;
    }
    if (layout->vector > 1)
        text = print(emitter, sum ? "(%s) * %d" : "%s * %d", text, layout->vector);
    return text;
}

static int same_name_before(const struct emitter *emitter, axes_t axes, int axis) {
    for (int a = 0; a < axis; a++)
        if ((axes & AXIS_BIT(a)) && !strcmp(emitter->kernel->axes[a].name, emitter->kernel->axes[axis].name))
            return a;
    return -1;
}

// Names and offsets of every axis in use; axes of one name share them.
static void start_axes(struct emitter *emitter, axes_t axes) {
    for (int a = 0; a < emitter->kernel->axis_count; a++) {
        const struct axis_layout *layout = &emitter->lowered->axes[a];
        const char *name = emitter->kernel->axes[a].name;
        if (!(axes & AXIS_BIT(a)) || !layout->block)
            continue;
        int twin = same_name_before(emitter, axes, a);
        if (twin >= 0) {
            emitter->axis_offset[a] = emitter->axis_offset[twin];
            memcpy(emitter->axis_loop[a], emitter->axis_loop[twin], sizeof emitter->axis_loop[a]);
        } else {
            emitter->axis_loop[a][0] = unique_name(emitter, print(emitter, layout->vector > 1 ? "%s_r" : "%s_i", name));
            emitter->axis_loop[a][1] =
                unique_name(emitter, print(emitter, layout->registers > 1 ? "%s_v" : "%s_i", name));
            if (emitter->cuda && has_threads(layout) && !is_only_staged(emitter, a)) {
                emitter->axis_offset[a] = unique_name(emitter, print(emitter, "%s_t", name));
                line(emitter, "const int %s = %s;", emitter->axis_offset[a], offset_text(emitter, layout));
                note_position(emitter, emitter->axis_offset[a]);
            }
        }
        if (layout->place == PLACE_FULL)
            emitter->axis_thread[a] = emitter->axis_offset[a];
    }
}

static void write_preamble(struct emitter *emitter, const struct usage *usage) {
    int count = 0;
    const struct ir_region *body = emitter->kernel->body;
    for (const struct ir_op *op = body->first; op; op = op->next)
        count++;
    struct ir_op **ops = ARENA_ARRAY(emitter->arena, struct ir_op *, count + 1);
    count = 0;
    for (struct ir_op *op = body->first; op; op = op->next)
        if (op->result_count && !is_control(op) && usage->values[op->results[0]->id])
            ops[count++] = op;
    write_ops(emitter, ops, count);
}

// ---------------------------------------------------------------------------------------------- the grid

struct grid {
    int count;
    struct ir_op *loops[IR_MAX_AXES];  // fastest first
};

static void find_grid_loops(const struct emitter *emitter, struct ir_op *op, struct grid *grid) {
    if (op->code == OP_FOR && emitter->lowered->axes[op->axis].place == PLACE_GRID)
        grid->loops[grid->count++] = op;
    for (int r = 0; r < op->region_count; r++)
        for (struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            find_grid_loops(emitter, inner, grid);
}

static int grid_rank(const struct emitter *emitter, const struct ir_op *loop) {
    const struct config *config = emitter->lowered->config;
    for (int i = 0; i < config->grid_count; i++)
        if (!strcmp(config->grid[i], emitter->kernel->axes[loop->axis].name))
            return i;
    return config->grid_count;
}

static void sort_grid(const struct emitter *emitter, struct grid *grid) {
    for (int i = 1; i < grid->count; i++)
        for (int j = i; j > 0 && grid_rank(emitter, grid->loops[j]) < grid_rank(emitter, grid->loops[j - 1]); j--) {
            struct ir_op *swap = grid->loops[j];
            grid->loops[j] = grid->loops[j - 1];
            grid->loops[j - 1] = swap;
        }
}

static bool constant_of(const struct ir_value *value, int64_t *out) {
    if (value->region || value->def->code != OP_CONST)
        return false;
    *out = value->def->integer;
    return true;
}

// How many tiles the loop has: a literal or a variable.
static const char *tiles_text(struct emitter *emitter, const struct ir_op *loop) {
    int64_t lo, hi;
    int block = emitter->lowered->axes[loop->axis].block;
    bool from_zero = constant_of(loop->operands[0], &lo) && lo == 0;
    if (constant_of(loop->operands[0], &lo) && constant_of(loop->operands[1], &hi))
        return print(emitter, "%lld", (long long)(hi > lo ? (hi - lo + block - 1) / block : 0));
    const char *range = value_text(emitter, loop->operands[1], 12);
    if (!from_zero)
        range = print(emitter, "%s - %s", range, value_text(emitter, loop->operands[0], 13));
    if (block == 1)
        return from_zero ? value_text(emitter, loop->operands[1], 14) : print(emitter, "(%s)", range);
    const char *name = unique_name(emitter, print(emitter, "%s_tiles", emitter->kernel->axes[loop->axis].name));
    line(emitter, "const %s %s = (%s + %d) / %d;", position_type(emitter, loop), name, range, block - 1, block);
    return name;
}

// The block's number: its place in the grid, or the order in which it began.
static const char *block_text(struct emitter *emitter, const struct ir_op *top) {
    if (emitter->cuda && emitter->cluster > 1)
        return print(emitter, "blockIdx.x / %d", emitter->cluster);
    if (!emitter->cuda || top->code != OP_FOR || top->param < 0)
        return emitter->cuda ? "blockIdx.x" : "block";
    const char *name = unique_name(emitter, "number");
    emitter->tensors |= (uint64_t)1 << top->param;
    emitter->stored |= (uint64_t)1 << top->param;
    need_shared(emitter, 4);
    line(emitter, "const int %s = %s(%s, tile_shared);", name, helper(emitter, "tile_arrive"),
         emitter->param_names[top->param]);
    return name;
}

static void write_grid(struct emitter *emitter, const struct grid *grid, const char *block) {
    const char *rest = block;
    for (int i = 0; i < grid->count; i++) {
        const struct ir_op *loop = grid->loops[i];
        const struct axis_layout *layout = &emitter->lowered->axes[loop->axis];
        int64_t lo;
        const char *tile = rest;
        if (i + 1 < grid->count) {
            const char *tiles = tiles_text(emitter, loop);
            tile = print(emitter, "%s %% %s", rest, tiles);
            rest = print(emitter, "%s / %s", rest, tiles);
        }
        const char *base = base_name(emitter, loop->axis);
        const char *text = print(emitter, strchr(tile, ' ') ? "(%s)(%s)" : "(%s)%s", position_type(emitter, loop), tile);
        if (layout->block > 1)
            text = print(emitter, "%s * %d", text, layout->block);
        if (!constant_of(loop->operands[0], &lo) || lo != 0)
            text = print(emitter, "%s + %s", value_text(emitter, loop->operands[0], 12), text);
        line(emitter, "const %s %s = %s;", position_type(emitter, loop), base, text);
        note_position(emitter, base);
        enter_tile(emitter, loop, base);
    }
}

// ---------------------------------------------------------------------------------------------- the function's head

struct signature {
    const char *parameters;  // "const float *x, int B"
    const char *names;       // "x, B"
    const char *unpacking;   // CPU: statements that read `arguments`
    int count;
};

static void add_parameter(struct emitter *emitter, struct signature *signature, struct launch_kernel *plan,
                          const char *type, const char *name, struct launch_argument argument) {
    bool pointer = type[strlen(type) - 1] == '*';
    const char *restricted = pointer ? (emitter->cuda ? "__restrict__ " : "restrict ") : " ";
    const char *comma = signature->count ? ", " : "";
    signature->parameters = print(emitter, "%s%s%s%s%s", signature->parameters, comma, type, restricted, name);
    signature->names = print(emitter, "%s%s%s", signature->names, comma, name);
    const char *pointee = print(emitter, pointer ? "%sconst" : "const %s", type);
    signature->unpacking = print(emitter, "%s    %s %s = *(%s *)arguments[%d];\n", signature->unpacking, type, name,
                                 pointee, signature->count);
    plan->arguments[signature->count++] = argument;
}

static enum ir_type passed_type(enum ir_type type) {
    switch (type) {
    case TYPE_F16:
    case TYPE_BF16: return TYPE_F32;
    case TYPE_BOOL:
    case TYPE_I8:
    case TYPE_U8: return TYPE_I32;
    default: return type;
    }
}

static struct launch_argument tensor_argument(const struct emitter *emitter, int param) {
    int number = 0;
    for (int p = 0; p < param; p++)
        number += emitter->kernel->params[p].kind == PARAM_WORKSPACE && !emitter->kernel->params[p].local;
    bool own = emitter->kernel->params[param].kind == PARAM_WORKSPACE;
    return (struct launch_argument){own ? ARGUMENT_WORKSPACE : ARGUMENT_TENSOR, own ? number : param,
                                    emitter->kernel->params[param].type};
}

static struct signature make_signature(struct emitter *emitter, struct launch_kernel *plan) {
    const struct ir_kernel *kernel = emitter->kernel;
    struct signature signature = {"", "", "", 0};
    plan->arguments = ARENA_ARRAY(emitter->arena, struct launch_argument, kernel->param_count + kernel->dim_count + 1);
    for (int p = 0; p < kernel->param_count; p++)
        if ((emitter->tensors >> p & 1) && !kernel->params[p].local) {
            const char *constant = emitter->stored >> p & 1 ? "" : "const ";
            const char *type = print(emitter, "%s%s *", constant, storage_type(kernel->params[p].type));
            add_parameter(emitter, &signature, plan, type, emitter->param_names[p], tensor_argument(emitter, p));
        }
    for (int p = 0; p < kernel->param_count; p++)
        if (emitter->scalars >> p & 1) {
            enum ir_type type = passed_type(kernel->params[p].type);
            add_parameter(emitter, &signature, plan, register_type(type), emitter->param_names[p],
                          (struct launch_argument){ARGUMENT_SCALAR, p, type});
        }
    for (int d = 0; d < kernel->dim_count; d++)
        if (emitter->dims >> d & 1) {
            enum ir_type type = emitter->lowered->options.index64 ? TYPE_I64 : TYPE_I32;
            add_parameter(emitter, &signature, plan, register_type(type), emitter->dim_names[d],
                          (struct launch_argument){ARGUMENT_DIM, d, type});
        }
    plan->argument_count = signature.count;
    return signature;
}

// A host number as a reader would write it; "…" for what takes more than names and plain operations.
static const char *number_words(struct emitter *emitter, const struct ir_value *value) {
    const struct ir_op *def = value->region ? NULL : value->def;
    if (!def)
        return "…";
    if (def->code == OP_CONST)
        return print(emitter, "%lld", (long long)def->integer);
    if (def->code == OP_DIM)
        return emitter->dim_names[def->dim];
    if (def->code == OP_SCALAR)
        return emitter->param_names[def->param];
    if (def->code == OP_CAST)
        return number_words(emitter, def->operands[0]);
    const char *sign = def->code == OP_ADD   ? "+"
                       : def->code == OP_SUB ? "-"
                       : def->code == OP_MUL ? "*"
                       : def->code == OP_DIV ? "/"
                                             : NULL;
    if (!sign)
        return "…";
    return print(emitter, "(%s %s %s)", number_words(emitter, def->operands[0]), sign,
                 number_words(emitter, def->operands[1]));
}

static const char *tiles_words(struct emitter *emitter, const struct launch_axis *axis) {
    int64_t lo, hi;
    if (axis->elements_of)
        return print(emitter, "ceil(elements of %s / %lld)", axis->elements_of->name, (long long)axis->block);
    bool from_zero = constant_of(axis->lo, &lo) && lo == 0;
    if (from_zero && constant_of(axis->hi, &hi))
        return print(emitter, "%lld", (long long)(hi > 0 ? (hi + axis->block - 1) / axis->block : 0));
    const char *range = number_words(emitter, axis->hi);
    if (!from_zero)
        range = print(emitter, "(%s - %s)", range, number_words(emitter, axis->lo));
    return axis->block == 1 ? range : print(emitter, "ceil(%s / %lld)", range, (long long)axis->block);
}

// How the function is launched: the grid is one-dimensional, its first factor changes fastest.
static void write_launch_words(struct emitter *emitter, const struct launch_kernel *plan) {
    const char *blocks = plan->grid_count ? "" : "1";
    for (int i = 0; i < plan->grid_count; i++)
        blocks = print(emitter, "%s%s%s", blocks, i ? " * " : "", tiles_words(emitter, &plan->grid[i]));
    if (emitter->cuda)
        line(emitter, "// launch: %s blocks of %d threads", blocks, plan->threads);
}

static void write_head(struct emitter *emitter, const char *name, const struct signature *signature, int threads,
                       int min_blocks) {
    const char *cluster = emitter->cluster > 1 ? print(emitter, "__cluster_dims__(%d, 1, 1) ", emitter->cluster) : "";
    if (emitter->produced && !min_blocks)
        min_blocks = 1;  // the compiler has to know how many registers there are
    const char *bounds = min_blocks ? print(emitter, "%d, %d", threads, min_blocks) : print(emitter, "%d", threads);
    if (emitter->cuda)
        line(emitter, "extern \"C\" __global__ void %s__launch_bounds__(%s) %s(%s) {", cluster, bounds, name,
             signature->parameters);
    else
        line(emitter, "static void %s_block(const long long block%s%s) {", name, signature->count ? ", " : "",
             signature->parameters);
}

static void write_runner(struct emitter *emitter, const char *name, const struct signature *signature) {
    if (emitter->cuda)
        return;
    line(emitter, "%s", "");
    line(emitter, "void %s_run(long long blocks, void **arguments) {", name);
    text_add(emitter->out, signature->unpacking);
    line(emitter, "    #pragma omp parallel for schedule(dynamic)");
    line(emitter, "    for (long long block = 0; block < blocks; ++block) %s_block(block%s%s);", name,
         signature->count ? ", " : "", signature->names);
    line(emitter, "}");
}

// A block's parts of local tensors: in shared memory. Returns their bytes.
static int64_t write_local_tensors(struct emitter *emitter) {
    int64_t bytes = 0;
    for (int p = 0; p < emitter->kernel->param_count; p++) {
        const struct ir_param *param = &emitter->kernel->params[p];
        int64_t count = 1, extent;
        if (!param->local || !(emitter->tensors >> p & 1))
            continue;
        for (int i = 1; i < param->rank; i++)
            count *= constant_of(param->extents[i], &extent) ? extent : 1;
        bytes += count * ir_type_bytes(param->type);
        line(emitter, "%s%s %s[%lld];", emitter->cuda ? "__shared__ __align__(16) " : "", storage_type(param->type),
             emitter->param_names[p], (long long)count);
        if (emitter->fetched >> p & 1) {
            line(emitter, "__shared__ unsigned long long %s_full;", emitter->param_names[p]);
            bytes += 8;
        }
    }
    return bytes;
}

static void write_thread(struct emitter *emitter) {
    if (!emitter->cuda)
        return;
    if (emitter->needs_thread)
        line(emitter, "const int thread = (int)threadIdx.x;");
    if (emitter->needs_lane)
        line(emitter, "const int lane = (int)threadIdx.x %% 32;");
    if (emitter->needs_warp)
        line(emitter, "const int warp = (int)threadIdx.x / 32;");
    if (emitter->needs_rank)
        line(emitter, "const int rank = (int)(blockIdx.x %% %d);", emitter->cluster);
    if (emitter->shared_bytes)
        line(emitter, "__shared__ __align__(16) unsigned char tile_shared[%lld];", (long long)emitter->shared_bytes);
    if (emitter->exchange_bytes) {
        line(emitter, "__shared__ __align__(16) unsigned char tile_exchange[2][%lld];", (long long)emitter->exchange_bytes);
        line(emitter, "int tile_turn = 0;");
    }
    if (emitter->stage_bytes) {
        line(emitter, "extern __shared__ __align__(%d) unsigned char tile_stage[];", has_groups(emitter) ? 1024 : 128);
        line(emitter, "const unsigned tiles = %s(tile_stage);", helper(emitter, "tile_address"));
    }
}

static const struct ir_value *number(struct emitter *emitter, int64_t integer) {
    struct ir_op *op = ARENA_NEW(emitter->arena, struct ir_op);
    struct ir_value *value = ARENA_NEW(emitter->arena, struct ir_value);
    *op = (struct ir_op){.code = OP_CONST, .integer = integer};
    *value = (struct ir_value){.type = TYPE_I64, .def = op};
    return value;
}

static void plan_grid(struct emitter *emitter, const struct grid *grid, struct launch_kernel *plan) {
    plan->grid = ARENA_ARRAY(emitter->arena, struct launch_axis, grid->count + 2);
    if (emitter->cluster > 1)
        plan->grid[plan->grid_count++] = (struct launch_axis){
            .name = "cluster", .lo = number(emitter, 0), .hi = number(emitter, emitter->cluster), .block = 1};
    for (int i = 0; i < grid->count; i++) {
        const struct ir_op *loop = grid->loops[i];
        plan->grid[plan->grid_count++] = (struct launch_axis){.name = emitter->kernel->axes[loop->axis].name,
                                             .lo = loop->operands[0],
                                             .hi = loop->operands[1],
                                             .block = emitter->lowered->axes[loop->axis].block};
    }
}

// Puts head and parameters, known only now, in front of the body.
static void finish_function(struct emitter *emitter, struct text *outer, struct text *body, const char *name,
                            struct launch_kernel *plan) {
    for (int i = emitter->position_count; i-- > 0;)
        drop_unused(body, emitter->positions[i]);
    emitter->out = outer;
    emitter->indent = 0;
    struct signature signature = make_signature(emitter, plan);
    write_launch_words(emitter, plan);
    write_head(emitter, name, &signature, plan->threads, emitter->lowered->config->min_blocks);
    emitter->indent = 1;
    write_thread(emitter);
    int64_t local_bytes = write_local_tensors(emitter);
    emitter->indent = 0;
    text_add_bytes(outer, body->data ? body->data : "", body->length);
    line(emitter, "}");
    write_runner(emitter, name, &signature);
    text_free(body);
    emitter->produced = NULL;
    plan->name = name;
    plan->static_shared_bytes = emitter->shared_bytes + 2 * emitter->exchange_bytes + local_bytes;
    plan->shared_bytes = emitter->stage_bytes;
}

// ---------------------------------------------------------------------------------------------- launches with producers

static const struct produced *produced_of(const struct emitter *emitter, const struct ir_op *top) {
    for (int i = 0; i < emitter->lowered->produced_count; i++)
        if (emitter->lowered->produced[i].top == top)
            return &emitter->lowered->produced[i];
    return NULL;
}

struct tile_writer {
    struct emitter *emitter;
    struct grid *grid;
    struct ir_op *top;
};

static void write_grid_tile(void *data, const char *number) {
    struct tile_writer *writer = data;
    write_grid(writer->emitter, writer->grid, number);
    write_ops(writer->emitter, &writer->top, 1);
}

static void plan_blocks(struct emitter *emitter, const struct produced *produced, struct launch_kernel *plan) {
    plan->threads += copying_threads(produced);
    plan->grid_count = emitter->cluster > 1 ? 2 : 1;  // plan_grid has put the cluster first
    plan->grid[plan->grid_count - 1] =
        (struct launch_axis){.name = "block", .lo = number(emitter, 0), .hi = produced->blocks, .block = 1};
}

static const struct ir_op *launch_before(const struct ir_op *top) {
    do
        top = top->previous;
    while (top && !is_control(top));
    return top;
}

static bool is_integer(const struct ir_value *value) {
    return !value->region && value->def->code == OP_CONST && !ir_type_is_float(value->type);
}

static bool is_from_zero(const struct ir_op *loop) {
    return is_integer(loop->operands[0]) && loop->operands[0]->def->integer == 0;
}

// What is above 0 exactly where the value is: without casts, and without limits on both sides of that.
static const struct ir_value *same_sign(const struct ir_value *value) {
    for (const struct ir_op *def = value->region ? NULL : value->def; def; def = value->region ? NULL : value->def) {
        bool clamps = def->code == OP_CLAMP && is_integer(def->operands[1]) && is_integer(def->operands[2]) &&
                      def->operands[1]->def->integer <= 0 && def->operands[2]->def->integer > 0;
        if (def->code != OP_CAST && !clamps)
            break;
        value = def->operands[0];
    }
    return value;
}

// Whether the launch before has no blocks only where this one has none either: they have a loop to the same end.
static bool shares_end(const struct emitter *emitter, const struct ir_op *before, const struct ir_op *top) {
    struct grid grid = {0}, own = {0};
    find_grid_loops(emitter, (struct ir_op *)before, &grid);
    find_grid_loops(emitter, (struct ir_op *)top, &own);
    for (int i = 0; grid.count == 1 && i < own.count; i++)
        if (is_from_zero(own.loops[i]) && is_from_zero(grid.loops[0]) &&
            same_sign(own.loops[i]->operands[1]) == same_sign(grid.loops[0]->operands[1]))
            return true;
    return false;
}

// The launch whose maps this one makes at its end; NULL: none.
static const struct produced *maps_of(const struct emitter *emitter, const struct ir_op *top) {
    for (int i = 0; i < emitter->lowered->produced_count; i++) {
        const struct produced *produced = &emitter->lowered->produced[i];
        if (produced->map_count && launch_before(produced->top) == top && shares_end(emitter, top, produced->top))
            return produced;
    }
    return NULL;
}

bool wants_maps(const struct emitter *emitter, const struct ir_op *top) {
    const struct ir_op *before = launch_before(top);
    const struct produced *produced = produced_of(emitter, top);
    return produced && produced->map_count && !(before && maps_of(emitter, before) == produced);
}

static void use_extents(const struct emitter *emitter, struct usage *usage, const struct produced *produced) {
    for (int i = 0; i < produced->map_count; i++) {
        const struct ir_param *param = &emitter->kernel->params[produced->maps[i].param];
        for (int d = 0; d < param->rank; d++)
            use_value(usage, param->extents[d]);
    }
}

// A launch of one block: makes the maps of the launch after it, and begins to count its tiles.
void write_map_launch(struct emitter *emitter, const struct ir_op *top, const char *name, struct launch_kernel *plan) {
    struct text body = {0}, *outer = emitter->out;
    const struct produced *produced = produced_of(emitter, top);
    struct usage usage = {.values = ARENA_ARRAY(emitter->arena, bool, emitter->kernel->value_count)};
    start_function(emitter);
    emitter->out = &body;
    emitter->indent = 1;
    use_extents(emitter, &usage, produced);
    write_preamble(emitter, &usage);
    write_maps(emitter, produced);
    plan->threads = 32;
    plan->cluster = emitter->cluster;
    plan->grid_count = 0;
    finish_function(emitter, outer, &body, name, plan);
}

void write_launch(struct emitter *emitter, struct ir_op *top, const char *name, struct launch_kernel *plan) {
    struct text body = {0}, *outer = emitter->out;
    struct usage usage = {.values = ARENA_ARRAY(emitter->arena, bool, emitter->kernel->value_count)};
    struct grid grid = {0};
    start_function(emitter);
    find_hazards(emitter, top);
    emitter->out = &body;
    emitter->indent = 1;
    find_grid_loops(emitter, top, &grid);
    sort_grid(emitter, &grid);
    const struct produced *produced = produced_of(emitter, top), *next = maps_of(emitter, top);
    usage.slowest = grid.count ? grid.loops[grid.count - 1] : NULL;
    use_op(emitter, &usage, top);
    for (int a = 0; a < emitter->kernel->axis_count; a++)
        if ((usage.axes & AXIS_BIT(a)) && emitter->lowered->axes[a].blocks > 1)
            emitter->cluster = emitter->lowered->cluster;
    if (produced)
        use_value(&usage, produced->tiles);
    if (next)
        use_extents(emitter, &usage, next);
    start_axes(emitter, usage.axes);
    write_preamble(emitter, &usage);
    if (produced) {
        struct tile_writer writer = {emitter, &grid, top};
        (produced->slab ? write_slab_parts : write_parts)(emitter, produced, write_grid_tile, &writer);
    } else {
        write_grid(emitter, &grid, block_text(emitter, top));
        write_ops(emitter, &top, 1);
    }
    if (next) {
        open_brace(emitter, "if (blockIdx.x == 0)");
        write_maps(emitter, next);
        close_brace(emitter);
    }
    if (emitter->exchange_bytes && !produced)
        line(emitter, "%s();", helper(emitter, "tile_meet"));  // no block ends while others read its shared memory
    comment_lines(emitter, emitter->end_line - 1);  // statements that left nothing in the code are said all the same
    plan->threads = emitter->cuda ? 32 * emitter->lowered->warps : 1;
    plan->cluster = emitter->cluster;
    plan_grid(emitter, &grid, plan);
    if (produced)
        plan_blocks(emitter, produced, plan);
    emitter->produced = produced;
    finish_function(emitter, outer, &body, name, plan);
}

// ---------------------------------------------------------------------------------------------- fills

enum { FILL_THREADS = 256, FILL_BLOCK = 2048 };

void write_fill(struct emitter *emitter, int param, const char *name, struct launch_kernel *plan) {
    struct text body = {0}, *outer = emitter->out;
    const struct ir_param *output = &emitter->kernel->params[param];
    struct usage usage = {.values = ARENA_ARRAY(emitter->arena, bool, emitter->kernel->value_count)};
    start_function(emitter);
    emitter->out = &body;
    emitter->indent = 1;
    use_value(&usage, output->fill);
    for (int i = 0; i < output->rank; i++)
        use_value(&usage, output->extents[i]);
    write_preamble(emitter, &usage);
    const char *count = output->rank ? "" : "1";
    for (int i = 0; i < output->rank; i++)
        count = print(emitter, "%s%s(long long)%s", count, i ? " * " : "", value_text(emitter, output->extents[i], 14));
    emitter->tensors |= (uint64_t)1 << param;
    emitter->stored |= (uint64_t)1 << param;
    const char *value = value_text(emitter, output->fill, 1);
    if (output->type == TYPE_F16 || output->type == TYPE_BF16)
        value = print(emitter, "%s(%s)", helper(emitter, print(emitter, "tile_%s_store", ir_type_name(output->type))),
                      value);
    line(emitter, "const long long tile_count = %s, tile_end = ((long long)%s + 1) * %d;", count,
         emitter->cuda ? "blockIdx.x" : "block", FILL_BLOCK);
    line(emitter,
         "for (long long tile_at = (long long)%s * %d%s; tile_at < tile_end && tile_at < tile_count; tile_at += %d)",
         emitter->cuda ? "blockIdx.x" : "block", FILL_BLOCK, emitter->cuda ? " + threadIdx.x" : "",
         emitter->cuda ? FILL_THREADS : 1);
    line(emitter, "    %s[tile_at] = %s;", emitter->param_names[param], value);
    plan->threads = emitter->cuda ? FILL_THREADS : 1;
    plan->cluster = 1;
    plan->grid_count = 1;
    plan->grid = ARENA_NEW(emitter->arena, struct launch_axis);
    plan->grid[0] = (struct launch_axis){.name = output->name, .elements_of = output, .block = FILL_BLOCK};
    finish_function(emitter, outer, &body, name, plan);
}
