// SPDX-License-Identifier: Apache-2.0
// The helpers of launches with producers, as a CPU does them: barriers in shared memory, maps of tensors, copies of
// boxes.
//
// In: what threads of a block tell each other by barriers. Out: what each of them gets on the device. A copy lands when
// its barrier is waited for and not before, so that a missing wait shows as shared memory nobody has stored to.
#pragma once

namespace simt {

// What a map holds, in its 128 bytes: the extents and distances (in elements) of up to five dimensions.
struct tensor_map {
    const unsigned short *tensor;
    int rank, rows;
    unsigned extents[5];
    long long apart[5];
};
static_assert(sizeof(tensor_map) <= 128);

struct box_copy {
    unsigned at, phase, block;
    const int *map;
    int c[5];
};
struct box_copies {
    int count;
    box_copy items[256];
};
inline box_copies *copies_of_block() {
    static box_copies all;
    return &all;
}

// Copies of what lies one behind the other, of all blocks of a cluster: they take turns.
struct slab_copy {
    unsigned at, phase, block;
    const unsigned char *from;
    int bytes;
};
struct slab_copies {
    int count;
    slab_copy items[4096];
};
inline slab_copies *slabs_under_way() {
    static slab_copies all;
    return &all;
}
SIMT_UNWATCHED static bool push_slab(const slab_copy &asked) {
    slab_copies &all = *slabs_under_way();
    if (all.count == 4096) return false;
    all.items[all.count++] = asked;
    return true;
}
SIMT_UNWATCHED static bool pop_slab(unsigned phase, unsigned block, slab_copy *taken) {
    slab_copies &all = *slabs_under_way();
    for (int i = 0; i < all.count; i++) {
        if (all.items[i].phase != phase || all.items[i].block != block) continue;
        *taken = all.items[i];
        all.items[i] = all.items[--all.count];
        return true;
    }
    return false;
}
// What an earlier launch, which ended early, has left.
SIMT_UNWATCHED static void drop_slabs(unsigned phase, unsigned block) {
    slab_copy copy;
    while (pop_slab(phase, block, &copy)) {}
}
inline void land_slab(const slab_copy &copy) {
    for (int i = 0; i < copy.bytes; i += 4) {
        unsigned word;
        memcpy(&word, copy.from + i, sizeof word);
        *reinterpret_cast<unsigned *>(tile_at(copy.at + unsigned(i))) = word;
    }
}

constexpr int box_columns = 64;

SIMT_UNWATCHED static bool push_box(const box_copy &asked) {
    box_copies &all = *copies_of_block();
    if (all.count > 0 && all.items[0].block != asked.block) all.count = 0;
    if (all.count == 256) return false;
    all.items[all.count++] = asked;
    return true;
}
SIMT_UNWATCHED static bool pop_box(unsigned phase, unsigned block, box_copy *taken) {
    box_copies &all = *copies_of_block();
    for (int i = 0; i < all.count; i++) {
        if (all.items[i].phase != phase || all.items[i].block != block) continue;
        *taken = all.items[i];
        for (int j = i + 1; j < all.count; j++) all.items[j - 1] = all.items[j];
        all.count--;
        return true;
    }
    return false;
}

// The element of the box at (column, row), or 0 where that is outside of the map.
inline unsigned short box_element(const tensor_map &map, const int *c, int column, int row) {
    long long at = 0;
    for (int d = 0; d < map.rank; d++) {
        long long i = (long long)c[d] + (d == 0 ? column : d == 1 ? row : 0);
        if (i < 0 || i >= (long long)map.extents[d]) return 0;
        at += i * map.apart[d];
    }
    return map.tensor[at];
}

inline void land_box(const box_copy &copy) {
    tensor_map map;
    memcpy(&map, copy.map, sizeof map);
    for (int row = 0; row < map.rows; row++)
        for (int column = 0; column < box_columns; column++) {
            unsigned at = copy.at + unsigned(row) * 128 + unsigned(column) * 2;
            *reinterpret_cast<unsigned short *>(tile_at(at ^ (at >> 7 & 7) << 4)) = box_element(map, copy.c, column, row);
        }
}

inline void await_phase(unsigned at, int turn, place here) {
    for (int seen; (seen = simt_phase_look(at, turn, here)) != phase_over;) {
        if (seen != phase_landing) continue;
        box_copy copy;
        slab_copy slab;
        while (pop_box(at, simt_identity.blocks_run, &copy)) land_box(copy);
        while (pop_slab(at, simt_identity.block.x, &slab)) land_slab(slab);
        simt_phase_end(at, here);
    }
}

template <size_t N> inline void send_box(unsigned at, const int *map, unsigned phase, const int (&c)[N], place here) {
    box_copy copy = {at, phase, simt_identity.blocks_run, map, {0, 0, 0, 0, 0}};
    tensor_map known;
    memcpy(&known, map, sizeof known);
    for (size_t i = 0; i < N; i++) copy.c[i] = c[i];
    if (at % 1024 != 0) simt_fail(here, "a box goes to a place that isn't a multiple of 1024 bytes");
    if (known.rank != int(N)) simt_fail(here, "a box has another count of dimensions than its map");
    if (!push_box(copy)) simt_fail(here, "more boxes are under way than the shim keeps");
    simt_phase_coming(phase, known.rows * box_columns * 2, here);
}

template <class... More> inline void make_map(int *map, const unsigned short *tensor, int rows, unsigned columns, unsigned count, long long apart,
                                              place here, More... more) {
    tensor_map made = {tensor - rows * apart, 3 + int(sizeof...(more)) / 2, rows, {columns, unsigned(rows), count + 1, 0, 0}, {1, apart, apart, 0, 0}};
    long long others[] = {0, (long long)more...};
    for (int d = 3; d < made.rank; d++) {
        made.extents[d] = unsigned(others[2 * (d - 3) + 1]);
        made.apart[d] = others[2 * (d - 3) + 2];
    }
    for (int d = 1; d < made.rank; d++)
        if (made.apart[d] * 2 % 16 != 0) simt_fail(here, "a map's rows don't lie at multiples of 16 bytes");
    if (reinterpret_cast<uintptr_t>(map) % 128 != 0 || reinterpret_cast<uintptr_t>(tensor) % 16 != 0 || rows > 256)
        simt_fail(here, "no device takes a map like this");
    memcpy(map, &made, sizeof made);
}

SIMT_UNWATCHED static void store_word(unsigned at, int word) { memcpy(tile_at(at), &word, sizeof word); }
SIMT_UNWATCHED static int load_word(unsigned at) {
    int word;
    memcpy(&word, tile_at(at), sizeof word);
    return word;
}

}  // namespace simt

inline void tile_phase_start(unsigned at, int arrivals, SIMT_HERE) {
    simt::drop_slabs(at, simt::simt_identity.block.x);
    simt::simt_phase_start(at, arrivals, here);
}
inline void tile_phases_started() {}
inline void tile_phase_arrive(unsigned at, SIMT_HERE) { simt::simt_phase_arrive(at, 0, here); }
inline void tile_phase_expect(unsigned at, int bytes, SIMT_HERE) { simt::simt_phase_arrive(at, bytes, here); }
inline void tile_phase_await(unsigned at, int turn, SIMT_HERE) { simt::await_phase(at, turn, here); }
inline void tile_hand_over(unsigned at, int number) { simt::store_word(at, number); }
inline int tile_handed_over(unsigned at) { return simt::load_word(at); }
inline void tile_map_seen(const int *) {}
inline void tile_phase_copied(unsigned at, SIMT_HERE) {
    simt::await_copies(-1);
    simt::simt_phase_arrive(at, 0, here);
}
inline void tile_keep_words(unsigned at, unsigned a, unsigned b, unsigned c, unsigned d) {
    const unsigned words[] = {a, b, c, d};
    for (unsigned i = 0; i < 4; i++) *reinterpret_cast<unsigned *>(simt::tile_at(at + 4 * i)) = words[i];
}

inline void tile_slab_copy(unsigned at, const void *from, int bytes, unsigned phase, SIMT_HERE) {
    simt::slab_copy copy = {at, phase, simt::simt_identity.block.x, static_cast<const unsigned char *>(from), bytes};
    if (at % 16 != 0 || reinterpret_cast<uintptr_t>(from) % 16 != 0 || bytes % 16 != 0 || bytes <= 0)
        simt::simt_fail(here, "the copy engine moves multiples of 16 bytes");
    if (!simt::push_slab(copy)) simt::simt_fail(here, "more copies are under way than the shim keeps");
    simt::simt_phase_coming(phase, bytes, here);
}
inline void tile_slab_copy_once(unsigned at, const void *from, int bytes, unsigned phase, bool, SIMT_HERE) {
    tile_slab_copy(at, from, bytes, phase, here);
}
inline void tile_part_sync(int threads, SIMT_HERE) { simt::simt_part_barrier(threads, here); }
inline void tile_part_meet(int threads, int, unsigned, int, SIMT_HERE) { simt::simt_cluster_part_barrier(threads, here); }

#define SIMT_MAPS(type) \
    inline void tile_map_3_##type(int *map, const unsigned short *tensor, int rows, unsigned columns, unsigned count, long long apart, SIMT_HERE) { \
        simt::make_map(map, tensor, rows, columns, count, apart, here); \
    } \
    inline void tile_map_4_##type(int *map, const unsigned short *tensor, int rows, unsigned columns, unsigned count, long long apart, \
                                  unsigned n3, long long s3, SIMT_HERE) { \
        simt::make_map(map, tensor, rows, columns, count, apart, here, n3, s3); \
    } \
    inline void tile_map_5_##type(int *map, const unsigned short *tensor, int rows, unsigned columns, unsigned count, long long apart, \
                                  unsigned n3, long long s3, unsigned n4, long long s4, SIMT_HERE) { \
        simt::make_map(map, tensor, rows, columns, count, apart, here, n3, s3, n4, s4); \
    }
SIMT_MAPS(bf16)
SIMT_MAPS(f16)
#undef SIMT_MAPS
inline void tile_box_3(unsigned at, const int *map, unsigned phase, int c0, int c1, int c2, SIMT_HERE) {
    simt::send_box(at, map, phase, {c0, c1, c2}, here);
}
inline void tile_box_4(unsigned at, const int *map, unsigned phase, int c0, int c1, int c2, int c3, SIMT_HERE) {
    simt::send_box(at, map, phase, {c0, c1, c2, c3}, here);
}
inline void tile_box_5(unsigned at, const int *map, unsigned phase, int c0, int c1, int c2, int c3, int c4, SIMT_HERE) {
    simt::send_box(at, map, phase, {c0, c1, c2, c3, c4}, here);
}

#define SIMT_REGISTERS(count) \
    inline void tile_registers_up_##count(SIMT_HERE) { simt::simt_registers(count, true, here); } \
    inline void tile_registers_down_##count(SIMT_HERE) { simt::simt_registers(count, false, here); }
SIMT_REGISTERS(24) SIMT_REGISTERS(32) SIMT_REGISTERS(40) SIMT_REGISTERS(48) SIMT_REGISTERS(56)
SIMT_REGISTERS(64) SIMT_REGISTERS(72) SIMT_REGISTERS(80) SIMT_REGISTERS(88) SIMT_REGISTERS(96) SIMT_REGISTERS(104) SIMT_REGISTERS(112) SIMT_REGISTERS(120)
SIMT_REGISTERS(128) SIMT_REGISTERS(136) SIMT_REGISTERS(144) SIMT_REGISTERS(152) SIMT_REGISTERS(160) SIMT_REGISTERS(168) SIMT_REGISTERS(176) SIMT_REGISTERS(184)
SIMT_REGISTERS(192) SIMT_REGISTERS(200) SIMT_REGISTERS(208) SIMT_REGISTERS(216) SIMT_REGISTERS(224) SIMT_REGISTERS(232) SIMT_REGISTERS(240)
#undef SIMT_REGISTERS
