// SPDX-License-Identifier: Apache-2.0
// Binding: how types, dimensions and data are found, and what each kind of wrong argument is told.
#include "programs.h"

static struct status bind(struct program *program, struct bind_request request, struct bound *bound)
{
    request.file = program->file;
    return bind_arguments(program->arena, &request, &program->diagnostics, bound);
}

static int64_t dim(const struct bound *bound, const char *name)
{
    for (int i = 0; i < bound->kernel->dim_count; i++) {
        if (strcmp(bound->kernel->dims[i].name, name) == 0) return bound->dims[i];
    }
    return -1;
}

static int param(const struct bound *bound, const char *name)
{
    for (int i = 0; i < bound->kernel->param_count; i++) {
        if (strcmp(bound->kernel->params[i].name, name) == 0) return i;
    }
    exit(99);
}

#define ARGUMENTS(...) .argument_count = (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), .arguments = (const char *[]){__VA_ARGS__}
#define DIMS(...) .dim_count = (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), .dims = (const char *[]){__VA_ARGS__}
#define TYPES(...) .type_count = (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), .types = (const char *[]){__VA_ARGS__}

// Binds and expects this answer; "" for success.
static void check_answer(struct tap *tap, int line, struct program *program, const char *code, const char *reason, struct bind_request request)
{
    struct bound bound;
    request.validate = true;
    struct status status = bind(program, request, &bound);
    for (int i = 0; strcmp(code, "program.errors") != 0 && i < program->diagnostics.count; i++) printf("# %s\n", program->diagnostics.items[i].message);
    if (status.ok && *code) printf("# line %d: accepted\n", line), tap->ok = false;
    if (!status.ok) tap_check_text(tap, line, status.code, code);
    if (!status.ok) tap_check_text(tap, line, without_folder(program, status.reason), reason);
    bound_free(&bound);
}
#define ANSWER(code, reason, ...) check_answer(tap, __LINE__, &program, code, reason, (struct bind_request){__VA_ARGS__})

// ---------------------------------------------------------------------------------------------- what is found

static void from_files(struct tap *tap)
{
    struct program program = program_parse(tap, JAGGED_SUM);
    struct bound bound;
    const char *x = array(&program, "x", TYPE_F16, SHAPE(6, 3), NULL);
    const char *offsets = array(&program, "offsets", TYPE_I32, SHAPE(4), (double[]){0, 2, 2, 6});
    struct status status = bind(&program, (struct bind_request){ARGUMENTS(x, offsets), .validate = true}, &bound);
    CHECK(tap, status.ok);
    CHECK(tap, dim(&bound, "B") == 3 && dim(&bound, "M") == 3 && dim(&bound, "nnz") == 6);
    CHECK(tap, bound.views[param(&bound, "x")].type == TYPE_F16 && bound.views[param(&bound, "offsets")].type == TYPE_I32);
    CHECK_NUMBER(tap, tensor_get(&bound.views[param(&bound, "x")], 17).number, 17);
    const struct ir_tensor *out = &bound.views[param(&bound, "out")];
    CHECK(tap, out->type == TYPE_F16 && out->rank == 2 && out->shape[0] == 3 && out->shape[1] == 3 && tensor_is_poison(out, 8));
    bound_free(&bound);
    program_free(&program);
}

static void from_generators(struct tap *tap)
{
    struct program program = program_parse(tap, JAGGED_SUM);
    struct bound bound;
    struct bind_request request = {ARGUMENTS("x=randn", "offsets=offsets(const(5))"), DIMS("B=4", "M = 2 * B + 1"), .seed = 3, .validate = true};
    CHECK(tap, bind(&program, request, &bound).ok);
    CHECK(tap, dim(&bound, "B") == 4 && dim(&bound, "M") == 9 && dim(&bound, "nnz") == 20);
    CHECK(tap, bound.views[param(&bound, "x")].type == TYPE_F32 && bound.views[param(&bound, "offsets")].type == TYPE_I64);
    bound_free(&bound);
    request.dims = (const char *[]){"nnz=total(offsets) + 7", "B=4", "M=longest(offsets)"};
    request.dim_count = 3;
    request.types = (const char *[]){"T=bf16", "I=i32"};
    request.type_count = 2;
    CHECK(tap, bind(&program, request, &bound).ok);
    CHECK(tap, dim(&bound, "nnz") == 27 && dim(&bound, "M") == 5);
    CHECK(tap, bound.views[param(&bound, "x")].type == TYPE_BF16 && bound.views[param(&bound, "offsets")].type == TYPE_I32);
    bound_free(&bound);
    program_free(&program);
}

static void bf16_from_f32(struct tap *tap)
{
    struct program program = program_parse(tap, JAGGED_SUM);
    struct bound bound;
    const char *x = array(&program, "x", TYPE_F32, SHAPE(1, 1), (double[]){1.01});
    struct bind_request request = {ARGUMENTS(x, "offsets=zeros"), DIMS("B=0"), TYPES("T=bf16")};
    CHECK(tap, bind(&program, request, &bound).ok);
    CHECK(tap, bound.views[0].type == TYPE_BF16);
    CHECK_NUMBER(tap, tensor_get(&bound.views[0], 0).number, 1.0078125);
    bound_free(&bound);
    program_free(&program);
}

// Shapes, types and rows are all there; data only where an argument or the rows ask for it.
static void lazy_data(struct tap *tap)
{
    struct program program = program_parse(tap,
        "kernel picked<T: float>(x: T[nnz, M], offsets: i64[B + 1], picks: i32[n], bias: T[K]) -> out: T[B, M] {\n"
        "    for tb in tile(B) { let s = offsets[tb]; for tm in tile(M) { var acc: accum(T)[tb, tm] = 0;\n"
        "        for tk in jagged_tile(offsets[tb + 1] - s) { acc += sum[tk](x[s + tk, tm]); }\n"
        "        out[tb, tm] = acc + bias[0] + accum(T)(picks[0]); } }\n"
        "}\n");
    struct bound bound, eager;
    struct bind_request request = {ARGUMENTS("x=randn", "offsets=offsets(const(3))", "picks=randint(1, 9)", "bias=ones"),
                                   DIMS("B=4", "M=2", "n=5", "K=longest(picks)"), .validate = true, .compile_in = true, .seed = 3};
    CHECK(tap, bind(&program, request, &eager).ok);
    request.lazy = true;
    CHECK(tap, bind(&program, request, &bound).ok);
    int x = param(&bound, "x"), out = param(&bound, "out"), picks = param(&bound, "picks"), bias = param(&bound, "bias");
    CHECK(tap, !bound.views[x].data && !bound.views[bias].data && !bound.views[out].data && !bound.tensors[x].block);
    CHECK(tap, bound.views[picks].data && bound.views[param(&bound, "offsets")].data && bound.filled == 2);
    for (int i = 0; i < bound.kernel->param_count; i++)
        CHECK(tap, bound.views[i].type == eager.views[i].type && bound.views[i].rank == eager.views[i].rank &&
                       memcmp(bound.views[i].shape, eager.views[i].shape, sizeof *bound.views[i].shape * (size_t)bound.views[i].rank) == 0);
    CHECK_NUMBER(tap, bound_bytes(&bound), bound_bytes(&eager));
    CHECK(tap, bound_fill(program.arena, &bound).ok && bound.filled == 4);
    for (int i = 0; i < bound.kernel->param_count; i++)
        CHECK(tap, bound.tensors[i].bytes == eager.tensors[i].bytes && memcmp(bound.views[i].data, eager.views[i].data, eager.tensors[i].bytes) == 0);
    CHECK(tap, tensor_is_poison(&bound.views[out], 0));
    bound_free(&bound);
    bound_free(&eager);
    program_free(&program);
}

static void ragged_of_ragged(struct tap *tap)
{
    struct program program = program_parse(tap,
        "kernel doc_pool<T: float, I: int>(x: T[tokens, M], sentences: I[S + 1], docs: I[B + 1]) -> out: T[B, M] {\n"
        "    for tb in tile(B) { let s0 = docs[tb]; for tm in tile(M) { var top: accum(T)[tb, tm] = -inf;\n"
        "        for ts in jagged_tile(docs[tb + 1] - s0) {\n"
        "            let w0 = sentences[s0 + ts]; let words = sentences[s0 + ts + 1] - w0;\n"
        "            var acc: accum(T)[tb, ts, tm] = 0;\n"
        "            for tw in jagged_tile(words) { acc += sum[tw](x[w0 + tw, tm]); }\n"
        "            top = max(top, max[ts](acc));\n"
        "        }\n"
        "        out[tb, tm] = top; } }\n"
        "}\n");
    struct bound bound;
    struct bind_request request = {ARGUMENTS("x=randn", "docs=offsets(const(3))", "sentences=offsets(const(7))"), DIMS("B=4", "M=2"), .validate = true};
    struct status status = bind(&program, request, &bound);
    CHECK(tap, status.ok);
    if (status.ok) CHECK(tap, dim(&bound, "S") == 12 && dim(&bound, "tokens") == 84);
    bound_free(&bound);
    program_free(&program);
}

static void scalars(struct tap *tap)
{
    struct program program = program_parse(tap,
        "kernel scaled<T: float>(x: T[n], factor: f32, shift: i32 = 3, eps: f32 = 1e-6, on: bool = false, L: i64 = 2) -> out: T[n, L] {\n"
        "    for t in tile(n) { for l in tile(L) { out[t, l] = on ? x[t] * factor + accum(T)(shift) + eps : 0; } }\n"
        "}\n");
    struct bound bound;
    struct bind_request request = {ARGUMENTS("x=arange", "factor=1/4.0", "on=true", "L=n - 1"), DIMS("n=5")};
    struct status status = bind(&program, request, &bound);
    if (!status.ok) printf("# %s\n", status.reason);
    CHECK(tap, status.ok);
    if (status.ok) {
        CHECK_NUMBER(tap, bound.scalars[param(&bound, "factor")].number, 0.25);
        CHECK_NUMBER(tap, bound.scalars[param(&bound, "shift")].integer, 3);
        CHECK_NUMBER(tap, bound.scalars[param(&bound, "eps")].number, 1e-6f);
        CHECK_NUMBER(tap, bound.scalars[param(&bound, "on")].integer, 1);
        CHECK(tap, bound.views[param(&bound, "out")].shape[1] == 4);
    }
    bound_free(&bound);
    ANSWER("launch.argument", "'shift' is declared as i32, which can't be 2.5", ARGUMENTS("x=arange", "factor=1", "shift=2.5"), DIMS("n=5"));
    ANSWER("launch.argument", "'shift' is declared as i32, which can't be 3000000000", ARGUMENTS("x=arange", "factor=1", "shift=3000000000"), DIMS("n=5"));
    ANSWER("launch.argument", "'factor' is a number, not a tensor: a file can't give it", ARGUMENTS("x=arange", "factor=@f.npy"), DIMS("n=5"));
    ANSWER("usage.expression", "'factor': in 'randn': there is no dimension 'randn' (there are: n)", ARGUMENTS("x=arange", "factor=randn"), DIMS("n=5"));
    ANSWER("launch.missing", "argument missing: 'factor: f32'", ARGUMENTS("x=arange"), DIMS("n=5"));
    ANSWER("launch.memory", "'out' would be f32[5, -1], which has a negative extent", ARGUMENTS("x=arange", "factor=1", "L=-1"), DIMS("n=5"));
    program_free(&program);
}

static void optional_tensors(struct tap *tap)
{
    struct program program = program_parse(tap,
        "kernel biased(x: f32[n, K], bias: f32[K]?) -> out: f32[n, K] {\n"
        "    for (t, k) in tile(n, K) { out[t, k] = x[t, k] + (has(bias) ? bias[k] : 0); }\n"
        "}\n");
    struct bound bound;
    CHECK(tap, bind(&program, (struct bind_request){ARGUMENTS("x=ones"), DIMS("n=2", "K=3")}, &bound).ok);
    CHECK(tap, !bound.views[param(&bound, "bias")].data);
    bound_free(&bound);
    CHECK(tap, bind(&program, (struct bind_request){ARGUMENTS("x=ones", "bias=arange"), DIMS("n=2", "K=3")}, &bound).ok);
    CHECK(tap, bound.views[param(&bound, "bias")].data && bound.views[param(&bound, "bias")].shape[0] == 3);
    bound_free(&bound);
    program_free(&program);
}

// Full axes have their extents compiled in without being asked; other dimensions stay open.
static void full_axes(struct tap *tap)
{
    struct program program = program_parse(tap,
        "kernel gram(x: f32[n, D], y: f32[n, E], w: f32[D]) -> out: f32[n, E] {\n"
        "    axis d = D; axis e = 2 * E;\n"
        "    for t in tile(n) { let s = sum[d](x[t, d] * w[d]); for u in tile(E) { out[t, u] = y[t, u] + s + accum(f32)(max[e](e)); } }\n"
        "}\n");
    struct bound bound;
    const char *x = array(&program, "x", TYPE_F32, SHAPE(2, 3), NULL), *w = array(&program, "w", TYPE_F32, SHAPE(4), NULL);
    struct status status = bind(&program, (struct bind_request){ARGUMENTS(x, "y=ones", "w=ones"), DIMS("E=n * 2", "n=2")}, &bound);
    CHECK(tap, status.ok && dim(&bound, "E") == 4);
    bound_free(&bound);
    status = bind(&program, (struct bind_request){ARGUMENTS(x, "y=ones", "w=ones"), DIMS("E=5")}, &bound);
    if (!status.ok) printf("# %s\n", status.reason);
    CHECK(tap, status.ok && program.diagnostics.errors == 0);
    if (status.ok) CHECK(tap, dim(&bound, "D") == 3 && dim(&bound, "E") == 5 && dim(&bound, "n") == 2);
    for (int i = 0; status.ok && i < bound.kernel->dim_count; i++)
        CHECK(tap, bound.kernel->dims[i].is_static == (strcmp(bound.kernel->dims[i].name, "n") != 0));
    bound_free(&bound);
    ANSWER("launch.dimension", "'w' (dimension 1) is 4, but it is declared as D, which is 3", ARGUMENTS(x, "y=ones", w), DIMS("E=5"));
    ANSWER("launch.dimension", "two arguments disagree about D: 'x' (dimension 2) says D = 3, --dim says D = 6", ARGUMENTS(x, "y=ones", "w=ones"),
           DIMS("E=5", "D=6"));
    ANSWER("program.errors", "kernel 'gram' has errors", ARGUMENTS("x=ones", "y=ones", "w=ones"), DIMS("E=5"));
    CHECK(tap, program.diagnostics.errors == 1 && strcmp(program.diagnostics.items[0].code, "E0221") == 0);
    program_free(&program);
}

static void compiled_in_on_request(struct tap *tap)
{
    struct program program = program_parse(tap, JAGGED_SUM);
    struct bound bound;
    struct bind_request request = {ARGUMENTS("x=randn", "offsets=offsets(const(5))"), DIMS("B=4", "M=3"), .compile_in = true, .validate = true};
    for (int trial = 0; trial < 3; trial++) {
        const char *const names[] = {trial == 1 ? "M" : "B"};
        request.dynamic_count = trial == 1;
        request.dynamics = names;
        request.static_count = trial == 2;
        request.statics = names;
        CHECK(tap, bind(&program, request, &bound).ok);
        CHECK(tap, dim(&bound, "B") == 4 && dim(&bound, "M") == 3 && dim(&bound, "nnz") == 20);
        for (int i = 0; i < bound.kernel->dim_count; i++) {
            bool is_m = strcmp(bound.kernel->dims[i].name, "M") == 0, is_b = strcmp(bound.kernel->dims[i].name, "B") == 0;
            CHECK(tap, bound.kernel->dims[i].is_static == ((is_m && trial != 1) || (is_b && trial == 2)));
        }
        CHECK(tap, bound.rows.count > 0);
        bound_free(&bound);
    }
    request.static_count = 1;
    request.statics = (const char *[]){"Q"};
    ANSWER("usage.dimension", "kernel 'jagged_sum' has no dimension 'Q' (it has: nnz, M, B)", ARGUMENTS("x=randn", "offsets=zeros"), DIMS("B=4", "M=3"),
           .static_count = 1, .statics = (const char *[]){"Q"});
    program_free(&program);
}

// ---------------------------------------------------------------------------------------------- what is refused

static void wrong_requests(struct tap *tap)
{
    struct program program = program_parse(tap, JAGGED_SUM);
    ANSWER("usage.kernel", "there is no kernel 'nix' in the file, which has jagged_sum", .kernel = "nix");
    ANSWER("launch.missing", "arguments missing: 'x: T[nnz, M]', 'offsets: I[B + 1]'", .kernel = "jagged_sum");
    ANSWER("launch.argument", "kernel 'jagged_sum' has no parameter 'y'; its parameters are: x, offsets", ARGUMENTS("y=randn"));
    ANSWER("launch.argument", "'out' is an output, which the kernel makes: --out out=FILE.npy keeps it", ARGUMENTS("out=zeros"));
    ANSWER("usage.argument", "argument 'x' is given twice", ARGUMENTS("x=randn", "x=ones"));
    ANSWER("usage.argument", "'x' is not an argument: write NAME=VALUE", ARGUMENTS("x"));
    ANSWER("usage.argument", "'x=' is not an argument: write NAME=VALUE", ARGUMENTS("x="));
    ANSWER("usage.argument", "'=randn' is not an argument: write NAME=VALUE", ARGUMENTS("=randn"));
    ANSWER("usage.file", "'x': can't read /nonexistent.npy: No such file or directory", ARGUMENTS("x=@/nonexistent.npy"));
    ANSWER("usage.type", "kernel 'jagged_sum' has no type parameter 'Q'", ARGUMENTS("x=randn", "offsets=zeros"), TYPES("Q=f32"));
    ANSWER("usage.type", "'i32' can't be T, which is declared as T: float", ARGUMENTS("x=randn", "offsets=zeros"), TYPES("T=i32"));
    ANSWER("usage.dimension", "kernel 'jagged_sum' has no dimension 'Q' (it has: nnz, M, B)", ARGUMENTS("x=randn", "offsets=zeros"), DIMS("Q=1"));
    ANSWER("usage.dimension", "dimensions M, B aren't known from the arguments: give each with --dim M=…", ARGUMENTS("x=randn", "offsets=zeros"));
    ANSWER("usage.dimension", "dimension M isn't known from the arguments: give it with --dim M=…", ARGUMENTS("x=randn", "offsets=zeros"), DIMS("B=1"));
    ANSWER("usage.dimension", "--dim B: 1.5 is not an integer", ARGUMENTS("x=randn", "offsets=zeros"), DIMS("B=1.5"));
    ANSWER("launch.dimension", "--dim would make B = -1", ARGUMENTS("x=randn", "offsets=zeros"), DIMS("B=-1"));
    ANSWER("usage.dimension", "dimensions M, B aren't known; --dim B: in 'M': 'M' isn't known yet", ARGUMENTS("x=randn", "offsets=zeros"), DIMS("M=B", "B=M"));
    ANSWER("usage.expression", "--dim B: in 'total(x)': 'x' doesn't hold integers", ARGUMENTS("x=randn", "offsets=zeros"), DIMS("B=total(x)"));
    ANSWER("launch.dimension", "--dim would make B = 140737488355329; a dimension is at most 140737488355328", ARGUMENTS("x=randn", "offsets=zeros"),
           DIMS("B=140737488355329", "M=1"));
    ANSWER("launch.memory", "'x' would be f32[140737488355328, 140737488355328], whose size in bytes does not fit 64 bits",
           ARGUMENTS("x=randn", "offsets=zeros"), DIMS("B=1", "nnz=140737488355328", "M=140737488355328"));
    program_free(&program);
    program = program_parse(tap, "kernel k(L: i64) -> o: f32[L * L] { for t in tile(L) { o[t] = 1; } }");
    ANSWER("launch.dimension", "'o' is declared as L * L in dimension 1, which doesn't fit 64 bits here", ARGUMENTS("L=4294967296"));
    program_free(&program);
}

static void wrong_files(struct tap *tap)
{
    struct program program = program_parse(tap, JAGGED_SUM);
    const char *x = array(&program, "x", TYPE_F32, SHAPE(100, 4), NULL);
    ANSWER("launch.type", "'x' is i64 in x.npy, but its type T must be float", ARGUMENTS(array(&program, "x", TYPE_I64, SHAPE(6, 3), NULL), "offsets=zeros"));
    ANSWER("launch.type", "'offsets' is f32 in offsets.npy, but its type I must be i32 or i64",
           ARGUMENTS("x=randn", array(&program, "offsets", TYPE_F32, SHAPE(3), NULL)));
    ANSWER("launch.rank", "'x' has 1 dimension in x.npy (f32[6]), but is declared with 2: x: T[nnz, M]",
           ARGUMENTS(array(&program, "x", TYPE_F32, SHAPE(6), NULL), "offsets=zeros"));
    ANSWER("launch.type", "'x' is f64 in x.npy, but --type says T = f32",
           ARGUMENTS(array(&program, "x", TYPE_F64, SHAPE(6, 2), NULL), "offsets=zeros"), TYPES("T=f32"));
    x = array(&program, "x", TYPE_F32, SHAPE(100, 4), NULL);
    ANSWER("launch.offsets", "'offsets': row 1 has length -60: offsets[1] = 80, offsets[2] = 20",
           ARGUMENTS(x, array(&program, "offsets", TYPE_I64, SHAPE(4), (double[]){0, 80, 20, 100})));
    ANSWER("launch.offsets", "'offsets' begins below 0: offsets[0] = -1",
           ARGUMENTS(x, array(&program, "offsets", TYPE_I64, SHAPE(2), (double[]){-1, 80})));
    ANSWER("launch.offsets", "'offsets' overruns 'x': offsets[2] = 101, but 'x' has 100 elements in dimension 1 (nnz)",
           ARGUMENTS(x, array(&program, "offsets", TYPE_I32, SHAPE(3), (double[]){0, 80, 101})));
    ANSWER("launch.offsets", "'offsets' is empty: offsets need at least one element",
           ARGUMENTS(x, array(&program, "offsets", TYPE_I32, SHAPE(0), NULL)));
    ANSWER("launch.dimension", "two arguments disagree about M: 'x' (dimension 2) says M = 4, --dim says M = 5",
           ARGUMENTS(x, "offsets=zeros"), DIMS("B=1", "M=5"));
    ANSWER("", "", ARGUMENTS(x, array(&program, "offsets", TYPE_I64, SHAPE(3), (double[]){3, 80, 80})));  // slack on both sides
    ANSWER("", "", ARGUMENTS(x, array(&program, "offsets", TYPE_I64, SHAPE(1), (double[]){0})));          // no rows
    const char *command = arena_printf(tap->arena, "truncate -s -3 '%s/x.npy'", program.folder);
    CHECK(tap, system(command) == 0);
    ANSWER("launch.npy", "'x': x.npy is cut short: f32[100, 4] takes 1600 bytes of data, the file has 1597", ARGUMENTS(x, "offsets=zeros"));
    program_free(&program);
}

static void no_validation(struct tap *tap)
{
    struct program program = program_parse(tap, JAGGED_SUM);
    struct bound bound;
    const char *x = array(&program, "x", TYPE_F32, SHAPE(100, 4), NULL);
    const char *offsets = array(&program, "offsets", TYPE_I64, SHAPE(4), (double[]){0, 80, 20, 100});
    CHECK(tap, bind(&program, (struct bind_request){ARGUMENTS(x, offsets)}, &bound).ok);
    bound_free(&bound);
    program_free(&program);
}

static void disagreeing_arguments(struct tap *tap)
{
    struct program program = program_parse(tap,
        "kernel add<T: float>(x: T[n, M], y: T[n, M], z: T[2 * M]) -> out: T[n, M] {\n"
        "    for (t, m) in tile(n, M) { out[t, m] = x[t, m] + y[t, m] + z[2 * m]; }\n"
        "}\n");
    const char *x = array(&program, "x", TYPE_F32, SHAPE(6, 3), NULL), *y = array(&program, "y", TYPE_F32, SHAPE(6, 4), NULL);
    const char *z = array(&program, "z", TYPE_F32, SHAPE(6), NULL);
    ANSWER("launch.dimension", "two arguments disagree about M: 'x' (dimension 2) says M = 3, 'y' (dimension 2) says M = 4", ARGUMENTS(x, y, z));
    y = array(&program, "y", TYPE_F16, SHAPE(6, 3), NULL);
    ANSWER("launch.type", "'y' is f16 in y.npy, but 'x' has T = f32", ARGUMENTS(x, y, z));
    y = array(&program, "y", TYPE_F32, SHAPE(6, 3), NULL);
    ANSWER("", "", ARGUMENTS(x, y, z));
    z = array(&program, "z", TYPE_F32, SHAPE(7), NULL);
    ANSWER("launch.dimension", "'z' has 7 elements in dimension 1, which is declared as 2 * M: no M gives that", ARGUMENTS(x, y, z));
    program_free(&program);
}

static void lengths_of_rows(struct tap *tap)
{
    struct program program = program_parse(tap,
        "kernel rows<I: int>(x: f32[P, Q, L], lengths: I[P, Q]) -> out: f32[P, Q] {\n"
        "    for (ti, tj) in tile(P, Q) { var acc: f32[ti, tj] = 0;\n"
        "        for tk in jagged_tile(lengths[ti, tj]) { acc += sum[tk](x[ti, tj, tk]); }\n"
        "        out[ti, tj] = acc; }\n"
        "}\n");
    const char *lengths = array(&program, "lengths", TYPE_I32, SHAPE(2, 3), (double[]){1, 2, 3, 4, -5, 6});
    ANSWER("launch.lengths", "'lengths': row [1, 1] has length -5", ARGUMENTS("x=randn", lengths), DIMS("L=6"));
    lengths = array(&program, "lengths", TYPE_I32, SHAPE(2, 3), (double[]){1, 2, 3, 4, 5, 7});
    ANSWER("launch.lengths", "'lengths' overruns 'x': row [1, 2] has length 7, but 'x' has 6 elements in dimension 3 (L)",
           ARGUMENTS("x=randn", lengths), DIMS("L=6"));
    ANSWER("", "", ARGUMENTS("x=randn", lengths), DIMS("L=7"));
    program_free(&program);
}

// Offsets are found however the program comes by the length.
static void shapes_of_offsets(struct tap *tap)
{
    static const char *const bodies[] = {
        "for tk in jagged_tile(offsets[tb + 1] - offsets[tb]) { acc += sum[tk](x[offsets[tb] + tk]); }",
        "let s = offsets[tb]; for tk in jagged_tile(min(offsets[tb + 1] - s, 5)) { acc += sum[tk](x[s + tk]); }",
        "for tk in jagged_tile(offsets[tb], offsets[tb + 1]) { acc += sum[tk](x[tk.index]); }",
        "let s = offsets[tb]; let n = offsets[1 + tb] - s; for tk in tile(1000) { if tk < n { acc += sum[tk](x[s + tk]); } }",
        "let s = offsets[tb]; let n = offsets[tb + 1] - s; for tk in tile(9) { acc += sum[tk](n > tk ? x[tk + s] : 0); }",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        const char *text = arena_printf(tap->arena, "kernel k(x: f32[nnz], offsets: i32[B + 1]) -> out: f32[B] {\n"
                                                    "for tb in tile(B) { var acc: f32[tb] = 0; %s out[tb] = acc; } }\n", bodies[i]);
        struct program program = program_parse(tap, text);
        const char *offsets = array(&program, "offsets", TYPE_I32, SHAPE(3), (double[]){0, 7, 4});
        ANSWER("launch.offsets", "'offsets': row 1 has length -3: offsets[1] = 7, offsets[2] = 4", ARGUMENTS("x=randn", offsets), DIMS("nnz=9"));
        offsets = array(&program, "offsets", TYPE_I32, SHAPE(3), (double[]){0, 7, 10});
        ANSWER("launch.offsets", "'offsets' overruns 'x': offsets[2] = 10, but 'x' has 9 elements in dimension 1 (nnz)",
               ARGUMENTS("x=randn", offsets), DIMS("nnz=9"));
        ANSWER("", "", ARGUMENTS("x=randn", offsets));  // nnz is inferred
        program_free(&program);
    }
}

// Offsets of offsets in a circle: no one total can be worked out, and so each dimension is asked for.
static void offsets_in_a_circle(struct tap *tap)
{
    struct program program = program_parse(tap,
        "kernel circle(p: i32[n + 1], q: i32[m + 1]) -> (a: i32[n], b: i32[m]) {\n"
        "    for t in tile(n) { let s = p[t]; for k in jagged_tile(p[t + 1] - s) { b[s + k] = q[s + k]; } }\n"
        "    for u in tile(m) { let s = q[u]; for l in jagged_tile(q[u + 1] - s) { a[s + l] = p[s + l]; } }\n"
        "}\n");
    ANSWER("usage.dimension", "dimensions n, m aren't known from the arguments: give each with --dim n=…",
           ARGUMENTS("p=offsets(const(1))", "q=offsets(const(1))"));
    ANSWER("", "", ARGUMENTS("p=offsets(const(1))", "q=offsets(const(1))"), DIMS("n=3"));
    program_free(&program);
}

// A difference of neighbours that bounds nothing makes no offsets.
static void no_offsets(struct tap *tap)
{
    struct program program = program_parse(tap,
        "kernel steps(p: i32[B + 1]) -> out: i32[B] { for tb in tile(B) { out[tb] = p[tb + 1] - p[tb]; } }\n");
    ANSWER("", "", ARGUMENTS(array(&program, "p", TYPE_I32, SHAPE(3), (double[]){5, -7, 1})));
    program_free(&program);
}

static const struct tap_test tests[] = {
    {"types and dimensions from files", from_files},
    {"types and dimensions for generated data", from_generators},
    {"bf16 from an f32 file", bf16_from_f32},
    {"data that waits until it is wanted", lazy_data},
    {"rows of rows", ragged_of_ragged},
    {"scalars", scalars},
    {"optional tensors", optional_tensors},
    {"full axes are compiled in", full_axes},
    {"dimensions compiled in on request", compiled_in_on_request},
    {"wrong requests", wrong_requests},
    {"wrong files", wrong_files},
    {"validation can be left out", no_validation},
    {"arguments that disagree", disagreeing_arguments},
    {"lengths of rows", lengths_of_rows},
    {"ways to write a row's length", shapes_of_offsets},
    {"offsets in a circle", offsets_in_a_circle},
    {"differences that are no offsets", no_offsets},
};
TAP_MAIN(tests)
