// SPDX-License-Identifier: Apache-2.0
// The helpers of products on the matrix units, as a CPU does them: fragments, instructions, copies that arrive late.
//
// In: what the lanes of a warp hand each other. Out: what each of them gets on the device. A copy into a tile arrives
// when it is waited for and not before, so that a missing wait shows as shared memory nobody has stored to.
#pragma once
#include <algorithm>

namespace simt {

// Addresses of tiles are numbers, from the start of dynamic shared memory on.
inline unsigned char *tile_at(unsigned at) { return static_cast<unsigned char *>(simt_dynamic_shared()) + at; }

// ------------------------------------------------------------------------------------------------ fragments

// Four bytes from the row of eight elements that lane `from` points at.
inline unsigned pair_of_row(const unsigned char *slots, unsigned from, unsigned pair) {
    return reinterpret_cast<const unsigned *>(lane_value<const unsigned char *>(slots, from))[pair];
}
inline unsigned element_of_row(const unsigned char *slots, unsigned from, unsigned element) {
    return reinterpret_cast<const unsigned short *>(lane_value<const unsigned char *>(slots, from))[element];
}

// Matrix i lies where lanes 8 i to 8 i + 7 point, a row each.
inline void read_matrices(unsigned *m, const unsigned char *from, int count, bool transposed, place here, const char *operation) {
    unsigned lane = simt_identity.lane;
    const unsigned char *slots = simt_exchange(0xffffffffu, &from, sizeof from, here, operation);
    for (int i = 0; i < count; i++) {
        unsigned first = 8 * unsigned(i), row = 2 * (lane % 4);
        if (!transposed) m[i] = pair_of_row(slots, first + lane / 4, lane % 4);
        else m[i] = element_of_row(slots, first + row, lane / 4) | element_of_row(slots, first + row + 1, lane / 4) << 16;
    }
}

// ------------------------------------------------------------------------------------------------ instructions

struct words4 {
    unsigned w[4];
};
struct words2 {
    unsigned w[2];
};

// The exponent that a factor is aligned by: that of a subnormal is that of the least normal number.
inline int factor_exponent(float x, int least) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return std::max(int(bits >> 23 & 255) - 127, least);
}
inline double power_of_two(int exponent) {  // of a normal number
    uint64_t bits = uint64_t(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

// What a Hopper's matrix units make of sixteen products and what they are added to (recorded: ok_matmul_recorded.cu). All
// seventeen are cut to two bits below the last one of a float of the largest exponent, where a product's exponent is the
// sum of its factors'; the sum of that is exact, and is cut to a float.
inline float sum_of_products(float c, const float *a, const float *b, int least) {
    int top = INT32_MIN;
    for (int k = 0; k < 16; k++) {
        if (!std::isfinite(a[k]) || !std::isfinite(b[k])) {
            double sum = c;
            for (int i = 0; i < 16; i++) sum += double(a[i]) * b[i];
            return float(sum);
        }
        if (a[k] != 0 && b[k] != 0) top = std::max(top, factor_exponent(a[k], least) + factor_exponent(b[k], least));
    }
    if (!std::isfinite(c)) return c;
    if (c != 0) top = std::max(top, factor_exponent(c, -126));
    if (top == INT32_MIN) return c;
    int last = top - 25;
    double scale = power_of_two(-last);
    int64_t sum = int64_t(double(c) * scale);
    for (int k = 0; k < 16; k++) sum += int64_t(double(a[k]) * b[k] * scale);
    int64_t size = sum < 0 ? -sum : sum;
    int bits = size == 0 ? 0 : 64 - __builtin_clzll(uint64_t(size));
    int cut = std::max(std::max(bits - 24, -149 - last), 0);
    size = cut > 62 ? 0 : size >> cut << cut;
    return float(double(sum < 0 ? -size : size) * power_of_two(last));
}

template <class Load> int least_exponent(Load load) { return load(1) == 0x1p-24f ? -14 : -126; }

template <class Load> inline void multiply(float *c, float *d, const unsigned *a, const unsigned *b, Load load, place here, const char *operation) {
    unsigned lane = simt_identity.lane, row = lane / 4, column = lane % 4 * 2;
    words4 own_a = {{a[0], a[1], a[2], a[3]}}, rows[4];
    const unsigned char *slots = simt_exchange(0xffffffffu, &own_a, sizeof own_a, here, operation);
    for (unsigned t = 0; t < 4; t++) rows[t] = lane_value<words4>(slots, row * 4 + t);
    words2 own_b = {{b[0], b[1]}};
    slots = simt_exchange(0xffffffffu, &own_b, sizeof own_b, here, operation);
    float *sums[4] = {c, c + 1, d, d + 1};
    for (unsigned i = 0; i < 4; i++) {
        float x[16], y[16];
        for (unsigned k = 0; k < 16; k++) {
            unsigned t = k % 8 / 2, half = k / 8, shift = k % 2 * 16;
            words2 columns = lane_value<words2>(slots, (column + i % 2) * 4 + t);
            x[k] = load(static_cast<unsigned short>(rows[t].w[2 * half + i / 2] >> shift));
            y[k] = load(static_cast<unsigned short>(columns.w[half] >> shift));
        }
        *sums[i] = sum_of_products(*sums[i], x, y, least_exponent(load));
    }
}

// Of f32: eight deep, a lane has two points of each operand's row or column, one in each half.
inline void multiply_tf32(float *c, float *d, const unsigned *a, const unsigned *b, place here, const char *operation) {
    unsigned lane = simt_identity.lane, row = lane / 4, column = lane % 4 * 2;
    words4 own_a = {{a[0], a[1], a[2], a[3]}}, rows[4];
    const unsigned char *slots = simt_exchange(0xffffffffu, &own_a, sizeof own_a, here, operation);
    for (unsigned t = 0; t < 4; t++) rows[t] = lane_value<words4>(slots, row * 4 + t);
    words2 own_b = {{b[0], b[1]}};
    slots = simt_exchange(0xffffffffu, &own_b, sizeof own_b, here, operation);
    float *sums[4] = {c, c + 1, d, d + 1};
    for (unsigned i = 0; i < 4; i++) {
        float x[16] = {}, y[16] = {};
        for (unsigned k = 0; k < 8; k++) {
            words2 columns = lane_value<words2>(slots, (column + i % 2) * 4 + k % 4);
            memcpy(&x[k], &rows[k % 4].w[2 * (k / 4) + i / 2], sizeof x[k]);
            memcpy(&y[k], &columns.w[k / 4], sizeof y[k]);
        }
        *sums[i] = sum_of_products(*sums[i], x, y, -126);
    }
}

// ------------------------------------------------------------------------------------------------ groups of warps

// An element of a tile in panels of 128 bytes, whose 16-byte cells the address's own bits spread over the banks.
inline unsigned short panel_element(unsigned at) {
    return *reinterpret_cast<const unsigned short *>(tile_at(at ^ (at >> 7 & 7) << 4));
}

// 64 rows by `columns` columns and 16 deep. A warp's rows need nothing of the other warps'. Rows lie in registers as those
// of `multiply`, or from `a` on in a tile; columns from `b` on, along the depth or, transposed, across it.
template <class Load, class Row>
inline void multiply_group(float *c, int h, int j, Row row_element, unsigned b, int panel, int columns, bool transposed, Load load) {
    unsigned lane = simt_identity.lane;
    float rows[2][16];
    for (unsigned half = 0; half < 2; half++)
        for (unsigned k = 0; k < 16; k++) rows[half][k] = load(row_element(lane / 4 + 8 * half, k));
    for (int eight = 0; eight < columns / 8; eight++)
        for (unsigned v = 0; v < 2; v++) {
            unsigned column = unsigned(eight) * 8 + lane % 4 * 2 + v;
            float elements[16];
            for (unsigned k = 0; k < 16; k++) {
                unsigned at = transposed ? b + column / 64 * unsigned(panel) + k * 128 + column % 64 * 2 : b + column * 128 + k * 2;
                elements[k] = load(panel_element(at));
            }
            float *upper = c + eight * j + v, *lower = upper + h;
            *upper = sum_of_products(*upper, rows[0], elements, least_exponent(load));
            *lower = sum_of_products(*lower, rows[1], elements, least_exponent(load));
        }
}
template <class Load>
inline void multiply_group(float *c, int h, int j, unsigned a, unsigned b, int panel, int columns, bool transposed, Load load, place, const char *) {
    unsigned first = simt_identity.linear / 32 % 4 * 16;
    auto element = [&](unsigned row, unsigned k) { return panel_element(a + (first + row) * 128 + k * 2); };
    multiply_group(c, h, j, element, b, panel, columns, transposed, load);
}
template <class Load>
inline void multiply_group(float *c, int h, int j, const unsigned *a, unsigned b, int panel, int columns, bool transposed, Load load,
                           place here, const char *operation) {
    words4 own = {{a[0], a[1], a[2], a[3]}}, parts[4];
    const unsigned char *slots = simt_exchange(0xffffffffu, &own, sizeof own, here, operation);
    for (unsigned t = 0; t < 4; t++) parts[t] = lane_value<words4>(slots, simt_identity.lane / 4 * 4 + t);
    auto element = [&](unsigned row, unsigned k) {
        return static_cast<unsigned short>(parts[k % 8 / 2].w[2 * (k / 8) + row / 8] >> k % 2 * 16);
    };
    multiply_group(c, h, j, element, b, panel, columns, transposed, load);
}

// ------------------------------------------------------------------------------------------------ copies

struct copy {
    unsigned char *to;
    const unsigned char *from;
    bool inside;
    unsigned block;
    int bytes, group;
};
// What a thread has asked for and not waited for. A copy of an earlier block is forgotten.
struct copies {
    int count, group;  // group: how many have been ended
    copy items[512];
};
inline copies *copies_of_threads() {
    static copies all[1024];
    return all;
}
SIMT_UNWATCHED static bool push_copy(const copy &asked) {
    copies &own = copies_of_threads()[simt_identity.linear];
    if (own.count > 0 && own.items[0].block != asked.block) own.count = 0;
    if (own.count == 512) return false;
    own.items[own.count] = asked;
    own.items[own.count++].group = own.group;
    return true;
}
SIMT_UNWATCHED static void end_group() { copies_of_threads()[simt_identity.linear].group++; }
// The oldest copy, if it isn't of the last `left` groups that have been ended, nor of one that hasn't.
SIMT_UNWATCHED static bool pop_copy(copy *first, unsigned block, int left) {
    copies &own = copies_of_threads()[simt_identity.linear];
    if (own.count == 0 || own.items[0].block != block) return false;
    if (left >= 0 && own.items[0].group >= own.group - left) return false;
    *first = own.items[0];
    for (int i = 1; i < own.count; i++) own.items[i - 1] = own.items[i];
    own.count--;
    return true;
}

}  // namespace simt

inline void tile_matrices_4(unsigned *m, unsigned at, SIMT_HERE) { simt::read_matrices(m, simt::tile_at(at), 4, false, here, "ldmatrix"); }
inline void tile_matrices_2(unsigned *m, unsigned at, SIMT_HERE) { simt::read_matrices(m, simt::tile_at(at), 2, false, here, "ldmatrix"); }
inline void tile_matrices_4_transposed(unsigned *m, unsigned at, SIMT_HERE) {
    simt::read_matrices(m, simt::tile_at(at), 4, true, here, "ldmatrix");
}
inline void tile_matrices_2_transposed(unsigned *m, unsigned at, SIMT_HERE) {
    simt::read_matrices(m, simt::tile_at(at), 2, true, here, "ldmatrix");
}

inline void tile_mma_f16(float *c, float *d, const unsigned *a, const unsigned *b, SIMT_HERE) {
    simt::multiply(c, d, a, b, [](unsigned short bits) { return tile_f16_load(bits); }, here, "mma");
}
inline void tile_mma_bf16(float *c, float *d, const unsigned *a, const unsigned *b, SIMT_HERE) {
    simt::multiply(c, d, a, b, [](unsigned short bits) { return tile_bf16_load(bits); }, here, "mma");
}
// Ten bits behind the first, the nearest, halves away from 0.
inline unsigned tile_round_tf32(float f) {
    unsigned bits;
    memcpy(&bits, &f, sizeof bits);
    return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu;
}
inline float tile_word(unsigned at) { return *reinterpret_cast<const float *>(simt::tile_at(at)); }
inline void tile_mma_tf32(float *c, float *d, const unsigned *a, const unsigned *b, SIMT_HERE) { simt::multiply_tf32(c, d, a, b, here, "mma"); }
inline unsigned tile_pack_f16(float low, float high) { return tile_f16_store(low) | unsigned(tile_f16_store(high)) << 16; }
inline unsigned tile_pack_bf16(float low, float high) { return tile_bf16_store(low) | unsigned(tile_bf16_store(high)) << 16; }

namespace simt {

inline void start_copy(unsigned char *to, const void *from, bool inside, int bytes, place here) {
    copy asked = {to, static_cast<const unsigned char *>(from), inside, simt_identity.blocks_run, bytes, 0};
    if (!push_copy(asked)) simt_fail(here, "more copies are under way than the shim keeps");
}
template <class T> inline void land(const copy &c) {
    *reinterpret_cast<T *>(c.to) = c.inside ? *reinterpret_cast<const T *>(c.from) : T{};
}
inline void await_copies(int left) {
    copy first;
    while (pop_copy(&first, simt_identity.blocks_run, left)) {
        if (first.bytes == 16) land<uint4>(first);
        else if (first.bytes == 8) land<uint2>(first);
        else land<unsigned>(first);
    }
}

}  // namespace simt

inline void tile_copy_16(unsigned at, const void *from, bool inside, SIMT_HERE) { simt::start_copy(simt::tile_at(at), from, inside, 16, here); }
inline void tile_copy_8(unsigned at, const void *from, bool inside, SIMT_HERE) { simt::start_copy(simt::tile_at(at), from, inside, 8, here); }
inline void tile_copy_4(unsigned at, const void *from, bool inside, SIMT_HERE) { simt::start_copy(simt::tile_at(at), from, inside, 4, here); }
inline void tile_copy_2(unsigned at, const void *from, bool inside) {
    *reinterpret_cast<unsigned short *>(simt::tile_at(at)) = inside ? *static_cast<const unsigned short *>(from) : 0;
}
inline unsigned tile_address(const unsigned char *shared) { return unsigned(shared - static_cast<unsigned char *>(simt::simt_dynamic_shared())); }
inline void tile_copies_done() { simt::await_copies(-1); }
inline void tile_copies_end() { simt::end_group(); }
inline void tile_copies_but_0() { simt::await_copies(0); }
inline void tile_copies_but_1() { simt::await_copies(1); }
inline void tile_copies_but_2() { simt::await_copies(2); }
inline void tile_copies_but_3() { simt::await_copies(3); }
inline void tile_copies_but_4() { simt::await_copies(4); }
inline void tile_copies_but_5() { simt::await_copies(5); }
inline void tile_copies_but_6() { simt::await_copies(6); }

#define SIMT_GROUP_2(name, type, columns, transposed, rows) \
    inline void name(float *c, int h, int j, rows a, unsigned b, int panel, SIMT_HERE) { \
        auto load = [](unsigned short bits) { return tile_##type##_load(bits); }; \
        simt::multiply_group(c, h, j, a, b, panel, columns, transposed, load, here, "wgmma"); \
    } \
    inline void name##_fresh(float *c, int h, int j, rows a, unsigned b, int panel, int more, SIMT_HERE) { \
        for (int i = 0; i < columns / 8 && !more; i++) \
            c[i * j] = c[i * j + 1] = c[h + i * j] = c[h + i * j + 1] = 0; \
        name(c, h, j, a, b, panel, here); \
    }
#define SIMT_GROUP(type, columns) \
    SIMT_GROUP_2(tile_group_##type##_##columns##_registers, type, columns, false, const unsigned *) \
    SIMT_GROUP_2(tile_group_##type##_##columns##_registers_transposed, type, columns, true, const unsigned *) \
    SIMT_GROUP_2(tile_group_##type##_##columns##_tile, type, columns, false, unsigned) \
    SIMT_GROUP_2(tile_group_##type##_##columns##_tile_transposed, type, columns, true, unsigned)
#define SIMT_GROUPS_4(type, a, b, c, d) SIMT_GROUP(type, a) SIMT_GROUP(type, b) SIMT_GROUP(type, c) SIMT_GROUP(type, d)
#define SIMT_GROUPS(type) \
    SIMT_GROUPS_4(type, 8, 16, 24, 32) SIMT_GROUPS_4(type, 40, 48, 56, 64) SIMT_GROUPS_4(type, 72, 80, 88, 96) \
    SIMT_GROUPS_4(type, 104, 112, 120, 128) SIMT_GROUPS_4(type, 136, 144, 152, 160) SIMT_GROUPS_4(type, 168, 176, 184, 192) \
    SIMT_GROUPS_4(type, 200, 208, 216, 224) SIMT_GROUPS_4(type, 232, 240, 248, 256)
SIMT_GROUPS(bf16)
SIMT_GROUPS(f16)
#undef SIMT_GROUPS
#undef SIMT_GROUPS_4
#undef SIMT_GROUP
#undef SIMT_GROUP_2
inline void tile_group_begin() {}
inline void tile_group_end() {}
inline void tile_group_sent() {}
inline void tile_group_but_1() {}
inline void tile_group_done() {}
inline void tile_turn_await(int, int) {}
inline void tile_turn_over(int, int) {}
inline void tile_hold(float *) {}
inline void tile_copies_seen() {}
