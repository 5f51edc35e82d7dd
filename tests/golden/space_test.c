// SPDX-License-Identifier: Apache-2.0
// The space of configs: drawn configs are many, mostly lower and survive JSON; every value of every knob matters.
//
//   space_test FILE...
//
// The first file's first kernel has to have a large space; every kernel of every file takes part in the rest. A knob
// value matters if setting it, and nothing else, changes the emitted text below its head for some kernel.
#include <stdlib.h>

#include "codegen/codegen.h"
#include "lowering/pass.h"
#include "runtime/build.h"
#include "tests/golden/programs.h"
#include "tests/unit.h"

enum { LARGE_SPACE = 1000, DRAWS = 100, BASES = 24, MOST_KERNELS = 32, MOST_KNOB_VALUES = 1024, SOME_CHUNK = 256 };

struct subject {
    const char *name;
    struct ir_kernel *kernel;  // extents open where they may be
    struct ir_kernel *fixed;   // inner extents compiled in
};
struct subjects {
    int count;
    struct subject items[MOST_KERNELS];
};

static const struct lower_options sm_90 = {.target = {TARGET_CUDA, 90, true}};

// The text below the head comment, which repeats the config; NULL if it can't be lowered. A fault of tilec fails.
static const char *emit_below_head(struct unit *unit, struct arena *arena, const struct ir_kernel *kernel, const struct config *config) {
    struct status status;
    struct lowered *lowered = lower(arena, kernel, config, &sm_90, &status);
    struct emitted *emitted = lowered ? emit(arena, lowered, "test", &status) : NULL;
    if (!emitted) {
        if (!CHECK(unit, strncmp(status.code, "internal", 8)))
            printf("# %s: %s: %s\n", kernel->name, status.code, status.reason);
        return NULL;
    }
    const char *text = emitted->text;
    while (!strncmp(text, "//", 2))
        text += strcspn(text, "\n") + 1;
    return text;
}

static const char *json_of(struct arena *arena, const struct ir_kernel *kernel, const struct config *config, bool minimal) {
    struct text text = {0};
    config_print(&text, kernel, config, minimal);
    const char *copy = arena_copy(arena, text.data, text.length);
    text_free(&text);
    return copy;
}

// ---------------------------------------------------------------------------------------------- many configs

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int count_distinct(const char **texts, int count) {
    int distinct = count > 0;
    qsort(texts, (size_t)count, sizeof *texts, compare_texts);
    for (int i = 1; i < count; i++)
        distinct += strcmp(texts[i - 1], texts[i]) != 0;
    return distinct;
}

static void test_large(struct unit *unit, const struct subject *subject) {
    const char *texts[2 * LARGE_SPACE];
    uint64_t seed = 1;
    int lowered = 0;
    for (int i = 0; i < 2 * LARGE_SPACE; i++) {
        struct arena *arena = arena_new();
        struct config *config = config_random(arena, subject->kernel, &seed);
        if (emit_below_head(unit, arena, subject->kernel, config))
            texts[lowered++] = json_of(unit->arena, subject->kernel, config, false);
        arena_free(arena);
    }
    int distinct = count_distinct(texts, lowered);
    printf("# %d draws, %d lowered, %d of them distinct\n", 2 * LARGE_SPACE, lowered, distinct);
    CHECK(unit, distinct >= LARGE_SPACE);
}

static void test_most_lower(struct unit *unit, const struct ir_kernel *kernel) {
    uint64_t seed = 7;
    int lowered = 0;
    for (int i = 0; i < DRAWS; i++) {
        struct arena *arena = arena_new();
        lowered += emit_below_head(unit, arena, kernel, config_random(arena, kernel, &seed)) != NULL;
        arena_free(arena);
    }
    printf("# %d of %d lowered\n", lowered, DRAWS);
    CHECK(unit, lowered >= DRAWS * 8 / 10);
}

// ---------------------------------------------------------------------------------------------- JSON

static bool same_configs(const struct config *a, const struct config *b) {
    bool same = a->axis_count == b->axis_count && a->grid_count == b->grid_count && a->strategy == b->strategy &&
                a->peel == b->peel && a->late == b->late && a->stream == b->stream &&
                a->dot == b->dot && a->stages == b->stages && a->producers == b->producers && a->min_blocks == b->min_blocks && a->chunk == b->chunk &&
                a->search == b->search && a->stage == b->stage && a->bulk == b->bulk && a->lag == b->lag && a->cluster == b->cluster && a->fast == b->fast;
    for (int i = 0; same && i < a->axis_count; i++) {
        const struct config_axis *x = &a->axes[i], *y = &b->axes[i];
        same = !strcmp(x->name, y->name) && x->block == y->block && x->vector == y->vector && x->lanes == y->lanes &&
               x->warps == y->warps && x->unroll == y->unroll;
    }
    for (int i = 0; same && i < a->grid_count; i++)
        same = !strcmp(a->grid[i], b->grid[i]);
    return same;
}

static void test_json(struct unit *unit, const struct ir_kernel *kernel) {
    uint64_t seed = 3;
    for (int i = 0; i < DRAWS; i++) {
        struct config *config = i ? config_random(unit->arena, kernel, &seed) : config_default(unit->arena, kernel), *read;
        for (int minimal = 0; minimal < 2; minimal++) {
            const char *json = json_of(unit->arena, kernel, config, minimal);
            struct status status = config_parse(unit->arena, kernel, json, strlen(json), &read);
            if (!CHECK(unit, status.ok)) {
                printf("# %s: %s\n", status.code, status.reason);
                return;
            }
            CHECK(unit, same_configs(config, read));
            CHECK(unit, !strcmp(json, json_of(unit->arena, kernel, read, minimal)));
            CHECK(unit, !minimal || i || (!strstr(json, "axes") && !strstr(json, "peel")));
        }
    }
}

// ---------------------------------------------------------------------------------------------- other extents

static int threads_of(const struct config *config) {
    int threads = 1;
    for (int i = 0; i < config->axis_count; i++)
        threads *= config->axes[i].lanes * config->axes[i].warps;
    return threads;
}

static void check_fitted(struct unit *unit, const struct ir_kernel *kernel, const struct config *fitted) {
    for (int a = 0; a < kernel->axis_count; a++) {
        const struct ir_axis *axis = &kernel->axes[a];
        const struct config_axis *cut = config_axis_named(fitted, axis->name);
        int64_t extent = 0;
        if (axis->kind == AXIS_JAGGED || axis->lo || !axis->hi || !is_integer_constant(axis->hi, &extent) || extent < 1)
            continue;
        CHECK(unit, cut->block < 2 * extent && extent % cut->vector == 0);
        CHECK(unit, axis->kind != AXIS_FULL || cut->block >= extent);
    }
}

// Drawn for open extents, made to fit those that are compiled in: no tile is wider than there is, no more threads than
// before, and no fewer but where nothing takes them; what fits already stays.
static void test_fit(struct unit *unit, const struct subject *subject) {
    uint64_t seed = 9;
    int lowered = 0, before = 0;
    for (int i = 0; i < DRAWS; i++) {
        struct arena *arena = arena_new();
        const struct config *config = config_random(arena, subject->kernel, &seed);
        const struct config *fitted = config_fit(arena, subject->fixed, config);
        const char *text = json_of(arena, subject->fixed, fitted, false);
        CHECK(unit, !strcmp(text, json_of(arena, subject->fixed, config_fit(arena, subject->fixed, fitted), false)));
        if (config_check(arena, subject->fixed, fitted).ok && fitted->dot == DOT_FMA) {
            check_fitted(unit, subject->fixed, fitted);
            CHECK(unit, threads_of(fitted) <= threads_of(config));
        }
        before += emit_below_head(unit, arena, subject->fixed, config) != NULL;
        lowered += emit_below_head(unit, arena, subject->fixed, fitted) != NULL;
        arena_free(arena);
    }
    printf("# %s: %d of %d lower, %d before\n", subject->name, lowered, DRAWS, before);
    CHECK(unit, lowered >= before);
}

// ---------------------------------------------------------------------------------------------- the default for some data

static bool may_choose_strategy(const struct config_space *space) {
    for (int i = 0; i < space->knob_count; i++)
        if (!strcmp(space->knobs[i].path, "strategy"))
            return space->knobs[i].choice_count > 1;
    return false;
}

// Offsets that go down again get whole rows, by all threads, whatever the config had.
static void test_descending(struct unit *unit, const struct ir_kernel *kernel, const struct config *config) {
    static int32_t offsets[] = {0, 70, 30, 90};
    struct ir_tensor *tensors = ARENA_ARRAY(unit->arena, struct ir_tensor, kernel->param_count);
    struct status status;
    for (int p = 0; p < kernel->param_count; p++)
        if (!strcmp(kernel->params[p].name, "offsets"))
            tensors[p] = (struct ir_tensor){.type = TYPE_I32, .rank = 1, .shape = {4}, .data = offsets};
    for (int up = 0; up < 2; up++) {
        offsets[2] = up ? 80 : 30;
        const struct emitted *emitted = plan_emit(unit->arena, kernel, config, &sm_90, tensors, &status);
        CHECK(unit, emitted && (emitted->plan.ascending != 0) == up);
    }
}

// Even rows leave the default as it is; on a CPU tiles of rows are small, whatever the data; rows of which one is most of the work are cut into pieces, where
// the kernel can be split.
static void test_data(struct unit *unit, const struct ir_kernel *kernel) {
    const struct config_data even = {.rows = 1024, .longest = 2047, .mean = 1024}, skewed = {.rows = 1024, .longest = 500000, .mean = 900},
                             short_rows = {.rows = 100, .longest = 2000, .mean = 30};
    struct config_data on_cpu = skewed;
    on_cpu.cpu = true;
    struct config *plain = config_default(unit->arena, kernel), *cut = config_default_for(unit->arena, kernel, &skewed);
    CHECK(unit, same_configs(plain, config_default_for(unit->arena, kernel, NULL)));
    CHECK(unit, same_configs(plain, config_default_for(unit->arena, kernel, &(struct config_data){0})));
    CHECK(unit, same_configs(plain, config_default_for(unit->arena, kernel, &even)));
    CHECK(unit, same_configs(plain, config_default_for(unit->arena, kernel, &short_rows)));
    const struct config *small = config_default_for(unit->arena, kernel, &on_cpu);
    CHECK(unit, same_configs(small, config_default_for(unit->arena, kernel, &(struct config_data){.cpu = true})));
    CHECK(unit, config_check(unit->arena, kernel, small).ok);
    for (int a = 0; a < kernel->axis_count; a++)
        CHECK(unit, kernel->axes[a].kind != AXIS_JAGGED || config_axis_named(small, kernel->axes[a].name)->block <= 32);
    bool splits = may_choose_strategy(config_space(unit->arena, kernel));
    CHECK(unit, splits ? cut->strategy != STRATEGY_ROWS : same_configs(plain, cut));
    CHECK(unit, config_check(unit->arena, kernel, cut).ok);
    struct config_data on_gpu = even;
    on_gpu.sm = 90;
    const struct config *shared = config_default_for(unit->arena, kernel, &on_gpu);
    CHECK(unit, config_check(unit->arena, kernel, shared).ok);
    CHECK(unit, shared->cluster == 1 || emit_below_head(unit, unit->arena, kernel, shared) != NULL);
    // Of many short rows a block has several, and a tile is hardly longer than the longest of them.
    const struct config_data many = {.rows = 200000, .longest = 60, .mean = 30, .sm = 90};
    const struct config *packed = config_default_for(unit->arena, kernel, &many);
    CHECK(unit, config_check(unit->arena, kernel, packed).ok && emit_below_head(unit, unit->arena, kernel, packed));
    if (!strcmp(kernel->name, "jagged_softmax"))
        CHECK(unit, config_axis_named(packed, "tk")->block <= 64 && config_axis_named(packed, "tb")->block >= 2);
    // Large rows that are read again stay in shared memory.
    for (int d = 0; d < kernel->dim_count; d++)
        if (!strcmp(kernel->name, "jagged_layer_norm") && kernel->dims[d].is_static && kernel->dims[d].value >= 64)
            CHECK(unit, shared->producers > 0 && shared->cluster > 1);
    if (shared->producers && shared->dot == DOT_FMA)
        test_descending(unit, kernel, shared);
    const char *before = emit_below_head(unit, unit->arena, kernel, plain), *after = emit_below_head(unit, unit->arena, kernel, cut);
    CHECK(unit, before && after && (strcmp(before, after) != 0) == splits);
}

// Many short rows share blocks, few of them don't, and nothing is lost: it lowers, and has no more threads.
static void test_short_rows(struct unit *unit, const struct ir_kernel *kernel) {
    const struct config_data many = {.rows = 200000, .longest = 16, .mean = 8, .sm = 90},
                             few = {.rows = 4, .longest = 16, .mean = 8, .sm = 90},
                             uneven = {.rows = 200000, .longest = 3000, .mean = 2, .sm = 90};
    const struct config *plain = config_default(unit->arena, kernel);
    const struct config_data *all[] = {&many, &few, &uneven};
    for (int i = 0; i < 3; i++) {
        const struct config *made = config_default_for(unit->arena, kernel, all[i]);
        CHECK(unit, config_check(unit->arena, kernel, made).ok);
        CHECK(unit, emit_below_head(unit, unit->arena, kernel, made) != NULL);
        CHECK(unit, threads_of(made) <= threads_of(plain));
    }
}

// A sum over rows: tb the rows, tk their points.
static void test_shared_block(struct unit *unit, const struct ir_kernel *kernel) {
    const struct config_data many = {.rows = 200000, .longest = 16, .mean = 8},
                             long_rows = {.rows = 200000, .longest = 3000, .mean = 2000};
    const struct config *shared = config_default_for(unit->arena, kernel, &many);
    const struct config *alone = config_default_for(unit->arena, kernel, &long_rows);
    CHECK(unit, config_axis_named(shared, "tb")->block > 4);
    CHECK(unit, config_axis_named(shared, "tk")->block <= 16);
    CHECK_NUMBER(unit, config_axis_named(alone, "tb")->block, 1);
}

// ---------------------------------------------------------------------------------------------- knobs

// A choice of a knob, of all kernels together: "block 128", "peel false", for grids the kernel and the list.
struct knob_value {
    const char *name;
    bool matters;
};
struct knob_values {
    struct arena *arena;
    int count;
    struct knob_value items[MOST_KNOB_VALUES];
};

static struct knob_value *value_named(struct knob_values *values, const char *name) {
    for (int i = 0; i < values->count; i++)
        if (!strcmp(values->items[i].name, name))
            return &values->items[i];
    if (values->count == MOST_KNOB_VALUES)
        return NULL;
    values->items[values->count] = (struct knob_value){arena_copy(values->arena, name, strlen(name)), false};
    return &values->items[values->count++];
}

// The number that a path like "axes.tb.block" leads to; NULL if it is none.
static int *number_at(struct config *config, const char *path) {
    char axis[64], field[16];
    if (!strcmp(path, "stages"))
        return &config->stages;
    if (!strcmp(path, "producers"))
        return &config->producers;
    if (!strcmp(path, "min_blocks"))
        return &config->min_blocks;
    if (!strcmp(path, "chunk"))
        return &config->chunk;
    if (!strcmp(path, "cluster"))
        return &config->cluster;
    if (!strcmp(path, "lag"))
        return &config->lag;
    if (sscanf(path, "axes.%63[^.].%15s", axis, field) != 2)
        return NULL;
    struct config_axis *found = config_axis_named(config, axis);
    return !found                     ? NULL
           : !strcmp(field, "block")  ? &found->block
           : !strcmp(field, "vector") ? &found->vector
           : !strcmp(field, "lanes")  ? &found->lanes
           : !strcmp(field, "warps")  ? &found->warps
           : !strcmp(field, "unroll") ? &found->unroll
                                      : NULL;
}

static void set_grid(struct arena *arena, struct config *config, const char *list) {
    config->grid = ARENA_ARRAY(arena, const char *, strlen(list));
    config->grid_count = 0;
    for (const char *at = strchr(list, '"'); at; at = strchr(at, '"')) {
        size_t length = strcspn(++at, "\"");
        config->grid[config->grid_count++] = arena_copy(arena, at, length);
        at += length + 1;
    }
}

// Only with a strategy that splits rows does a config have a chunk and the like.
static void set_strategy(struct config *config, const char *choice) {
    config->strategy = !strcmp(choice, "\"chunks\"") ? STRATEGY_CHUNKS
                       : !strcmp(choice, "\"flat\"") ? STRATEGY_FLAT
                                                     : STRATEGY_ROWS;
    if ((config->chunk != 0) != (config->strategy != STRATEGY_ROWS))
        config->chunk = config->strategy != STRATEGY_ROWS ? SOME_CHUNK : 0;
    config->search &= config->strategy != STRATEGY_ROWS;
    config->stage &= config->strategy == STRATEGY_FLAT;
    config->bulk &= config->stage;
    config->lag *= config->strategy == STRATEGY_CHUNKS;
}

// A copy of `base` with one knob set.
static struct config *with_knob(struct arena *arena, const struct config *base, const char *path, const char *choice) {
    struct config *config = ARENA_NEW(arena, struct config);
    *config = *base;
    config->axes = ARENA_ARRAY(arena, struct config_axis, base->axis_count);
    memcpy(config->axes, base->axes, (size_t)base->axis_count * sizeof *base->axes);
    int *number = number_at(config, path);
    if (number)
        *number = atoi(choice);
    else if (!strcmp(path, "grid"))
        set_grid(arena, config, choice);
    else if (!strcmp(path, "strategy"))
        set_strategy(config, choice);
    else if (!strcmp(path, "search"))
        config->search = !strcmp(choice, "true");
    else if (!strcmp(path, "bulk"))
        config->bulk = !strcmp(choice, "true");
    else if (!strcmp(path, "stage"))
        config->stage = !strcmp(choice, "true");
    else if (!strcmp(path, "peel"))
        config->peel = !strcmp(choice, "true");
    else if (!strcmp(path, "late"))
        config->late = !strcmp(choice, "true");
    else if (!strcmp(path, "stream"))
        config->stream = !strcmp(choice, "true");
    return config;
}

static const char *value_name(struct arena *arena, const struct ir_kernel *kernel, const char *path, const char *choice) {
    if (!strcmp(path, "grid"))
        return arena_printf(arena, "grid of %s %s", kernel->name, choice);
    const char *field = strrchr(path, '.');
    return arena_printf(arena, "%s %s", field ? field + 1 : path, choice);
}

// Whether the choice changes the text of some base that lowers either way.
static bool choice_matters(struct unit *unit, const struct ir_kernel *kernel, const char *path, const char *choice) {
    uint64_t seed = 11;
    bool matters = false;
    for (int i = 0; i < BASES && !matters; i++) {
        struct arena *arena = arena_new();
        struct config *base = i ? config_random(arena, kernel, &seed) : config_default(arena, kernel);
        struct config *changed = with_knob(arena, base, path, choice);
        const char *before = NULL, *after = NULL;
        if (!same_configs(base, changed) && config_check(arena, kernel, changed).ok)
            before = emit_below_head(unit, arena, kernel, base);
        if (before)
            after = emit_below_head(unit, arena, kernel, changed);
        matters = before && after && strcmp(before, after);
        arena_free(arena);
    }
    return matters;
}

static void flip_knobs(struct unit *unit, const struct ir_kernel *kernel, struct knob_values *values) {
    struct config_space *space = config_space(unit->arena, kernel);
    for (int k = 0; k < space->knob_count; k++) {
        const struct config_knob *knob = &space->knobs[k];
        for (int c = 0; c < knob->choice_count && knob->choice_count > 1; c++) {
            struct knob_value *value = value_named(values, value_name(unit->arena, kernel, knob->path, knob->choices[c]));
            if (!CHECK(unit, value) || value->matters)
                continue;
            value->matters = choice_matters(unit, kernel, knob->path, knob->choices[c]);
        }
    }
}

static void test_knobs(struct unit *unit, const struct subjects *subjects) {
    struct knob_values values = {.arena = unit->arena};
    for (int i = 0; i < subjects->count; i++) {
        flip_knobs(unit, subjects->items[i].fixed, &values);
        flip_knobs(unit, subjects->items[i].kernel, &values);
    }
    for (int i = 0; i < values.count; i++)
        if (!CHECK(unit, values.items[i].matters))
            printf("# %s changes nothing\n", values.items[i].name);
    printf("# %d values\n", values.count);
    CHECK(unit, values.count > 30);
}

// ---------------------------------------------------------------------------------------------- the run

static bool add_subjects(struct subjects *subjects, struct program *program) {
    for (int k = 0; k < frontend_kernel_count(program->file) && subjects->count < MOST_KERNELS; k++) {
        struct subject *subject = &subjects->items[subjects->count++];
        subject->name = frontend_kernel_name(program->file, k);
        subject->kernel = program_check(program, subject->name, &(struct variant){TYPE_F32, TYPE_I64, false, 0});
        subject->fixed = program_check(program, subject->name, &(struct variant){TYPE_F16, TYPE_I32, true, 0});
        if (!subject->kernel || !subject->fixed)
            return false;
    }
    return true;
}

static void each(struct unit *unit, const struct subjects *subjects, const char *what,
                 void (*test)(struct unit *unit, const struct ir_kernel *kernel)) {
    for (int i = 0; i < subjects->count; i++) {
        unit_begin(unit);
        test(unit, subjects->items[i].kernel);
        test(unit, subjects->items[i].fixed);
        char name[128];
        snprintf(name, sizeof name, "%s: %s", subjects->items[i].name, what);
        unit_end(unit, name);
    }
}

int main(int count, char **arguments) {
    struct unit unit = {0};
    struct program programs[MOST_KERNELS];
    struct subjects subjects = {0};
    int opened = 0;
    bool good = count > 1;
    for (int i = 1; i < count && opened < MOST_KERNELS; i++) {
        good &= program_open(&programs[opened], arguments[i]);
        good = good && add_subjects(&subjects, &programs[opened]);
        opened++;
    }
    if (good) {
        unit_begin(&unit);
        test_large(&unit, &subjects.items[0]);
        unit_end(&unit, "a thousand configs");
        each(&unit, &subjects, "most draws lower", test_most_lower);
        each(&unit, &subjects, "configs survive JSON", test_json);
        each(&unit, &subjects, "the default for some data", test_data);
        each(&unit, &subjects, "the default for short rows", test_short_rows);
        unit_begin(&unit);
        test_shared_block(&unit, subjects.items[0].kernel);
        test_shared_block(&unit, subjects.items[0].fixed);
        unit_end(&unit, "short rows share a block");
        for (int i = 0; i < subjects.count; i++) {
            unit_begin(&unit);
            test_fit(&unit, &subjects.items[i]);
            unit_end(&unit, "configs for other extents");
        }
        unit_begin(&unit);
        test_knobs(&unit, &subjects);
        unit_end(&unit, "every value of every knob matters");
    }
    for (int i = 0; i < opened; i++)
        program_close(&programs[i]);
    return unit_finish(&unit) || !good;
}
