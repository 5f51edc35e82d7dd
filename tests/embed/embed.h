// SPDX-License-Identifier: Apache-2.0
// What the tests of libtilec share: a kernel taken all the way to a bound one, and its arguments. Only tilec.h is used.
#ifndef TILEC_TESTS_EMBED_EMBED_H
#define TILEC_TESTS_EMBED_EMBED_H

#include <stdlib.h>

#include "runtime/tilec.h"
#include "tests/unit.h"

#define JAGGED_SUM                                                                           \
    "kernel jagged_sum<T: float, I: int>(x: T[nnz, M], offsets: I[B + 1]) -> out: T[B, M]\n" \
    "{\n"                                                                                    \
    "    for tb in tile(B) {\n"                                                              \
    "        let start = offsets[tb];\n"                                                     \
    "        let length = offsets[tb + 1] - start;\n"                                        \
    "        for tm in tile(M) {\n"                                                          \
    "            var acc: accum(T)[tb, tm] = 0;\n"                                           \
    "            for tk in jagged_tile(length) { acc += sum[tk](x[start + tk, tm]); }\n"     \
    "            out[tb, tm] = acc;\n"                                                       \
    "        }\n"                                                                            \
    "    }\n"                                                                                \
    "}\n"

// Every kind of parameter.
#define SCALED                                                                                                     \
    "kernel scaled(x: f32[n], bias: f32[n]?, inout y: f32[n], scale: f32 = 2.0, times: i32 = 1, on: bool) -> out: f32[2 * n]\n" \
    "{\n"                                                                                                          \
    "    for t in tile(n) {\n"                                                                                     \
    "        out[t] = x[t] * scale + (has(bias) ? bias[t] : 0);\n"                                                 \
    "        out[n + t] = on ? f32(times) : 0;\n"                                                                  \
    "        y[t] = y[t] + 1;\n"                                                                                   \
    "    }\n"                                                                                                      \
    "}\n"

struct session {
    tilec_report *report;
    tilec_program *program;
    tilec_kernel *kernel;
    tilec_device *device;
    tilec_bound *bound;
};

static inline void session_end(struct session *session)
{
    tilec_bound_free(session->bound);
    tilec_device_free(session->device);
    tilec_kernel_free(session->kernel);
    tilec_program_free(session->program);
    tilec_report_free(session->report);
    *session = (struct session){0};
}

// `options` may be NULL; its config is `config` in JSON, if that isn't NULL.
static inline tilec_result session_begin(struct session *session, const char *text, const char *device, const struct tilec_argument *arguments,
                                         int count, const char *config)
{
    tilec_config *made = NULL;
    *session = (struct session){.report = tilec_report_new()};
    tilec_result result = tilec_program_parse("test.tile", text, strlen(text), session->report, &session->program);
    if (result == TILEC_OK) result = tilec_kernel_for(session->program, NULL, arguments, count, NULL, session->report, &session->kernel);
    if (result == TILEC_OK) result = tilec_device_open(device, session->report, &session->device);
    if (result == TILEC_OK && config) result = tilec_config_parse(session->kernel, config, strlen(config), session->report, &made);
    const struct tilec_bind_options options = {.config = made};
    if (result == TILEC_OK) result = tilec_bind(session->kernel, session->device, &options, session->report, &session->bound);
    tilec_config_free(made);
    for (int i = 0; i < tilec_report_count(session->report); i++) printf("# %s\n", tilec_report_message(session->report, i).message);
    return result;
}

// x, offsets, out of JAGGED_SUM. The shapes live in it.
struct sums {
    int64_t x_shape[2], offsets_shape[1], out_shape[2];
    struct tilec_argument arguments[3];
};
static inline void sums_fill(struct sums *sums, int64_t rows, int64_t nnz, int64_t columns, void *x, void *offsets, void *out)
{
    *sums = (struct sums){.x_shape = {nnz, columns}, .offsets_shape = {rows + 1}, .out_shape = {rows, columns}};
    sums->arguments[0] = (struct tilec_argument){.type = TILEC_F32, .rank = 2, .shape = sums->x_shape, .data = x};
    sums->arguments[1] = (struct tilec_argument){.type = TILEC_I64, .rank = 1, .shape = sums->offsets_shape, .data = offsets};
    sums->arguments[2] = (struct tilec_argument){.type = TILEC_F32, .rank = 2, .shape = sums->out_shape, .data = out};
}

// The launch fails with this result, code and part of the message.
static inline void check_refused(struct unit *unit, int line, const tilec_bound *bound, const struct tilec_argument *arguments, int count, void *workspace,
                                 const char *code, const char *words)
{
    tilec_report *report = tilec_report_new();
    tilec_result result = tilec_launch(bound, arguments, count, workspace, NULL, report);
    struct tilec_message message = tilec_report_count(report) ? tilec_report_message(report, 0) : (struct tilec_message){.code = "(none)", .message = ""};
    if (result == TILEC_OK || strcmp(message.code, code) != 0 || !strstr(message.message, words)) {
        unit->ok = false;
        printf("# line %d: result %d, %s: %s\n#   wanted %s: … %s …\n", line, (int)result, message.code, message.message, code, words);
    }
    unit_check_number(unit, tilec_launch(bound, arguments, count, workspace, NULL, NULL), result, __FILE__, line, "without a report");
    tilec_report_free(report);
}
#define REFUSED(bound, arguments, count, code, words) check_refused(unit, __LINE__, bound, arguments, count, NULL, code, words)

#endif
