// SPDX-License-Identifier: Apache-2.0
// In: programs whose kernels take nothing but outputs, and assert what must hold. Each is run by the evaluator under every
// way of cutting loops into tiles. So the language's rules about numbers are told in the language itself.
#include <stdlib.h>

#include "tests/check/program.h"
#include "tests/unit.h"

static int count_asserts(const struct ir_region *region) {
    int count = 0;
    for (const struct ir_op *op = region->first; op; op = op->next) {
        count += op->code == OP_ASSERT;
        for (int r = 0; r < op->region_count; r++)
            count += count_asserts(op->regions[r]);
    }
    return count;
}

static struct ir_tensor *make_tensors(struct unit *unit, const struct ir_kernel *kernel) {
    struct ir_tensor *tensors = ARENA_ARRAY(unit->arena, struct ir_tensor, kernel->param_count + 1);
    for (int p = 0; p < kernel->param_count; p++) {
        int64_t count = 1;
        tensors[p].type = kernel->params[p].type;
        tensors[p].rank = kernel->params[p].rank;
        for (int i = 0; i < tensors[p].rank; i++) {
            tensors[p].shape[i] = ir_evaluate_number(kernel->params[p].extents[i], &(struct ir_bindings){0}).integer;
            count *= tensors[p].shape[i];
        }
        tensors[p].data = arena_alloc(unit->arena, (size_t)count * (size_t)ir_type_bytes(tensors[p].type) + 1);
    }
    return tensors;
}

static void run_kernel(struct unit *unit, struct program *program, const char *name) {
    struct ir_kernel *kernel = frontend_check(program->arena, program->file, name, NULL, &program->diagnostics);
    program_print(program);
    CHECK_TEXT(unit, program->printed.data, "");
    if (!kernel || !CHECK(unit, count_asserts(kernel->body) > 0))
        return;
    for (int cut = 0; cut < CUT_COUNT; cut++) {
        struct ir_evaluation evaluation = {.tensors = make_tensors(unit, kernel), .cut = (enum ir_cut)cut, .seed = 7};
        struct status status = ir_evaluate(kernel, &evaluation, unit->arena);
        if (CHECK(unit, status.ok))
            continue;
        struct position at = status.span.source ? source_position(status.span.source, status.span.begin) : (struct position){0};
        printf("# %s, cut %s, line %d: %s\n", name, ir_cut_name((enum ir_cut)cut), at.line, status.reason);
    }
}

static void run_file(struct unit *unit, const char *path) {
    size_t length = 0;
    char *text = program_read(path, &length);
    if (!CHECK(unit, text != NULL))
        return;
    struct program program = program_parse(text, length, NULL);
    program_print(&program);
    CHECK_TEXT(unit, program.printed.data, "");
    CHECK(unit, frontend_kernel_count(program.file) > 0);
    for (int i = 0; i < frontend_kernel_count(program.file); i++)
        run_kernel(unit, &program, frontend_kernel_name(program.file, i));
    program_free(&program);
    free(text);
}

int main(int count, char **paths) {
    struct unit unit = {0};
    for (int i = 1; i < count; i++) {
        unit_begin(&unit);
        run_file(&unit, paths[i]);
        unit_end(&unit, paths[i]);
    }
    return unit_finish(&unit);
}
