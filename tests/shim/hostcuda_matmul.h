// SPDX-License-Identifier: Apache-2.0
// The helpers of products on the matrix units, as a CPU does them: fragments, instructions, copies that arrive late.
//
// In: what the lanes of a warp hand each other. Out: what each of them gets on the device. A copy into a tile arrives
// when it is waited for and not before, so that a missing wait shows as shared memory nobody has stored to.
#pragma once

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

// Sixteen products and what they are added to, in an order that no one prescribes: here in twice the precision.
template <class Load> inline void multiply(float *c, float *d, const unsigned *a, const unsigned *b, Load load, place here, const char *operation) {
    unsigned lane = simt_identity.lane, row = lane / 4, column = lane % 4 * 2;
    words4 own_a = {{a[0], a[1], a[2], a[3]}}, rows[4];
    const unsigned char *slots = simt_exchange(0xffffffffu, &own_a, sizeof own_a, here, operation);
    for (unsigned t = 0; t < 4; t++) rows[t] = lane_value<words4>(slots, row * 4 + t);
    words2 own_b = {{b[0], b[1]}};
    slots = simt_exchange(0xffffffffu, &own_b, sizeof own_b, here, operation);
    double sums[4] = {c[0], c[1], d[0], d[1]};
    for (unsigned k = 0; k < 16; k++) {
        unsigned t = k % 8 / 2, half = k / 8, shift = k % 2 * 16;
        for (unsigned i = 0; i < 4; i++) {
            words2 columns = lane_value<words2>(slots, (column + i % 2) * 4 + t);
            unsigned x = rows[t].w[2 * half + i / 2] >> shift & 0xffff, y = columns.w[half] >> shift & 0xffff;
            sums[i] += double(load(static_cast<unsigned short>(x))) * double(load(static_cast<unsigned short>(y)));
        }
    }
    c[0] = float(sums[0]);
    c[1] = float(sums[1]);
    d[0] = float(sums[2]);
    d[1] = float(sums[3]);
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
