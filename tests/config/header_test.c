// SPDX-License-Identifier: Apache-2.0
// runtime/tilec.h alone, as a user in C99 sees it: compile, use, free; NULL is fine to free.
#include "runtime/tilec.h"

#include <stdio.h>
#include <string.h>

static const char program_text[] = "kernel twice(x: f32[n]) -> out: f32[n] { for t in tile(n) { out[t] = 2 * x[t]; } }\n";

static int number;
static int failed;

static void check(int good, const char *name)
{
    number++;
    failed += !good;
    printf("%sok %d - %s\n", good ? "" : "not ", number, name);
}

static void emit(tilec_kernel *kernel, tilec_report *report)
{
    struct tilec_emit_options options = {"cpu", 0, 0, 0, NULL, 0, NULL, NULL, NULL};
    tilec_text cuda, cpu;
    check(tilec_kernel_emit(kernel, NULL, NULL, report, &cuda) == TILEC_OK && strstr(cuda.data, "__global__"), "CUDA C by default");
    check(tilec_kernel_emit(kernel, NULL, &options, report, &cpu) == TILEC_OK && strstr(cpu.data, "twice_run"), "C for the CPU");
    check(cuda.length == strlen(cuda.data), "a text's length");
    tilec_text_free(&cuda);
    tilec_text_free(&cpu);
    check(cuda.data == NULL && cuda.length == 0, "a freed text is empty");
}

static void refuse(tilec_report *report)
{
    static const char wrong[] = "kernel twice(x: f32[n]) -> out: f32[n] { for t in tile(n) { out[t] = y; } }";
    tilec_program *program = NULL;
    tilec_kernel *kernel = NULL;
    struct tilec_message message;
    check(tilec_program_parse("wrong.tile", wrong, strlen(wrong), report, &program) == TILEC_OK, "a wrong program parses");
    check(tilec_kernel_check(program, NULL, NULL, report, &kernel) == TILEC_WRONG && !kernel, "and is refused");
    tilec_program_free(program);
    message = tilec_report_message(report, 0);  // outlives the program
    check(tilec_report_count(report) == 1 && message.line == 1 && wrong[message.begin] == 'y', "with a place");
    check(strcmp(message.path, "wrong.tile") == 0 && strstr(message.plain, "wrong.tile:1:"), "in a file");
    check(tilec_report_message(report, 7).code == NULL && tilec_report_message(report, -1).code == NULL, "there is no message 7");
}

int main(void)
{
    tilec_report *report = tilec_report_new();
    tilec_program *program = NULL;
    tilec_kernel *kernel = NULL;
    check(tilec_version() && *tilec_version(), "a version");
    check(tilec_program_parse("twice.tile", program_text, strlen(program_text), report, &program) == TILEC_OK, "parses");
    check(tilec_program_kernel_count(program) == 1 && !tilec_program_kernel_name(program, 1), "has one kernel");
    check(tilec_kernel_check(program, "twice", NULL, report, &kernel) == TILEC_OK, "checks");
    if (kernel) emit(kernel, report);
    tilec_kernel_free(kernel);
    tilec_program_free(program);
    check(tilec_report_count(report) == 0, "an empty report");
    refuse(report);
    tilec_report_free(report);
    tilec_report_free(NULL);
    tilec_program_free(NULL);
    tilec_kernel_free(NULL);
    tilec_config_free(NULL);
    tilec_binary_free(NULL);
    tilec_run_free(NULL);
    tilec_doctor_free(NULL);
    check(1, "NULL is freed");
    printf("1..%d\n", number);
    return failed != 0;
}
