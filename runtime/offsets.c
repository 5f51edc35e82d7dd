// SPDX-License-Identifier: Apache-2.0
// Packed rows. In: a checked kernel. Out: which integer parameters are offsets or lengths of rows, of what; and, given
// tensors, whether they can be.
// The one idea: nothing is declared. A parameter gives rows because a jagged axis ends where it says, so the bounds of
// the axes are searched for p[e + 1] - p[e], for p[e] to p[e + 1], and for p[…] alone.
#include <stdio.h>
#include <string.h>

#include "runtime/build.h"
#include "runtime/data.h"

enum { MOST_TERMS = 8, DEEPEST = 24 };

// ---------------------------------------------------------------------------------------------- values

static bool is_op(const struct ir_value *value, enum ir_opcode code)
{
    return value && !value->region && value->def && value->def->code == code;
}

// Conversions between integers keep an index what it is.
static const struct ir_value *strip(const struct ir_value *value)
{
    while (is_op(value, OP_CAST) && !ir_type_is_float(value->type) && !ir_type_is_float(value->def->operands[0]->type))
        value = value->def->operands[0];
    return value;
}

// Whether two values are the same by construction. Loads count as equal if their indices are: offsets are inputs.
static bool same(const struct ir_value *a, const struct ir_value *b, int depth)
{
    a = strip(a);
    b = strip(b);
    if (a == b) return true;
    if (depth == DEEPEST || a->region || b->region || a->type != b->type) return false;
    const struct ir_op *p = a->def, *q = b->def;
    if (p->code != q->code || p->operand_count != q->operand_count || p->region_count || a->index != b->index) return false;
    if (p->integer != q->integer || p->number != q->number || p->param != q->param || p->dim != q->dim) return false;
    if (p->axis != q->axis || p->over != q->over || p->reduction != q->reduction || p->predicated != q->predicated) return false;
    for (int i = 0; i < p->operand_count; i++) {
        if (!same(p->operands[i], q->operands[i], depth + 1)) return false;
    }
    return true;
}

// A value as a sum of other values and a constant.
struct terms {
    int count;
    const struct ir_value *items[MOST_TERMS];
    int64_t constant;
    bool too_many;
};

static void add_terms(struct terms *terms, const struct ir_value *value, int depth)
{
    value = strip(value);
    if (is_op(value, OP_CONST)) {
        terms->constant = (int64_t)((uint64_t)terms->constant + (uint64_t)value->def->integer);
    } else if (is_op(value, OP_ADD) && depth < DEEPEST) {
        add_terms(terms, value->def->operands[0], depth + 1);
        add_terms(terms, value->def->operands[1], depth + 1);
    } else if (is_op(value, OP_SUB) && is_op(strip(value->def->operands[1]), OP_CONST) && depth < DEEPEST) {
        add_terms(terms, value->def->operands[0], depth + 1);
        terms->constant = (int64_t)((uint64_t)terms->constant - (uint64_t)strip(value->def->operands[1])->def->integer);
    } else if (terms->count == MOST_TERMS) {
        terms->too_many = true;
    } else {
        terms->items[terms->count++] = value;
    }
}

static struct terms terms_of(const struct ir_value *value)
{
    struct terms terms = {0};
    add_terms(&terms, value, 0);
    return terms;
}

// Whether a = b + 1.
static bool is_next(const struct ir_value *a, const struct ir_value *b)
{
    struct terms left = terms_of(a), right = terms_of(b);
    if (left.too_many || right.too_many || left.count != right.count || left.constant - 1 != right.constant) return false;
    for (int i = 0; i < left.count; i++) {
        int j = i;
        while (j < right.count && !same(left.items[i], right.items[j], 0)) j++;
        if (j == right.count) return false;
        const struct ir_value *matched = right.items[j];
        right.items[j] = right.items[i];
        right.items[i] = matched;
    }
    return true;
}

// The load of an integer parameter that `value` is, or NULL.
static const struct ir_op *integer_load(const struct ir_kernel *kernel, const struct ir_value *value)
{
    value = strip(value);
    if (!is_op(value, OP_LOAD)) return NULL;
    const struct ir_param *param = &kernel->params[value->def->param];
    return param->kind == PARAM_IN && ir_type_is_integer(param->type) ? value->def : NULL;
}

// The parameter p if `high` is p[e + 1] and `low` is p[e], else -1.
static int consecutive_loads(const struct ir_kernel *kernel, const struct ir_value *high, const struct ir_value *low)
{
    const struct ir_op *upper = integer_load(kernel, high), *lower = integer_load(kernel, low);
    if (!upper || !lower || upper->param != lower->param || kernel->params[upper->param].rank != 1) return -1;
    return is_next(upper->operands[0], lower->operands[0]) ? upper->param : -1;
}

// Searches a bound, through element-wise operations, for p[e + 1] - p[e].
static int offsets_in(const struct ir_kernel *kernel, const struct ir_value *value, int *budget)
{
    if (!value || value->region || --*budget < 0) return -1;
    const struct ir_op *op = value->def;
    if (op->code == OP_SUB) {
        int param = consecutive_loads(kernel, op->operands[0], op->operands[1]);
        if (param >= 0) return param;
    }
    if (!(ir_ops[op->code].flags & F_ELEMENTWISE)) return -1;
    for (int i = 0; i < op->operand_count; i++) {
        int param = offsets_in(kernel, op->operands[i], budget);
        if (param >= 0) return param;
    }
    return -1;
}

// ---------------------------------------------------------------------------------------------- uses

struct finder {
    struct arena *arena;
    const struct ir_kernel *kernel;
    struct rows_uses bounds;   // without targets
    struct rows_uses uses;
};

static void add_use(struct finder *finder, struct rows_uses *uses, struct rows_use use)
{
    for (int i = 0; i < uses->count; i++) {
        struct rows_use *known = &uses->items[i];
        if (known->param != use.param || known->kind != use.kind || known->axis != use.axis) continue;
        if (known->target_param != use.target_param || known->target_position != use.target_position) continue;
        if (use.beyond > known->beyond) known->beyond = use.beyond;
        return;
    }
    ARENA_PUSH(finder->arena, uses->items, uses->count, uses->capacity, use);
}

static void add_bound(struct finder *finder, int param, enum rows_kind kind, int axis)
{
    if (param < 0) return;
    add_use(finder, &finder->bounds,
            (struct rows_use){.param = param, .kind = kind, .axis = axis, .target_param = -1, .target_position = -1});
}

static void find_in_axis(struct finder *finder, int axis)
{
    const struct ir_axis *info = &finder->kernel->axes[axis];
    if (info->kind != AXIS_JAGGED || !info->hi) return;
    int param = info->lo ? consecutive_loads(finder->kernel, info->hi, info->lo) : -1, budget = 1000;
    if (param < 0) param = offsets_in(finder->kernel, info->hi, &budget);
    add_bound(finder, param, ROWS_OFFSETS, axis);
    const struct ir_op *load = integer_load(finder->kernel, info->hi);
    bool from_zero = !info->lo || (is_op(info->lo, OP_CONST) && info->lo->def->integer == 0);
    if (param < 0 && load && from_zero) add_bound(finder, load->param, ROWS_LENGTHS, axis);
}

// index < length, wherever it stands, bounds the index's axis.
static void find_in_condition(struct finder *finder, const struct ir_op *op)
{
    int index = op->code == OP_LT ? 0 : 1, budget = 1000;
    const struct ir_value *position = strip(op->operands[index]);
    if (is_op(position, OP_INDEX))
        add_bound(finder, offsets_in(finder->kernel, op->operands[1 - index], &budget), ROWS_OFFSETS, position->def->axis);
}

static void find_bounds(struct finder *finder, const struct ir_region *region)
{
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_LT || op->code == OP_GT) find_in_condition(finder, op);
        for (int i = 0; i < op->region_count; i++) find_bounds(finder, op->regions[i]);
    }
}

// Whether an index runs through the whole of a row that `bound` describes, *beyond elements further on.
static bool runs_through(const struct finder *finder, const struct rows_use *bound, const struct ir_value *index, int64_t *beyond)
{
    struct terms terms = terms_of(index);
    *beyond = terms.constant;
    const struct ir_axis *axis = &finder->kernel->axes[bound->axis];
    if (terms.constant < 0 || terms.too_many) return false;
    if (terms.count == 1 && is_op(terms.items[0], OP_INDEX) && terms.items[0]->def->axis == bound->axis) {
        const struct ir_op *low = axis->lo ? integer_load(finder->kernel, axis->lo) : NULL;
        return bound->kind == ROWS_LENGTHS || (axis->kind == AXIS_JAGGED && low && low->param == bound->param);
    }
    if (bound->kind != ROWS_OFFSETS || terms.count != 2) return false;
    for (int i = 0; i < 2; i++) {
        const struct ir_op *start = integer_load(finder->kernel, terms.items[i]);
        const struct ir_value *position = terms.items[1 - i];
        if (start && start->param == bound->param && is_op(position, OP_INDEX) && position->def->axis == bound->axis) return true;
    }
    return false;
}

// Lengths may well exceed an extent where a condition stands around the access; offsets mean what is packed.
static void find_in_access(struct finder *finder, const struct ir_op *op, bool conditional)
{
    for (int i = 0; i < finder->bounds.count; i++) {
        struct rows_use use = finder->bounds.items[i];
        if (use.kind == ROWS_LENGTHS && (conditional || op->predicated)) continue;
        for (int d = 0; d < finder->kernel->params[op->param].rank; d++) {
            if (!runs_through(finder, &use, op->operands[d], &use.beyond)) continue;
            if (conditional || op->predicated) use.beyond = 0;
            use.target_param = op->param;
            use.target_position = d;
            add_use(finder, &finder->uses, use);
        }
    }
}

static void find_targets(struct finder *finder, const struct ir_region *region, bool conditional)
{
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_LOAD || op->code == OP_STORE || op->code == OP_ATOMIC) find_in_access(finder, op, conditional);
        for (int i = 0; i < op->region_count; i++) find_targets(finder, op->regions[i], conditional || op->code == OP_IF);
    }
}

struct rows_uses rows_find(struct arena *arena, const struct ir_kernel *kernel)
{
    struct finder finder = {.arena = arena, .kernel = kernel};
    for (int axis = 0; axis < kernel->axis_count; axis++) find_in_axis(&finder, axis);
    find_bounds(&finder, kernel->body);
    find_targets(&finder, kernel->body, false);
    for (int i = 0; i < finder.bounds.count; i++) {
        bool found = false;
        for (int j = 0; j < finder.uses.count; j++) {
            const struct rows_use *use = &finder.uses.items[j];
            found = found || (use->param == finder.bounds.items[i].param && use->axis == finder.bounds.items[i].axis);
        }
        if (!found) add_use(&finder, &finder.uses, finder.bounds.items[i]);
    }
    return finder.uses;
}

// ---------------------------------------------------------------------------------------------- validation

static struct status check_offsets(struct arena *arena, const char *name, const struct ir_tensor *view)
{
    int64_t count = tensor_elements(view);
    if (count == 0) return status_failed(arena, "launch.offsets", "'%s' is empty: offsets need at least one element", name);
    int64_t before = tensor_get(view, 0).integer;
    if (before < 0)
        return status_failed(arena, "launch.offsets", "'%s' begins below 0: %s[0] = %lld", name, name, (long long)before);
    for (int64_t i = 1; i < count; i++) {
        int64_t next = tensor_get(view, i).integer;
        if (next < before) {
            __int128 length = (__int128)next - before;  // 64-bit offsets may be anything
            const char *words = length >= INT64_MIN ? arena_printf(arena, "length %lld", (long long)length) : "a negative length";
            return status_failed(arena, "launch.offsets", "'%s': row %lld has %s: %s[%lld] = %lld, %s[%lld] = %lld", name,
                                 (long long)i - 1, words, name, (long long)i - 1, (long long)before, name, (long long)i, (long long)next);
        }
        before = next;
    }
    return STATUS_OK;
}

// "row 3" or, under several parents, "row [1, 3]".
static const char *row_name(struct arena *arena, const struct ir_tensor *view, int64_t index)
{
    if (view->rank == 1) return arena_printf(arena, "row %lld", (long long)index);
    const char *names = "";
    for (int d = view->rank; d-- > 0; index /= view->shape[d])
        names = arena_printf(arena, "%lld%s%s", (long long)(index % view->shape[d]), *names ? ", " : "", names);
    return arena_printf(arena, "row [%s]", names);
}

static struct status check_lengths(struct arena *arena, const char *name, const struct ir_tensor *view)
{
    int64_t count = tensor_elements(view);
    for (int64_t i = 0; i < count; i++) {
        int64_t length = tensor_get(view, i).integer;
        if (length < 0)
            return status_failed(arena, "launch.lengths", "'%s': %s has length %lld", name, row_name(arena, view, i), (long long)length);
    }
    return STATUS_OK;
}

static struct status check_target(struct arena *arena, const struct ir_kernel *kernel, const struct rows_use *use,
                                  const struct ir_tensor *view, const struct ir_bindings *bindings)
{
    const struct ir_param *target = &kernel->params[use->target_param];
    const char *name = kernel->params[use->param].name, *extent_text = target->extent_text[use->target_position];
    int64_t extent = ir_evaluate_number(target->extents[use->target_position], bindings).integer;
    int64_t count = tensor_elements(view);
    const char *has = arena_printf(arena, "'%s' has %lld elements in dimension %d (%s)", target->name, (long long)extent,
                                   use->target_position + 1, extent_text ? extent_text : "?");
    if (use->kind == ROWS_OFFSETS) {
        int64_t last = count > 0 ? tensor_get(view, count - 1).integer : 0;
        if (last <= extent) return STATUS_OK;
        return status_failed(arena, "launch.offsets", "'%s' overruns '%s': %s[%lld] = %lld, but %s", name, target->name, name,
                             (long long)count - 1, (long long)last, has);
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t length = tensor_get(view, i).integer;
        if (length > extent)
            return status_failed(arena, "launch.lengths", "'%s' overruns '%s': %s has length %lld, but %s", name, target->name,
                                 row_name(arena, view, i), (long long)length, has);
    }
    return STATUS_OK;
}

struct status rows_validate(struct arena *arena, const struct ir_kernel *kernel, const struct rows_uses *uses,
                            const struct ir_tensor *tensors, const struct ir_bindings *bindings)
{
    for (int i = 0; i < uses->count; i++) {
        const struct rows_use *use = &uses->items[i];
        const struct ir_tensor *view = &tensors[use->param];
        const char *name = kernel->params[use->param].name;
        bool seen = false;
        for (int j = 0; j < i; j++) seen = seen || (uses->items[j].param == use->param && uses->items[j].kind == use->kind);
        struct status status = STATUS_OK;
        if (!seen) status = use->kind == ROWS_OFFSETS ? check_offsets(arena, name, view) : check_lengths(arena, name, view);
        if (status.ok && use->target_param >= 0) status = check_target(arena, kernel, use, view, bindings);
        if (!status.ok) return status;
    }
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- looking

static int64_t row_count(enum rows_kind kind, const struct ir_tensor *view)
{
    int64_t count = tensor_elements(view);
    return kind == ROWS_LENGTHS || count == 0 ? count : count - 1;
}

// A descending pair is an empty row.
static int64_t row_length(enum rows_kind kind, const struct ir_tensor *view, int64_t row)
{
    int64_t first = kind == ROWS_OFFSETS ? tensor_get(view, row).integer : 0;
    int64_t last = tensor_get(view, kind == ROWS_OFFSETS ? row + 1 : row).integer, length;
    if (last <= first) return 0;
    return __builtin_sub_overflow(last, first, &length) ? INT64_MAX : length;
}

int64_t rows_longest(const struct rows_use *use, const struct ir_tensor *tensors)
{
    const struct ir_tensor *view = &tensors[use->param];
    int64_t rows = row_count(use->kind, view), longest = 0;
    for (int64_t row = 0; row < rows; row++) {
        int64_t length = row_length(use->kind, view, row);
        if (length > longest) longest = length;
    }
    return longest;
}

double rows_tile_longest(const struct rows_use *use, const struct ir_tensor *tensors, int64_t tile)
{
    const struct ir_tensor *view = &tensors[use->param];
    int64_t rows = row_count(use->kind, view), longest = 0;
    double sum = 0;
    for (int64_t row = 0; row < rows; row++) {
        int64_t length = row_length(use->kind, view, row);
        if (length > longest) longest = length;
        if ((row + 1) % tile && row + 1 < rows) continue;
        sum += (double)longest;
        longest = 0;
    }
    return sum;
}

struct row_statistics row_statistics(const struct rows_use *use, const struct ir_tensor *tensors)
{
    const struct ir_tensor *view = &tensors[use->param];
    struct row_statistics statistics = {.rows = row_count(use->kind, view)};
    for (int64_t row = 0; row < statistics.rows; row++) {
        int64_t length = row_length(use->kind, view, row);
        statistics.total += (double)length;
        if (length > statistics.longest) statistics.longest = length;
    }
    if (statistics.rows) statistics.mean = statistics.total / (double)statistics.rows;
    if (statistics.total > 0) statistics.skew = (double)statistics.longest / statistics.mean;
    return statistics;
}

static int bin_of(int64_t length)
{
    return length <= 0 ? 0 : 64 - __builtin_clzll((unsigned long long)length);
}

static void print_bin(struct text *out, int bin, int64_t count, int64_t most)
{
    enum { WIDEST = 50 };
    long long first = bin ? 1LL << (bin - 1) : 0, last = bin ? first - 1 + first : 0;
    char label[48], bar[WIDEST + 1];
    int length = (int)((double)count / (double)most * WIDEST + 0.5);
    if (length == 0 && count > 0) length = 1;
    memset(bar, '#', (size_t)length);
    bar[length] = 0;
    if (first == last) snprintf(label, sizeof label, "%lld", first);
    else snprintf(label, sizeof label, "%lld-%lld", first, last);
    text_printf(out, "  %12s %9lld%s%s\n", label, (long long)count, length ? "  " : "", bar);
}

void rows_histogram(struct text *out, enum rows_kind kind, const struct ir_tensor *view)
{
    int64_t bins[64] = {0}, rows = row_count(kind, view), longest = 0, total = 0, most = 1;
    for (int64_t row = 0; row < rows; row++) {
        int64_t length = row_length(kind, view, row);
        if (length > longest) longest = length;
        if (__builtin_add_overflow(total, length, &total)) total = INT64_MAX;
        bins[bin_of(length)]++;
    }
    text_printf(out, "%lld row%s, %lld element%s, longest %lld\n", (long long)rows, rows == 1 ? "" : "s", (long long)total,
                total == 1 ? "" : "s", (long long)longest);
    if (rows == 0) return;
    int first = 0, last = bin_of(longest);
    while (bins[first] == 0) first++;
    for (int bin = first; bin <= last; bin++) {
        if (bins[bin] > most) most = bins[bin];
    }
    text_printf(out, "  %12s %9s\n", "length", "rows");
    for (int bin = first; bin <= last; bin++) print_bin(out, bin, bins[bin], most);
}
