// SPDX-License-Identifier: Apache-2.0
// What callers give wrongly is refused by every function of tilec.h, and named: pointers that are NULL, counts, enums.
#include <unistd.h>

#include "embed.h"

static _Alignas(64) float x[8] = {1, 10, 2, 20, 3, 30, 4, 40};
static _Alignas(64) float out[8];
static int64_t offsets[] = {0, 1, 1, 4};

// Every handle, and what it was made of.
struct all {
    struct session session;
    struct sums sums;
    tilec_report *report;
    tilec_program *program;
    tilec_kernel *kernel;
    tilec_config *config;
    tilec_device *device;
    tilec_bound *bound;
    tilec_cache *cache;
    tilec_heuristic *heuristic;
};

static void begin(struct unit *unit, struct all *all)
{
    *all = (struct all){.report = tilec_report_new()};
    sums_fill(&all->sums, 3, 4, 2, x, offsets, out);
    CHECK_NUMBER(unit, session_begin(&all->session, JAGGED_SUM, "reference", all->sums.arguments, 3, NULL), TILEC_OK);
    all->program = all->session.program, all->kernel = all->session.kernel;
    all->device = all->session.device, all->bound = all->session.bound;
    CHECK_NUMBER(unit, tilec_config_default(all->kernel, NULL, &all->config), TILEC_OK);
    CHECK_NUMBER(unit, tilec_cache_open(NULL, NULL, &all->cache), TILEC_OK);
    CHECK_NUMBER(unit, tilec_heuristic_find(all->kernel, "cpu", NULL, NULL, &all->heuristic), TILEC_OK);
}

static void end(struct all *all)
{
    tilec_heuristic_free(all->heuristic);
    tilec_cache_free(all->cache);
    tilec_config_free(all->config);
    session_end(&all->session);
    tilec_report_free(all->report);
}

// The result is TILEC_USAGE, and the message is of this function and this parameter.
static void check_named(struct unit *unit, int line, struct all *all, tilec_result result, const char *words)
{
    int count = tilec_report_count(all->report);
    const char *message = count ? tilec_report_message(all->report, count - 1).message : "(none)";
    if (result == TILEC_USAGE && strstr(message, words)) return;
    unit->ok = false;
    printf("# line %d: result %d, %s\n#   wanted: … %s …\n", line, (int)result, message, words);
}
#define NAMED(words, call) check_named(unit, __LINE__, &all, call, words)
#define USAGE(call) CHECK_NUMBER(unit, call, TILEC_USAGE)

static void programs_and_kernels(struct unit *unit)
{
    struct all all;
    tilec_program *program = (tilec_program *)&all;
    tilec_kernel *kernel = NULL;
    begin(unit, &all);
    NAMED("tilec_program_load: path is NULL", tilec_program_load(NULL, all.report, &program));
    CHECK(unit, program == NULL);
    NAMED("program is NULL", tilec_program_load("-", all.report, NULL));
    NAMED("path is NULL", tilec_program_parse(NULL, "", 0, all.report, &program));
    NAMED("text is NULL", tilec_program_parse("p", NULL, 1, all.report, &program));
    NAMED("program is NULL", tilec_program_parse("p", "", 0, all.report, NULL));
    CHECK_NUMBER(unit, tilec_program_parse("p", NULL, 0, all.report, &program), TILEC_OK);
    tilec_program_free(program);
    NAMED("program is NULL", tilec_program_check(NULL, all.report));
    NAMED("program is NULL", tilec_kernel_check(NULL, NULL, NULL, all.report, &kernel));
    NAMED("kernel is NULL", tilec_kernel_check(all.program, NULL, NULL, all.report, NULL));
    NAMED("program is NULL", tilec_kernel_for(NULL, NULL, all.sums.arguments, 3, NULL, all.report, &kernel));
    NAMED("arguments is NULL", tilec_kernel_for(all.program, NULL, NULL, 3, NULL, all.report, &kernel));
    NAMED("count of arguments is -1", tilec_kernel_for(all.program, NULL, all.sums.arguments, -1, NULL, all.report, &kernel));
    NAMED("kernel is NULL", tilec_kernel_for(all.program, NULL, all.sums.arguments, 3, NULL, all.report, NULL));
    NAMED("path is NULL", tilec_file_read(NULL, all.report, &(tilec_text){0}));
    NAMED("text is NULL", tilec_file_read("-", all.report, NULL));
    NAMED("path is NULL", tilec_file_save(NULL, "", 0, all.report));
    NAMED("data is NULL", tilec_file_save("/nonexistent/file", NULL, 1, all.report));
    end(&all);
}

static void lists(struct unit *unit)
{
    struct all all;
    tilec_kernel *kernel = NULL;
    tilec_run *run = NULL;
    const char *const nothing[] = {NULL};
    begin(unit, &all);
    const struct {
        struct tilec_specialization given;
        const char *words;
    } cases[] = {
        {{.type_count = 1}, "types is NULL"},          {{.dim_count = 1}, "dims is NULL"},
        {{.static_count = 1}, "statics is NULL"},      {{.dynamic_count = 1}, "dynamics is NULL"},
        {{.absent_count = 1}, "absent is NULL"},       {{.dim_count = -2}, "count of dims is -2"},
        {{.dim_count = 1, .dims = nothing}, "dims[0] is NULL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        NAMED(cases[i].words, tilec_kernel_check(all.program, NULL, &cases[i].given, all.report, &kernel));
        NAMED(cases[i].words, tilec_kernel_for(all.program, NULL, all.sums.arguments, 3, &cases[i].given, all.report, &kernel));
    }
    const char *const z[] = {"Z"}, *const m[] = {"M"};
    const struct {
        struct tilec_specialization given;
        const char *words;
    } dims[] = {
        {{.static_count = 1, .statics = z}, "--static Z: kernel jagged_sum has no dimension Z; it has nnz, M, B"},
        {{.dynamic_count = 1, .dynamics = z}, "--dynamic Z: kernel jagged_sum has no dimension Z"},
        {{.static_count = 1, .statics = m, .dynamic_count = 1, .dynamics = m}, "--static M and --dynamic M"},
    };
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        NAMED(dims[i].words, tilec_kernel_check(all.program, NULL, &dims[i].given, all.report, &kernel));
        NAMED(dims[i].words, tilec_kernel_for(all.program, NULL, all.sums.arguments, 3, &dims[i].given, all.report, &kernel));
    }
    const struct tilec_run_options runs = {.out_count = 1};
    NAMED("tilec_run_kernel: outs is NULL", tilec_run_kernel(all.program, &runs, all.report, &run));
    NAMED("outs is NULL", tilec_bench_kernel(all.program, &(struct tilec_bench_options){.run = runs}, all.report, &(tilec_bench *){0}));
    NAMED("outs is NULL", tilec_tune_kernel(all.program, &(struct tilec_tune_options){.run = runs}, all.report, &(tilec_tune *){0}));
    NAMED("shapes is NULL", tilec_aot(all.program, &(struct tilec_aot_options){0}, all.report, &(tilec_text){0}));
    NAMED("folder is NULL", tilec_aot(all.program, &(struct tilec_aot_options){.shapes = "s"}, all.report, &(tilec_text){0}));
    NAMED("skips is NULL", tilec_kernel_emit(all.kernel, NULL, &(struct tilec_emit_options){.skip_count = 1}, all.report, &(tilec_text){0}));
    NAMED("architectures is NULL", tilec_bundle(all.kernel, &(struct tilec_bundle_options){.architecture_count = 1}, all.report,
                                                &(tilec_text){0}, &(tilec_text){0}));
    end(&all);
}

static void configs(struct unit *unit)
{
    struct all all;
    tilec_config *config = NULL;
    tilec_dispatch *dispatch = NULL;
    uint64_t seed = 1;
    begin(unit, &all);
    const struct tilec_argument *arguments = all.sums.arguments;
    USAGE(tilec_config_default(NULL, NULL, &config));
    USAGE(tilec_config_default(all.kernel, NULL, NULL));
    USAGE(tilec_config_random(NULL, &seed, &config));
    USAGE(tilec_config_random(all.kernel, NULL, &config));
    NAMED("kernel is NULL", tilec_config_load(NULL, "c", all.report, &config));
    NAMED("path is NULL", tilec_config_load(all.kernel, NULL, all.report, &config));
    NAMED("text is NULL", tilec_config_parse(all.kernel, NULL, 0, all.report, &config));
    NAMED("config is NULL", tilec_config_parse(all.kernel, "{}", 2, all.report, NULL));
    NAMED("path is NULL", tilec_config_save(all.config, NULL, 0, all.report));
    NAMED("config is NULL", tilec_config_save(NULL, "/nonexistent/c", 0, all.report));
    NAMED("config is NULL", tilec_config_check(NULL, "cpu", all.report));
    NAMED("kernel is NULL", tilec_kernel_emit(NULL, NULL, NULL, all.report, &(tilec_text){0}));
    NAMED("text is NULL", tilec_kernel_emit(all.kernel, NULL, NULL, all.report, NULL));
    NAMED("text is NULL", tilec_kernel_fits(all.kernel, NULL, NULL, NULL, 0, all.report));
    NAMED("text is NULL", tilec_compile(NULL, 0, "t", "sm_90", 0, all.report, &(tilec_binary *){0}));
    NAMED("name is NULL", tilec_compile("", 0, NULL, "sm_90", 0, all.report, &(tilec_binary *){0}));
    NAMED("arguments is NULL", tilec_config_for(all.kernel, all.device, NULL, 3, NULL, all.report, &config));
    NAMED("device is NULL", tilec_config_for(all.kernel, NULL, arguments, 3, NULL, all.report, &config));
    NAMED("path is NULL", tilec_config_dispatch(all.kernel, all.device, arguments, 3, NULL, NULL, all.report, &config));
    NAMED("path is NULL", tilec_dispatch_load(all.kernel, NULL, all.report, &dispatch));
    NAMED("dispatch is NULL", tilec_dispatch_value(NULL, arguments, 3, all.report, &(tilec_text){0}));
    NAMED("target is NULL", tilec_heuristic_find(all.kernel, NULL, NULL, all.report, &(tilec_heuristic *){0}));
    NAMED("heuristic is NULL", tilec_heuristic_config(NULL, 0, all.report, &config));
    NAMED("cache is NULL", tilec_cache_open(NULL, all.report, NULL));
    NAMED("key is NULL", tilec_cache_find(all.cache, NULL, all.report, &(int){0}));
    NAMED("index is NULL", tilec_cache_find(all.cache, "a", all.report, NULL));
    NAMED("removed is NULL", tilec_cache_clear(all.cache, -1, all.report, NULL));
    NAMED("options is NULL", tilec_bundle(all.kernel, NULL, all.report, &(tilec_text){0}, &(tilec_text){0}));
    NAMED("options is NULL", tilec_run_kernel(all.program, NULL, all.report, &(tilec_run *){0}));
    NAMED("run is NULL", tilec_run_kernel(all.program, &(struct tilec_run_options){0}, all.report, NULL));
    NAMED("bench is NULL", tilec_bench_kernel(all.program, &(struct tilec_bench_options){0}, all.report, NULL));
    NAMED("tune is NULL", tilec_tune_kernel(all.program, &(struct tilec_tune_options){0}, all.report, NULL));
    NAMED("options is NULL", tilec_aot(all.program, NULL, all.report, &(tilec_text){0}));
    CHECK(unit, config == NULL && dispatch == NULL);
    end(&all);
}

static void launches(struct unit *unit)
{
    struct all all;
    int64_t number = 0;
    begin(unit, &all);
    const struct tilec_argument *arguments = all.sums.arguments;
    NAMED("name is NULL", tilec_device_open(NULL, all.report, &(tilec_device *){0}));
    NAMED("device is NULL", tilec_device_open("cpu", all.report, NULL));
    NAMED("kernel is NULL", tilec_bind(NULL, all.device, NULL, all.report, &(tilec_bound *){0}));
    NAMED("device is NULL", tilec_bind(all.kernel, NULL, NULL, all.report, &(tilec_bound *){0}));
    NAMED("bound is NULL", tilec_bind(all.kernel, all.device, NULL, all.report, NULL));
    NAMED("bound is NULL", tilec_launch(NULL, arguments, 3, NULL, NULL, all.report));
    NAMED("arguments is NULL", tilec_launch(all.bound, NULL, 3, NULL, NULL, all.report));
    NAMED("count of arguments is -1", tilec_launch(all.bound, arguments, -1, NULL, NULL, all.report));
    NAMED("arguments is NULL", tilec_output_shape(all.bound, NULL, 3, 2, &number, all.report));
    NAMED("shape is NULL", tilec_output_shape(all.bound, arguments, 3, 2, NULL, all.report));
    NAMED("arguments is NULL", tilec_workspace_size(all.bound, NULL, 3, &number, all.report));
    NAMED("bytes is NULL", tilec_workspace_size(all.bound, arguments, 3, NULL, all.report));
    NAMED("words is NULL", tilec_workspace_words(all.bound, NULL, &number, all.report));
    USAGE(tilec_launch_words(all.bound, NULL));
    USAGE(tilec_launch_words(NULL, (const uint64_t[8]){0}));
    NAMED("argument is NULL", tilec_argument_save(NULL, "/nonexistent/x", all.report));
    NAMED("path is NULL", tilec_argument_save(arguments, NULL, all.report));
    NAMED("no data", tilec_argument_save(&(struct tilec_argument){.type = TILEC_I32}, "/nonexistent/x", all.report));
    NAMED("only dense", tilec_argument_save(&(struct tilec_argument){.type = TILEC_I32, .rank = 1}, "/nonexistent/x", all.report));
    end(&all);
}

// Which argument is wrong, and why.
static void extents(struct unit *unit)
{
    struct all all;
    const struct {
        int64_t shape[2];
        const char *words;
    } cases[] = {
        {{-4, 2}, "'x' can't have the extent -4 in dimension 1: it is negative"},
        {{4, -2}, "'x' can't have the extent -2 in dimension 2: it is negative"},
        {{INT64_MAX / 8, 2}, "'x' can't have the extent 1152921504606846975 in dimension 1: the tensor would be larger than any memory"},
    };
    begin(unit, &all);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        all.sums.arguments[0].shape = cases[i].shape;
        REFUSED(all.bound, all.sums.arguments, 3, "launch.dimension", cases[i].words);
    }
    all.sums.arguments[0].shape = NULL;
    REFUSED(all.bound, all.sums.arguments, 3, "launch.rank", "'x' has 2 dimensions, but its shape is NULL");
    end(&all);
}

// An extent whose own arithmetic wraps around: 2^32 squared is 0 in 64 bits, which is what the tensor has.
static void extents_that_wrap(struct unit *unit)
{
    struct session session;
    int64_t shape[] = {4}, told[1];
    struct tilec_argument arguments[] = {{.type = TILEC_I64, .integer = 2}, {.type = TILEC_F32, .rank = 1, .shape = shape, .data = out}};
    tilec_result begun = session_begin(&session, "kernel k(L: i64) -> o: f32[L * L] { for t in tile(L) { o[t] = 1; } }", "reference", arguments, 2, NULL);
    CHECK_NUMBER(unit, begun, TILEC_OK);
    CHECK_NUMBER(unit, tilec_launch(session.bound, arguments, 2, NULL, NULL, session.report), TILEC_OK);
    arguments[0].integer = (int64_t)1 << 32;
    shape[0] = 0;
    REFUSED(session.bound, arguments, 2, "launch.dimension", "'o' is declared as L * L in dimension 1, which doesn't fit 64 bits here");
    CHECK_NUMBER(unit, tilec_output_shape(session.bound, arguments, 2, 1, told, session.report), TILEC_LAUNCH);
    session_end(&session);
}

static void types(struct unit *unit)
{
    struct all all;
    tilec_kernel *kernel = NULL;
    begin(unit, &all);
    for (int type = -2; type < 100; type += type == 9 ? 90 : 1) {
        bool known = type > 0 && type <= TILEC_F64;
        CHECK(unit, (tilec_type_name((enum tilec_type)type) != NULL) == known);
        CHECK(unit, (tilec_type_bytes((enum tilec_type)type) > 0) == known);
        if (known) continue;
        all.sums.arguments[0].type = (enum tilec_type)type;
        CHECK(unit, tilec_launch(all.bound, all.sums.arguments, 3, NULL, NULL, NULL) == TILEC_LAUNCH);
        if (type == TILEC_NONE) continue;
        CHECK(unit, tilec_kernel_for(all.program, NULL, all.sums.arguments, 3, NULL, NULL, &kernel) == TILEC_LAUNCH);
    }
    CHECK_NUMBER(unit, tilec_type_named(NULL), TILEC_NONE);
    end(&all);
}

static void check_text(struct unit *unit, tilec_text text, const char *wanted)
{
    CHECK_TEXT(unit, text.data, wanted);
    tilec_text_free(&text);
}

// What has no result to say so gives nothing.
static void without_results(struct unit *unit)
{
    tilec_text_free(NULL);
    CHECK(unit, !tilec_explain(NULL) && tilec_report_count(NULL) == 0 && !tilec_report_message(NULL, 0).message);
    check_text(unit, tilec_report_json(NULL), "[]");
    check_text(unit, tilec_json_string(NULL), "null");
    CHECK(unit, tilec_program_kernel_count(NULL) == 0 && !tilec_program_kernel_name(NULL, 0));
    CHECK(unit, !tilec_kernel_name(NULL) && tilec_kernel_parameter_count(NULL) == 0 && !tilec_kernel_parameter(NULL, 0).name);
    CHECK(unit, tilec_kernel_dimension_count(NULL) == 0 && !tilec_kernel_dimension(NULL, 0).name);
    tilec_text (*const of_kernels[])(const tilec_kernel *) = {tilec_kernel_ir, tilec_kernel_json, tilec_kernel_hash};
    for (size_t i = 0; i < sizeof of_kernels / sizeof *of_kernels; i++) check_text(unit, of_kernels[i](NULL), "");
    check_text(unit, tilec_program_tree(NULL), "");
    check_text(unit, tilec_program_describe(NULL), "");
    check_text(unit, tilec_kernel_explain_strategy(NULL, NULL), "");
    check_text(unit, tilec_config_space(NULL), "");
    check_text(unit, tilec_config_json(NULL, 0), "");
    CHECK(unit, !tilec_binary_data(NULL, NULL) && !tilec_binary_architecture(NULL) && !tilec_binary_log(NULL));
    CHECK(unit, tilec_binary_usage_count(NULL) == 0 && !tilec_binary_usage(NULL, 0).kernel);
    CHECK(unit, !tilec_cache_path(NULL) && !tilec_cache_remote(NULL) && !tilec_cache_remote_trouble(NULL));
    CHECK(unit, tilec_cache_count(NULL) == 0 && !tilec_cache_entry(NULL, 0).key && tilec_cache_binaries(NULL, NULL) == 0);
    check_text(unit, tilec_cache_json(NULL), "");
    check_text(unit, tilec_cache_entry_json(NULL, 0), "");
    CHECK(unit, !tilec_device_name(NULL) && !tilec_device_target(NULL));
    CHECK(unit, tilec_bound_words(NULL) == 0 && tilec_bound_counts(NULL).launches == 0);
    CHECK(unit, !tilec_heuristic_path(NULL) && !tilec_heuristic_folders(NULL) && tilec_heuristic_count(NULL) == 0);
    CHECK(unit, tilec_heuristic_choose(NULL, NULL, 0) == -1);
    check_text(unit, tilec_heuristic_rule(NULL, NULL, 0), "");
    CHECK(unit, !tilec_run_summary(NULL) && !tilec_run_printed(NULL) && !tilec_bench_summary(NULL) && !tilec_tune_summary(NULL));
    check_text(unit, tilec_run_json(NULL), "");
    check_text(unit, tilec_bench_json(NULL), "");
    check_text(unit, tilec_tune_json(NULL), "");
    check_text(unit, tilec_tune_rows_json(NULL), "");
    check_text(unit, tilec_tune_config(NULL, 0), "");
    CHECK(unit, tilec_tune_count(NULL) == 0 && tilec_tune_best(NULL) == -1 && !tilec_tune_row(NULL, 0).config);
    CHECK(unit, tilec_doctor_count(NULL) == 0 && !tilec_doctor_finding(NULL, 0).name);
}

static const struct unit_test tests[] = {
    {"programs and kernels", programs_and_kernels},
    {"lists and their counts", lists},
    {"configs, caches and jobs", configs},
    {"devices and launches", launches},
    {"extents that can't be", extents},
    {"extents that wrap around", extents_that_wrap},
    {"element types that there aren't", types},
    {"functions without a result", without_results},
};
UNIT_MAIN(tests)
