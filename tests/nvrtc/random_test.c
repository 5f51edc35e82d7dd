// SPDX-License-Identifier: Apache-2.0
// Emitted CUDA C of drawn configs compiles without warnings. Programs come in, a test per kernel comes out.
//
//   random_test COUNT SEED FILE...
//
// COUNT configs of each kernel: the default, then random ones; element types, extents, optional tensors and options
// take turns. A config that can't be lowered is passed over, unless none can.
#include <stdlib.h>
#include <time.h>

#include "runtime/build.h"
#include "tests/golden/programs.h"
#include "tests/unit.h"

enum { SLOW_SECONDS = 20 };

struct draw {
    const struct nvrtc *nvrtc;
    const char *kernel;
    int number;  // of the config; 0: the default
    int lowered;
    struct variant variant;
    struct lower_options options;
};

static void choose(struct draw *draw, const struct program *program) {
    static const enum ir_type floats[] = {TYPE_F32, TYPE_F16, TYPE_BF16, TYPE_F64}, integers[] = {TYPE_I64, TYPE_I32};
    static const struct target targets[] = {{TARGET_CUDA, 90, true}, {TARGET_CUDA, 80, false}, {TARGET_CUDA, 100, false}};
    int n = draw->number, optional = program_optional_count(program, draw->kernel);
    draw->variant = (struct variant){floats[n % 4], integers[n / 4 % 2], n % 3 != 0, (unsigned)n & ((1u << optional) - 1)};
    draw->options = (struct lower_options){.target = targets[n % 5 == 4 ? 1 : n % 5 == 3 ? 2 : 0]};
    draw->options.index64 = n % 7 == 3;
    draw->options.unaligned = n % 5 == 2;
    draw->options.checked = n % 9 == 8;
}

static void describe(struct unit *unit, const struct draw *draw, const struct ir_kernel *kernel, const struct config *config) {
    struct text json = {0};
    config_print(&json, kernel, config, true);
    for (char *at = json.data; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    printf("# number %d, %s %s, fixed %d, absent %u, %s, index64 %d, unaligned %d, checked %d: %s\n", draw->number,
           ir_type_name(draw->variant.floating), ir_type_name(draw->variant.integer), draw->variant.fixed, draw->variant.absent,
           target_name(unit->arena, draw->options.target), draw->options.index64, draw->options.unaligned,
           draw->options.checked, json.data);
    text_free(&json);
}

static void print_log(const char *log) {
    for (int lines = 0; *log && lines < 12; lines++) {
        size_t length = strcspn(log, "\n");
        printf("#   %.*s\n", (int)length, log);
        log += length + (log[length] == '\n');
    }
}

static bool compiles(struct unit *unit, struct draw *draw, const struct ir_kernel *kernel, const struct config *config) {
    struct status status;
    struct lowered *lowered = lower(unit->arena, kernel, config, &draw->options, &status);
    struct emitted *emitted = lowered ? emit(unit->arena, lowered, "test", &status) : NULL;
    if (!emitted && strncmp(status.code, "internal", 8)) {
        if (getenv("VERBOSE"))
            printf("# refused: %s: %s\n", status.code, status.reason);
        return true;
    }
    draw->lowered++;
    struct cuda_binary binary = {0};
    time_t begun = time(NULL);
    if (emitted && draw->nvrtc)
        status = nvrtc_compile(unit->arena, draw->nvrtc, emitted->text, "kernel.cu", draw->options.target, false, &binary);
    if (time(NULL) - begun > SLOW_SECONDS) {
        printf("# slow: %ld s for %zu bytes\n", (long)(time(NULL) - begun), emitted->length);
        describe(unit, draw, kernel, config);
    }
    if (status.ok && (!draw->nvrtc || !*binary.log))
        return true;
    describe(unit, draw, kernel, config);
    print_log(status.ok ? binary.log : status.reason);
    return false;
}

static void test_kernel(struct unit *unit, struct program *program, struct draw *draw, int count, uint64_t *seed) {
    unit_begin(unit);
    for (draw->number = 0; draw->number < count; draw->number++) {
        choose(draw, program);
        struct ir_kernel *kernel = program_check(program, draw->kernel, &draw->variant);
        if (!CHECK(unit, kernel))
            break;
        struct config *config = draw->number ? config_random(unit->arena, kernel, seed) : config_default(unit->arena, kernel);
        CHECK(unit, compiles(unit, draw, kernel, config));
    }
    CHECK(unit, draw->lowered > 0);
    printf("# %d of %d lowered\n", draw->lowered, count);
    unit_end(unit, draw->kernel);
}

int main(int count, char **arguments) {
    struct unit unit = {0};
    struct arena *arena = arena_new();
    struct nvrtc *nvrtc = NULL;
    struct status status = nvrtc_open(arena, &nvrtc);
    if (!status.ok) {
        printf("1..0 # SKIP no NVRTC: %s\n", status.reason);
        arena_free(arena);
        return 0;
    }
    uint64_t seed = count > 2 ? strtoull(arguments[2], NULL, 10) : 0;
    for (int i = 3; i < count; i++) {
        struct program program;
        bool opened = program_open(&program, arguments[i]);
        for (int k = 0; opened && k < frontend_kernel_count(program.file); k++) {
            struct draw draw = {.nvrtc = nvrtc, .kernel = frontend_kernel_name(program.file, k)};
            test_kernel(&unit, &program, &draw, atoi(arguments[1]), &seed);
        }
        unit.failed += !opened;
        program_close(&program);
    }
    nvrtc_close(nvrtc);
    arena_free(arena);
    return unit_finish(&unit);
}
