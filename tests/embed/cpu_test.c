// SPDX-License-Identifier: Apache-2.0
// Bound kernels on the CPU and in the evaluator: results, shapes that change, every argument that can be wrong, forks.
#include <sys/wait.h>
#include <unistd.h>

#include "embed.h"

static _Alignas(64) float x[64] = {1, 10, 2, 20, 3, 30, 4, 40};
static _Alignas(64) float out[64];
static int64_t offsets[] = {0, 1, 1, 4};

static void begin_sums(struct unit *unit, struct session *session, struct sums *sums, const char *device)
{
    sums_fill(sums, 3, 4, 2, x, offsets, out);
    CHECK_NUMBER(unit, session_begin(session, JAGGED_SUM, device, sums->arguments, 3, NULL), TILEC_OK);
}

// ---------------------------------------------------------------------------------------------- results

static void sums_on(struct unit *unit, const char *device)
{
    struct session session;
    struct sums sums;
    begin_sums(unit, &session, &sums, device);
    for (int i = 0; i < 64; i++) out[i] = -1;
    CHECK_NUMBER(unit, tilec_launch(session.bound, sums.arguments, 3, NULL, NULL, session.report), TILEC_OK);
    CHECK(unit, out[0] == 1 && out[1] == 10 && out[2] == 0 && out[3] == 0 && out[4] == 9 && out[5] == 90 && out[6] == -1);
    CHECK_TEXT(unit, tilec_device_name(session.device), device);
    session_end(&session);
}

static void sums_on_the_cpu(struct unit *unit)
{
    sums_on(unit, "cpu");
}

static void sums_in_the_evaluator(struct unit *unit)
{
    sums_on(unit, "reference");
}

static void shapes_change(struct unit *unit)
{
    struct session session;
    struct sums sums;
    begin_sums(unit, &session, &sums, "cpu");
    CHECK_NUMBER(unit, tilec_launch(session.bound, sums.arguments, 3, NULL, NULL, session.report), TILEC_OK);
    int built = tilec_bound_counts(session.bound).compiled + tilec_bound_counts(session.bound).cached;
    CHECK_NUMBER(unit, built, 1);
    for (int64_t rows = 0; rows < 4; rows++) {
        int64_t ends[] = {0, rows > 0, 2 * (rows > 1), 2 * (rows > 1)};
        out[2 * rows] = -1;
        sums_fill(&sums, rows, 2, 2, x, ends, out);
        CHECK_NUMBER(unit, tilec_launch(session.bound, sums.arguments, 3, NULL, NULL, session.report), TILEC_OK);
        CHECK(unit, (rows < 1 || out[0] == 1) && (rows < 3 || out[4] == 0) && out[2 * rows] == -1);
    }
    sums_fill(&sums, 3, 4, 2, x + 1, offsets, out);  // not at a multiple of 16 bytes
    CHECK_NUMBER(unit, tilec_launch(session.bound, sums.arguments, 3, NULL, NULL, session.report), TILEC_OK);
    CHECK(unit, out[0] == 10 && out[1] == 2);
    session_end(&session);
}

static void words_are_arguments(struct unit *unit)
{
    struct session session;
    struct sums sums;
    begin_sums(unit, &session, &sums, "cpu");
    const uint64_t words[] = {(uintptr_t)x, 4, 2, (uintptr_t)offsets, 4, (uintptr_t)out, 3, 2, 0, 0};
    CHECK_NUMBER(unit, tilec_bound_words(session.bound), 10);
    out[4] = -1;
    CHECK_NUMBER(unit, tilec_launch_words(session.bound, words), TILEC_OK);
    CHECK(unit, out[4] == 9);
    int64_t bytes = -1;
    CHECK_NUMBER(unit, tilec_workspace_words(session.bound, words, &bytes, NULL), TILEC_OK);
    CHECK_NUMBER(unit, bytes, 0);
    session_end(&session);
}

// ---------------------------------------------------------------------------------------------- what is asked for

static void output_shapes(struct unit *unit)
{
    struct session session;
    struct sums sums;
    int64_t shape[2] = {-1, -1};
    begin_sums(unit, &session, &sums, "reference");
    sums.arguments[2] = (struct tilec_argument){0};
    CHECK_NUMBER(unit, tilec_output_shape(session.bound, sums.arguments, 3, 2, shape, session.report), TILEC_OK);
    CHECK(unit, shape[0] == 3 && shape[1] == 2);
    CHECK_NUMBER(unit, tilec_output_shape(session.bound, sums.arguments, 3, 3, shape, NULL), TILEC_USAGE);
    sums.arguments[1].type = TILEC_NONE;
    CHECK_NUMBER(unit, tilec_output_shape(session.bound, sums.arguments, 3, 2, shape, NULL), TILEC_LAUNCH);
    session_end(&session);
}

static void signatures(struct unit *unit)
{
    struct session session;
    struct sums sums;
    begin_sums(unit, &session, &sums, "reference");
    CHECK_NUMBER(unit, tilec_kernel_parameter_count(session.kernel), 3);
    struct tilec_parameter parameter = tilec_kernel_parameter(session.kernel, 1);
    CHECK_TEXT(unit, parameter.name, "offsets");
    CHECK_TEXT(unit, parameter.extents[0], "B + 1");
    CHECK(unit, parameter.role == TILEC_IN && parameter.type == TILEC_I64 && parameter.rank == 1 && !parameter.absent);
    CHECK(unit, tilec_kernel_parameter(session.kernel, 2).role == TILEC_OUT && !tilec_kernel_parameter(session.kernel, 3).name);
    CHECK_NUMBER(unit, tilec_kernel_dimension_count(session.kernel), 3);
    for (int i = 0; i < 3; i++) {
        struct tilec_dimension dimension = tilec_kernel_dimension(session.kernel, i);
        bool inner = strcmp(dimension.name, "M") == 0;
        CHECK(unit, dimension.is_static == inner && dimension.batch != inner && dimension.value == (inner ? 2 : 0));
    }
    tilec_text json = tilec_kernel_json(session.kernel);
    CHECK_PART(unit, json.data, "{\"name\": \"offsets\", \"role\": \"in\", \"type\": \"i64\", \"optional\": false, \"absent\": false, \"extents\": "
                                "[{\"text\": \"B + 1\", \"dim\": \"B\", \"scale\": 1, \"offset\": 1}]}");
    CHECK_PART(unit, json.data, "{\"parameter\": 1, \"kind\": \"offsets\", \"of\": 0, \"position\": 0}");
    tilec_text_free(&json);
    session_end(&session);
}

static void specializations_for_arguments(struct unit *unit)
{
    static const char *const statics[] = {"B"}, *const dynamics[] = {"M"}, *const types[] = {"T=f16"};
    const struct tilec_specialization more = {.type_count = 1, .types = types, .static_count = 1, .statics = statics, .dynamic_count = 1, .dynamics = dynamics};
    struct session session;
    struct sums sums;
    tilec_kernel *kernel = NULL;
    begin_sums(unit, &session, &sums, "reference");
    CHECK_NUMBER(unit, tilec_kernel_for(session.program, "jagged_sum", sums.arguments, 3, &more, session.report, &kernel), TILEC_OK);
    CHECK(unit, kernel && tilec_kernel_parameter(kernel, 0).type == TILEC_F16);
    for (int i = 0; kernel && i < 3; i++) {
        struct tilec_dimension dimension = tilec_kernel_dimension(kernel, i);
        CHECK(unit, dimension.is_static == (strcmp(dimension.name, "B") == 0));
    }
    tilec_kernel_free(kernel);
    CHECK_NUMBER(unit, tilec_kernel_for(session.program, "no_such", sums.arguments, 3, NULL, session.report, &kernel), TILEC_USAGE);
    CHECK_NUMBER(unit, tilec_kernel_for(session.program, NULL, sums.arguments, 2, NULL, NULL, &kernel), TILEC_LAUNCH);
    sums.arguments[0].rank = 1;
    CHECK_NUMBER(unit, tilec_kernel_for(session.program, NULL, sums.arguments, 3, NULL, NULL, &kernel), TILEC_LAUNCH);
    sums.arguments[0].rank = 2;
    sums.arguments[0].type = TILEC_I32;
    CHECK_NUMBER(unit, tilec_kernel_for(session.program, NULL, sums.arguments, 3, NULL, NULL, &kernel), TILEC_LAUNCH);
    session_end(&session);
}

#define PRODUCT                                                                                                   \
    "kernel product<T: float>(x: T[B, D], w: T[D, E]) -> out: T[B, E]\n"                                          \
    "{\n    axis d = D;\n    for (tb, te) in tile(B, E) { out[tb, te] = dot[d](x[tb, d], w[d, te]); }\n}\n"

static bool is_static(const tilec_kernel *kernel, const char *name)
{
    for (int i = 0; i < tilec_kernel_dimension_count(kernel); i++)
        if (strcmp(tilec_kernel_dimension(kernel, i).name, name) == 0) return tilec_kernel_dimension(kernel, i).is_static;
    return false;
}

// A full axis needs its extent when the kernel is checked; nothing else is compiled in for that.
static void full_axes(struct unit *unit)
{
    static const char *const dynamics[] = {"D"};
    const struct tilec_specialization open = {.dynamic_count = 1, .dynamics = dynamics};
    static const int64_t x_shape[] = {2, 3}, w_shape[] = {3, 2}, out_shape[] = {2, 2};
    float w[] = {1, 2, 3, 4, 5, 6};
    struct tilec_argument arguments[] = {{.type = TILEC_F32, .rank = 2, .shape = x_shape, .data = x},
                                         {.type = TILEC_F32, .rank = 2, .shape = w_shape, .data = w},
                                         {.type = TILEC_F32, .rank = 2, .shape = out_shape, .data = out}};
    struct session session;
    tilec_kernel *kernel = NULL;
    CHECK_NUMBER(unit, session_begin(&session, PRODUCT, "cpu", arguments, 3, NULL), TILEC_OK);
    CHECK(unit, session.kernel && is_static(session.kernel, "D") && !is_static(session.kernel, "B"));
    CHECK_NUMBER(unit, tilec_report_count(session.report), 0);
    CHECK_NUMBER(unit, tilec_launch(session.bound, arguments, 3, NULL, NULL, session.report), TILEC_OK);
    CHECK(unit, out[0] == 1 + 30 + 10 && out[1] == 2 + 40 + 12 && out[2] == 20 + 9 + 150 && out[3] == 40 + 12 + 180);
    CHECK_NUMBER(unit, tilec_kernel_for(session.program, NULL, arguments, 3, &open, session.report, &kernel), TILEC_WRONG);
    CHECK(unit, !kernel && tilec_report_count(session.report) == 1);
    CHECK_TEXT(unit, tilec_report_message(session.report, 0).code, "E0221");
    session_end(&session);
}

static void configs_for_arguments(struct unit *unit)
{
    struct session session;
    struct sums sums;
    tilec_config *config = NULL;
    const struct tilec_cache_options hit = {.assert_hit = 1}, wrong = {.kind = "elsewhere"};
    begin_sums(unit, &session, &sums, "cpu");
    CHECK_NUMBER(unit, tilec_config_for(session.kernel, session.device, sums.arguments, 3, NULL, session.report, &config), TILEC_OK);
    CHECK(unit, config);
    tilec_config_free(config);
    CHECK_NUMBER(unit, tilec_config_for(session.kernel, session.device, sums.arguments, 3, &hit, session.report, &config), TILEC_NO_CONFIG);
    CHECK_NUMBER(unit, tilec_config_for(session.kernel, session.device, sums.arguments, 3, &wrong, session.report, &config), TILEC_USAGE);
    sums.arguments[0].data = NULL;  // only rows need to be here
    CHECK_NUMBER(unit, tilec_config_for(session.kernel, session.device, sums.arguments, 3, NULL, session.report, &config), TILEC_OK);
    tilec_config_free(config);
    CHECK_NUMBER(unit, tilec_config_for(session.kernel, session.device, sums.arguments, 1, NULL, NULL, &config), TILEC_LAUNCH);
    session_end(&session);
}

static bool write_dispatch(const char *path, const char *key)
{
    FILE *file = fopen(path, "w");
    if (!file) return false;
    fprintf(file, "{\"format\": 1, \"key\": \"%s\", \"configs\": [{\"format\": 1}, {\"format\": 1, \"peel\": false}]}\n", key);
    return fclose(file) == 0;
}

// What calls are told apart by: of shapes alone, so data may be anywhere.
static void check_values(struct unit *unit, const struct session *session, struct sums *sums, const char *path)
{
    tilec_dispatch *dispatch = NULL;
    tilec_text value = {0};
    CHECK_NUMBER(unit, tilec_dispatch_load(session->kernel, "/nonexistent", session->report, &dispatch), TILEC_USAGE);
    CHECK(unit, !dispatch && write_dispatch(path, "100 * next_pow2(B) + M"));
    CHECK_NUMBER(unit, tilec_dispatch_load(session->kernel, path, session->report, &dispatch), TILEC_OK);
    CHECK_NUMBER(unit, tilec_dispatch_value(dispatch, sums->arguments, 3, session->report, &value), TILEC_OK);
    CHECK(unit, value.data && strcmp(value.data, "402") == 0);
    tilec_text_free(&value);
    CHECK_NUMBER(unit, tilec_dispatch_value(dispatch, sums->arguments, 1, session->report, &value), TILEC_LAUNCH);
    CHECK(unit, !value.data);
    tilec_dispatch_free(dispatch);
    tilec_dispatch_free(NULL);
}

// A value of the key has to be timed once; from then on its config is known to whoever shares the cache.
static void configs_by_a_key(struct unit *unit)
{
    static const char *const words[] = {"x=randn", "offsets=offsets(const(1))"}, *const dims[] = {"B=3", "M=2", "nnz=4"};
    struct session session;
    struct sums sums;
    char path[] = "/tmp/tilec-dispatch-XXXXXX", key[64];
    tilec_config *config = NULL;
    tilec_run *run = NULL;
    int file = mkstemp(path);
    snprintf(key, sizeof key, "next_pow2(B) + 0 * %d", (int)getpid());  // one that the cache hasn't got yet
    begin_sums(unit, &session, &sums, "cpu");
    CHECK(unit, file >= 0 && close(file) == 0 && write_dispatch(path, key));
    CHECK_NUMBER(unit, tilec_config_dispatch(session.kernel, session.device, sums.arguments, 3, path, NULL, session.report, &config),
                 TILEC_NO_CONFIG);
    const struct tilec_run_options options = {
        .kernel = "jagged_sum", .argument_count = 2, .arguments = words, .dim_count = 3, .dims = dims, .config = path};
    CHECK_NUMBER(unit, tilec_run_kernel(session.program, &options, session.report, &run), TILEC_OK);
    tilec_run_free(run);
    CHECK_NUMBER(unit, tilec_config_dispatch(session.kernel, session.device, sums.arguments, 3, path, NULL, session.report, &config), TILEC_OK);
    CHECK(unit, config);
    tilec_config_free(config);
    check_values(unit, &session, &sums, path);
    CHECK(unit, write_dispatch(path, "next_pow2(Q)"));
    CHECK_NUMBER(unit, tilec_config_dispatch(session.kernel, session.device, sums.arguments, 3, path, NULL, session.report, &config), TILEC_WRONG);
    session_end(&session);
    unlink(path);
}

// ---------------------------------------------------------------------------------------------- what can be wrong

static void wrong_tensors(struct unit *unit)
{
    struct session session;
    struct sums sums;
    begin_sums(unit, &session, &sums, "cpu");
    const struct sums good = sums;
    const int64_t transposed[] = {1, 4};
    REFUSED(session.bound, sums.arguments, 2, "launch.argument", "takes 3 arguments");
    sums.arguments[0].type = TILEC_F16;
    REFUSED(session.bound, sums.arguments, 3, "launch.type", "'x' holds f16, but the kernel is bound for f32");
    sums.arguments[0] = good.arguments[0];
    sums.arguments[1].type = (enum tilec_type)77;
    REFUSED(session.bound, sums.arguments, 3, "launch.type", "'offsets' holds no type");
    sums.arguments[1] = good.arguments[1];
    sums.arguments[1].rank = 0;
    REFUSED(session.bound, sums.arguments, 3, "launch.rank", "'offsets' has 0 dimensions");
    sums.arguments[1] = good.arguments[1];
    sums.arguments[0].strides = transposed;
    REFUSED(session.bound, sums.arguments, 3, "launch.strides", "'x' isn't dense");
    sums.arguments[0] = good.arguments[0];
    sums.arguments[0].data = NULL;
    REFUSED(session.bound, sums.arguments, 3, "launch.argument", "'x' is missing: its address is NULL");
    sums.arguments[0] = (struct tilec_argument){0};
    REFUSED(session.bound, sums.arguments, 3, "launch.argument", "'x' is missing");
    sums.arguments[0] = good.arguments[0];
    sums.arguments[2].data = x + 6;
    REFUSED(session.bound, sums.arguments, 3, "launch.overlap", "'out', which the kernel writes, shares memory with 'x'");
    session_end(&session);
}

static void wrong_shapes(struct unit *unit)
{
    struct session session;
    struct sums sums;
    begin_sums(unit, &session, &sums, "cpu");
    sums.x_shape[1] = 3;
    sums.arguments[0].shape = sums.x_shape;
    REFUSED(session.bound, sums.arguments, 3, "launch.dimension", "'x' (dimension 2) is 3, but it is declared as M, which is 2");
    sums.x_shape[1] = 2;
    sums.offsets_shape[0] = 0;
    sums.arguments[1].shape = sums.offsets_shape;
    REFUSED(session.bound, sums.arguments, 3, "launch.dimension", "'offsets' has 0 elements in dimension 1, which is declared as B + 1");
    sums.offsets_shape[0] = 4;
    sums.out_shape[0] = 2;
    sums.arguments[2].shape = sums.out_shape;
    REFUSED(session.bound, sums.arguments, 3, "launch.dimension", "'out' (dimension 1) is 2, but it is declared as B, which is 3");
    sums.out_shape[0] = 3;
    sums.x_shape[0] = -1;
    REFUSED(session.bound, sums.arguments, 3, "launch.dimension", "extent -1 in dimension 1: it is negative");
    sums.x_shape[0] = INT64_MAX / 2;
    REFUSED(session.bound, sums.arguments, 3, "launch.dimension", "larger than any memory");
    session_end(&session);
}

static void wrong_scales(struct unit *unit)
{
    static int64_t even[] = {4}, odd[] = {5}, half[] = {2};
    struct tilec_argument arguments[] = {{.type = TILEC_F32, .rank = 1, .shape = even, .data = x}, {.type = TILEC_F32, .rank = 1, .shape = half, .data = out}};
    struct session session;
    CHECK_NUMBER(unit, session_begin(&session, "kernel second(x: f32[2 * n]) -> out: f32[n] { for t in tile(n) { out[t] = x[2 * t + 1]; } }", "cpu",
                                     arguments, 2, NULL), TILEC_OK);
    CHECK_NUMBER(unit, tilec_launch(session.bound, arguments, 2, NULL, NULL, session.report), TILEC_OK);
    CHECK(unit, out[0] == 10 && out[1] == 20);
    arguments[0].shape = odd;
    REFUSED(session.bound, arguments, 2, "launch.dimension", "'x' has 5 elements in dimension 1, which is declared as 2 * n: no n gives that");
    session_end(&session);
}

// Numbers that no memory has.
static void huge_shapes(struct unit *unit)
{
    static const int64_t strides[] = {(int64_t)1 << 40, 1};
    struct session session;
    struct sums sums;
    begin_sums(unit, &session, &sums, "cpu");
    const struct tilec_argument good = sums.arguments[0];
    sums.x_shape[1] = (int64_t)1 << 48;
    sums.arguments[0].shape = sums.x_shape;
    REFUSED(session.bound, sums.arguments, 3, "launch.dimension", "'x' can't have the extent 281474976710656 in dimension 2");
    sums.x_shape[0] = sums.x_shape[1] = (int64_t)1 << 40;
    sums.arguments[0].strides = strides;
    REFUSED(session.bound, sums.arguments, 3, "launch.strides", "'x' isn't dense");
    sums.arguments[0] = good;
    session_end(&session);
}

static void too_many_parameters(struct unit *unit)
{
    char *text = arena_printf(unit->arena, "kernel many(x: f32[n]");
    struct tilec_argument arguments[66] = {{.type = TILEC_F32, .rank = 1, .shape = offsets + 1, .data = x}};
    struct session session;
    for (int i = 1; i < 65; i++) text = arena_printf(unit->arena, "%s, s%d: f32 = 1", text, i);
    text = arena_printf(unit->arena, "%s) -> out: f32[n] { for t in tile(n) { out[t] = x[t] + s64; } }", text);
    arguments[65] = arguments[0];
    CHECK(unit, session_begin(&session, text, "reference", arguments, 66, NULL) == TILEC_NO_CONFIG && !session.bound);
    CHECK_TEXT(unit, tilec_report_message(session.report, tilec_report_count(session.report) - 1).code, "limits.parameters");
    session_end(&session);
}

static void wrong_offsets(struct unit *unit)
{
    int64_t descending[] = {0, 3, 1, 4}, beyond[] = {0, 1, 1, 5};
    struct session session;
    struct sums sums;
    begin_sums(unit, &session, &sums, "cpu");
    sums.arguments[1].data = descending;
    REFUSED(session.bound, sums.arguments, 3, "launch.offsets", "'offsets'");
    sums.arguments[1].data = beyond;
    REFUSED(session.bound, sums.arguments, 3, "launch.offsets", "'offsets'");
    session_end(&session);
}

// ---------------------------------------------------------------------------------------------- scalars and options

struct scaled {
    int64_t shape[1], out_shape[1];
    struct tilec_argument arguments[7];
};

static void scaled_fill(struct scaled *scaled, const float *bias)
{
    static float y[4];
    *scaled = (struct scaled){.shape = {4}, .out_shape = {8}};
    for (int i = 0; i < 3; i++) scaled->arguments[i] = (struct tilec_argument){.type = TILEC_F32, .rank = 1, .shape = scaled->shape};
    scaled->arguments[0].data = x;
    scaled->arguments[1].data = (void *)(uintptr_t)bias;
    scaled->arguments[2].data = y;
    if (!bias) scaled->arguments[1] = (struct tilec_argument){0};
    scaled->arguments[5] = (struct tilec_argument){.type = TILEC_BOOL, .integer = 1};
    scaled->arguments[6] = (struct tilec_argument){.type = TILEC_F32, .rank = 1, .shape = scaled->out_shape, .data = out};
}

static void scalars(struct unit *unit)
{
    struct session session;
    struct scaled scaled;
    scaled_fill(&scaled, NULL);
    CHECK_NUMBER(unit, session_begin(&session, SCALED, "cpu", scaled.arguments, 7, NULL), TILEC_OK);
    CHECK_NUMBER(unit, tilec_launch(session.bound, scaled.arguments, 7, NULL, NULL, session.report), TILEC_OK);
    CHECK(unit, out[1] == 20 && out[4] == 1);
    tilec_text json = tilec_kernel_json(session.kernel);
    CHECK_PART(unit, json.data, "\"default\": 2");
    CHECK_PART(unit, json.data, "\"default\": 1, ");
    tilec_text_free(&json);
    scaled.arguments[3] = (struct tilec_argument){.type = TILEC_F64, .number = 0.5};
    scaled.arguments[4] = (struct tilec_argument){.type = TILEC_I64, .integer = 7};
    CHECK_NUMBER(unit, tilec_launch(session.bound, scaled.arguments, 7, NULL, NULL, session.report), TILEC_OK);
    CHECK(unit, out[1] == 5 && out[4] == 7);
    scaled.arguments[4].integer = (int64_t)1 << 31;
    REFUSED(session.bound, scaled.arguments, 7, "launch.argument", "'times' is declared as i32, which can't be 2147483648");
    scaled.arguments[4] = (struct tilec_argument){.type = TILEC_F64, .number = 1};
    REFUSED(session.bound, scaled.arguments, 7, "launch.argument", "'times' is declared as a number of type i32");
    scaled.arguments[4] = (struct tilec_argument){0};
    scaled.arguments[5].integer = 2;
    REFUSED(session.bound, scaled.arguments, 7, "launch.argument", "'on' is declared as bool, which can't be 2");
    scaled.arguments[5] = (struct tilec_argument){0};
    REFUSED(session.bound, scaled.arguments, 7, "launch.argument", "'on' is missing: it has no default");
    session_end(&session);
}

// A loop's bounds are numbers of the caller's: none may be so large that a tile's indices overflow.
static void far_bounds(struct unit *unit)
{
    static const char source[] = "kernel far(a: i64, b: i64) -> out: f32[1]\n{\n    for one in tile(1) {\n        var s: f32[one] = 0;\n"
                                 "        for t in tile(a + 1, b) { s += sum[t](f32(t.index % 2)); }\n        out[one] = s;\n    }\n}\n";
    int64_t shape[] = {1};
    struct tilec_argument arguments[] = {{.type = TILEC_I64, .integer = 1}, {.type = TILEC_I64, .integer = 6},
                                         {.type = TILEC_F32, .rank = 1, .shape = shape, .data = out}};
    struct session session;
    CHECK_NUMBER(unit, session_begin(&session, source, "cpu", arguments, 3, NULL), TILEC_OK);
    CHECK_NUMBER(unit, tilec_launch(session.bound, arguments, 3, NULL, NULL, session.report), TILEC_OK);
    CHECK_NUMBER(unit, out[0], 2);
    arguments[1].integer = INT64_MAX;
    REFUSED(session.bound, arguments, 3, "launch.bounds", "the loop over 't' would have the bound 9223372036854775807");
    arguments[1].integer = 6;
    arguments[0].integer = INT64_MAX;
    REFUSED(session.bound, arguments, 3, "launch.bounds", "the loop over 't' would have the bound -9223372036854775808");
    session_end(&session);
}

static void optional_tensors(struct unit *unit)
{
    static const float bias[] = {1, 2, 3, 4};
    struct session session;
    struct scaled scaled;
    scaled_fill(&scaled, bias);
    CHECK_NUMBER(unit, session_begin(&session, SCALED, "cpu", scaled.arguments, 7, NULL), TILEC_OK);
    CHECK_NUMBER(unit, tilec_launch(session.bound, scaled.arguments, 7, NULL, NULL, session.report), TILEC_OK);
    CHECK_NUMBER(unit, out[1], 22);
    scaled.arguments[1] = (struct tilec_argument){0};
    REFUSED(session.bound, scaled.arguments, 7, "launch.argument", "'bias' is missing: the kernel is bound with it");
    session_end(&session);
    scaled_fill(&scaled, NULL);
    CHECK_NUMBER(unit, session_begin(&session, SCALED, "cpu", scaled.arguments, 7, NULL), TILEC_OK);
    CHECK(unit, tilec_kernel_parameter(session.kernel, 1).absent);
    scaled_fill(&scaled, bias);
    REFUSED(session.bound, scaled.arguments, 7, "launch.argument", "'bias' is given, but the kernel is bound without it");
    session_end(&session);
}

static void wrong_devices_and_configs(struct unit *unit)
{
    static const char other[] = "{\"format\": 1, \"axes\": {\"tz\": {\"block\": 4}}}";
    tilec_report *report = tilec_report_new();
    tilec_device *device = NULL;
    struct session session;
    struct sums sums;
    CHECK_NUMBER(unit, tilec_device_open("tpu", report, &device), TILEC_USAGE);
    CHECK_PART(unit, tilec_report_message(report, 0).message, "there is no device 'tpu'");
    CHECK_NUMBER(unit, tilec_device_open("cuda:x", NULL, &device), TILEC_USAGE);
    CHECK(unit, !device);
    tilec_report_free(report);
    sums_fill(&sums, 3, 4, 2, x, offsets, out);
    CHECK(unit, session_begin(&session, JAGGED_SUM, "cpu", sums.arguments, 3, other) == TILEC_WRONG && !session.bound);
    session_end(&session);
}

static void no_compiler(struct unit *unit)
{
    struct session session;
    struct sums sums;
    const char *path = arena_printf(unit->arena, "%s", getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    unsetenv("CC");
    sums_fill(&sums, 3, 4, 2, x, offsets, out);
    CHECK(unit, session_begin(&session, JAGGED_SUM, "cpu", sums.arguments, 3, NULL) == TILEC_MISSING && !session.bound);
    setenv("PATH", path, 1);
    session_end(&session);
}

// The parent's threads are missing there whatever device is used; the evaluator needs none.
static bool own_device_in_a_child(const struct session *session, const struct sums *sums)
{
    static const char *const names[] = {"cpu", "reference"};
    static const tilec_result wanted[] = {TILEC_LAUNCH, TILEC_OK};
    bool good = true;
    for (int i = 0; i < 2; i++) {
        tilec_device *device = NULL;
        tilec_bound *bound = NULL;
        good = good && tilec_device_open(names[i], NULL, &device) == TILEC_OK && tilec_bind(session->kernel, device, NULL, NULL, &bound) == TILEC_OK &&
               tilec_launch(bound, sums->arguments, 3, NULL, NULL, NULL) == wanted[i];
        tilec_bound_free(bound);
        tilec_device_free(device);
    }
    return good;
}

static void forks(struct unit *unit)
{
    struct session session;
    struct sums sums;
    int status = -1;
    begin_sums(unit, &session, &sums, "cpu");
    CHECK_NUMBER(unit, tilec_launch(session.bound, sums.arguments, 3, NULL, NULL, session.report), TILEC_OK);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        tilec_bound *bound = NULL;
        tilec_result result = tilec_launch(session.bound, sums.arguments, 3, NULL, NULL, session.report);
        const char *code = tilec_report_count(session.report) ? tilec_report_message(session.report, 0).code : "";
        tilec_result again = tilec_bind(session.kernel, session.device, NULL, NULL, &bound);
        bool refused = result == TILEC_LAUNCH && strcmp(code, "launch.fork") == 0 && again == TILEC_LAUNCH;
        _exit(refused && own_device_in_a_child(&session, &sums) ? 23 : 1);
    }
    CHECK(unit, waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_NUMBER(unit, WEXITSTATUS(status), 23);
    CHECK_NUMBER(unit, tilec_launch(session.bound, sums.arguments, 3, NULL, NULL, session.report), TILEC_OK);
    session_end(&session);
}

static void saved_arguments(struct unit *unit)
{
    struct sums sums;
    const int64_t transposed[] = {1, 4};
    tilec_text text;
    char *path = arena_printf(unit->arena, "/tmp/tilec-embed-%ld.npy", (long)getpid());
    sums_fill(&sums, 3, 4, 2, x, offsets, out);
    CHECK_NUMBER(unit, tilec_argument_save(&sums.arguments[1], path, NULL), TILEC_OK);
    CHECK(unit, tilec_file_read(path, NULL, &text) == TILEC_OK && memcmp(text.data, "\x93NUMPY", 6) == 0);
    CHECK(unit, text.length > 32 && memcmp(text.data + text.length - 32, offsets, 32) == 0);
    tilec_text_free(&text);
    unlink(path);
    sums.arguments[0].strides = transposed;
    CHECK_NUMBER(unit, tilec_argument_save(&sums.arguments[0], path, NULL), TILEC_USAGE);
    CHECK_NUMBER(unit, tilec_argument_save(&sums.arguments[1], "/nonexistent/x.npy", NULL), TILEC_WRONG);
}

static void names_of_types(struct unit *unit)
{
    CHECK_TEXT(unit, tilec_type_name(TILEC_BF16), "bf16");
    CHECK(unit, !tilec_type_name(TILEC_NONE) && !tilec_type_name((enum tilec_type)99));
    CHECK_NUMBER(unit, tilec_type_named("f64"), TILEC_F64);
    CHECK_NUMBER(unit, tilec_type_named("f63"), TILEC_NONE);
    CHECK(unit, tilec_type_bytes(TILEC_F16) == 2 && tilec_type_bytes(TILEC_BOOL) == 1 && tilec_type_bytes(TILEC_NONE) == 0);
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", TILEC_VERSION_MAJOR, TILEC_VERSION_MINOR, TILEC_VERSION_PATCH);
    CHECK_TEXT(unit, tilec_version(), version);
}

static const struct unit_test tests[] = {
    {"sums on the CPU", sums_on_the_cpu},
    {"sums in the evaluator", sums_in_the_evaluator},
    {"shapes change from launch to launch", shapes_change},
    {"words are arguments", words_are_arguments},
    {"shapes of outputs", output_shapes},
    {"signatures", signatures},
    {"kernels for arguments", specializations_for_arguments},
    {"full axes", full_axes},
    {"configs for arguments", configs_for_arguments},
    {"configs by a key", configs_by_a_key},
    {"wrong tensors", wrong_tensors},
    {"wrong shapes", wrong_shapes},
    {"wrong scales", wrong_scales},
    {"huge shapes", huge_shapes},
    {"too many parameters", too_many_parameters},
    {"wrong offsets", wrong_offsets},
    {"scalars and their defaults", scalars},
    {"bounds of loops that lie too far", far_bounds},
    {"optional tensors", optional_tensors},
    {"wrong devices and configs", wrong_devices_and_configs},
    {"no compiler", no_compiler},
    {"a fork", forks},
    {"saved arguments", saved_arguments},
    {"names of types, and the version", names_of_types},
};
UNIT_MAIN(tests)
