// SPDX-License-Identifier: Apache-2.0
// Draws configs, compiles them in batches, runs and compares; see session.h.
//
// References are worked out once per input and shared by all variants; compilers are started once per batch.
#include "tests/numeric/session.h"

#include <algorithm>
#include <fstream>

namespace numeric {

namespace {

constexpr size_t batch_size = 20;
// Points that a run may cover. What a config of huge tiles does to one long row is seen on shorter ones too.
constexpr int64_t most_points = 4000000, most_points_of_all = 12000000;
constexpr size_t most_failures = 12;  // of a unit: more would say the same

class session {
  public:
    session(const unit &u, const session_options &options)
        : unit_(u), options_(options), memory_(arena_new()), checked_(u, options.root), kernel_(checked_.get()) {}
    ~session() { arena_free(memory_); }
    report run();

  private:
    void make_references();
    std::vector<const config *> choose_configs();
    bool lowers(const config *cut);
    void add_variants(const config *cut, int number);
    void run_batches(target_kind target);
    void run_batch(const std::vector<const variant *> &batch, const std::string &stem);
    void run_one(const variant &v, const simt::library &library, size_t text);
    void check_rows(const variant &v, const std::vector<results> &got);
    void fail(const variant &v, const std::string &what);
    size_t input_named(const std::string &name) const;

    const unit &unit_;
    const session_options &options_;
    arena *memory_;
    checked_kernel checked_;
    const ir_kernel *kernel_;
    std::vector<input> inputs_;
    std::vector<results> references_;
    std::vector<variant> variants_;
    knob_coverage coverage_;
    report report_;
};

// ------------------------------------------------------------------------------------------------ references

void session::make_references() {
    for (const input_choice &choice : list_inputs(unit_, options_.all)) {
        std::string complaint;
        inputs_.push_back(make_input(kernel_, choice, *unit_.tested));
        references_.push_back(evaluate(kernel_, inputs_.back(), complaint));
        if (!complaint.empty()) report_.failures.push_back(unit_.name() + ": the evaluator refuses " + choice.name() + ": " + complaint);
    }
}

// ------------------------------------------------------------------------------------------------ configs

uint64_t hash_text(const std::string &text, uint64_t hash) {
    for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

bool session::lowers(const config *cut) {
    variant v = {0, cut, TARGET_CUDA, false, false};
    std::string reason;
    if (emit_variant(memory_, kernel_, v, reason)) return true;
    bool known = report_.refused[reason]++ > 0;
    bool fault = !known && (reason.compare(0, 9, "internal.") == 0 || reason.compare(0, 8, "codegen.") == 0);
    if (fault) report_.failures.push_back(unit_.name() + ": " + reason + " [" + describe_config(*cut) + "]");
    return false;
}

// The default and random ones that lower. Of many that do, a sample takes those with knob choices not seen so far.
std::vector<const config *> session::choose_configs() {
    std::vector<const config *> chosen = {config_default(memory_, kernel_)}, candidates;
    if (!lowers(chosen[0])) {
        report_.failures.push_back(unit_.name() + ": the default config is refused");
        chosen.clear();
    }
    uint64_t seed = hash_text(unit_.name(), options_.seed * 0x9e3779b97f4a7c15u + 1);
    size_t wanted = size_t(options_.configs), pool = options_.all ? wanted : 4 * wanted;
    for (size_t i = 0; i < 4 * pool && candidates.size() < pool; i++) {
        const config *cut = config_random(memory_, kernel_, &seed);
        report_.drawn++;
        if (lowers(cut)) candidates.push_back(cut), report_.lowered++;
    }
    while (wanted-- > 0 && !candidates.empty()) {
        auto best = std::max_element(candidates.begin(), candidates.end(), [&](const config *a, const config *b) {
            return coverage_.gain(kernel_, *a) < coverage_.gain(kernel_, *b);
        });
        coverage_.add(kernel_, **best);
        chosen.push_back(*best);
        candidates.erase(best);
    }
    return chosen;
}

void session::add_variants(const config *cut, int number) {
    bool wide = number % 3 == 1, unaligned = number % 4 == 2;
    std::vector<variant> wanted = {{number, cut, TARGET_CUDA, wide, unaligned}, {number, cut, TARGET_CPU, number % 2 == 1, false}};
    if (number == 0) wanted.push_back({number, cut, TARGET_CUDA, true, true});
    for (variant &v : wanted) {
        std::string reason;
        if (emit_variant(memory_, kernel_, v, reason)) variants_.push_back(v);
        else fail(v, "refused though it lowers otherwise: " + reason);
    }
}

// ------------------------------------------------------------------------------------------------ running

void session::fail(const variant &v, const std::string &what) {
    std::string place;
    if (v.text != nullptr) {
        std::string name = unit_.name() + " " + v.name() + (v.target == TARGET_CPU ? ".c" : ".cu");
        std::replace(name.begin(), name.end(), ' ', '-');
        place = options_.directory + "/failed-" + name;
        std::ofstream(place).write(v.text->text, std::streamsize(v.text->length));
    }
    report_.failures.push_back(unit_.name() + ", " + v.name() + ": " + what + " [" + describe_config(*v.cut) + "] " + place);
}

size_t session::input_named(const std::string &name) const {
    for (size_t i = 0; i < inputs_.size(); i++) {
        if (inputs_[i].choice.name() == name) return i;
    }
    return inputs_.size();
}

// A row's results are the same whichever rows are beside it.
void session::check_rows(const variant &v, const std::vector<results> &got) {
    for (size_t i = 0; i < inputs_.size(); i++) {
        input_choice plain = inputs_[i].choice;
        if (plain.varied == variation::plain || got[i].empty()) continue;
        plain.varied = variation::plain;
        size_t other = input_named(plain.name());
        if (other == inputs_.size() || got[other].empty()) continue;
        std::string difference = compare_rows(kernel_, *unit_.tested, inputs_[other], got[other], inputs_[i], got[i]);
        if (!difference.empty()) fail(v, inputs_[i].choice.name() + ": " + difference);
    }
}

void session::run_one(const variant &v, const simt::library &library, size_t text) {
    std::vector<results> got(inputs_.size());
    bool executed = false;
    for (size_t i = 0; i < inputs_.size(); i++) {
        if (covered_points(kernel_, v, inputs_[i]) > (options_.all ? most_points_of_all : most_points)) {
            report_.oversized++;
            continue;
        }
        simt::order turns = (size_t(v.number) + i) % 2 == 0 ? simt::order::forward : simt::order::backward;
        run_counts counts;
        std::string wrong = run_variant(kernel_, v, library, text, inputs_[i], turns, got[i], counts);
        executed |= counts.steps > 0;
        report_.launches += counts.launches;
        report_.steps += counts.steps;
        if (wrong.empty()) wrong = compare(kernel_, inputs_[i], *unit_.tested, got[i], references_[i]);
        if (!wrong.empty()) return fail(v, inputs_[i].choice.name() + ": " + wrong);
    }
    check_rows(v, got);
    if (!executed) return;
    (v.target == TARGET_CPU ? report_.cpu : report_.cuda)++;
    coverage_.add(kernel_, *v.cut);
}

void session::run_batch(const std::vector<const variant *> &batch, const std::string &stem) {
    std::vector<simt::emitted_text> texts;
    for (const variant *v : batch) texts.push_back(text_of(*v));
    simt::compile_options compiler;
    compiler.include_root = options_.root;
    compiler.directory = options_.directory;
    compiler.stem = stem;
    compiler.counted = false;  // accesses are enough here, and cost less
    std::string log;
    auto lang = batch[0]->target == TARGET_CPU ? simt::language::c : simt::language::cuda;
    auto library = simt::library::compile(lang, texts, compiler, log);
    if (library == nullptr && batch.size() == 1) return fail(*batch[0], "doesn't compile: " + log.substr(0, 600));
    for (size_t i = 0; i < batch.size() && report_.failures.size() < most_failures; i++) {
        // What keeps a batch from compiling is found by compiling each of it alone.
        if (library == nullptr) run_batch({batch[i]}, stem + "-" + std::to_string(i));
        else run_one(*batch[i], *library, i);
    }
}

void session::run_batches(target_kind target) {
    std::vector<const variant *> batch;
    std::string name = unit_.name();
    std::replace(name.begin(), name.end(), ' ', '-');
    int number = 0;
    auto flush = [&] {
        if (!batch.empty()) run_batch(batch, name + (target == TARGET_CPU ? "-cpu-" : "-cuda-") + std::to_string(number++));
        batch.clear();
    };
    for (const variant &v : variants_) {
        if (v.target != target) continue;
        batch.push_back(&v);
        if (batch.size() == batch_size) flush();
    }
    flush();
}

report session::run() {
    if (kernel_ == nullptr) {
        report_.failures.push_back(unit_.name() + ": the program has errors");
        return report_;
    }
    make_references();
    coverage_.expect(memory_, kernel_);
    std::vector<const config *> configs = choose_configs();
    for (size_t i = 0; i < configs.size(); i++) add_variants(configs[i], int(i));
    coverage_ = knob_coverage();
    coverage_.expect(memory_, kernel_);
    run_batches(TARGET_CUDA);
    run_batches(TARGET_CPU);
    report_.choices = coverage_.present();
    return report_;
}

}  // namespace

report run_unit(const unit &u, const session_options &options) { return session(u, options).run(); }

}  // namespace numeric
