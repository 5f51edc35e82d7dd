// SPDX-License-Identifier: Apache-2.0
// The search: what it proposes fits the kernel and is never the same twice, begins with the default, is the same for the
// same outcomes, goes through a small space whole, and finds better configs than chance with as many tries. Times here are
// a formula of the config.
#include "runtime/config_cache.h"
#include "runtime/search.h"
#include "runtime/tune_job.h"
#include "tests/tune/fixture.h"

static struct search_facts facts = {.registers_per_multiprocessor = 65536};

static void set_time(struct tune_rows *rows, int index, double milliseconds)
{
    rows->items[index].stage = STAGE_DONE;
    rows->items[index].result.status = TUNE_OK;
    rows->items[index].result.median = milliseconds;
}

// A landscape with one best place: so many threads, so many elements each, a wide vector, and a penalty for the rest.
static double landscape(const struct config *config)
{
    double time = 1, warps = 1, elements = 1;
    for (int i = 0; i < config->axis_count; i++) {
        const struct config_axis *axis = &config->axes[i];
        warps *= axis->warps;
        elements *= (double)axis->block / (axis->lanes * axis->warps);
        time *= 1 + 0.05 * fabs(log2(axis->lanes) - (i == config->axis_count - 1 ? 4 : 1));
        time *= 1 + 0.02 * fabs(log2(axis->unroll) - 1);
    }
    return time * (1 + 0.2 * fabs(log2(warps) - 3)) * (1 + 0.1 * fabs(log2(elements) - 3)) * (config->peel ? 1 : 1.1);
}

static double best_of_search(struct arena *arena, const struct ir_kernel *kernel, uint64_t seed, int tries)
{
    struct tune_rows rows = tune_rows_new(arena, tries);
    struct search *search = search_new(arena, kernel, seed, &facts);
    double best = INFINITY;
    for (int i = 0; i < tries; i++) {
        struct config *config = search_next(search, &rows);
        if (!config) break;
        double time = landscape(config);
        set_time(&rows, tune_rows_add(&rows, config, tune_config_text(arena, kernel, config), NULL), time);
        best = fmin(best, time);
    }
    return best;
}

static double best_of_chance(struct arena *arena, const struct ir_kernel *kernel, uint64_t seed, int tries)
{
    double best = landscape(config_default(arena, kernel));
    for (int i = 1; i < tries; i++) best = fmin(best, landscape(config_random(arena, kernel, &seed)));
    return best;
}

static void proposals(struct unit *unit)
{
    enum { COUNT = 300 };
    struct fixture fixture;
    const char *texts[COUNT];
    if (!CHECK(unit, fixture_begin(&fixture))) return;
    const struct ir_kernel *kernel = fixture.bound.kernel;
    for (int round = 0; round < 2; round++) {
        struct tune_rows rows = tune_rows_new(fixture.arena, COUNT);
        struct search *search = search_new(fixture.arena, kernel, 7, &facts);
        for (int i = 0; i < COUNT; i++) {
            struct config *config = search_next(search, &rows);
            if (!CHECK(unit, config != NULL)) break;
            const char *text = tune_config_text(fixture.arena, kernel, config);
            CHECK(unit, config_check(fixture.arena, kernel, config).ok);
            if (i == 0) CHECK_TEXT(unit, text, tune_config_text(fixture.arena, kernel, config_default(fixture.arena, kernel)));
            for (int j = 0; j < i; j++) CHECK(unit, strcmp(rows.items[j].text, text) != 0);
            if (round == 0) texts[i] = text;
            else CHECK_TEXT(unit, text, texts[i]);
            set_time(&rows, tune_rows_add(&rows, config, text, NULL), landscape(config));
        }
    }
    fixture_end(&fixture);
}

// A tile of four points in all its layouts, under all flags, each once; then nothing more.
static void small_space(struct unit *unit)
{
    enum { LAYOUTS = 10, FLAGS = 2 * 2 * 2 * 4, ALL = LAYOUTS * FLAGS };
    static const char text[] =
        "kernel four(x: f32[4]) -> out: f32[4] {\n"
        "    axis d = 4;\n"
        "    for one in tile(1) {\n"
        "        out[d] = x[d] * 2;\n"
        "    }\n"
        "}\n";
    struct fixture fixture;
    if (CHECK(unit, fixture_begin_with(&fixture, text, NULL, NULL))) {
        const struct ir_kernel *kernel = fixture.bound.kernel;
        struct tune_rows rows = tune_rows_new(fixture.arena, 2 * ALL);
        struct search *search = search_new(fixture.arena, kernel, 7, &facts);
        struct config *config = NULL;
        while (rows.count < rows.limit && (config = search_next(search, &rows)) != NULL) {
            const char *proposed = tune_config_text(fixture.arena, kernel, config);
            CHECK(unit, config_check(fixture.arena, kernel, config).ok);
            for (int j = 0; j < rows.count; j++) CHECK(unit, strcmp(rows.items[j].text, proposed) != 0);
            tune_rows_add(&rows, config, proposed, NULL);
        }
        CHECK(unit, config == NULL);
        CHECK_NUMBER(unit, rows.count, ALL);
    }
    fixture_end(&fixture);
}

// ---------------------------------------------------------------------------------------------- by reckoning

static const char sums[] =
    "kernel sums(x: f32[nnz], offsets: i64[B + 1]) -> out: f32[B] {\n"
    "    for tb in tile(B) {\n"
    "        let start = offsets[tb];\n"
    "        let length = offsets[tb + 1] - start;\n"
    "        var total: f32[tb] = 0;\n"
    "        for tk in jagged_tile(length) { total += sum[tk](x[start + tk]); }\n"
    "        out[tb] = total;\n"
    "    }\n"
    "}\n";

static struct search_facts facts_of(const struct fixture *fixture)
{
    return (struct search_facts){.data = resolve_data(fixture->arena, fixture->bound.kernel, fixture->bound.views, true),
                                 .bindings = &fixture->bound.bindings, .tensors = fixture->bound.views};
}

// What `text`, keys of a config, costs beside the default for whole rows, as a power of two.
static double cost_beside_rows(struct unit *unit, const struct fixture *fixture, const char *text)
{
    struct config *config = NULL;
    const struct ir_kernel *kernel = fixture->bound.kernel;
    const struct search_facts known = facts_of(fixture);
    const struct search_cost *cost = search_cost_new(fixture->arena, kernel, &known);
    struct status status = config_parse(fixture->arena, kernel, text, strlen(text), &config);
    if (!status.ok) printf("# %s\n", status.reason);
    if (!CHECK(unit, cost && status.ok)) return NAN;
    return search_cost(cost, config, 0) - search_cost(cost, config_default(fixture->arena, kernel), 0);
}

// Long rows by one thread each, and one row that is longer than all others together.
static void reckoned_costs(struct unit *unit)
{
    static const char serial[] = "{\"format\": 1, \"axes\": {\"tb\": {\"block\": 32, \"lanes\": 32, \"warps\": 1}, "
                                 "\"tk\": {\"block\": 1, \"lanes\": 1, \"warps\": 1}}}";
    static const char pieces[] = "{\"format\": 1, \"strategy\": \"chunks\", \"chunk\": 512}";
    static const char crumbs[] = "{\"format\": 1, \"strategy\": \"chunks\", \"chunk\": 32}";
    static const char spilling[] = "{\"format\": 1, \"min_blocks\": 4, \"axes\": {\"tb\": {\"block\": 512, \"warps\": 16}}}";
    struct fixture even, skewed;
    if (CHECK(unit, fixture_begin_with(&even, sums, "B=4000", "offsets=offsets(uniform(500, 600))")) &&
        CHECK(unit, fixture_begin_with(&skewed, sums, "B=4000", "offsets=offsets(zipf(2000000, 1000000))"))) {
        CHECK(unit, cost_beside_rows(unit, &even, serial) > 2);
        CHECK(unit, cost_beside_rows(unit, &skewed, serial) > 2);
        CHECK(unit, fabs(cost_beside_rows(unit, &even, pieces)) < 2);
        CHECK(unit, cost_beside_rows(unit, &skewed, pieces) < -1);
        CHECK(unit, cost_beside_rows(unit, &even, crumbs) > cost_beside_rows(unit, &even, pieces));
        CHECK(unit, cost_beside_rows(unit, &even, spilling) > 0);
    }
    fixture_end(&even);
    fixture_end(&skewed);
}

// Each tile's greatest number, and the sum of what is below it: the tile is read twice.
static const char below[] =
    "kernel below(x: f32[nnz], offsets: i64[B + 1]) -> out: f32[B] {\n"
    "    for tb in tile(B) {\n"
    "        let start = offsets[tb];\n"
    "        let length = offsets[tb + 1] - start;\n"
    "        var total: f32[tb] = 0;\n"
    "        for tk in jagged_tile(length) {\n"
    "            let v = x[start + tk];\n"
    "            let top = max[tk](v);\n"
    "            total += sum[tk](top - v);\n"
    "        }\n"
    "        out[tb] = total;\n"
    "    }\n"
    "}\n";

// Hundreds of points a thread that are only added up take no more registers than some; those that are read again do.
static void tiles_that_are_kept(struct unit *unit)
{
    static const char large[] = "{\"format\": 1, \"axes\": {\"tb\": {\"block\": 1, \"lanes\": 1, \"warps\": 1}, "
                                "\"tk\": {\"block\": 8192, \"lanes\": 32, \"warps\": 1}}}";
    double registers[2];
    for (int keeps = 0; keeps < 2; keeps++) {
        struct fixture fixture;
        struct config *config = NULL;
        registers[keeps] = NAN;
        if (CHECK(unit, fixture_begin_with(&fixture, keeps ? below : sums, "B=400", "offsets=offsets(uniform(500, 600))"))) {
            const struct search_facts known = facts_of(&fixture);
            const struct search_cost *cost = search_cost_new(fixture.arena, fixture.bound.kernel, &known);
            if (CHECK(unit, cost && config_parse(fixture.arena, fixture.bound.kernel, large, strlen(large), &config).ok))
                registers[keeps] = search_cost_registers(cost, config);
        }
        fixture_end(&fixture);
    }
    CHECK(unit, registers[0] < 255 && registers[1] > 255);
}

// What rows took to compile tells what others will, within a factor.
static void compiles_that_are_foreseen(struct unit *unit)
{
    enum { COUNT = 40, OTHERS = 100 };
    struct fixture fixture;
    uint64_t seed = 1;
    if (CHECK(unit, fixture_begin_with(&fixture, sums, "B=400", "offsets=offsets(uniform(500, 600))"))) {
        const struct ir_kernel *kernel = fixture.bound.kernel;
        const struct search_facts known = facts_of(&fixture);
        struct search_model model = {.cost = search_cost_new(fixture.arena, kernel, &known)};
        struct tune_rows rows = tune_rows_new(fixture.arena, COUNT);
        const struct config *standard = config_default(fixture.arena, kernel);
        CHECK(unit, search_compile_seconds(&model, standard) == 0);  // nothing is known yet
        for (int i = 0; i < COUNT; i++) {
            struct config *config = config_random(fixture.arena, kernel, &seed);
            set_time(&rows, tune_rows_add(&rows, config, tune_config_text(fixture.arena, kernel, config), NULL), 1 + i % 7);
            rows.items[i].result.compile_seconds = 0.05 * pow(search_cost_points(model.cost, config) + 1, 1.2);
            if (i % 8 == 0) rows.items[i].result.status = TUNE_SKIPPED_COMPILE_TIMEOUT;
        }
        search_learn(fixture.arena, &rows, &model);
        for (int i = 0; i < OTHERS; i++) {
            const struct config *config = config_random(fixture.arena, kernel, &seed);
            double truth = 0.05 * pow(search_cost_points(model.cost, config) + 1, 1.2);
            CHECK(unit, fabs(log2(search_compile_seconds(&model, config) / truth)) < 0.01);
        }
    }
    fixture_end(&fixture);
}

// Once something is known, nothing is tried that reckoning puts at over eight times what it puts the best at.
static void nothing_unreasonable(struct unit *unit)
{
    enum { COUNT = 150, KNOWN = 60 };
    struct fixture fixture;
    if (CHECK(unit, fixture_begin_with(&fixture, sums, "B=4000", "offsets=offsets(zipf(2000000, 1000000))"))) {
        const struct ir_kernel *kernel = fixture.bound.kernel;
        const struct search_facts known = facts_of(&fixture);
        const struct search_cost *cost = search_cost_new(fixture.arena, kernel, &known);
        struct tune_rows rows = tune_rows_new(fixture.arena, COUNT);
        struct search *search = search_new(fixture.arena, kernel, 5, &known);
        double best = INFINITY, reckoned = INFINITY;  // of the best by its time
        for (int i = 0; i < COUNT; i++) {
            struct config *config = search_next(search, &rows);
            if (!CHECK(unit, config != NULL)) break;
            double costs = search_cost(cost, config, 0), time = exp2(costs) * (1 + 0.3 * (double)(i * 37 % 61) / 61);
            if (i >= KNOWN) CHECK(unit, costs <= reckoned + 3);
            set_time(&rows, tune_rows_add(&rows, config, tune_config_text(fixture.arena, kernel, config), NULL), time);
            if (time < best) best = time, reckoned = costs;
        }
    }
    fixture_end(&fixture);
}

// Without data there is nothing to reckon with, and on a CPU another thing counts.
static void nothing_to_reckon(struct unit *unit)
{
    struct fixture fixture;
    if (CHECK(unit, fixture_begin(&fixture))) {
        struct search_facts known = facts_of(&fixture);
        CHECK(unit, search_cost_new(fixture.arena, fixture.bound.kernel, &known) != NULL);
        known.cpu = true;
        CHECK(unit, search_cost_new(fixture.arena, fixture.bound.kernel, &known) == NULL);
        CHECK(unit, search_cost_new(fixture.arena, fixture.bound.kernel, &facts) == NULL);
    }
    fixture_end(&fixture);
}

// Where the default stages its shares, the strategies that can't are tried as well, early.
static void other_strategies(struct unit *unit)
{
    enum { COUNT = 24 };
    struct search_facts skewed = {.registers_per_multiprocessor = 65536,
                                  .data = {.rows = 1 << 20, .longest = 1 << 20, .mean = 256}};
    struct fixture fixture;
    if (CHECK(unit, fixture_begin_with(&fixture, sums, "B=64", "offsets=offsets(uniform(1, 9))"))) {
        const struct ir_kernel *kernel = fixture.bound.kernel;
        struct tune_rows rows = tune_rows_new(fixture.arena, COUNT);
        struct search *search = search_new(fixture.arena, kernel, 7, &skewed);
        int tried[STRATEGY_COUNT] = {0};
        for (int i = 0; i < COUNT; i++) {
            struct config *config = search_next(search, &rows);
            if (!CHECK(unit, config != NULL)) break;
            if (i == 0) CHECK(unit, config->strategy == STRATEGY_FLAT && config->stage);
            tried[config->strategy]++;
            set_time(&rows, tune_rows_add(&rows, config, tune_config_text(fixture.arena, kernel, config), NULL), landscape(config));
        }
        for (int i = 0; i < STRATEGY_COUNT; i++) CHECK(unit, tried[i] > 0);
    }
    fixture_end(&fixture);
}

static const char columns[] =
    "kernel columns(x: f32[nnz, 64], offsets: i64[B + 1]) -> out: f32[B, 64] {\n"
    "    for tb in tile(B) {\n"
    "        let start = offsets[tb];\n"
    "        let length = offsets[tb + 1] - start;\n"
    "        for tm in tile(64) {\n"
    "            var total: f32[tb, tm] = 0;\n"
    "            for tk in jagged_tile(length) { total += sum[tk](x[start + tk, tm]); }\n"
    "            out[tb, tm] = total;\n"
    "        }\n"
    "    }\n"
    "}\n";

// The default with nothing else changed has had each other value of a knob before configs are combined; a row loop that
// blocks of a cluster share is as much longer.
static void each_knob_by_itself(struct unit *unit)
{
    enum { COUNT = 60 };
    struct fixture fixture;
    if (CHECK(unit, fixture_begin_with(&fixture, columns, "B=64", "offsets=offsets(uniform(1, 9))"))) {
        const struct ir_kernel *kernel = fixture.bound.kernel;
        struct tune_rows rows = tune_rows_new(fixture.arena, COUNT);
        struct search *search = search_new(fixture.arena, kernel, 7, &facts);
        const struct config *standard = config_default(fixture.arena, kernel);
        bool peel = false, late = false, stream = false, blocks[8] = {false}, clusters[16] = {false};
        int shared = -1;
        for (int i = 0; i < standard->axis_count; i++)
            if (strcmp(standard->axes[i].name, "tk") == 0) shared = i;
        for (int i = 0; i < COUNT && CHECK(unit, shared >= 0); i++) {
            struct config *config = search_next(search, &rows);
            if (!CHECK(unit, config != NULL)) break;
            set_time(&rows, tune_rows_add(&rows, config, tune_config_text(fixture.arena, kernel, config), NULL), landscape(config));
            if (config->strategy != standard->strategy) continue;
            int changed = (config->peel != standard->peel) + (config->late != standard->late) + (config->stream != standard->stream) +
                          (config->min_blocks != standard->min_blocks) + (config->cluster != standard->cluster);
            for (int a = 0; a < config->axis_count; a++) {
                int block = standard->axes[a].block * (a == shared ? config->cluster : 1);
                changed += config->axes[a].block != block || config->axes[a].warps != standard->axes[a].warps;
            }
            if (changed != 1) continue;
            peel |= config->peel != standard->peel;
            late |= config->late != standard->late;
            stream |= config->stream != standard->stream;
            blocks[config->min_blocks] = clusters[config->cluster] = true;
        }
        CHECK(unit, peel && late && stream && blocks[1] && blocks[2] && blocks[4] && clusters[2] && clusters[4] && clusters[8]);
    }
    fixture_end(&fixture);
}

// Of a config with producers the search makes others: with other strategies, which have none, and with more or fewer.
static void producers_are_moved(struct unit *unit)
{
    enum { COUNT = 120 };
    static const char text[] = "{\"format\": 1, \"strategy\": \"rows\", \"producers\": 120, \"stages\": 4, \"cluster\": 4, \"grid\": [\"tb\"], "
                               "\"axes\": {\"tk\": {\"block\": 512, \"vector\": 1, \"lanes\": 1, \"warps\": 16}}}";
    struct fixture fixture;
    struct config *config = NULL;
    if (CHECK(unit, fixture_begin_with(&fixture, columns, "B=64", "offsets=offsets(uniform(1, 9))")) &&
        CHECK(unit, config_parse(fixture.arena, fixture.bound.kernel, text, strlen(text), &config).ok)) {
        const struct ir_kernel *kernel = fixture.bound.kernel;
        struct tune_rows rows = tune_rows_new(fixture.arena, COUNT + 1);
        struct search *search = search_new(fixture.arena, kernel, 7, &facts);
        bool other_producers = false, other_stages = false;
        int choices[64], strategy = -1;
        for (int i = 0; i < search->space->knob_count; i++) {
            choices[i] = -1;
            if (strcmp(search->space->knobs[i].path, "strategy") == 0) strategy = i;
        }
        for (int i = 0; CHECK(unit, strategy >= 0) && i < search->space->knobs[strategy].choice_count; i++) {
            choices[strategy] = i;
            const struct config *made = search_with_choices(search, fixture.arena, config, choices, true);
            if (CHECK(unit, made && config_check(fixture.arena, kernel, made).ok))
                CHECK_NUMBER(unit, made->producers, made->strategy == STRATEGY_ROWS ? 120 : 0);
        }
        set_time(&rows, tune_rows_add(&rows, config, tune_config_text(fixture.arena, kernel, config), NULL), 1e-3);  // by far the best
        for (int i = 0; i < COUNT; i++) {
            config = search_next(search, &rows);
            if (!CHECK(unit, config && config_check(fixture.arena, kernel, config).ok)) break;
            set_time(&rows, tune_rows_add(&rows, config, tune_config_text(fixture.arena, kernel, config), NULL), 1);
            other_producers |= config->producers > 0 && config->producers != 120;
            other_stages |= config->producers > 0 && config->stages != 4;
        }
        CHECK(unit, other_producers && other_stages);
    }
    fixture_end(&fixture);
}

// Rows without times teach nothing, and do no harm.
static void nothing_works(struct unit *unit)
{
    struct fixture fixture;
    if (!CHECK(unit, fixture_begin(&fixture))) return;
    struct tune_rows rows = tune_rows_new(fixture.arena, 60);
    struct search *search = search_new(fixture.arena, fixture.bound.kernel, 3, &facts);
    for (int i = 0; i < 60; i++) {
        struct config *config = search_next(search, &rows);
        if (!CHECK(unit, config != NULL)) break;
        int row = tune_rows_add(&rows, config, tune_config_text(fixture.arena, fixture.bound.kernel, config), NULL);
        rows.items[row].stage = STAGE_DONE;
        rows.items[row].result.status = TUNE_SKIPPED_LOWERING;
    }
    fixture_end(&fixture);
}

static void better_than_chance(struct unit *unit)
{
    enum { TRIES = 80, SEEDS = 12 };
    struct fixture fixture;
    double search = 0, chance = 0;
    if (!CHECK(unit, fixture_begin(&fixture))) return;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        search += log(best_of_search(fixture.arena, fixture.bound.kernel, seed, TRIES));
        chance += log(best_of_chance(fixture.arena, fixture.bound.kernel, seed, TRIES));
    }
    printf("# geometric mean of the best of %d tries: search %g, chance %g\n", TRIES, exp(search / SEEDS), exp(chance / SEEDS));
    CHECK(unit, search < chance);
    fixture_end(&fixture);
}

static void statuses_have_names(struct unit *unit)
{
    for (int i = 0; i < TUNE_STATUS_COUNT; i++) {
        enum tune_status found = TUNE_WAITING;
        CHECK(unit, tune_status_named(tune_status_name((enum tune_status)i), &found) && (int)found == i);
    }
    enum tune_status none;
    CHECK(unit, !tune_status_named("fine", &none) && !tune_status_named(NULL, &none));
}

static void the_best_in_order(struct unit *unit)
{
    struct tune_rows rows = tune_rows_new(unit->arena, 8);
    static const double times[] = {5, 3, 0, 4, 1, 3, 0, 2};
    static const int wanted[] = {4, 7, 1, 5};
    static const struct config config;
    int best[4];
    for (int i = 0; i < 8; i++) {
        tune_rows_add(&rows, times[i] > 0 ? &config : NULL, "", "none");
        if (times[i] > 0) set_time(&rows, i, times[i]);
    }
    CHECK_NUMBER(unit, tune_rows_best(&rows, 4, best), 4);
    for (int i = 0; i < 4; i++) CHECK_NUMBER(unit, best[i], wanted[i]);
    CHECK_NUMBER(unit, tune_rows_add(&rows, &config, "", NULL), -1);
}

// Twelve configs whose reckoned order is that in which they came: the best is the third, or stands behind the first ten.
static void reckoned_order(struct unit *unit)
{
    enum { COUNT = 12 };
    for (int at = 2; at < COUNT; at += 9) {
        struct fixture fixture;
        if (!CHECK(unit, fixture_begin_with(&fixture, sums, "B=64", "offsets=offsets(uniform(1, 9))"))) return;
        const struct ir_kernel *kernel = fixture.bound.kernel;
        const struct search_facts known = facts_of(&fixture);
        struct tune_rows rows = tune_rows_new(fixture.arena, COUNT);
        struct text table = {0};
        for (int i = 0; i < COUNT; i++) {
            const struct config *config = config_default(fixture.arena, kernel);
            set_time(&rows, tune_rows_add(&rows, config, tune_config_text(fixture.arena, kernel, config), NULL), i == at ? 2 : 3);
        }
        search_reckon(fixture.arena, kernel, &known, &rows);
        for (int i = 0; i < COUNT; i++) {
            CHECK(unit, rows.items[i].reckoned > 0 && rows.items[i].reckoned < 1);
            rows.items[i].reckoned = 1 + i;
        }
        tune_print_table(&table, &rows);
        CHECK(unit, strstr(table.data, at == 2 ? "by reckoning, the best of 12 is number 3; the best of the first 10 takes 0.0% longer"
                                               : "by reckoning, the best of 12 is number 12; the best of the first 10 takes 50.0% longer"));
        text_free(&table);
        fixture_end(&fixture);
    }
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"proposals", proposals},
        {"a small space, whole", small_space},
        {"reckoned costs", reckoned_costs},
        {"tiles that are kept", tiles_that_are_kept},
        {"compiles that are foreseen", compiles_that_are_foreseen},
        {"nothing unreasonable", nothing_unreasonable},
        {"nothing to reckon with", nothing_to_reckon},
        {"reckoned order", reckoned_order},
        {"other strategies", other_strategies},
        {"each knob by itself", each_knob_by_itself},
        {"producers are moved", producers_are_moved},
        {"nothing works", nothing_works},
        {"better than chance", better_than_chance},
        {"statuses have names", statuses_have_names},
        {"the best in order", the_best_in_order},
    };
    return unit_run(tests, (int)(sizeof tests / sizeof *tests));
}
