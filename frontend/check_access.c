// SPDX-License-Identifier: Apache-2.0
// The rules of "Tiles and results" for stores and atomics. In: a kernel's IR and its facts. Out: complaints.
// The one idea: what is stored, where, and whether, may depend neither on how many tiles there are nor on where they
// begin. An access is held against each loop around it; only what is wrong for certain is reported.
#include "frontend/check_tiles.h"

struct site {  // an access, and a loop around it
    const struct ir_op *op, *loop;
    axes_t bit;                // of the loop
    const char *axis;          // its name
    bool is_on;                // place or value are on it
    struct facts value, index, conditions;
    bool open;                 // the tile is named openly
};

// ---------------------------------------------------------------------------------------------- complaints

static const char *tensor_name(const struct rules *rules, const struct ir_op *op) {
    return rules->checker->kernel->params[op->param].name;
}

static const struct ir_value *stored_value(const struct rules *rules, const struct ir_op *op) {
    return op->operands[rules->checker->kernel->params[op->param].rank];
}

static void report_one_tile(const struct rules *rules, const struct site *site) {
    struct diagnostic *entry =
        check_error(rules->checker, "E0405", site->op->span,
                    "what is stored to `%s` covers one tile of `%s`, not the row", tensor_name(rules, site->op), site->axis);
    if ((site->value.scanned | site->index.scanned) & site->bit)
        entry->help = check_printf(rules->checker,
                                   "add what the tiles before came to: `var carry` before the loop, here "
                                   "`carry + cumsum[%s](v)`, and then `carry += sum[%s](v);`", site->axis, site->axis);
    else
        entry->help = check_printf(rules->checker,
                                   "reduce into a `var` declared before the loop over `%s`; what needs the whole row "
                                   "stands behind it, or in a second loop", site->axis);
}

enum stale { STALE_NOT, STALE_VALUE, STALE_PLACE, STALE_CONDITION, STALE_WHILE };

static void report_stale(const struct rules *rules, const struct site *site, enum stale stale) {
    const char *name = tensor_name(rules, site->op), *axis = site->axis;
    static const char *const words[] = {
        [STALE_PLACE] = "where", [STALE_CONDITION] = "whether", [STALE_WHILE] = "how far",
    };
    struct diagnostic *entry =
        stale == STALE_VALUE
            ? check_error(rules->checker, "E0406", site->op->span,
                          "what is stored to `%s` depends on a `var` as it was when the tile of `%s` began", name, axis)
            : check_error(rules->checker, "E0406", site->op->span,
                          "%s `%s` is stored to depends on a `var` that changes from tile to tile of `%s`",
                          words[stale], name, axis);
    if (stale == STALE_WHILE)
        entry->help = check_printf(rules->checker,
                                   "`while` ends the loop between two tiles, so the last one goes on behind the break: "
                                   "say at which points with `if`, of `carry + cumsum[%s](v)`", axis);
    else if (stale == STALE_PLACE && !site->is_on)
        entry->help = check_printf(rules->checker,
                                   "reduce over `%s` first and store behind the loop; or store once for each point, at "
                                   "`carry + cumsum[%s](v) - 1`; or use `%s.begin` openly", axis, axis, axis);
    else if (stale == STALE_VALUE && !site->is_on)
        entry->help = check_printf(rules->checker,
                                   "the loop over `%s` changes it: store behind the loop, or in a second one", axis);
    else
        entry->help = check_printf(rules->checker,
                                   "the loop over `%s` changes it: add what the tile holds up to the point, as "
                                   "`carry + cumsum[%s](v)`; or store in a second loop; or use `%s.begin` openly",
                                   axis, axis, axis);
}

static void report_counting_atomic(const struct rules *rules, const struct site *site) {
    struct diagnostic *entry =
        check_error(rules->checker, "E0402", site->op->span,
                    "this adds once for each tile of `%s`, and how many those are is not the program's", site->axis);
    const char *what = (site->value.reduced & site->bit) ? "what this tile holds" : "once for each point";
    entry->help = check_printf(rules->checker,
                               "neither place nor value is on `%s`: add %s, `sum[%s](…)`, or put it outside the loop",
                               site->axis, what, site->axis);
}

static void report_counting_store(const struct rules *rules, const struct site *site, const struct store *store) {
    const char *place = check_text(rules->checker, store->place->span), *axis = site->axis;
    const struct ir_value *value = without_cast(stored_value(rules, site->op));
    bool adds = !value->region && (value->def->code == OP_ADD || value->def->code == OP_SUB);
    const char *add = adds ? check_printf(rules->checker, ", or `atomic_add(%s, …)`", place) : "";
    bool top = !site->loop->parent->owner;
    const char *once = top ? "put it into `for one in tile(1) { … }`"
                           : check_printf(rules->checker, "put it outside the loop over `%s`", axis);
    struct diagnostic *entry =
        check_error(rules->checker, "E0401", site->op->span,
                    "this changes `%s` once for each tile of `%s`, and how many those are is not the program's", place,
                    axis);
    entry->help = check_printf(rules->checker, "once for each point: name `%s` in the index%s; once at all: %s", axis, add,
                               once);
}

// ---------------------------------------------------------------------------------------------- what is around

static int count_accesses(const struct ir_region *region, int param) {
    int count = 0;
    for (const struct ir_op *op = region->first; op; op = op->next) {
        count += (op->code == OP_STORE || op->code == OP_ATOMIC) && op->param == param;
        for (int r = 0; r < op->region_count; r++)
            count += count_accesses(op->regions[r], param);
    }
    return count;
}

// Several accesses may make good together what each alone would do wrong: a mark that is moved, a sum of differences.
static bool is_lone(const struct site *site) {
    return count_accesses(site->loop->regions[0], site->op->param) == 1;
}

// Whether an `if` in the loop holds at some of its points only.
static bool is_picked(const struct site *site) {
    for (const struct ir_op *owner = site->op->parent->owner; owner != site->loop; owner = owner->parent->owner) {
        if (owner->code == OP_IF && (owner->operands[0]->axes & site->bit))
            return true;
    }
    return false;
}

// Whether an inner loop runs at other points for each point of the loop.
static bool is_bounded(const struct site *site) {
    for (const struct ir_op *owner = site->op->parent->owner; owner != site->loop; owner = owner->parent->owner) {
        if (owner->code != OP_IF && ((owner->operands[0]->axes | owner->operands[1]->axes) & site->bit))
            return true;
    }
    return false;
}

static bool has_carried(const struct site *site, struct facts facts) {
    return (facts.carried | facts.steered) & site->bit;
}

// ---------------------------------------------------------------------------------------------- where tiles begin

// At each point of the loop: a part of the access holds what the tile began with, and nothing brings it to the point.
static enum stale stale_at_points(const struct site *site) {
    axes_t scanned = site->conditions.scanned;
    if (has_carried(site, site->value) && !((site->value.scanned | scanned) & site->bit))
        return STALE_VALUE;
    if (has_carried(site, site->index) && !((site->index.scanned | scanned) & site->bit))
        return STALE_PLACE;
    scanned |= site->value.scanned | site->index.scanned;
    return has_carried(site, site->conditions) && !(scanned & site->bit) ? STALE_CONDITION : STALE_NOT;
}

// Once for each tile. The last store stays: it may hold what the loop has come to, but not what came before the last
// tile.
static enum stale stale_at_tiles(const struct site *site) {
    const struct facts *if_any = &site->conditions;
    if ((if_any->reduced | if_any->carried | if_any->steered | if_any->scanned) & site->bit || is_picked(site))
        return STALE_NOT;
    bool place = has_carried(site, site->index) && !(site->index.scanned & site->bit);
    bool before = (site->value.carried & site->bit) && !((site->value.reduced | site->value.scanned) & site->bit)
               && site->op->code == OP_STORE;
    if ((!place && !before) || !is_lone(site))
        return STALE_NOT;
    return place ? STALE_PLACE : STALE_VALUE;
}

// Whether a `while` over the loop's variables ends a loop that fills places with one value as far as it goes.
static bool goes_too_far(const struct rules *rules, const struct site *site) {
    const struct ir_param *param = &rules->checker->kernel->params[site->op->param];
    const struct ir_op *loop = site->loop;
    const struct ir_op *yield = loop->region_count > 1 ? loop->regions[1]->last : NULL;
    if (!yield || yield->code != OP_YIELD || !site->is_on || site->op->code != OP_STORE)
        return false;
    bool anything = param->kind == PARAM_OUT && !param->fill;  // is in what is never stored
    return !anything && has_carried(site, facts_of(rules, yield->operands[0])) && !is_picked(site) && !is_bounded(site)
        && !(stored_value(rules, site->op)->axes & site->bit);
}

static void check_stale(const struct rules *rules, const struct site *site) {
    enum stale stale = site->is_on ? stale_at_points(site) : stale_at_tiles(site);
    if (!stale && goes_too_far(rules, site))
        stale = STALE_WHILE;
    if (stale)
        report_stale(rules, site, stale);
}

// ---------------------------------------------------------------------------------------------- how many tiles there are

// A maximum or minimum of the same value may be taken any number of times.
static bool counts_atomics(const struct site *site) {
    bool same = site->op->reduction != RED_SUM && !(site->value.carried & site->bit);
    return !site->is_on && !same && !((site->value.reduced | site->index.reduced) & site->bit);
}

// A running total added up again in every tile.
static bool adds_prefixes(const struct rules *rules, const struct site *site) {
    const struct ir_value *value = without_cast(stored_value(rules, site->op));
    bool variable = value->region || value->def->region_count || value->def->code == OP_UPDATE;
    const struct facts *if_any = &site->conditions;
    return variable && !site->is_on && site->op->reduction == RED_SUM && (site->value.carried & site->bit)
        && !((if_any->reduced | if_any->carried | if_any->steered) & site->bit) && is_lone(site);
}

// Whether storing it again changes nothing: min, max, && or || of what the place holds with what doesn't depend on it.
// `operations`: that may still be looked through.
static bool is_idempotent(struct rules *rules, const struct ir_value *value, const struct site *site, int *operations) {
    int param = site->op->param;
    value = without_cast(value);
    if (!value->region && value->def->code == OP_LOAD && value->def->param == param)
        return true;
    if (value->region || --*operations < 0 || !is_idempotent_code(value->def->code))
        return !depends_on_load(rules, value, param, site->loop);
    return is_idempotent(rules, value->def->operands[0], site, operations)
        && is_idempotent(rules, value->def->operands[1], site, operations);
}

// A lone store of a value of its own under a condition on what the place holds happens once or changes nothing more.
static bool counts_by_condition(struct rules *rules, const struct site *site) {
    for (const struct ir_op *owner = site->op->parent->owner; owner != site->loop; owner = owner->parent->owner) {
        if (owner->code == OP_IF && depends_on_load(rules, owner->operands[0], site->op->param, site->loop))
            return !is_lone(site);
    }
    return false;
}

static bool counts_stores(struct rules *rules, const struct site *site, const struct store *store) {
    bool named = store->names & site->bit;
    if (named || (site->conditions.reduced & site->bit) || is_picked(site) || !rules->loaded[site->op->param])
        return false;
    int operations = CHAIN_LONGEST;
    return !is_idempotent(rules, stored_value(rules, site->op), site, &operations) || counts_by_condition(rules, site);
}

// ---------------------------------------------------------------------------------------------- one access

static void fill_site(const struct rules *rules, struct site *site, const struct ir_op *loop) {
    const struct ir_op *op = site->op;
    int rank = rules->checker->kernel->params[op->param].rank;
    *site = (struct site){.op = op, .loop = loop, .bit = AXIS_BIT(loop->axis)};
    site->axis = rules->checker->kernel->axes[loop->axis].name;
    for (int i = 0; i < op->operand_count; i++) {
        struct facts *part = i < rank ? &site->index : &site->value;
        *part = facts_joined(*part, facts_of(rules, op->operands[i]));
        site->is_on = site->is_on || (op->operands[i]->axes & site->bit);
    }
    site->conditions = facts_of_conditions(rules, op, loop);
    site->open = (site->value.exposed | site->index.exposed | site->conditions.exposed) & site->bit;
}

static void check_in_loop(struct rules *rules, const struct site *site, const struct store *store) {
    struct facts all = facts_joined(site->value, site->index);
    if (site->open)
        return;
    if (store && (all.reduced & site->bit) && !(all.carried & site->bit))
        report_one_tile(rules, site);
    else if (store ? counts_stores(rules, site, store) : counts_atomics(site) || adds_prefixes(rules, site))
        store ? report_counting_store(rules, site, store) : report_counting_atomic(rules, site);
    else
        check_stale(rules, site);
}

// `store`: of OP_STORE, else NULL.
static void check_access_in_loops(struct rules *rules, const struct ir_op *op, const struct store *store) {
    struct site site = {.op = op};
    for (const struct ir_op *loop = op->parent->owner; loop; loop = loop->parent->owner) {
        if (loop->code != OP_FOR || !axis_has_many_points(rules->checker, loop->axis))
            continue;
        fill_site(rules, &site, loop);
        check_in_loop(rules, &site, store);
    }
}

static void check_atomics(struct rules *rules, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_ATOMIC)
            check_access_in_loops(rules, op, NULL);
        for (int r = 0; r < op->region_count; r++)
            check_atomics(rules, op->regions[r]);
    }
}

// An index made of a tile's begin or id tells tiles apart openly.
static void name_exposed(const struct rules *rules, struct store *store) {
    for (int i = 0; i < rules->checker->kernel->params[store->op->param].rank; i++)
        store->names |= facts_of(rules, store->op->operands[i]).exposed;
}

void check_access_rules(struct rules *rules) {
    struct checker *checker = rules->checker;
    for (int i = 0; i < checker->store_count; i++)
        name_exposed(rules, &checker->stores[i]);
    for (int i = 0; i < checker->store_count; i++)
        check_access_in_loops(rules, checker->stores[i].op, &checker->stores[i]);
    check_atomics(rules, checker->kernel->body);
}
