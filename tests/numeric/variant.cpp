// SPDX-License-Identifier: Apache-2.0
// Emitting and executing one variant; see variant.h.
#include "tests/numeric/variant.h"

#include <algorithm>
#include <cstring>

namespace numeric {

std::string variant::name() const {
    return "config " + std::to_string(number) + (target == TARGET_CPU ? " cpu" : " cuda") + (index64 ? " index64" : "") +
           (unaligned ? " unaligned" : "");
}

bool emit_variant(arena *memory, const ir_kernel *kernel, variant &v, std::string &reason) {
    lower_options options = {};
    options.target.kind = v.target;
    options.target.sm = v.target == TARGET_CUDA ? 90 : 0;
    options.target.specific = v.target == TARGET_CUDA;
    options.index64 = v.index64;
    options.unaligned = v.unaligned;
    status done = {};
    const lowered *program = lower(memory, kernel, v.cut, &options, &done);
    if (program != nullptr) v.text = emit(memory, program, "0.0.0", &done);
    if (v.text == nullptr) reason = std::string(done.code != nullptr ? done.code : "?") + ": " + (done.reason != nullptr ? done.reason : "");
    for (char &c : reason) c = c == '\n' ? ' ' : c;  // complaints come a line each; a reason is one
    return v.text != nullptr;
}

simt::emitted_text text_of(const variant &v) {
    simt::emitted_text text;
    text.text.assign(v.text->text, v.text->length);
    for (int i = 0; i < v.text->plan.kernel_count; i++) text.kernels.push_back(v.text->plan.kernels[i].name);
    text.file = text.kernels.empty() ? "empty" : text.kernels[0] + (v.target == TARGET_CPU ? ".c" : ".cu");
    return text;
}

// ------------------------------------------------------------------------------------------------ running

// Of a jagged axis that is not known; the other ones say theirs.
static int64_t extent_of(const ir_kernel *kernel, const char *axis_name, const input &in, int64_t longest) {
    int64_t extent = 1;
    for (int a = 0; a < kernel->axis_count; a++) {
        const ir_axis &axis = kernel->axes[a];
        if (strcmp(axis.name, axis_name) != 0) continue;
        ir_bindings bindings = in.bindings();
        bool number = axis.kind != AXIS_JAGGED && ir_is_host_number(axis.hi);
        extent = std::max(extent, number ? ir_evaluate_number(axis.hi, &bindings).integer : longest);
    }
    return extent;
}

static bool is_covered_whole(const ir_kernel *kernel, const char *axis_name) {
    for (int a = 0; a < kernel->axis_count; a++) {
        if (kernel->axes[a].kind == AXIS_FULL && strcmp(kernel->axes[a].name, axis_name) == 0) return true;
    }
    return false;
}

static int64_t product(int64_t a, int64_t b) {
    int64_t result;
    return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}

static int64_t covered_if(const ir_kernel *kernel, const variant &v, const input &in, int64_t longest) {
    int64_t tiles = 1, points = 1, whole = 0, threads = 1;  // axes covered whole stand beside each other in an attention
    for (int i = 0; i < v.cut->axis_count; i++) {
        int64_t block = v.cut->axes[i].block;
        if (is_covered_whole(kernel, v.cut->axes[i].name)) {
            whole += block;
            continue;
        }
        tiles = product(tiles, (extent_of(kernel, v.cut->axes[i].name, in, longest) + block - 1) / block);
        points = product(points, block);
    }
    for (int k = 0; k < v.text->plan.kernel_count; k++) threads = std::max<int64_t>(threads, v.text->plan.kernels[k].threads);
    return product(tiles, std::max(product(points, std::max<int64_t>(1, whole)), threads));
}

int64_t covered_points(const ir_kernel *kernel, const variant &v, const input &in) {
    return covered_if(kernel, v, in, in.longest);
}

namespace {

// The tensors of one run in the device's memory, and the values that the kernels' arguments point to.
struct bound_arguments {
    simt::device_memory &memory;
    std::vector<unsigned char *> data;  // by parameter
    std::vector<unsigned char *> workspaces;
    std::vector<std::vector<unsigned char>> values;

    explicit bound_arguments(simt::device_memory &m) : memory(m) {}
};

void upload(bound_arguments &bound, const ir_kernel *kernel, const variant &v, const input &in) {
    bound.memory.clear();
    for (int p = 0; p < kernel->param_count; p++) {
        const ir_param &param = kernel->params[p];
        const tensor_data &tensor = in.tensors[size_t(p)];
        if (param.kind == PARAM_SCALAR || (param.optional && !param.present)) {
            bound.data.push_back(nullptr);
            continue;
        }
        size_t element = size_t(ir_type_bytes(param.type)), bytes = tensor.bytes.size() - 16;
        simt::access allowed = param.kind == PARAM_IN ? simt::access::read : simt::access::write;
        unsigned char *data = bound.memory.allocate(param.name, bytes, element, allowed, v.unaligned ? element : 0);
        memcpy(data, tensor.bytes.data(), bytes);
        bound.data.push_back(data);
    }
}

// Memory that the plan wants beside the tensors: it holds anything at the start.
void add_workspaces(bound_arguments &bound, const launch_plan &plan, const ir_bindings &bindings) {
    bound.workspaces.clear();
    for (int w = 0; w < plan.workspace_count; w++) {
        const ir_param *workspace = plan.workspaces[w];
        size_t bytes = size_t(launch_workspace_bytes(workspace, &bindings)), element = size_t(ir_type_bytes(workspace->type));
        unsigned char *data = bound.memory.allocate(workspace->name, bytes, element, simt::access::write, 0);
        memset(data, 0xff, bytes);
        bound.workspaces.push_back(data);
    }
}

void fill_with(ir_type type, ir_scalar value, unsigned char *data, size_t count) {
    size_t bytes = size_t(ir_type_bytes(type));
    uint16_t half = type == TYPE_F16 ? ir_f16_from_f64(value.number) : ir_bf16_from_f64(value.number);
    float single = float(value.number);
    const void *from = &value.integer;  // little-endian: the low bytes come first
    if (type == TYPE_F16 || type == TYPE_BF16) from = &half;
    if (type == TYPE_F32) from = &single;
    if (type == TYPE_F64) from = &value.number;
    for (size_t i = 0; i < count; i++) memcpy(data + i * bytes, from, bytes);
}

// Outputs with a fill, unless the plan has a kernel that does it.
void fill_outputs(const bound_arguments &bound, const ir_kernel *kernel, const variant &v, const input &in) {
    ir_bindings bindings = in.bindings();
    for (int p = 0; p < kernel->param_count; p++) {
        const ir_param &param = kernel->params[p];
        bool filled = param.kind != PARAM_OUT || param.fill == nullptr;
        for (int k = 0; k < v.text->plan.kernel_count; k++) {
            const launch_kernel &launched = v.text->plan.kernels[k];
            for (int g = 0; g < launched.grid_count; g++) {
                const ir_param *of = launched.grid[g].elements_of;
                filled |= of != nullptr && strcmp(of->name, param.name) == 0;
            }
        }
        if (filled) continue;
        ir_scalar value = ir_evaluate_number(param.fill, &bindings);
        fill_with(param.type, value, bound.data[size_t(p)], (in.tensors[size_t(p)].bytes.size() - 16) / size_t(ir_type_bytes(param.type)));
    }
}

template <class T> std::vector<unsigned char> bytes_of(T value) {
    std::vector<unsigned char> bytes(sizeof value);
    memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

std::vector<unsigned char> scalar_bytes(ir_type type, ir_scalar value) {
    switch (type) {
    case TYPE_F64: return bytes_of(value.number);
    case TYPE_F32:
    case TYPE_F16:
    case TYPE_BF16: return bytes_of(float(ir_round_to(type, value.number)));
    case TYPE_I64: return bytes_of(value.integer);
    default: return bytes_of(int32_t(value.integer));
    }
}

// A pointer to each argument, as cuLaunchKernel takes them.
std::vector<void *> argument_list(bound_arguments &bound, const launch_kernel &launched, const input &in) {
    bound.values.clear();
    for (int i = 0; i < launched.argument_count; i++) {
        const launch_argument &argument = launched.arguments[i];
        size_t index = size_t(argument.index);
        if (argument.kind == ARGUMENT_WORKSPACE) bound.values.push_back(bytes_of(bound.workspaces[index]));
        else if (argument.kind == ARGUMENT_TENSOR) bound.values.push_back(bytes_of(bound.data[index]));
        else if (argument.kind == ARGUMENT_SCALAR) bound.values.push_back(scalar_bytes(argument.type, in.scalars[index]));
        else bound.values.push_back(scalar_bytes(argument.type, ir_scalar{in.dims[index], 0}));
    }
    std::vector<void *> list;
    for (auto &value : bound.values) list.push_back(value.data());
    return list;
}

// Far more than any right program needs: what goes beyond has no end. Rows may be jagged in their columns too.
int64_t step_limit(const ir_kernel *kernel, const variant &v, const input &in, int64_t blocks, int threads) {
    int64_t most = INT64_MAX / 2000, longest = std::max(in.longest, int64_t(in.choice.columns));
    // Each block of a cluster goes through all tiles.
    int64_t covered = covered_if(kernel, v, in, longest) * std::max(v.cut->cluster, 1);
    return 1000 * (std::min(covered, most) + in.elements + blocks * threads + 1000);
}

simt::outcome run_kernel(const ir_kernel *kernel, const variant &v, const launch_kernel &launched, const simt::library &library, size_t text,
                         const input &in, simt::order turns, bound_arguments &bound) {
    ir_bindings bindings = in.bindings();
    int64_t blocks = launch_blocks(&launched, &bindings);
    simt::outcome nothing;
    if (blocks == 0) return nothing;
    std::vector<void *> arguments = argument_list(bound, launched, in);
    nothing.ok = false;
    nothing.message = std::string("no function for kernel '") + launched.name + "'";
    if (v.target == TARGET_CPU) {
        simt::serial_function function = library.serial(text, launched.name);
        if (function == nullptr) return nothing;
        return simt::run_serial(function, blocks, arguments.data(), bound.memory, step_limit(kernel, v, in, blocks, 32));
    }
    simt::launch launch;
    launch.kernel = library.kernel(text, launched.name);
    if (launch.kernel == nullptr) return nothing;
    if (launch.kernel->parameters != launched.argument_count) {
        nothing.message = std::string("kernel '") + launched.name + "' takes " + std::to_string(launch.kernel->parameters) +
                          " arguments, its plan has " + std::to_string(launched.argument_count);
        return nothing;
    }
    launch.blocks = blocks;
    launch.threads = launched.threads;
    launch.dynamic_bytes = launched.shared_bytes;
    launch.cluster = launched.cluster;
    launch.arguments = arguments.data();
    launch.turns = turns;
    launch.step_limit = step_limit(kernel, v, in, blocks, launched.threads);
    return simt::run(launch, bound.memory);
}

}  // namespace

std::string run_variant(const ir_kernel *kernel, const variant &v, const simt::library &library, size_t text,
                        const input &in, simt::order turns, results &got, run_counts &counts) {
    static simt::device_memory memory;  // addresses for a whole process are reserved once
    bound_arguments bound(memory);
    ir_bindings bindings = in.bindings();
    upload(bound, kernel, v, in);
    add_workspaces(bound, v.text->plan, bindings);
    fill_outputs(bound, kernel, v, in);
    for (int k = 0; k < v.text->plan.kernel_count; k++) {
        simt::outcome outcome = run_kernel(kernel, v, v.text->plan.kernels[k], library, text, in, turns, bound);
        counts.launches++;
        counts.steps += outcome.steps;
        if (!outcome.ok) return outcome.message;
    }
    got.assign(in.tensors.size(), {});
    for (size_t p = 0; p < in.tensors.size(); p++) {
        if (bound.data[p] == nullptr) continue;
        got[p].assign(bound.data[p], bound.data[p] + in.tensors[p].bytes.size() - 16);
        bool input_changed = kernel->params[p].kind == PARAM_IN && memcmp(got[p].data(), in.tensors[p].bytes.data(), got[p].size()) != 0;
        if (input_changed) return std::string("the input '") + kernel->params[p].name + "' was changed";
    }
    return "";
}

// ------------------------------------------------------------------------------------------------ configs

namespace {

std::string boolean(bool value) { return value ? "true" : "false"; }

std::string grid_text(const config &c) {
    std::string text = "[";
    for (int i = 0; i < c.grid_count; i++) text += std::string(i > 0 ? "," : "") + "\"" + c.grid[i] + "\"";
    return text + "]";
}

// The value of a knob as the space writes it; "" if the path is none of a config's.
std::string knob_value(const config &c, const std::string &path) {
    if (path == "grid") return grid_text(c);
    if (path == "strategy") return std::string("\"") + config_strategy_name(c.strategy) + "\"";
    if (path == "chunk") return std::to_string(c.chunk);
    if (path == "search") return boolean(c.search);
    if (path == "stage") return boolean(c.stage);
    if (path == "bulk") return boolean(c.bulk);
    if (path == "dot") return std::string("\"") + config_dot_name(c.dot) + "\"";
    if (path == "stages") return std::to_string(c.stages);
    if (path == "producers") return std::to_string(c.producers);
    if (path == "lag") return std::to_string(c.lag);
    if (path == "peel") return boolean(c.peel);
    if (path == "late") return boolean(c.late);
    if (path == "stream") return boolean(c.stream);
    if (path == "min_blocks") return std::to_string(c.min_blocks);
    if (path == "cluster") return std::to_string(c.cluster);
    size_t first = path.find('.'), last = path.rfind('.');
    if (first == std::string::npos || path.compare(0, first, "axes") != 0) return "";
    const config_axis *axis = config_axis_named(&c, path.substr(first + 1, last - first - 1).c_str());
    std::string field = path.substr(last + 1);
    if (axis == nullptr) return "";
    if (field == "block") return std::to_string(axis->block);
    if (field == "vector") return std::to_string(axis->vector);
    if (field == "lanes") return std::to_string(axis->lanes);
    if (field == "warps") return std::to_string(axis->warps);
    return field == "unroll" ? std::to_string(axis->unroll) : "";
}

}  // namespace

std::string describe_config(const config &c) {
    std::string text;
    for (int i = 0; i < c.axis_count; i++) {
        const config_axis &a = c.axes[i];
        text += std::string(a.name) + " " + std::to_string(a.block) + " = " + std::to_string(a.vector) + "v " + std::to_string(a.lanes) +
                "l " + std::to_string(a.warps) + "w unroll " + std::to_string(a.unroll) + "; ";
    }
    text += std::string(config_strategy_name(c.strategy)) + (c.chunk > 0 ? " " + std::to_string(c.chunk) : "") +
            (c.search ? " search" : "") + (c.stage ? " stage" : "") + (c.bulk ? " bulk" : "") + (c.lag > 0 ? " lag " + std::to_string(c.lag) : "") + "; ";
    if (c.dot != DOT_FMA) text += std::string("dot ") + config_dot_name(c.dot) + " stages " + std::to_string(c.stages) + "; ";
    if (c.producers > 0 && c.dot == DOT_FMA) text += "stages " + std::to_string(c.stages) + "; ";
    if (c.producers > 0) text += "producers " + std::to_string(c.producers) + "; ";
    return text + "grid " + grid_text(c) + (c.peel ? " peel" : "") + (c.late ? " late" : "") +
           (c.stream ? " stream" : "") + " min_blocks " + std::to_string(c.min_blocks) +
           (c.fast ? " fast" : "") + (c.cluster > 1 ? " cluster " + std::to_string(c.cluster) : "");
}

void knob_coverage::expect(arena *memory, const ir_kernel *kernel) {
    const struct config_space *space = ::config_space(memory, kernel);
    for (int i = 0; i < space->knob_count; i++) {
        for (int j = 0; j < space->knobs[i].choice_count; j++) {
            seen_[std::string(kernel->name) + " " + space->knobs[i].path + " " + space->knobs[i].choices[j]] |= false;
        }
    }
}

int knob_coverage::gain(const ir_kernel *kernel, const config &c) const {
    int fresh = 0;
    std::string prefix = std::string(kernel->name) + " ";
    for (auto item = seen_.lower_bound(prefix); item != seen_.end() && item->first.compare(0, prefix.size(), prefix) == 0; ++item) {
        std::string path = item->first.substr(prefix.size(), item->first.find(' ', prefix.size()) - prefix.size());
        fresh += !item->second && item->first == prefix + path + " " + knob_value(c, path);
    }
    return fresh;
}

void knob_coverage::add(const ir_kernel *kernel, const config &c) {
    std::string prefix = std::string(kernel->name) + " ";
    for (auto item = seen_.lower_bound(prefix); item != seen_.end() && item->first.compare(0, prefix.size(), prefix) == 0; ++item) {
        std::string path = item->first.substr(prefix.size(), item->first.find(' ', prefix.size()) - prefix.size());
        if (item->first == prefix + path + " " + knob_value(c, path)) item->second = true;
    }
}

void knob_coverage::add_present(const std::string &choice) { seen_[choice] = true; }

std::vector<std::string> knob_coverage::missing() const {
    std::vector<std::string> list;
    for (const auto &item : seen_) {
        if (!item.second) list.push_back(item.first);
    }
    return list;
}

std::vector<std::string> knob_coverage::present() const {
    std::vector<std::string> list;
    for (const auto &item : seen_) {
        if (item.second) list.push_back(item.first);
    }
    return list;
}

}  // namespace numeric
