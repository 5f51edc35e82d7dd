// SPDX-License-Identifier: Apache-2.0
// A program that runs a kernel through libtilec, on the CPU: three rows of two columns, summed.
//
//   cc jagged.c $(pkg-config --cflags --libs tilec) -o jagged && ./jagged
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tilec.h>

static const char source[] =
    "kernel jagged_sum<T: float, I: int>(x: T[nnz, M], offsets: I[B + 1]) -> out: T[B, M] {\n"
    "    for tb in tile(B) {\n"
    "        let start = offsets[tb];\n"
    "        let length = offsets[tb + 1] - start;\n"
    "        for tm in tile(M) {\n"
    "            var acc: accum(T)[tb, tm] = 0;\n"
    "            for tk in jagged_tile(length) { acc += sum[tk](x[start + tk, tm]); }\n"
    "            out[tb, tm] = acc;\n"
    "        }\n"
    "    }\n"
    "}\n";

// Everything that is made on the way, so that it can be freed in one place.
struct session {
    tilec_report *report;
    tilec_program *program;
    tilec_kernel *kernel;
    tilec_device *device;
    tilec_bound *bound;
};

static void end(struct session *session)
{
    tilec_bound_free(session->bound);
    tilec_device_free(session->device);
    tilec_kernel_free(session->kernel);
    tilec_program_free(session->program);
    tilec_report_free(session->report);
}

// Source, kernel, device, bound kernel: once. `arguments` tell types and inner extents.
static tilec_result prepare(struct session *session, const struct tilec_argument *arguments, int count)
{
    tilec_result result = tilec_program_parse("jagged_sum.tile", source, strlen(source), session->report, &session->program);
    if (result == TILEC_OK) result = tilec_kernel_for(session->program, NULL, arguments, count, NULL, session->report, &session->kernel);
    if (result == TILEC_OK) result = tilec_device_open("cpu", session->report, &session->device);
    if (result == TILEC_OK) result = tilec_bind(session->kernel, session->device, NULL, session->report, &session->bound);
    return result;
}

// As often as there is data, from any thread.
static tilec_result run(const struct session *session, struct tilec_argument *arguments, int count)
{
    int64_t shape[2];
    tilec_result result = tilec_output_shape(session->bound, arguments, count, 2, shape, session->report);
    if (result != TILEC_OK) return result;
    float *sums = calloc((size_t)(shape[0] * shape[1]) + 1, sizeof *sums);
    arguments[2] = (struct tilec_argument){.type = TILEC_F32, .rank = 2, .shape = shape, .data = sums};
    result = tilec_launch(session->bound, arguments, count, NULL, NULL, session->report);
    for (int64_t row = 0; row < shape[0] && result == TILEC_OK; row++) printf("row %d: %g %g\n", (int)row, sums[2 * row], sums[2 * row + 1]);
    free(sums);
    return result;
}

int main(void)
{
    static float x[] = {1, 10, 2, 20, 3, 30, 4, 40};       // four elements, one behind the other
    static int64_t offsets[] = {0, 1, 1, 4};               // in rows of 1, 0 and 3
    static const int64_t x_shape[] = {4, 2}, offsets_shape[] = {4};
    struct tilec_argument arguments[] = {
        {.type = TILEC_F32, .rank = 2, .shape = x_shape, .data = x},
        {.type = TILEC_I64, .rank = 1, .shape = offsets_shape, .data = offsets},
        {.type = TILEC_NONE},                              // the output: its shape is asked for
    };
    struct session session = {.report = tilec_report_new()};
    tilec_result result = prepare(&session, arguments, 3);
    if (result == TILEC_OK) result = run(&session, arguments, 3);
    for (int i = 0; i < tilec_report_count(session.report); i++) fputs(tilec_report_message(session.report, i).plain, stderr);
    end(&session);
    return (int)result;
}
