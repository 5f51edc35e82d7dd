// SPDX-License-Identifier: Apache-2.0
// The library in a process with another locale: every kernel's text, IR and config are the same as in the C locale.
//
//   locale_test FILE...
//
// The locale is the environment's; golden.py sees to one that writes 1.5 as 1,5.
#include <locale.h>

#include "codegen/codegen.h"
#include "runtime/build.h"
#include "tests/golden/programs.h"
#include "tests/unit.h"

static void add_stage(void *data, const char *pass, const struct ir_kernel *kernel) {
    (void)pass;
    ir_print(data, kernel);
}

// Everything that is written of a kernel: config, each stage's IR, the emitted text.
static const char *write_all(struct unit *unit, const struct ir_kernel *kernel, enum target_kind target) {
    struct text all = {0};
    struct status status;
    struct lower_options options = {.target = {target, target == TARGET_CUDA ? 90 : 0, false}, .after = add_stage, .data = &all};
    struct config *config = config_default(unit->arena, kernel);
    config_print(&all, kernel, config, false);
    struct lowered *lowered = lower(unit->arena, kernel, config, &options, &status);
    struct emitted *emitted = lowered ? emit(unit->arena, lowered, "test", &status) : NULL;
    if (CHECK(unit, emitted))
        text_add(&all, emitted->text);
    const char *copy = arena_copy(unit->arena, all.data, all.length);
    text_free(&all);
    return copy;
}

static void test_kernel(struct unit *unit, const struct ir_kernel *kernel) {
    for (int target = TARGET_CUDA; target <= TARGET_CPU; target++) {
        setlocale(LC_ALL, "C");
        const char *plain = write_all(unit, kernel, target);
        CHECK(unit, setlocale(LC_ALL, ""));
        const char *other = write_all(unit, kernel, target);
        setlocale(LC_ALL, "C");
        CHECK(unit, !strcmp(plain, other));
    }
}

int main(int count, char **arguments) {
    struct unit unit = {0};
    bool good = true;
    char decimal[16] = "";
    if (!setlocale(LC_ALL, "")) {
        printf("# this locale isn't here\n");
        return 0;
    }
    snprintf(decimal, sizeof decimal, "%.1f", 1.5);
    setlocale(LC_ALL, "C");
    printf("# this locale writes %s\n", decimal);
    for (int i = 1; i < count; i++) {
        struct program program;
        bool opened = program_open(&program, arguments[i]);
        for (int k = 0; opened && k < frontend_kernel_count(program.file); k++) {
            const char *name = frontend_kernel_name(program.file, k);
            struct ir_kernel *kernel = program_check(&program, name, &(struct variant){TYPE_F32, TYPE_I64, false, 0});
            unit_begin(&unit);
            if (CHECK(&unit, kernel))
                test_kernel(&unit, kernel);
            unit_end(&unit, name);
        }
        good &= opened;
        program_close(&program);
    }
    return unit_finish(&unit) || !good;
}
