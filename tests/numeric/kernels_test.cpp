// SPDX-License-Identifier: Apache-2.0
// Every program of the files of cases under its default config and random ones, on both targets, against its right values.
//
// In: the root, a folder to work in, how many random configs, JSON files as tests/ir/case.h describes them. Out: TAP with
// one test per case and way of compiling dimensions in; then what was executed and refused. Cases are gathered and
// compiled together, because starting a compiler costs more than running what it made.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <sys/stat.h>

#include "tests/numeric/report.h"
#include "tests/numeric/variant.h"

// A C header: what C++ warns of in it is no fault there.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
extern "C" {
#include "tests/ir/case.h"
}
#pragma GCC diagnostic pop

namespace numeric {

namespace {

struct case_run {
    struct ::unit checks = {};
    bound_case bound = {};
    std::string name;
    std::deque<variant> variants;
};

struct text_place {
    case_run *run;
    const variant *how;
};

struct totals {
    report counted;
    int tests = 0, failed = 0, batches = 0;
};

struct setting {
    std::string root, directory;
    int configs;
};

constexpr size_t texts_per_batch = 40;

// ------------------------------------------------------------------------------------------------ configs

bool emit_one(case_run &run, variant v, totals &all) {
    std::string reason;
    if (emit_variant(run.checks.arena, run.bound.kernel, v, reason)) {
        run.variants.push_back(v);
        return true;
    }
    all.counted.refused[reason]++;
    bool fault = reason.compare(0, 9, "internal.") == 0 || reason.compare(0, 8, "codegen.") == 0;
    if (fault) {
        run.checks.ok = false;
        printf("# %s: %s [%s]\n", run.name.c_str(), reason.c_str(), describe_config(*v.cut).c_str());
    }
    return false;
}

// The default config with another strategy, and few warps, so that rows have several pieces and pieces several rows.
const config *with_strategy(arena *memory, const ir_kernel *kernel, const config &wish) {
    config *cut = config_default(memory, kernel);
    cut->strategy = wish.strategy;
    cut->chunk = wish.chunk;
    cut->search = wish.search;
    cut->stage = wish.stage;
    cut->bulk = wish.bulk;
    cut->lag = wish.lag;
    cut->cluster = wish.cluster;
    const char *shared = config_cluster_axis(kernel);
    for (int i = 0; i < cut->axis_count; i++) {
        config_axis &axis = cut->axes[i];
        for (; axis.warps > 2; axis.warps /= 2) axis.block /= 2;
        if (wish.cluster > 1 && shared != nullptr && strcmp(axis.name, shared) == 0) axis.block *= wish.cluster;
        if (i == 0 && wish.lag > 0) axis = {axis.name, 1, 1, 1, 1, 1, 0};
    }
    return cut;
}

// Every strategy in every form, where it applies; rows that two blocks of a cluster share.
void emit_strategies(case_run &run, int number, totals &all) {
    config wishes[7] = {};
    for (int i = 0; i < 6; i++) {
        wishes[i].strategy = i < 3 ? STRATEGY_CHUNKS : STRATEGY_FLAT;
        wishes[i].chunk = i % 3 == 0 ? 32 : 4;
        wishes[i].search = i % 3 == 1;
        wishes[i].stage = wishes[i].bulk = i == 5;
        wishes[i].lag = i == 2 ? 1 : 0;
        wishes[i].cluster = 1;
    }
    wishes[6].strategy = STRATEGY_ROWS;
    wishes[6].cluster = 2;
    for (const config &wish : wishes) {
        variant v = {number++, with_strategy(run.checks.arena, run.bound.kernel, wish), TARGET_CUDA, false, false};
        std::string reason;
        bool applies = emit_variant(run.checks.arena, run.bound.kernel, v, reason);
        bool fault = reason.compare(0, 9, "internal.") == 0 || reason.compare(0, 8, "codegen.") == 0;
        if (applies) run.variants.push_back(v);
        if (fault) emit_one(run, v, all);
    }
}

void emit_all(case_run &run, int configs, totals &all) {
    arena *memory = run.checks.arena;
    uint64_t seed = 7;
    for (char c : run.name) seed = seed * 31 + static_cast<unsigned char>(c);
    const config *standard = config_default(memory, run.bound.kernel);
    bool lowers = emit_one(run, {0, standard, TARGET_CUDA, false, false}, all);
    if (!lowers) {
        run.checks.ok = false;
        printf("# %s: the default config is refused\n", run.name.c_str());
        return;
    }
    emit_one(run, {0, standard, TARGET_CPU, false, false}, all);
    for (int i = 1; i <= configs; i++) {
        const config *cut = config_random(memory, run.bound.kernel, &seed);
        all.counted.drawn++;
        bool done = emit_one(run, {i, cut, TARGET_CUDA, i % 3 == 1, i % 4 == 2}, all);
        all.counted.lowered += done;
        if (done) emit_one(run, {i, cut, TARGET_CPU, i % 2 == 1, false}, all);
    }
    emit_strategies(run, configs + 1, all);
}

// ------------------------------------------------------------------------------------------------ running

int64_t element_count(const ir_tensor &tensor) {
    int64_t count = 1;
    for (int i = 0; i < tensor.rank; i++) count *= tensor.shape[i];
    return count;
}

// The case's arguments in the form in which variants are run.
input input_of(case_run &run) {
    reset_case(&run.checks, &run.bound);
    const ir_kernel *kernel = run.bound.kernel;
    input in;
    in.choice = {lengths::one_row, 1, style::reals};
    in.dims.assign(run.bound.dims, run.bound.dims + kernel->dim_count);
    in.scalars.assign(run.bound.scalars, run.bound.scalars + kernel->param_count);
    for (int p = 0; p < kernel->param_count; p++) {
        const ir_tensor &tensor = run.bound.tensors[p];
        tensor_data data = {tensor, {}};
        if (tensor.data != nullptr) {
            size_t bytes = size_t(element_count(tensor)) * size_t(ir_type_bytes(tensor.type));
            auto first = static_cast<unsigned char *>(tensor.data);
            data.bytes.assign(first, first + bytes);
            data.bytes.resize(bytes + 16, 0xff);
            in.elements = std::max(in.elements, element_count(tensor));
        }
        in.tensors.push_back(data);
    }
    in.longest = in.elements;  // no row is longer
    return in;
}

// Whether the offsets that the plan wants ascending do; where they don't, the plan isn't for this input.
bool offsets_ascend(const launch_plan &plan, const input &in) {
    for (size_t p = 0; p < in.tensors.size(); p++) {
        if ((plan.ascending >> p & 1) == 0) continue;
        const tensor_data &offsets = in.tensors[p];
        for (int64_t i = 1; i < element_count(offsets.shape); i++) {
            const unsigned char *at = offsets.bytes.data();
            int64_t before = offsets.shape.type == TYPE_I32 ? reinterpret_cast<const int32_t *>(at)[i - 1] : reinterpret_cast<const int64_t *>(at)[i - 1];
            int64_t value = offsets.shape.type == TYPE_I32 ? reinterpret_cast<const int32_t *>(at)[i] : reinterpret_cast<const int64_t *>(at)[i];
            if (value < before) return false;
        }
    }
    return true;
}

void run_text(const text_place &place, const simt::library &library, size_t text, totals &all) {
    case_run &run = *place.run;
    input in = input_of(run);
    if (!offsets_ascend(place.how->text->plan, in)) return;
    results got;
    run_counts counts;
    simt::order turns = place.how->number % 2 == 0 ? simt::order::forward : simt::order::backward;
    std::string wrong = run_variant(run.bound.kernel, *place.how, library, text, in, turns, got, counts);
    all.counted.launches += counts.launches;
    all.counted.steps += counts.steps;
    (place.how->target == TARGET_CPU ? all.counted.cpu : all.counted.cuda)++;
    std::string what = run.name + ", " + place.how->name() + " [" + describe_config(*place.how->cut) + "]";
    if (!wrong.empty()) {
        run.checks.ok = false;
        printf("# %s: %s\n", what.c_str(), wrong.c_str());
        return;
    }
    for (size_t p = 0; p < got.size(); p++) {
        if (!got[p].empty()) memcpy(run.bound.tensors[p].data, got[p].data(), got[p].size());
    }
    compare_case(&run.checks, &run.bound, what.c_str());
}

void run_batch(const setting &s, const std::vector<text_place> &batch, totals &all) {
    std::vector<simt::emitted_text> texts;
    for (const text_place &place : batch) texts.push_back(text_of(*place.how));
    simt::compile_options compiler;
    compiler.include_root = s.root;
    compiler.directory = s.directory;
    compiler.stem = "kernels-" + std::to_string(all.batches++);
    compiler.counted = false;
    compiler.flags = "-O0";  // the inputs are small: compiling takes longer than running
    std::string log;
    auto lang = batch[0].how->target == TARGET_CPU ? simt::language::c : simt::language::cuda;
    auto library = simt::library::compile(lang, texts, compiler, log);
    if (library == nullptr && batch.size() == 1) {
        batch[0].run->checks.ok = false;
        printf("# %s, %s doesn't compile: %s\n", batch[0].run->name.c_str(), batch[0].how->name().c_str(), log.substr(0, 500).c_str());
    }
    for (size_t i = 0; i < batch.size(); i++) {
        if (library != nullptr) run_text(batch[i], *library, i, all);
        else if (batch.size() > 1) run_batch(s, {batch[i]}, all);
    }
}

void run_target(const setting &s, std::deque<case_run> &runs, target_kind target, totals &all) {
    std::vector<text_place> batch;
    for (case_run &run : runs) {
        for (const variant &v : run.variants) {
            if (v.target != target) continue;
            batch.push_back({&run, &v});
            if (batch.size() < texts_per_batch) continue;
            run_batch(s, batch, all);
            batch.clear();
        }
    }
    if (!batch.empty()) run_batch(s, batch, all);
}

// ------------------------------------------------------------------------------------------------ cases

bool has_full_axis(const ir_kernel *kernel) {
    for (int i = 0; i < kernel->axis_count; i++) {
        if (kernel->axes[i].kind == AXIS_FULL) return true;
    }
    return false;
}

// With dimensions compiled in, and, where no axis needs them so, without.
void add_case(std::deque<case_run> &runs, const std::string &folder, const cJSON *description, const setting &s, totals &all) {
    bool evaluator_only = cJSON_HasObjectItem(description, "fault") || cJSON_HasObjectItem(description, "prints") ||
                          cJSON_HasObjectItem(description, "cuts");
    for (int fixed = 1; fixed >= 0 && !evaluator_only; fixed--) {
        runs.emplace_back();
        case_run &run = runs.back();
        run.name = std::string(cJSON_GetObjectItem(description, "case")->valuestring) + (fixed ? "" : ", dimensions open");
        unit_begin(&run.checks);
        if (!bind_case(&run.checks, &run.bound, folder.c_str(), description, fixed != 0)) return;
        emit_all(run, s.configs, all);
        if (has_full_axis(run.bound.kernel)) return;
    }
}

void run_file(const setting &s, const std::string &path, totals &all) {
    cJSON *json = read_json(path.c_str());
    std::string folder = path.substr(0, path.find_last_of('/'));
    std::deque<case_run> runs;
    const cJSON *description;
    cJSON_ArrayForEach(description, cJSON_GetObjectItem(json, "cases")) add_case(runs, folder, description, s, all);
    run_target(s, runs, TARGET_CUDA, all);
    run_target(s, runs, TARGET_CPU, all);
    for (case_run &run : runs) {
        run.checks.number = all.tests;
        unit_end(&run.checks, run.name.c_str());
        all.tests++;
        all.failed += !run.checks.ok;
    }
    cJSON_Delete(json);
}

}  // namespace

static int run_files(const setting &s, int count, char **files) {
    totals all;
    mkdir(s.directory.c_str(), 0777);
    for (int i = 0; i < count; i++) run_file(s, files[i], all);
    printf("1..%d\n", all.tests);
    printf("# executed: %lld CUDA and %lld CPU texts\n", (long long)all.counted.cuda, (long long)all.counted.cpu);
    printf("# random configs: %lld drawn, %lld lowered\n", (long long)all.counted.drawn, (long long)all.counted.lowered);
    for (const auto &item : all.counted.refused) printf("# refused: %lld times %s\n", (long long)item.second, item.first.c_str());
    return all.tests == 0 || all.failed != 0;
}

}  // namespace numeric

int main(int count, char **arguments) {
    if (count < 5) {
        fprintf(stderr, "usage: kernels_test ROOT FOLDER CONFIGS CASES.json...\n");
        return 2;
    }
    return numeric::run_files({arguments[1], arguments[2], atoi(arguments[3])}, count - 4, arguments + 4);
}
