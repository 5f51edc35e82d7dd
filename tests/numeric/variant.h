// SPDX-License-Identifier: Apache-2.0
// One way to compile a unit: a config, a target, an index width; and what came of it.
#pragma once
#include <map>
#include <memory>

#include "tests/numeric/compare.h"
#include "tests/shim/compile.h"
#include "tests/shim/simt.h"

namespace numeric {

struct variant {
    int number;  // of the config: 0 is the default
    const config *cut;
    target_kind target;
    bool index64, unaligned;
    const emitted *text = nullptr;

    std::string name() const;  // "config 3 cuda index64"
};

// Lowers and emits; false with the reason if the config is refused. Everything is in `memory`.
bool emit_variant(arena *memory, const ir_kernel *kernel, variant &v, std::string &reason);

// The emitted text as the shim wants it.
simt::emitted_text text_of(const variant &v);

// How many points, masked ones included, the tiles of an emitted variant cover on an input: what running it costs. A tile
// costs each thread of its block a turn, so it counts for no fewer points than there are threads. At most INT64_MAX.
int64_t covered_points(const ir_kernel *kernel, const variant &v, const input &in);

struct run_counts {
    int64_t launches = 0, steps = 0;
};

// Runs a compiled variant on an input. "" and the results, or what went wrong.
std::string run_variant(const ir_kernel *kernel, const variant &v, const simt::library &library, size_t text,
                        const input &in, simt::order turns, results &got, run_counts &counts);

// A config in one line, for messages.
std::string describe_config(const config &c);

// Which choices of which knobs occur among the configs that it is shown.
class knob_coverage {
  public:
    void expect(arena *memory, const ir_kernel *kernel);  // every choice of this kernel's space
    void add(const ir_kernel *kernel, const config &c);
    int gain(const ir_kernel *kernel, const config &c) const;  // how many choices would be new
    std::vector<std::string> missing() const;
    std::vector<std::string> present() const;                  // as "kernel path value"
    void add_present(const std::string &choice);

  private:
    std::map<std::string, bool> seen_;
};

}  // namespace numeric
