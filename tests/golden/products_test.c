// SPDX-License-Identifier: Apache-2.0
// The default config of kernels with products: on the matrix units where there are some for their types, and it is
// emitted.
//
//   products_test FILE...    FILE's kernel has its name, and a generic for floating types; the first has no full axes
#include "codegen/codegen.h"
#include "tests/golden/programs.h"
#include "tests/unit.h"

// What the default's products are made by, for a GPU; it has to be emitted for that. DOT_COUNT: it isn't.
static enum config_dot dot_for(struct unit *unit, struct program *program, const char *name, enum ir_type type, int sm) {
    struct ir_kernel *kernel = program_check(program, name, &(struct variant){type, TYPE_I64, true, 0});
    struct config_data data = {.rows = 100, .longest = 1000, .mean = 500, .sm = sm};
    if (!CHECK(unit, kernel))
        return DOT_COUNT;
    struct config *config = config_default_for(program->arena, kernel, &data);
    struct lower_options options = {.target = {TARGET_CUDA, sm, sm == 90}};
    struct status status = config_check(program->arena, kernel, config);
    struct lowered *lowered = status.ok ? lower(program->arena, kernel, config, &options, &status) : NULL;
    struct emitted *emitted = lowered ? emit(program->arena, lowered, "test", &status) : NULL;
    if (!CHECK(unit, emitted)) {
        printf("# %s: %s: %s\n", kernel->name, status.code, status.reason);
        return DOT_COUNT;
    }
    CHECK(unit, config->dot == DOT_FMA || config->strategy == STRATEGY_CHUNKS);
    return config->dot;
}

// "examples/jagged_dense_bmm.tile" has the kernel jagged_dense_bmm.
static const char *kernel_of(struct program *program, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return arena_copy(program->arena, name, strcspn(name, "."));
}

int main(int count, char **arguments) {
    struct unit unit = {0};
    for (int i = 1; i < count; i++) {
        struct program program;
        unit_begin(&unit);
        if (CHECK(&unit, program_open(&program, arguments[i]))) {
            const char *name = kernel_of(&program, arguments[i]);
            // A full axis of 20 points is too narrow for groups of warps.
            enum config_dot hopper = i == 1 ? DOT_WGMMA : DOT_MMA;
            CHECK(&unit, dot_for(&unit, &program, name, TYPE_BF16, 90) == hopper);
            CHECK(&unit, dot_for(&unit, &program, name, TYPE_F16, 100) == DOT_MMA);
            CHECK(&unit, dot_for(&unit, &program, name, TYPE_BF16, 80) == DOT_MMA);
            CHECK(&unit, dot_for(&unit, &program, name, TYPE_F32, 90) == DOT_FMA);
            CHECK(&unit, dot_for(&unit, &program, name, TYPE_F16, 70) == DOT_FMA);
        }
        program_close(&program);
        unit_end(&unit, arguments[i]);
    }
    return unit_finish(&unit);
}
