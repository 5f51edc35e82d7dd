// SPDX-License-Identifier: Apache-2.0
// Examples under configs with producers, of tiles of products and of slabs, and with products of f32 on the matrix units,
// in the shim, against the evaluator.
//
// In: the sources and a folder to work in. Out: TAP with one test per unit and config. Random configs come by these
// too, but rarely, and not with several places for a tile, more blocks than tiles, and rows that end within a tile at
// once.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>

#include "tests/numeric/variant.h"

namespace numeric {

namespace {

struct choice {
    int producers, stages, rows;  // rows: of a tile; 0: as many as the default has
    int cluster = 0, pieces = 0, warps = 2;  // of slabs, not products: blocks that share a tile, pieces of each one's part
};

// Slabs, with few warps a block, so that a row has many tiles.
const config *with_slabs(arena *memory, const ir_kernel *kernel, const choice &wish) {
    config *cut = config_default(memory, kernel);
    const char *shared = config_cluster_axis(kernel);
    cut->producers = wish.producers;
    cut->stages = wish.stages;
    cut->cluster = wish.cluster;
    cut->grid[0] = cut->grid[cut->grid_count - 1];  // the rows
    cut->grid_count = 1;
    cut->stream = wish.pieces > 1;
    for (int i = 0; i < cut->axis_count; i++) {
        config_axis &axis = cut->axes[i];
        if (strcmp(axis.name, shared) == 0)
            axis = {axis.name, axis.lanes * wish.warps * wish.pieces * wish.cluster, 1, axis.lanes, wish.warps, 1, 0};
    }
    return cut;
}

// Products of f32 on the matrix units, whose operands are rounded: integers aren't.
const config *with_tf32(arena *memory, const ir_kernel *kernel, const choice &wish) {
    config *cut = config_default(memory, kernel);
    cut->dot = DOT_TF32;
    cut->stages = wish.stages;
    for (int i = 0; i < cut->axis_count; i++) {
        config_axis &axis = cut->axes[i];
        bool rows = strcmp(axis.name, "tl") == 0;
        if (strcmp(axis.name, "tb") == 0)
            axis = {axis.name, 1, 1, 1, 1, 1, 0};
        else
            axis = {axis.name, wish.rows, rows ? 1 : 2, rows ? 8 : 4, rows ? 2 : 1, 1, 0};
    }
    return cut;
}

// The default for this architecture, with producers.
const config *with_producers(arena *memory, const ir_kernel *kernel, const choice &wish) {
    config_data data = {};
    data.rows = 16;
    data.longest = 100;
    data.mean = 60;
    data.sm = 90;
    config *cut = config_default_for(memory, kernel, &data);
    cut->producers = wish.producers;
    cut->stages = wish.stages;
    cut->min_blocks = 0;
    for (int i = 0; i < cut->axis_count && wish.rows > 0; i++) {
        config_axis &axis = cut->axes[i];
        if (axis.warps < 4)
            continue;
        axis.block = wish.rows;
        axis.warps = wish.rows / 16;
        cut->chunk = wish.rows;
    }
    return cut;
}

struct tally {
    int number = 0, failed = 0;

    void say(const std::string &wrong, const std::string &what) {
        failed += !wrong.empty();
        printf("%s %d - %s\n", wrong.empty() ? "ok" : "not ok", ++number, what.c_str());
        if (!wrong.empty())
            printf("# %s\n", wrong.c_str());
        fflush(stdout);
    }
};

// The bytes of a row of a tensor that has one for each packed point.
size_t point_bytes(const tensor_data &tensor) {
    return (tensor.bytes.size() - 16) / size_t(std::max<int64_t>(1, tensor.shape.shape[0]));
}

// With NaN in every other sequence the ones between are, to the bit, what they were: nothing of a neighbour is read, or
// it meets no weight, not even 0.
std::string run_beside_nan(const ir_kernel *kernel, const variant &v, const simt::library &library, input in,
                           const results &clean) {
    results got;
    run_counts counts;
    for (int p = 0; p < kernel->param_count; p++) {
        tensor_data &tensor = in.tensors[size_t(p)];
        bool packed = kernel->params[p].kind == PARAM_IN && kernel->params[p].rank == 3;
        for (size_t row = 1; packed && row < in.row_length.size(); row += 2)
            memset(tensor.bytes.data() + size_t(in.row_begin[row]) * point_bytes(tensor), 0xff,
                   size_t(in.row_length[row]) * point_bytes(tensor));
    }
    std::string wrong = run_variant(kernel, v, library, 0, in, simt::order::forward, got, counts);
    for (int p = 0; p < kernel->param_count && wrong.empty(); p++) {
        size_t bytes = point_bytes(in.tensors[size_t(p)]);
        for (size_t row = 0; kernel->params[p].kind == PARAM_OUT && row < in.row_length.size(); row += 2) {
            size_t at = size_t(in.row_begin[row]) * bytes, length = size_t(in.row_length[row]) * bytes;
            if (memcmp(got[size_t(p)].data() + at, clean[size_t(p)].data() + at, length) != 0)
                wrong = "row " + std::to_string(row) + " isn't what it is without NaN in its neighbours";
        }
    }
    return wrong;
}

// Rows of every kind, with few blocks' worth of work: two hundred threads more than tiles need take their time.
std::string run_inputs(const ir_kernel *kernel, const unit &u, const variant &v, const simt::library &library) {
    for (lengths distribution : {lengths::all_empty, lengths::ones, lengths::uniform}) {
        input_choice choice = {distribution, u.fixed_columns, is_exact(*u.tested) ? style::integers : style::reals,
                               u.fixed_inner};
        if (distribution == lengths::uniform)
            choice.varied = variation::grown;  // a row of several tiles
        input in = make_input(kernel, choice, *u.tested);
        std::string wrong;
        results want = evaluate(kernel, in, wrong), got;
        run_counts counts;
        simt::order turns = distribution == lengths::uniform ? simt::order::backward : simt::order::forward;
        if (wrong.empty())
            wrong = run_variant(kernel, v, library, 0, in, turns, got, counts);
        if (wrong.empty())
            wrong = compare(kernel, in, *u.tested, got, want);
        if (wrong.empty() && u.tested->whole && distribution == lengths::uniform)
            wrong = run_beside_nan(kernel, v, library, in, got);
        if (!wrong.empty())
            return choice.name() + ": " + wrong;
    }
    return "";
}

void test_unit(const unit &u, const choice &wish, const std::string &root, const std::string &directory, tally &all) {
    checked_kernel checked(u, root);
    arena *memory = arena_new();
    std::string reason, log;
    bool tf32 = wish.producers == 0;
    const config *cut = tf32               ? with_tf32(memory, checked.get(), wish)
                        : wish.cluster > 0 ? with_slabs(memory, checked.get(), wish)
                                           : with_producers(memory, checked.get(), wish);
    variant v = {all.number, cut, TARGET_CUDA, false, false};
    if (!emit_variant(memory, checked.get(), v, reason)) {
        all.say(reason, u.name());
    } else {
        simt::compile_options compiler;
        compiler.include_root = root;
        compiler.directory = directory;
        compiler.stem = "producers-" + std::to_string(all.number);
        auto library = simt::library::compile(simt::language::cuda, {text_of(v)}, compiler, log);
        bool has_parts = strstr(v.text->text, tf32 ? "tile_mma_tf32" : "tile_phase_start") != nullptr;
        std::string wrong = library == nullptr ? log.substr(0, 500)
                            : !has_parts       ? "neither producers nor tf32"
                                               : run_inputs(checked.get(), u, v, *library);
        all.say(wrong, u.name() + ", " + describe_config(*cut));
    }
    arena_free(memory);
}

}  // namespace

}  // namespace numeric

int main(int count, char **arguments) {
    using namespace numeric;
    if (count < 3)
        return 2;
    mkdir(arguments[2], 0777);
    struct {
        const char *kernel;
        unit tested;
        choice wish;
    } cases[] = {
        {"jagged_dense_bmm", {nullptr, TYPE_F16, TYPE_I32, 72, 104}, {3, 2, 128}},
        {"jagged_hstu_attention", {nullptr, TYPE_BF16, TYPE_I64, 64, 64}, {132, 3, 64}},
        {"jagged_attention", {nullptr, TYPE_BF16, TYPE_I32, 64, 64}, {1, 1, 64}},
        {"jagged_layer_norm", {nullptr, TYPE_F32, TYPE_I64, 16, 0}, {4, 3, 0, 2, 2}},
        {"jagged_layer_norm", {nullptr, TYPE_F16, TYPE_I32, 24, 0}, {1, 1, 0, 1, 1}},
        {"jagged_layer_norm", {nullptr, TYPE_F32, TYPE_I32, 128, 0}, {8, 1, 0, 8, 1, 8}},
        {"jagged_softmax", {nullptr, TYPE_F32, TYPE_I32, 12, 0}, {8, 2, 0, 4, 1}},
        {"jagged_sum", {nullptr, TYPE_BF16, TYPE_I64, 16, 0}, {3, 4, 0, 1, 2}},
        {"jagged_dense_bmm", {nullptr, TYPE_F32, TYPE_I64, 71, 34}, {0, 2, 32}},
        // Rows that begin anywhere: all producing threads copy.
        {"jagged_dense_bmm", {nullptr, TYPE_F16, TYPE_I64, 71, 34}, {2, 2, 128}},
        {"jagged_hstu_attention", {nullptr, TYPE_BF16, TYPE_I32, 71, 36}, {3, 2, 128}},
    };
    tally all;
    for (auto &one : cases) {
        for (const program &tested : programs)
            if (strcmp(tested.kernel, one.kernel) == 0)
                one.tested.tested = &tested;
        test_unit(one.tested, one.wish, arguments[1], arguments[2], all);
    }
    printf("1..%d\n", all.number);
    return all.failed != 0;
}
