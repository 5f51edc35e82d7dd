// SPDX-License-Identifier: Apache-2.0
// A heuristic's text and its tree from inside: printing and reading are inverse, every walk ends at what a slower reading
// of the rules gives, and asking takes no memory.
#include <malloc.h>

#include "runtime/heuristic.h"
#include "tests/unit.h"

// ---------------------------------------------------------------------------------------------- counting

static int allocations;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    allocations++;
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    allocations++;
    return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    allocations++;
    return __real_realloc(old, bytes);
}

// ---------------------------------------------------------------------------------------------- a kernel

static const char program[] =
    "kernel scale<T: float>(x: T[A, B], offsets: i64[C + 1]) -> y: T[A, B] {\n"
    "    for ta in tile(A) { for tb in tile(B) { y[ta, tb] = x[ta, tb] * 2; } }\n"
    "}\n";

static struct ir_kernel *kernel_of(struct unit *unit)
{
    static const struct source source = {"scale.tile", program, sizeof program - 1};
    struct diagnostics diagnostics;
    diagnostics_init(&diagnostics, unit->arena);
    struct ast_file *file = frontend_parse(unit->arena, &source, NULL, &diagnostics);
    struct ir_kernel *kernel = file ? frontend_check(unit->arena, file, "scale", &(struct specialization){0}, &diagnostics) : NULL;
    CHECK(unit, kernel);
    return kernel;
}

// ---------------------------------------------------------------------------------------------- random heuristics

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % below;
}

static const struct heuristic_feature features[] = {
    {FEATURE_DIM, 0, 0}, {FEATURE_DIM, 1, 0}, {FEATURE_DIM, 2, 0}, {FEATURE_MEAN, 0, 2}, {FEATURE_MEAN, 1, 0}, {FEATURE_BYTES, 0, 0},
    {FEATURE_LONGEST, 0, 0}, {FEATURE_PRODUCT, 0, 1}, {FEATURE_SKEW, 0, 2},
};
enum { FEATURES = sizeof features / sizeof *features, CONFIGS = 3 };

// A tree with `leaves` answers from the next node on.
static int add_tree(struct heuristic *heuristic, int leaves, uint64_t *seed)
{
    int index = heuristic->node_count++;
    struct heuristic_node *node = &heuristic->nodes[index];
    if (leaves == 1) {
        *node = (struct heuristic_node){.feature = -1, .config = (int)draw(seed, CONFIGS)};
        return index;
    }
    int left = 1 + (int)draw(seed, (uint64_t)leaves - 1);
    int feature = (int)draw(seed, FEATURES);
    double below = feature == 5 ? 2 + (double)draw(seed, 4) : (double)draw(seed, 4000) / 16;
    int then = add_tree(heuristic, left, seed), otherwise = add_tree(heuristic, leaves - left, seed);
    *node = (struct heuristic_node){feature, below, then, otherwise, 0};
    return index;
}

static struct heuristic *random_heuristic(struct unit *unit, const struct ir_kernel *kernel, uint64_t *seed)
{
    struct heuristic *heuristic = ARENA_NEW(unit->arena, struct heuristic);
    *heuristic = (struct heuristic){.kernel = kernel->name, .target = "sm_90", .program_count = 1, .feature_count = FEATURES};
    heuristic->programs = ARENA_NEW(unit->arena, struct heuristic_program);
    *heuristic->programs = (struct heuristic_program){config_key_types(unit->arena, kernel), config_key_program(unit->arena, kernel)};
    heuristic->configs = ARENA_ARRAY(unit->arena, struct config *, CONFIGS);
    for (heuristic->config_count = 0; heuristic->config_count < CONFIGS; heuristic->config_count++)
        heuristic->configs[heuristic->config_count] = config_random(unit->arena, kernel, seed);
    heuristic->features = (struct heuristic_feature *)(uintptr_t)features;
    heuristic->nodes = ARENA_ARRAY(unit->arena, struct heuristic_node, HEURISTIC_NODES);
    add_tree(heuristic, 1 + (int)draw(seed, HEURISTIC_LEAVES), seed);
    return heuristic;
}

static void random_dims(int64_t *dims, int64_t *longest, uint64_t *seed)
{
    for (int i = 0; i < 3; i++) dims[i] = (int64_t)draw(seed, 5) ? (int64_t)draw(seed, 300) : 0;
    *longest = draw(seed, 3) ? (int64_t)draw(seed, 300) : -1;
}

// ---------------------------------------------------------------------------------------------- tests

static void test_round_trip(struct unit *unit)
{
    const struct ir_kernel *kernel = kernel_of(unit);
    uint64_t seed = 7;
    for (int i = 0; i < 100 && unit->ok; i++) {
        struct heuristic *given = random_heuristic(unit, kernel, &seed), *read = NULL;
        struct text first = {0}, second = {0};
        heuristic_print(&first, kernel, given);
        struct status status = heuristic_parse(unit->arena, kernel, first.data, first.length, &read);
        if (!CHECK(unit, status.ok)) printf("# %s\n%s", status.reason, first.data);
        else heuristic_print(&second, kernel, read);
        CHECK(unit, first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
        CHECK(unit, !status.ok || heuristic_check_program(unit->arena, read, kernel).ok);
        text_free(&first);
        text_free(&second);
    }
}

// What the tree says, by another way: of all answers the one whose questions all hold.
static int answer_by_search(const struct heuristic *heuristic, int node, const double *values, bool holds)
{
    const struct heuristic_node *at = &heuristic->nodes[node];
    if (at->feature < 0) return holds ? at->config : -1;
    bool below = values[at->feature] < at->below;
    int then = answer_by_search(heuristic, at->then, values, holds && below);
    int otherwise = answer_by_search(heuristic, at->otherwise, values, holds && !below);
    return then >= 0 ? then : otherwise;
}

static void feature_values(const int64_t *dims, int64_t longest, double *values)
{
    for (int i = 0; i < 3; i++) values[i] = (double)dims[i];
    values[3] = dims[2] ? (double)dims[0] / (double)dims[2] : 0;
    values[4] = dims[0] ? (double)dims[1] / (double)dims[0] : 0;
    values[5] = 4;  // T = f32
    values[6] = longest < 0 ? INFINITY : (double)longest;
    values[7] = (double)(dims[0] * dims[1]);
    values[8] = longest < 0 ? INFINITY : values[3] > 0 ? (double)longest / values[3] : 0;
}

static void test_choice(struct unit *unit)
{
    const struct ir_kernel *kernel = kernel_of(unit);
    uint64_t seed = 11;
    int64_t dims[3], longest;
    double values[FEATURES];
    for (int i = 0; i < 100 && unit->ok; i++) {
        const struct heuristic *heuristic = random_heuristic(unit, kernel, &seed);
        for (int j = 0; j < 50; j++) {
            random_dims(dims, &longest, &seed);
            feature_values(dims, longest, values);
            const struct heuristic_shape shape = {dims, longest};
            CHECK(unit, heuristic_choose(kernel, heuristic, &shape) == answer_by_search(heuristic, 0, values, true));
        }
    }
}

static void test_no_memory(struct unit *unit)
{
    const struct ir_kernel *kernel = kernel_of(unit);
    uint64_t seed = 13;
    int64_t dims[3], longest;
    const struct heuristic *heuristic = random_heuristic(unit, kernel, &seed);
    struct heuristic *read = NULL;
    struct text text = {0};
    int sum = 0, before = allocations;
    for (int j = 0; j < 1000; j++) {
        random_dims(dims, &longest, &seed);
        sum += heuristic_choose(kernel, heuristic, &(struct heuristic_shape){dims, longest});
    }
    CHECK(unit, allocations == before && sum >= 0);
    heuristic_print(&text, kernel, heuristic);  // that it counts at all
    CHECK(unit, heuristic_parse(unit->arena, kernel, text.data, text.length, &read).ok && allocations > before);
    text_free(&text);
}

static void test_names(struct unit *unit)
{
    CHECK(unit, strcmp(heuristic_file_name(unit->arena, "a/b.c/sum.tile", "k", "sm_90a"), "sum.k.aot_cuda_sm90.json") == 0);
    CHECK(unit, strcmp(heuristic_file_name(unit->arena, "sum", "k", "sm_100"), "sum.k.aot_cuda_sm100.json") == 0);
    CHECK(unit, strcmp(heuristic_file_name(unit->arena, ".tile", "k", "cpu"), ".tile.k.aot_cpu.json") == 0);
}

static const struct unit_test tests[] = {
    {"a heuristic that is printed and read prints the same", test_round_trip},
    {"the walk ends at the one answer whose questions all hold", test_choice},
    {"asking takes no memory", test_no_memory},
    {"files are named for stem, kernel and capability", test_names},
};
UNIT_MAIN(tests)
