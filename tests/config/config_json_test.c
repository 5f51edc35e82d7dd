// SPDX-License-Identifier: Apache-2.0
// Configs as JSON, through tilec.h: what is read, what is refused and with which words, and that printing and reading
// are each other's inverse on random configs.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/tilec.h"
#include "tests/runtime/tap.h"

static const char program_text[] =
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

struct fixture {
    tilec_report *report;
    tilec_program *program;
    tilec_kernel *kernel;
};

static struct fixture fixture_new(void)
{
    struct fixture fixture = {.report = tilec_report_new()};
    if (tilec_program_parse("sum.tile", program_text, strlen(program_text), fixture.report, &fixture.program) == TILEC_OK)
        tilec_kernel_check(fixture.program, NULL, NULL, fixture.report, &fixture.kernel);
    for (int i = 0; i < tilec_report_count(fixture.report); i++) printf("# %s\n", tilec_report_message(fixture.report, i).message);
    return fixture;
}

static void fixture_free(struct fixture *fixture)
{
    tilec_kernel_free(fixture->kernel);
    tilec_program_free(fixture->program);
    tilec_report_free(fixture->report);
}

// ---------------------------------------------------------------------------------------------- refusals

static void refused(struct tap *tap, const char *json, const char *words)
{
    struct fixture fixture = fixture_new();
    tilec_config *config = NULL;
    CHECK(tap, fixture.kernel);
    if (!fixture.kernel) return fixture_free(&fixture);
    tilec_result result = tilec_config_parse(fixture.kernel, json, strlen(json), fixture.report, &config);
    int count = tilec_report_count(fixture.report);
    const char *message = count ? tilec_report_message(fixture.report, count - 1).message : "(none)";
    if (result == TILEC_OK || config || !strstr(message, words)) {
        tap->ok = false;
        printf("# %s\n#   got: %s\n#   wanted: %s\n", json, message, words);
    }
    tilec_config_free(config);
    fixture_free(&fixture);
}

static void test_refusals(struct tap *tap)
{
    refused(tap, "", "the JSON ends too early");
    refused(tap, "{\"format\": 1", "the JSON ends too early");
    refused(tap, "{\"format\": 1} x", "no valid JSON here");
    refused(tap, "{\"format\": 1}{}", "no valid JSON here");
    refused(tap, "{format: 1}", "no valid JSON here");
    refused(tap, "[]", "the config: wants an object, has an array");
    refused(tap, "{}", "format: the key is missing");
    refused(tap, "{\"format\": 2, \"news\": true}", "format: the file has format 2");
    refused(tap, "{\"format\": 0}", "format: formats begin at 1");
    refused(tap, "{\"format\": \"1\"}", "format: wants an integer, has a string");
    refused(tap, "{\"format\": 1, \"format\": 1}", "format: the key is there twice");
    refused(tap, "{\"format\": 1, \"Peel\": true}", "Peel: no such key");
    refused(tap, "{\"format\": 1, \"peel\": 1}", "peel: wants true or false, has a number");
    refused(tap, "{\"format\": 1, \"kernel\": \"other\"}", "kernel: the config is for kernel other, not for jagged_sum");
    refused(tap, "{\"format\": 1, \"strategy\": \"magic\"}", "strategy: there is no strategy magic");
    refused(tap, "{\"format\": 1, \"axes\": []}", "axes: wants an object, has an array");
    refused(tap, "{\"format\": 1, \"axes\": {\"tq\": {}}}", "axes.tq: kernel jagged_sum has no axis of that name; it has");
    refused(tap, "{\"format\": 1, \"axes\": {\"tb\": {}, \"tb\": {}}}", "axes.tb: the key is there twice");
    refused(tap, "{\"format\": 1, \"axes\": {\"tb\": {\"block\": \"8\"}}}", "axes.tb.block: wants an integer, has a string");
    refused(tap, "{\"format\": 1, \"axes\": {\"tb\": {\"block\": 1.5}}}", "axes.tb.block: wants an integer from 0 to 2^30");
    refused(tap, "{\"format\": 1, \"axes\": {\"tb\": {\"block\": 1e300}}}", "axes.tb.block: wants an integer from 0 to 2^30");
    refused(tap, "{\"format\": 1, \"axes\": {\"tb\": {\"block\": -1}}}", "axes.tb.block: wants an integer from 0 to 2^30");
    refused(tap, "{\"format\": 1, \"axes\": {\"tb\": {\"blocks\": 1}}}", "axes.tb.blocks: no such key");
    refused(tap, "{\"format\": 1, \"grid\": \"tb\"}", "grid: wants an array of axis names, has a string");
    refused(tap, "{\"format\": 1, \"grid\": [1]}", "grid[0]: wants the name of an axis, has a number");
    refused(tap, "{\"format\": 1, \"grid\": [\"tb\", \"tz\"]}", "no axis of that name");
    refused(tap, "{\"format\": 1, \"grid\": [\"tb\", \"tb\"]}", "grid[1]: the axis is there twice");
    refused(tap, "{\"format\": 1, \"min_blocks\": true}", "min_blocks: wants an integer, has true or false");
    refused(tap, "{\"format\": 1, \"axes\": {\"tb\": {\"block\": 3}}}", "tb");
}

static void test_syntax_has_a_place(struct tap *tap)
{
    static const char json[] = "{\n  \"format\": 1,\n  \"peel\": yes\n}\n";
    struct fixture fixture = fixture_new();
    tilec_config *config = NULL;
    CHECK(tap, fixture.kernel);
    if (!fixture.kernel) return fixture_free(&fixture);
    CHECK(tap, tilec_config_parse(fixture.kernel, json, strlen(json), fixture.report, &config) == TILEC_WRONG);
    struct tilec_message message = tilec_report_message(fixture.report, tilec_report_count(fixture.report) - 1);
    CHECK_NUMBER(tap, message.line, 3);
    fixture_free(&fixture);
}

// A strategy with pieces, named alone, has pieces of a common size; one that is given stays.
static void test_strategy_alone(struct tap *tap)
{
    static const char *const texts[] = {"{\"format\": 1, \"strategy\": \"flat\"}", "{\"format\": 1, \"strategy\": \"chunks\"}",
                                        "{\"format\": 1, \"chunk\": 64, \"strategy\": \"flat\"}"};
    static const char *const chunks[] = {"\"chunk\": 4096", "\"chunk\": 4096", "\"chunk\": 64"};
    struct fixture fixture = fixture_new();
    CHECK(tap, fixture.kernel);
    for (int i = 0; fixture.kernel && i < 3; i++) {
        tilec_config *config = NULL;
        CHECK(tap, tilec_config_parse(fixture.kernel, texts[i], strlen(texts[i]), fixture.report, &config) == TILEC_OK);
        tilec_text json = tilec_config_json(config, 0);
        CHECK(tap, json.data && strstr(json.data, chunks[i]));
        tilec_text_free(&json);
        tilec_config_free(config);
    }
    fixture_free(&fixture);
}

static void test_nul_and_cuts(struct tap *tap)
{
    static const char json[] = "{\"format\": 1, \"peel\": true, \"grid\": [\"tb\"]}";
    struct fixture fixture = fixture_new();
    tilec_config *config = NULL;
    CHECK(tap, fixture.kernel);
    if (!fixture.kernel) return fixture_free(&fixture);
    for (size_t length = 0; length < strlen(json); length++)
        CHECK(tap, tilec_config_parse(fixture.kernel, json, length, fixture.report, &config) == TILEC_WRONG && !config);
    CHECK(tap, tilec_config_parse(fixture.kernel, "{\"format\": 1}\0{", 15, fixture.report, &config) == TILEC_WRONG);
    fixture_free(&fixture);
}

// ---------------------------------------------------------------------------------------------- round trips

static bool same_again(struct tap *tap, struct fixture *fixture, const tilec_config *config, int minimal)
{
    tilec_text first = tilec_config_json(config, minimal), full = tilec_config_json(config, 0);
    tilec_config *again = NULL;
    bool same = false;
    if (tilec_config_parse(fixture->kernel, first.data, first.length, fixture->report, &again) == TILEC_OK) {
        tilec_text second = tilec_config_json(again, minimal), full_again = tilec_config_json(again, 0);
        same = strcmp(first.data, second.data) == 0 && strcmp(full.data, full_again.data) == 0;
        tilec_text_free(&second);
        tilec_text_free(&full_again);
    }
    CHECK(tap, same);
    if (!same) printf("# %s\n", first.data);
    tilec_config_free(again);
    tilec_text_free(&first);
    tilec_text_free(&full);
    return same;
}

static void test_round_trip(struct tap *tap)
{
    struct fixture fixture = fixture_new();
    uint64_t seed = 1;
    CHECK(tap, fixture.kernel);
    for (int i = 0; fixture.kernel && i < 500; i++) {
        tilec_config *config = NULL;
        CHECK(tap, tilec_config_random(fixture.kernel, &seed, &config) == TILEC_OK);
        bool same = config && same_again(tap, &fixture, config, 0) && same_again(tap, &fixture, config, 1);
        tilec_config_free(config);
        if (!same) break;
    }
    fixture_free(&fixture);
}

static void test_seed_decides(struct tap *tap)
{
    struct fixture fixture = fixture_new();
    CHECK(tap, fixture.kernel);
    int differing = 0;
    for (uint64_t seed = 0; fixture.kernel && seed < 20; seed++) {
        uint64_t one = seed, two = seed, other = seed + 1000;
        tilec_config *a = NULL, *b = NULL, *c = NULL;
        tilec_config_random(fixture.kernel, &one, &a);
        tilec_config_random(fixture.kernel, &two, &b);
        tilec_config_random(fixture.kernel, &other, &c);
        tilec_text first = tilec_config_json(a, 0), second = tilec_config_json(b, 0), third = tilec_config_json(c, 0);
        CHECK_TEXT(tap, first.data, second.data);
        CHECK(tap, one == two && one != seed);
        differing += strcmp(first.data, third.data) != 0;
        tilec_text_free(&first), tilec_text_free(&second), tilec_text_free(&third);
        tilec_config_free(a), tilec_config_free(b), tilec_config_free(c);
    }
    CHECK(tap, differing > 10);
    fixture_free(&fixture);
}

static void test_minimal_default(struct tap *tap)
{
    struct fixture fixture = fixture_new();
    tilec_config *config = NULL;
    CHECK(tap, fixture.kernel && tilec_config_default(fixture.kernel, NULL, &config) == TILEC_OK);
    if (config) {
        tilec_text text = tilec_config_json(config, 1);
        CHECK_TEXT(tap, text.data, "{\n  \"format\": 1,\n  \"kernel\": \"jagged_sum\"\n}");
        tilec_text_free(&text);
    }
    tilec_config_free(config);
    fixture_free(&fixture);
}

// Saving replaces the file as a whole, keeps its permissions, and leaves nothing beside it.
static void test_save(struct tap *tap)
{
    char folder[] = "/tmp/tilec-config-XXXXXX", path[64];
    struct fixture fixture = fixture_new();
    tilec_config *config = NULL, *again = NULL;
    struct stat about;
    CHECK(tap, mkdtemp(folder) && fixture.kernel && tilec_config_default(fixture.kernel, NULL, &config) == TILEC_OK);
    snprintf(path, sizeof path, "%s/best.json", folder);
    if (config) {
        CHECK(tap, tilec_config_save(config, path, 0, fixture.report) == TILEC_OK);
        CHECK(tap, chmod(path, 0640) == 0);
        CHECK(tap, tilec_config_save(config, path, 1, fixture.report) == TILEC_OK);
        CHECK(tap, stat(path, &about) == 0 && (about.st_mode & 0777) == 0640);
        CHECK(tap, tilec_config_load(fixture.kernel, path, fixture.report, &again) == TILEC_OK);
        tilec_config_free(again);
        CHECK(tap, unlink(path) == 0 && rmdir(folder) == 0);
        CHECK(tap, tilec_config_save(config, "/nonexistent/best.json", 0, fixture.report) == TILEC_WRONG);
        CHECK(tap, tilec_config_save(config, "/dev/full", 0, fixture.report) == TILEC_WRONG);
        CHECK(tap, tilec_config_load(fixture.kernel, "/nonexistent/best.json", fixture.report, &again) == TILEC_USAGE);
    }
    tilec_config_free(config);
    fixture_free(&fixture);
}

int main(void)
{
    static const struct tap_test tests[] = {
        {"malformed and foreign configs are refused by name", test_refusals},
        {"a syntax error has a line", test_syntax_has_a_place},
        {"a strategy named alone has pieces", test_strategy_alone},
        {"a config cut anywhere is refused, so is a NUL", test_nul_and_cuts},
        {"printing and reading are inverse, in full and minimal", test_round_trip},
        {"a seed decides a random config", test_seed_decides},
        {"the default config is empty when minimal", test_minimal_default},
        {"saving is whole or nothing", test_save},
    };
    return tap_run(tests, sizeof tests / sizeof *tests);
}
