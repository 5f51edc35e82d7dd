// SPDX-License-Identifier: Apache-2.0
// Tensors on the host: files, generated data, binding arguments to a kernel, checking results, and the job of
// `tilec run`. Private to runtime/; tilec.h wraps what the outside needs.
//
// Errors are `struct status` values; the code's first part says whose fault it is (runtime/build.h):
//   usage.*    the request can't be read                    program.*  the program has errors, see the diagnostics
//   launch.*   arguments don't fit the kernel, each other, their file or this machine's memory
//   check.*    a result is wrong                            file.read, write.npy
// Codes are static text, reasons live in the arena of the call and have no final period.
#ifndef TILEC_RUNTIME_DATA_H
#define TILEC_RUNTIME_DATA_H

#include "frontend/frontend.h"
#include "ir/ir.h"

// ---------------------------------------------------------------------------------------------- many elements (blocks.c)

// Calls `work` for each block of BLOCK_ELEMENTS of the range [0, count), the last one shorter, by all cores at once and in
// no order.
enum { BLOCK_ELEMENTS = 1 << 20 };
int64_t block_count(int64_t count);
void work_in_blocks(int64_t count, void (*work)(void *data, int64_t block, int64_t begin, int64_t end), void *data);

// ---------------------------------------------------------------------------------------------- tensors (tensor.c)

enum { TENSOR_ALIGNMENT = 64, TENSOR_GUARD_BYTES = 256 };

// An owned tensor. The data lies between two guard areas of a known pattern, so that a write outside is noticed.
// A zeroed one is empty: tensor_free does nothing.
struct tensor {
    struct ir_tensor view;  // what evaluator and kernels get; view.data is aligned to TENSOR_ALIGNMENT
    unsigned char *block;   // guard, data, guard
    size_t bytes;           // of the data
};

// The count of elements; false if it or the count of bytes doesn't fit.
bool tensor_count(enum ir_type type, int rank, const int64_t *shape, int64_t *count);
// Zeroed data. `name` is for the message: too large for 64 bits, for this machine's memory, or a negative extent.
struct status tensor_new(struct arena *arena, const char *name, enum ir_type type, int rank, const int64_t *shape,
                         struct tensor *tensor);
void tensor_free(struct tensor *tensor);
struct status tensor_copy(struct arena *arena, const char *name, const struct tensor *from, struct tensor *to);
// The same numbers in another type, each rounded or wrapped.
struct status tensor_convert(struct arena *arena, const char *name, const struct tensor *from, enum ir_type type,
                             struct tensor *to);

// Fills with a value that no kernel computes by chance: a NaN with a payload, or 0x5a in every byte.
void tensor_poison(struct tensor *tensor);
bool tensor_is_poison(const struct ir_tensor *view, int64_t index);  // bit for bit
// Not ok if a guard area has changed: says on which side and how far off.
struct status tensor_check_guards(struct arena *arena, const char *name, const struct tensor *tensor);

int64_t tensor_elements(const struct ir_tensor *view);
struct ir_scalar tensor_get(const struct ir_tensor *view, int64_t index);  // index in row-major order
void tensor_set(const struct ir_tensor *view, int64_t index, struct ir_scalar value);
void tensor_print_shape(struct text *out, const struct ir_tensor *view);   // "f32[1000, 64]"

// ---------------------------------------------------------------------------------------------- .npy (npy.c)

struct npy_header {
    enum ir_type type;
    int rank;
    int64_t shape[IR_MAX_RANK];
    bool fortran;        // first index fastest
    size_t data_offset;  // in bytes from the start of the file
    size_t data_bytes;
};
// Reads the head from the file's first `length` bytes. `path` is for messages. If `length` is too small to hold the
// head, the status says that the file is cut short and *needed (if given) how many bytes the head has.
struct status npy_parse_header(struct arena *arena, const char *path, const unsigned char *bytes, size_t length,
                               struct npy_header *header, size_t *needed);
// A whole file already in memory.
struct status npy_parse(struct arena *arena, const char *path, const unsigned char *bytes, size_t length,
                        struct tensor *tensor);
// Versions 1 to 3, little-endian; first-index-fastest data is brought into row-major order.
struct status npy_read(struct arena *arena, const char *path, struct tensor *tensor);
// The head of a whole file: type and shape as npy_read would have them.
struct status npy_read_head(struct arena *arena, const char *path, struct npy_header *header);
// Version 1.0. bf16 is written as f4. Written beside and renamed, so that no half file is left.
struct status npy_write(struct arena *arena, const char *path, const struct ir_tensor *view);

// ---------------------------------------------------------------------------------------------- numbers of dimensions (linear.c)

// scale * dim + offset; dim is -1 in a constant.
struct linear {
    bool ok;
    int dim;
    int64_t scale, offset;
};
struct linear linear_of(const struct ir_value *value);

// ---------------------------------------------------------------------------------------------- numbers in words (expression.c)

// Integer and floating arithmetic over names: "2 * B + 1", "total(offsets)", "1e-6", "longest(offsets)".
struct expression_number {
    bool floating;
    int64_t integer;
    double number;  // set for both
};
struct expression_scope {
    void *data;
    // What a name, or function(name) where `function` isn't NULL, stands for. NULL: found. Otherwise why not, in
    // words; *pending is set if it may become known later.
    const char *(*look_up)(void *data, const char *function, const char *name, struct expression_number *number,
                           bool *pending);
    bool total;     // n / 0 and n % 0 are 0, as in the tile language; otherwise an error
    size_t *place;  // gets the byte of the text at which something is wrong; NULL: it isn't asked for
};
// Not ok: "usage.expression" (wrong), or "usage.pending" (a name that isn't known yet).
struct status expression_evaluate(struct arena *arena, const char *text, const struct expression_scope *scope,
                                  struct expression_number *number);

// ---------------------------------------------------------------------------------------------- generators (generate.c)

// Element i of an argument is a function of (seed, the argument's name, i) in integer arithmetic, so the data is the
// same on every machine and doesn't depend on the order of generation.
enum generator_kind {
    GENERATE_ZEROS, GENERATE_ONES, GENERATE_ARANGE,
    GENERATE_RANDN,    // the sum of twelve 16-bit uniform numbers: mean 0, variance 1, at most 6 in size, exact in f32
    GENERATE_UNIFORM,  // [a, b)
    GENERATE_RANDINT,  // integers a <= n < b
    GENERATE_OFFSETS_CONST, GENERATE_OFFSETS_UNIFORM, GENERATE_OFFSETS_ZIPF, GENERATE_OFFSETS_LOGNORMAL,
};
struct generator {
    enum generator_kind kind;
    const char *a, *b;  // expressions, or NULL
};
bool generator_is_offsets(const struct generator *generator);
// Reads "randn", "uniform(0, 1)", "offsets(zipf(total, max))".
struct status generator_parse(struct arena *arena, const char *text, struct generator *generator);
uint64_t generator_hash(uint64_t seed, const char *name, uint64_t index);
// Fills an allocated tensor. Offsets: 1-D integers from 0, element i + 1 after element i by the length of row i.
//   const(n)  uniform(a, b): integers a <= length <= b  lognormal(mean, sigma): of the logarithm, rounded down
//   zipf(total, max): floor(min(total / (rank * H), max)), at least 1, ranks shuffled; H = 1 + 1/2 + … + 1/rows
struct status generator_fill(struct arena *arena, const struct generator *generator, const char *name, uint64_t seed,
                             struct expression_number a, struct expression_number b, struct tensor *tensor);

// ---------------------------------------------------------------------------------------------- packed rows (offsets.c)

// What a checked kernel says about an integer parameter that gives the rows of packed data.
enum rows_kind { ROWS_OFFSETS, ROWS_LENGTHS };
struct rows_use {
    int param;
    enum rows_kind kind;
    int axis;                    // a jagged axis (or one that a condition bounds) that it bounds
    int target_param, target_position;  // an extent that start + index runs through; -1: none found
    int64_t beyond;              // start + index + beyond is accessed too, on no condition
};
struct rows_uses {
    int count, capacity;
    struct rows_use *items;
};
// offsets: bounds of the form p[e + 1] - p[e], or from p[e] to p[e + 1]; lengths: a bound that is p[…] itself.
// One entry for each axis and target extent, one with target -1 if there is none.
struct rows_uses rows_find(struct arena *arena, const struct ir_kernel *kernel);
// Ascending from at least 0, and the last at most each target's extent; lengths at least 0. The message names row,
// length and both offsets. `tensors` and `bindings` are complete.
struct status rows_validate(struct arena *arena, const struct ir_kernel *kernel, const struct rows_uses *uses,
                            const struct ir_tensor *tensors, const struct ir_bindings *bindings);
// Whether an access along a jagged axis may leave its tensor although they are valid (offsets_proof.c).
bool rows_leave_open(const struct ir_kernel *kernel, const struct rows_uses *uses);
// How long the rows are. Descending offsets are empty rows.
struct row_statistics {
    int64_t rows, longest;
    double total, mean, skew;  // skew: longest over mean; 0 if there is nothing
};
struct row_statistics row_statistics(const struct rows_use *use, const struct ir_tensor *tensors);
int64_t rows_longest(const struct rows_use *use, const struct ir_tensor *tensors);
// The longest row of each tile of so many rows, added up.
double rows_tile_longest(const struct rows_use *use, const struct ir_tensor *tensors, int64_t tile);
// The histogram of row lengths as text: bins of powers of two, each with its count and a bar.
void rows_histogram(struct text *out, enum rows_kind kind, const struct ir_tensor *view);

// ---------------------------------------------------------------------------------------------- binding (arguments.c, bind.c)

// What the caller wrote. All texts are the caller's and must outlive the bound arguments.
struct bind_request {
    const struct ast_file *file;
    const char *kernel;                 // NULL: the only one; with several kernels an error that lists them
    int argument_count;
    const char *const *arguments;       // "NAME=VALUE"
    int dim_count;
    const char *const *dims;            // "NAME=EXPRESSION"
    int type_count;
    const char *const *types;           // "T=f16"
    int static_count;
    const char *const *statics;         // dimensions to compile in
    int dynamic_count;
    const char *const *dynamics;        // dimensions to leave open
    bool compile_in;                    // compile in what batch_dimensions() doesn't name
    uint64_t seed;
    bool validate;                      // offsets and lengths
    bool lazy;                          // only the tensors that give rows, or whose contents an argument asks for, have data
};
// What a tensor without data is to hold.
enum bound_source_kind { SOURCE_NONE, SOURCE_GENERATED, SOURCE_FILE, SOURCE_POISON };
struct bound_source {
    enum bound_source_kind kind;
    struct generator generator;
    struct expression_number a, b;      // the generator's numbers
    const char *path;
    enum ir_type file_type;
};
// A kernel with all it needs to run. Arrays are indexed by parameter, `dims` by dimension.
struct bound {
    struct ir_kernel *kernel;
    struct tensor *tensors;             // inputs filled; outputs allocated and poisoned; others empty
    struct ir_tensor *views;            // their views, for evaluator and executors
    int64_t *dims;
    struct ir_scalar *scalars;
    struct ir_bindings bindings;
    struct rows_uses rows;
    struct bound_source *sources;       // by parameter
    uint64_t seed;
    int filled;                         // inputs that were generated or read so far
};
// Infers types and dimensions, makes the tensors, checks everything. Whatever it returns, call bound_free.
struct status bind_arguments(struct arena *arena, const struct bind_request *request, struct diagnostics *diagnostics,
                             struct bound *bound);
void bound_free(struct bound *bound);
// The data that bound_arguments left out under `lazy` (fill.c): of one parameter, or all. Views are complete afterwards.
struct status bound_fill_one(struct arena *arena, struct bound *bound, int param);
struct status bound_fill(struct arena *arena, struct bound *bound);
int64_t bound_bytes(const struct bound *bound);  // of all tensors' data, whether it is there or not

// ---------------------------------------------------------------------------------------------- comparing (compare.c)

struct compare_options {
    int64_t reduction_length;  // numbers that one result sums up; 1 if none
    bool rounded;              // an integer made from a floating number: off by one is no fault, where errors aren't known
    bool sampled;              // where the reference is poison nothing was computed: not compared
    double magnitude;          // of what was summed up: stands in for the RMS of a reference of few elements
    double exponent;           // the greatest argument of an exponential, whose own rounding its result multiplies; 0: none
    double scale;              // 0: 1; multiplies the tolerance
    const double *errors;       // of every element, as the evaluator worked them out; NULL: not known. The caller's
    bool bounded;              // compare_bound has worked out what follows
    double relative, absolute, factor; // an element may differ by relative |reference| + absolute + factor errors[i]
};
// What all comparisons with a reference have in common, once for many of them. Does nothing the second time.
void compare_bound(const struct ir_tensor *reference, struct compare_options *options);
// What the finite elements of a tensor come to; of integers the same.
struct tensor_size {
    int64_t finite;            // how many there are
    double squares, greatest;  // their sum of squares; the largest, by size
};
struct tensor_size tensor_size(const struct ir_tensor *view);
void tensor_size_add(struct tensor_size *sum, const struct tensor_size *size);
struct comparison {
    bool ok;
    int64_t compared, wrong;
    int64_t unjudged;          // whose bound is larger than their reference: any number of its size would do
    double largest_error;      // absolute
    double tolerance;          // at that place
    int64_t where;             // row-major index of the worst element, or -1 if nothing was compared
    double worst;              // how far it is beyond its tolerance there: above 1, wrong
    struct ir_scalar value, reference;  // there
    const char *why;           // static text, NULL if ok: "differs", "is NaN", "was stored where nothing should be", …
};
// Floating elements may differ by four times the errors that the evaluator worked out for each of them, of f64 by 16 times:
// it computes in f64 itself. Infinite ones allow anything, NaN too. Where these aren't known (options.errors is NULL), by
//   (4 u + 4 c exponent) |reference| + 2 u RMS + (16 + 4 sqrt(length)) c RMS, u and c the unit roundoffs of the type and
// of what it computes in,
// RMS that of the reference's finite elements; for the last term that of an element's neighbours along the last axis, if
// there are many, or the element's own size, if that is larger. Integers may differ by their errors[i]. NaN and infinities
// must agree, and poison must stay poison.
struct comparison compare_tensors(const struct ir_tensor *value, const struct ir_tensor *reference,
                                  const struct compare_options *options);
// "largest error 1.2e-07 (tolerance 3e-06) at out[3, 17]: 1.5, reference 1.4999999"
// "out[3, 17]"
void tensor_print_place(struct text *out, const char *name, const struct ir_tensor *view, int64_t index);
void comparison_print(struct text *out, const char *name, const struct ir_tensor *view, const struct comparison *comparison);

// ---------------------------------------------------------------------------------------------- running (run.c)

// Runs a kernel on the host: called with complete tensors, outputs poisoned (fills are the executor's to do).
// NULL stands for the reference evaluator.
typedef struct status (*run_executor)(void *data, struct arena *arena, const struct ir_kernel *kernel,
                                      struct ir_tensor *tensors, const struct ir_bindings *bindings);

struct run_request {
    struct bind_request bind;
    const char *device;          // for messages: "cpu", "reference"
    run_executor execute;
    void *execute_data;
    bool check;
    int64_t check_points;        // more points than this are checked on a sample of rows; 0: 10^7
    int out_count;
    const char *const *outs;     // "NAME=file.npy"
    const char *save_directory;  // every argument goes there as NAME.npy; NULL: no
    bool quiet;                  // no summaries of outputs
    const char *histogram;       // an offsets or lengths argument whose histogram is reported; "": the first; NULL: no
    const struct resolved *resolved;  // has the config that ran, when it has; NULL: none decides how products are rounded
};
struct run_output {
    const char *name;
    int param;
    struct ir_tensor view;       // the bound tensor
    bool checked;
    struct comparison comparison;
    const char *file;            // where it was written, or NULL
};
struct run_result {
    struct bound bound;
    int output_count;
    struct run_output *outputs;
    struct text report;          // what a person reads: the histogram, summaries of outputs that went to no file, the check
    struct text printed;         // what the program printed (reference only)
    double seconds;              // of the execution
    int64_t checked_rows, all_rows;  // of the sample; equal if all were checked
    const char *cut;             // that the result depends on how rows are cut into tiles, in words, or NULL
    const char *remark;          // what the check could not look at, in words, or NULL
};
// Whatever it returns, call run_free. A failed check is status "check.differs"; the result is complete then.
struct status run(struct arena *arena, const struct run_request *request, struct diagnostics *diagnostics,
                  struct run_result *result);
void run_free(struct run_result *result);

// At most `digits` significant digits, and no more than the type needs to be read back. Locale-free.
void number_print(struct text *out, enum ir_type type, struct ir_scalar value, int digits);
// Type, shape, smallest, largest, mean, first values, in a few lines.
void summary_print(struct text *out, const char *name, const struct ir_tensor *view);

#endif
