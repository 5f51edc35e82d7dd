// SPDX-License-Identifier: Apache-2.0
// Running: results, files, reports; and that the check sees each kind of fault an executor can have, on all rows and on
// a sample of them.
#include "programs.h"

// ---------------------------------------------------------------------------------------------- executors

enum fault { FAULT_NONE, FAULT_VALUE, FAULT_NAN, FAULT_MISSING, FAULT_EXTRA, FAULT_OUTSIDE, FAULT_EARLY, FAULT_REFUSES };

// The evaluator, then one thing done wrong to the last output. FAULT_EARLY: its last element never stored.
struct executor {
    enum fault fault;
    int64_t where;  // of the element that is wrong
    int calls;
};

static struct status execute(void *data, struct arena *arena, const struct ir_kernel *kernel, struct ir_tensor *tensors,
                             const struct ir_bindings *bindings)
{
    struct executor *executor = data;
    struct ir_tensor *out = NULL;
    struct ir_evaluation evaluation = {.bindings = *bindings, .tensors = tensors, .cut = CUT_TWO};
    executor->calls++;
    if (executor->fault == FAULT_REFUSES) return (struct status){.code = "missing.compiler", .reason = "no C compiler"};
    struct status status = ir_evaluate(kernel, &evaluation, arena);
    for (int i = 0; i < kernel->param_count; i++) {
        if (kernel->params[i].kind == PARAM_OUT || kernel->params[i].kind == PARAM_INOUT) out = &tensors[i];
    }
    int64_t at = executor->where;
    struct ir_scalar value = tensor_get(out, at);
    struct tensor one = {.view = *out, .bytes = (size_t)ir_type_bytes(out->type)};
    one.view.data = (char *)out->data + at * ir_type_bytes(out->type);
    if (executor->fault == FAULT_VALUE) tensor_set(out, at, (struct ir_scalar){value.integer + 1, value.number + 0.125});
    if (executor->fault == FAULT_NAN) tensor_set(out, at, (struct ir_scalar){.number = NAN});
    if (executor->fault == FAULT_MISSING) tensor_poison(&one);
    if (executor->fault == FAULT_EXTRA) tensor_set(out, at, (struct ir_scalar){1, 1});
    if (executor->fault == FAULT_OUTSIDE) ((char *)out->data)[tensor_elements(out) * ir_type_bytes(out->type)] ^= 1;
    if (executor->fault == FAULT_EARLY) ((char *)out->data)[-1] ^= 1;
    return status;
}

static struct status go(struct program *program, struct run_request request, struct run_result *result)
{
    request.bind.file = program->file;
    if (!request.device) request.device = "test";
    return run(program->arena, &request, &program->diagnostics, result);
}

#define BIND(...) .bind = {.validate = true, __VA_ARGS__}
#define ARGUMENTS(...) .argument_count = (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), .arguments = (const char *[]){__VA_ARGS__}
#define DIMS(...) .dim_count = (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), .dims = (const char *[]){__VA_ARGS__}
#define OUTS(...) .out_count = (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), .outs = (const char *[]){__VA_ARGS__}

static void check_code(struct tap *tap, int line, struct program *program, const char *code, struct run_request request)
{
    struct run_result result;
    struct status status = go(program, request, &result);
    tap_check_text(tap, line, status.ok ? "" : status.code, code);
    if (!status.ok && strcmp(status.code, code) != 0) printf("# %s\n", status.reason);
    run_free(&result);
}
#define CODE(code, ...) check_code(tap, __LINE__, &program, code, (struct run_request){__VA_ARGS__})

// ---------------------------------------------------------------------------------------------- results and files

static void right_sums(struct tap *tap)
{
    struct program program = program_parse(tap, JAGGED_SUM);
    struct run_result result;
    const char *x = array(&program, "x", TYPE_F32, SHAPE(6, 2), NULL);
    const char *offsets = array(&program, "offsets", TYPE_I32, SHAPE(4), (double[]){1, 3, 3, 6});
    const char *out = arena_printf(tap->arena, "out=%s/out.npy", program.folder);
    struct status status = go(&program, (struct run_request){BIND(ARGUMENTS(x, offsets)), OUTS(out), .check = true, .histogram = ""}, &result);
    CHECK(tap, status.ok);
    CHECK_TEXT(tap, without_folder(&program, result.report.data),
               "offsets: 3 rows, 5 elements, longest 3\n"
               "        length      rows\n"
               "             0         1  #########################\n"
               "             1         0\n"
               "           2-3         2  ##################################################\n"
               "out: written to out.npy\n"
               "check: out agrees: all 6 elements equal the reference\n");
    run_free(&result);
    struct tensor written;
    CHECK(tap, npy_read(tap->arena, out + 4, &written).ok);
    static const double wanted[6] = {2 + 4, 3 + 5, 0, 0, 6 + 8 + 10, 7 + 9 + 11};
    CHECK(tap, written.view.type == TYPE_F32 && written.view.shape[0] == 3 && written.view.shape[1] == 2);
    for (int i = 0; i < 6; i++) CHECK_NUMBER(tap, tensor_get(&written.view, i).number, wanted[i]);
    tensor_free(&written);
    program_free(&program);
}

static void summary_without_a_file(struct tap *tap)
{
    struct program program = program_parse(tap, JAGGED_SUM);
    struct run_result result;
    CHECK(tap, go(&program, (struct run_request){BIND(ARGUMENTS("x=ones", "offsets=offsets(const(3))"), DIMS("B=5", "M=1"))}, &result).ok);
    CHECK_TEXT(tap, result.report.data, "out: f32[5, 1]\n  min 3  max 3  mean 3\n  first 3 3 3 3 3\n");
    run_free(&result);
    program_free(&program);
}

static void wrong_outputs(struct tap *tap)
{
    struct program program = program_parse(tap, JAGGED_SUM);
    CODE("usage.output", BIND(ARGUMENTS("x=ones", "offsets=zeros"), DIMS("B=5", "M=1")), OUTS("y=y.npy"));
    CODE("usage.output", BIND(ARGUMENTS("x=ones", "offsets=zeros"), DIMS("B=5", "M=1")), OUTS("out"));
    CODE("usage.output", BIND(ARGUMENTS("x=ones", "offsets=zeros"), DIMS("B=5", "M=1")), OUTS("out=a", "out=b"));
    CODE("write.npy", BIND(ARGUMENTS("x=ones", "offsets=zeros"), DIMS("B=5", "M=1")), OUTS("out=/nonexistent/out.npy"));
    CODE("write.folder", BIND(ARGUMENTS("x=ones", "offsets=zeros"), DIMS("B=5", "M=1")), .save_directory = "/nonexistent/a/b");
    CODE("usage.histogram", BIND(ARGUMENTS("x=ones", "offsets=zeros"), DIMS("B=5", "M=1")), .histogram = "x");
    program_free(&program);
}

// What --save-args wrote gives the same result again, bit for bit.
static void saved_arguments(struct tap *tap)
{
    struct program program = program_parse(tap, JAGGED_SUM);
    struct run_result first, again;
    const char *folder = arena_printf(tap->arena, "%s/saved", program.folder);
    CHECK(tap, go(&program, (struct run_request){BIND(ARGUMENTS("x=randn", "offsets=offsets(uniform(0,9))"), DIMS("B=50", "M=3"), .seed = 4),
                                                 .save_directory = folder}, &first).ok);
    const char *x = arena_printf(tap->arena, "x=@%s/x.npy", folder), *offsets = arena_printf(tap->arena, "offsets=@%s/offsets.npy", folder);
    CHECK(tap, go(&program, (struct run_request){BIND(ARGUMENTS(x, offsets))}, &again).ok);
    const struct tensor *a = &first.bound.tensors[2], *b = &again.bound.tensors[2];
    CHECK(tap, a->bytes == 600 && b->bytes == 600 && memcmp(a->view.data, b->view.data, a->bytes) == 0);
    run_free(&first);
    run_free(&again);
    char list[512] = "";
    FILE *file = fopen(arena_printf(tap->arena, "%s/arguments", folder), "r");
    CHECK(tap, file && fread(list, 1, sizeof list - 1, file) > 0);
    if (file) fclose(file);
    CHECK_TEXT(tap, without_folder(&program, list), "--type T=f32\n--type I=i64\n--arg x=@saved/x.npy\n--arg offsets=@saved/offsets.npy\n");
    program_free(&program);
}

// ---------------------------------------------------------------------------------------------- faults that must show

static void faults_show(struct tap *tap)
{
    struct program program = program_parse(tap, JAGGED_SUM);
    static const struct {
        enum fault fault;
        const char *code;
    } cases[] = {{FAULT_NONE, ""}, {FAULT_VALUE, "check.differs"}, {FAULT_NAN, "check.differs"}, {FAULT_MISSING, "check.differs"},
                 {FAULT_OUTSIDE, "check.guard"}, {FAULT_EARLY, "check.guard"}, {FAULT_REFUSES, "missing.compiler"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct executor executor = {.fault = cases[i].fault, .where = 17};
        CODE(cases[i].code, BIND(ARGUMENTS("x=randn", "offsets=offsets(uniform(0,20))"), DIMS("B=20", "M=3")), .execute = execute,
             .execute_data = &executor, .check = true);
        CHECK_NUMBER(tap, executor.calls, 1);
    }
    struct executor executor = {.fault = FAULT_VALUE, .where = 17};
    struct run_result result;
    struct status status = go(&program, (struct run_request){BIND(ARGUMENTS("x=ones", "offsets=offsets(const(4))"), DIMS("B=20", "M=3")),
                              .execute = execute, .execute_data = &executor, .check = true, .device = "cpu"}, &result);
    CHECK_TEXT(tap, status.reason, "'out' from cpu: 1 of 60 elements are wrong; largest error 0.125, none allowed, at out[5, 2]: 4.125, reference 4");
    run_free(&result);
    program_free(&program);
}

#define DOUBLED                                                             \
    "kernel doubled(x: f32[nnz], offsets: i64[B + 1]) -> out: f32[nnz] {\n"   \
    "    for tb in tile(B) { let s = offsets[tb];\n"                         \
    "        for tk in jagged_tile(offsets[tb + 1] - s) { out[s + tk] = x[s + tk] * 2; } }\n" \
    "}\n"

// Slack is what no row stores: the executor must not either.
static void slack_is_untouched(struct tap *tap)
{
    struct program program = program_parse(tap, DOUBLED);
    const char *offsets = array(&program, "offsets", TYPE_I64, SHAPE(4), (double[]){2, 5, 5, 8});
    for (int64_t at = 0; at < 10; at++) {
        struct executor executor = {.fault = FAULT_EXTRA, .where = at};
        CODE("check.differs", BIND(ARGUMENTS("x=arange", offsets), DIMS("nnz=10")), .execute = execute, .execute_data = &executor, .check = true);
        executor.fault = FAULT_NONE;
        CODE("", BIND(ARGUMENTS("x=arange", offsets), DIMS("nnz=10")), .execute = execute, .execute_data = &executor, .check = true);
    }
    program_free(&program);
}

// ---------------------------------------------------------------------------------------------- samples

static void samples_of_rows(struct tap *tap)
{
    struct program program = program_parse(tap, JAGGED_SUM);
    struct executor executor = {.fault = FAULT_NONE};
    struct run_result result;
    struct run_request request = {BIND(ARGUMENTS("x=randn", "offsets=offsets(const(10))"), DIMS("B=100", "M=4")), .execute = execute,
                                  .execute_data = &executor, .check = true, .check_points = 1000};
    CHECK(tap, go(&program, request, &result).ok);
    CHECK(tap, result.checked_rows == 25 && result.all_rows == 100);
    CHECK_NUMBER(tap, result.outputs[0].comparison.compared, 25 * 4);
    CHECK(tap, strstr(result.report.data, "check: more than 1000 points, so 25 of 100 rows, drawn by the seed, were evaluated\n"));
    run_free(&result);
    int found = 0;
    for (int64_t row = 0; row < 100; row++) {
        executor = (struct executor){.fault = FAULT_VALUE, .where = row * 4 + 1};
        struct status status = go(&program, request, &result);
        found += !status.ok && strcmp(status.code, "check.differs") == 0;
        run_free(&result);
    }
    CHECK_NUMBER(tap, found, 25);
    executor.fault = FAULT_NONE;
    request.check_points = 4000;
    CHECK(tap, go(&program, request, &result).ok && result.checked_rows == 100);
    run_free(&result);
    program_free(&program);
}

// Fills and tensors updated in place: what other rows own is not compared, what the sampled rows own is.
static void samples_with_fills_and_in_place(struct tap *tap)
{
    static const char *const programs[] = {
        "kernel some(x: f32[n]) -> out: f32[n] = 7 { for t in tile(n) { if x[t] > 0 { out[t] = x[t]; } } }\n",
        "kernel more(x: f32[n], inout y: f32[n]) { for t in tile(n) { y[t] = y[t] + x[t] * x[t] + 1; } }\n",
    };
    for (int i = 0; i < 2; i++) {
        struct program program = program_parse(tap, programs[i]);
        int found = 0;
        for (int64_t at = -1; at < 60; at++) {
            struct executor executor = {.fault = at < 0 ? FAULT_NONE : FAULT_VALUE, .where = at < 0 ? 0 : at};
            struct run_result result;
            const char *const arguments[] = {"x=randn", "y=randn"};
            struct run_request request = {BIND(.argument_count = 1 + i, .arguments = arguments, DIMS("n=60")), .execute = execute,
                                          .execute_data = &executor, .check = true, .check_points = 20};
            struct status status = go(&program, request, &result);
            CHECK(tap, at >= 0 || (status.ok && result.checked_rows == 20 && result.outputs[0].comparison.compared > 0));
            found += !status.ok;
            run_free(&result);
        }
        CHECK(tap, i == 0 ? found > 5 && found < 20 : found == 20);
        program_free(&program);
    }
}

static void no_sample_of_atomics(struct tap *tap)
{
    struct program program = program_parse(tap,
        "kernel count(bin: i32[n], K: i64) -> out: i64[K] = 0 { for t in tile(n) { atomic_add(out[bin[t]], 1); } }\n");
    struct executor executor = {.fault = FAULT_NONE};
    struct run_result result;
    struct run_request request = {BIND(ARGUMENTS("bin=randint(0, 5)", "K=5"), DIMS("n=1000")), .execute = execute,
                                  .execute_data = &executor, .check = true, .check_points = 100};
    struct status status = go(&program, request, &result);
    if (!status.ok) printf("# %s\n", status.reason);
    CHECK(tap, status.ok && result.output_count == 1 && !result.outputs[0].checked && result.remark);
    run_free(&result);
    request.check_points = 0;
    CHECK(tap, go(&program, request, &result).ok && result.outputs[0].checked);
    run_free(&result);
    executor = (struct executor){.fault = FAULT_VALUE, .where = 4};
    CODE("check.differs", BIND(ARGUMENTS("bin=randint(0, 5)", "K=5"), DIMS("n=1000")), .execute = execute, .execute_data = &executor, .check = true);
    program_free(&program);
}

// The reference against itself under another cut finds a program whose result depends on the cut.
static void dependence_on_the_cut(struct tap *tap)
{
    struct program program = program_parse(tap,
        "kernel wrong(x: f32[n]) -> out: f32[1] { for one in tile(1) { var s: f32[one] = 0;\n"
        "    for tk in tile(n) { s = s * 0.5 + sum[tk](x[tk]); } out[one] = s; } }\n");
    CODE("check.differs", BIND(ARGUMENTS("x=ones"), DIMS("n=40")), .check = true, .device = "reference");
    CODE("", BIND(ARGUMENTS("x=ones"), DIMS("n=40")), .device = "reference");
    program_free(&program);
}

static const struct tap_test tests[] = {
    {"right sums, a file, a histogram", right_sums},
    {"a summary where no file is asked for", summary_without_a_file},
    {"wrong outputs", wrong_outputs},
    {"saved arguments give the same run", saved_arguments},
    {"each fault shows", faults_show},
    {"what lies outside all rows is untouched", slack_is_untouched},
    {"a sample of rows", samples_of_rows},
    {"a sample with fills and in place", samples_with_fills_and_in_place},
    {"no sample of atomics", no_sample_of_atomics},
    {"a result that depends on the cut", dependence_on_the_cut},
};
TAP_MAIN(tests)
