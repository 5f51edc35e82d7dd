// SPDX-License-Identifier: Apache-2.0
// What an H200 makes of products by groups of warps, bit for bit: written by tests/shim/record_matmul.py.
// LAUNCH blocks=2 threads=128 dynamic=16384 steps=40000000
static __device__ __forceinline__ unsigned tile_address(const unsigned char *shared) {
    unsigned at;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(at) : "l"(shared));
    return at;
}

static __device__ __forceinline__ unsigned long long tile_panels(const unsigned at, const int panel) {
    return (at & 0x3ffff) >> 4 | (unsigned long long)(panel >> 4) << 16 | 64ull << 32 | 1ull << 62;
}

static __device__ __forceinline__ void tile_copies_seen() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ __forceinline__ void tile_group_begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void tile_group_end() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

static __device__ __forceinline__ void tile_hold(float *c) {
    asm volatile("" : "+f"(*c) :: "memory");
}

static __device__ __forceinline__ void tile_group_bf16_64_tile(float *c, const int h, const int j, const unsigned a, const unsigned b, const int panel) {
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
                 " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0; }"
                 : "+f"(c[0 * j]), "+f"(c[0 * j + 1]), "+f"(c[h + 0 * j]), "+f"(c[h + 0 * j + 1]),
                   "+f"(c[1 * j]), "+f"(c[1 * j + 1]), "+f"(c[h + 1 * j]), "+f"(c[h + 1 * j + 1]),
                   "+f"(c[2 * j]), "+f"(c[2 * j + 1]), "+f"(c[h + 2 * j]), "+f"(c[h + 2 * j + 1]),
                   "+f"(c[3 * j]), "+f"(c[3 * j + 1]), "+f"(c[h + 3 * j]), "+f"(c[h + 3 * j + 1]),
                   "+f"(c[4 * j]), "+f"(c[4 * j + 1]), "+f"(c[h + 4 * j]), "+f"(c[h + 4 * j + 1]),
                   "+f"(c[5 * j]), "+f"(c[5 * j + 1]), "+f"(c[h + 5 * j]), "+f"(c[h + 5 * j + 1]),
                   "+f"(c[6 * j]), "+f"(c[6 * j + 1]), "+f"(c[h + 6 * j]), "+f"(c[h + 6 * j + 1]),
                   "+f"(c[7 * j]), "+f"(c[7 * j + 1]), "+f"(c[h + 7 * j]), "+f"(c[h + 7 * j + 1])
                 : "l"(tile_panels(a, 16)), "l"(tile_panels(b, panel)) : "memory");
}

static __device__ __forceinline__ void tile_group_bf16_64_tile_transposed(float *c, const int h, const int j, const unsigned a, const unsigned b, const int panel) {
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
                 " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 1; }"
                 : "+f"(c[0 * j]), "+f"(c[0 * j + 1]), "+f"(c[h + 0 * j]), "+f"(c[h + 0 * j + 1]),
                   "+f"(c[1 * j]), "+f"(c[1 * j + 1]), "+f"(c[h + 1 * j]), "+f"(c[h + 1 * j + 1]),
                   "+f"(c[2 * j]), "+f"(c[2 * j + 1]), "+f"(c[h + 2 * j]), "+f"(c[h + 2 * j + 1]),
                   "+f"(c[3 * j]), "+f"(c[3 * j + 1]), "+f"(c[h + 3 * j]), "+f"(c[h + 3 * j + 1]),
                   "+f"(c[4 * j]), "+f"(c[4 * j + 1]), "+f"(c[h + 4 * j]), "+f"(c[h + 4 * j + 1]),
                   "+f"(c[5 * j]), "+f"(c[5 * j + 1]), "+f"(c[h + 5 * j]), "+f"(c[h + 5 * j + 1]),
                   "+f"(c[6 * j]), "+f"(c[6 * j + 1]), "+f"(c[h + 6 * j]), "+f"(c[h + 6 * j + 1]),
                   "+f"(c[7 * j]), "+f"(c[7 * j + 1]), "+f"(c[h + 7 * j]), "+f"(c[h + 7 * j + 1])
                 : "l"(tile_panels(a, 16)), "l"(tile_panels(b, panel)) : "memory");
}

static __device__ __forceinline__ void tile_group_bf16_64_registers_transposed(float *c, const int h, const int j, const unsigned *a, const unsigned b, const int panel) {
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
                 " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p, 1, 1, 1; }"
                 : "+f"(c[0 * j]), "+f"(c[0 * j + 1]), "+f"(c[h + 0 * j]), "+f"(c[h + 0 * j + 1]),
                   "+f"(c[1 * j]), "+f"(c[1 * j + 1]), "+f"(c[h + 1 * j]), "+f"(c[h + 1 * j + 1]),
                   "+f"(c[2 * j]), "+f"(c[2 * j + 1]), "+f"(c[h + 2 * j]), "+f"(c[h + 2 * j + 1]),
                   "+f"(c[3 * j]), "+f"(c[3 * j + 1]), "+f"(c[h + 3 * j]), "+f"(c[h + 3 * j + 1]),
                   "+f"(c[4 * j]), "+f"(c[4 * j + 1]), "+f"(c[h + 4 * j]), "+f"(c[h + 4 * j + 1]),
                   "+f"(c[5 * j]), "+f"(c[5 * j + 1]), "+f"(c[h + 5 * j]), "+f"(c[h + 5 * j + 1]),
                   "+f"(c[6 * j]), "+f"(c[6 * j + 1]), "+f"(c[h + 6 * j]), "+f"(c[h + 6 * j + 1]),
                   "+f"(c[7 * j]), "+f"(c[7 * j + 1]), "+f"(c[h + 7 * j]), "+f"(c[h + 7 * j + 1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(tile_panels(b, panel)) : "memory");
}

static __device__ __forceinline__ void tile_group_f16_64_tile(float *c, const int h, const int j, const unsigned a, const unsigned b, const int panel) {
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
                 " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0; }"
                 : "+f"(c[0 * j]), "+f"(c[0 * j + 1]), "+f"(c[h + 0 * j]), "+f"(c[h + 0 * j + 1]),
                   "+f"(c[1 * j]), "+f"(c[1 * j + 1]), "+f"(c[h + 1 * j]), "+f"(c[h + 1 * j + 1]),
                   "+f"(c[2 * j]), "+f"(c[2 * j + 1]), "+f"(c[h + 2 * j]), "+f"(c[h + 2 * j + 1]),
                   "+f"(c[3 * j]), "+f"(c[3 * j + 1]), "+f"(c[h + 3 * j]), "+f"(c[h + 3 * j + 1]),
                   "+f"(c[4 * j]), "+f"(c[4 * j + 1]), "+f"(c[h + 4 * j]), "+f"(c[h + 4 * j + 1]),
                   "+f"(c[5 * j]), "+f"(c[5 * j + 1]), "+f"(c[h + 5 * j]), "+f"(c[h + 5 * j + 1]),
                   "+f"(c[6 * j]), "+f"(c[6 * j + 1]), "+f"(c[h + 6 * j]), "+f"(c[h + 6 * j + 1]),
                   "+f"(c[7 * j]), "+f"(c[7 * j + 1]), "+f"(c[h + 7 * j]), "+f"(c[h + 7 * j + 1])
                 : "l"(tile_panels(a, 16)), "l"(tile_panels(b, panel)) : "memory");
}

static __device__ __forceinline__ void tile_group_f16_64_registers_transposed(float *c, const int h, const int j, const unsigned *a, const unsigned b, const int panel) {
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
                 " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p, 1, 1, 1; }"
                 : "+f"(c[0 * j]), "+f"(c[0 * j + 1]), "+f"(c[h + 0 * j]), "+f"(c[h + 0 * j + 1]),
                   "+f"(c[1 * j]), "+f"(c[1 * j + 1]), "+f"(c[h + 1 * j]), "+f"(c[h + 1 * j + 1]),
                   "+f"(c[2 * j]), "+f"(c[2 * j + 1]), "+f"(c[h + 2 * j]), "+f"(c[h + 2 * j + 1]),
                   "+f"(c[3 * j]), "+f"(c[3 * j + 1]), "+f"(c[h + 3 * j]), "+f"(c[h + 3 * j + 1]),
                   "+f"(c[4 * j]), "+f"(c[4 * j + 1]), "+f"(c[h + 4 * j]), "+f"(c[h + 4 * j + 1]),
                   "+f"(c[5 * j]), "+f"(c[5 * j + 1]), "+f"(c[h + 5 * j]), "+f"(c[h + 5 * j + 1]),
                   "+f"(c[6 * j]), "+f"(c[6 * j + 1]), "+f"(c[h + 6 * j]), "+f"(c[h + 6 * j + 1]),
                   "+f"(c[7 * j]), "+f"(c[7 * j + 1]), "+f"(c[h + 7 * j]), "+f"(c[h + 7 * j + 1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(tile_panels(b, panel)) : "memory");
}

enum { GROUPS = 5 };
static __device__ unsigned mixed(unsigned x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}
// A number whose exponent is within `spread` of that of 1, with `bits` bits of mantissa, at the top of a float.
static __device__ unsigned number(const unsigned seed, const int spread, const int bits) {
    const unsigned h = mixed(seed), exponent = 127 - spread + mixed(h) % (2 * spread + 1);
    return (h & 0x80000000u) | exponent << 23 | (h & 0x7fffffu) >> (23 - bits) << (23 - bits);
}
static __device__ unsigned special(const unsigned seed) {
    const unsigned h = mixed(seed);
    const unsigned table[8] = {0u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x00010000u, 0x3f800000u, 0xc0400000u};
    return h % 16 ? number(h, 3, 7) : table[h >> 8 & 7];
}
static __device__ unsigned element(const int kind, const unsigned seed, const int bits) {
    if (kind == 3) return special(seed);
    return number(seed, kind == 0 ? 0 : kind == 1 ? 6 : 2, bits);
}
static __device__ unsigned short bf16_of(const unsigned u) { return (unsigned short)(u >> 16); }
// The element's own exponent and mantissa: no rounding, so that any host does the same.
static __device__ unsigned short f16_of(const unsigned u) {
    const unsigned sign = u >> 16 & 0x8000u, exponent = u >> 23 & 255u, mantissa = u >> 13 & 0x3ffu;
    if (exponent == 255) return (unsigned short)(sign | 0x7c00u | (mantissa ? 0x200u : 0u));
    return (unsigned short)(exponent <= 112 ? sign : sign | (exponent - 112) << 10 | mantissa);
}

static __device__ unsigned short at(const unsigned char *tile, const int row, const int column) {
    return *(const unsigned short *)(tile + row * 128 + ((column / 8 ^ row % 8) * 16 + column % 8 * 2));
}
static __device__ void fill(unsigned char *tile, const int n, const int half) {
    const int kind = n % 3;
    for (int i = (int)threadIdx.x; i < 4096; i += 128) {
        const unsigned u = element(kind, (unsigned)((n * 2 + half) * 4096 + i), half == 2 ? 10 : 7);
        *(unsigned short *)(tile + i / 64 * 128 + ((i % 64 / 8 ^ i / 64 % 8) * 16 + i % 8 * 2)) = half == 2 ? f16_of(u) : bf16_of(u);
    }
}
static __device__ void product(const int which, const unsigned char *x, const unsigned char *w, float *c) {
    const int lane = (int)threadIdx.x % 32, row = (int)threadIdx.x / 32 * 16 + lane / 4;
    const unsigned a = tile_address(x) + 32, b = tile_address(w) + 32, across = tile_address(w) + 2048;
    unsigned rows[4];
    for (int i = 0; i < 4; ++i) {
        const int r = row + i % 2 * 8, k = 16 + i / 2 * 8 + lane % 4 * 2;
        rows[i] = at(x, r, k) | (unsigned)at(x, r, k + 1) << 16;
    }
    for (int i = 0; i < 32; ++i) tile_hold(c + i);
    tile_group_begin();
    if (which == 0) tile_group_bf16_64_tile(c, 2, 4, a, b, 16);
    if (which == 1) tile_group_bf16_64_tile_transposed(c, 2, 4, a, across, 8192);
    if (which == 2) tile_group_bf16_64_registers_transposed(c, 2, 4, rows, across, 8192);
    if (which == 3) tile_group_f16_64_tile(c, 2, 4, a, b, 16);
    if (which == 4) tile_group_f16_64_registers_transposed(c, 2, 4, rows, across, 8192);
    tile_group_end();
    for (int i = 0; i < 32; ++i) tile_hold(c + i);
}
static __device__ float start(const int n, const int i) {
    const unsigned u = number((unsigned)(n * 4096 + (int)threadIdx.x * 32 + i), 4, 23);
    return *(const float *)&u;
}
static __device__ unsigned sum_of(const float *c) {
    unsigned sum = 0;
    for (int i = 0; i < 32; ++i) sum = mixed(sum + *(const unsigned *)&c[i]);
    return sum;
}
static __device__ const unsigned recorded[] = {
    0xf81dc578, 0x870b2f41, 0x41208ae8, 0x6455ec37, 0x4254605b, 0x19807ff7, 0xb00da2a8, 0xbc9bfec6,
    0x7f21bff5, 0xd23dd624, 0xdc324bc6, 0x83fa0b15, 0xbc83818d, 0x73d2df3c, 0xe5e92d75, 0xed756209,
    0xa9a784c3, 0x9b668d19, 0x7e8ebe8d, 0xf8758a18, 0xb0f68415, 0xf2109b44, 0x960e11a7, 0xc72060a4,
    0xe5f6c97c, 0xdc0c69a9, 0x2b16968d, 0x34d897e1, 0x1113f822, 0xf9188687, 0x7aa8b453, 0xcfb13014,
    0xf809abd3, 0xfe0cb8b3, 0x7ed53294, 0xf73b5ea, 0xc8fc0359, 0x41c83987, 0x5a17f5f3, 0xd101005b,
    0x99728461, 0x5f638bf0, 0x4140936e, 0x5575aabd, 0xe5880afe, 0x8e2207dd, 0xd76cdf3, 0xc0f09d3d,
    0xe81dff9d, 0xfe0b772, 0x9c6f8857, 0xb97496fb, 0x18fe85f9, 0xbacda5d, 0xe07cc73d, 0x2b182c59,
    0xcadfe7c3, 0x66b5dd1c, 0x7bc0375e, 0x76d84430, 0x80fae96f, 0x55e3c105, 0xc38e5045, 0x69420e9a,
    0x8313d5b9, 0x67ae040d, 0x9a1debdd, 0xa411fab3, 0x6c4cb061, 0x90cbaded, 0xb05a5d8f, 0xea1f4507,
    0xb89a611b, 0x53ccc1ca, 0x7d3e5550, 0xa5eeda42, 0x131b6724, 0xec61853, 0x6269862d, 0x46595632,
    0x2a12e572, 0x1e989e07, 0xbd99f8fa, 0xad244c78, 0xa6471770, 0xae92473, 0x11fb0238, 0x65f1ffd5,
    0xe2a452bd, 0xf8d35b6c, 0xa4fe1867, 0x25fea6d3, 0x32da17f4, 0xaf2fd23, 0xfb2f94ef, 0x7fc748ee,
    0xf2e88f76, 0xadb6815c, 0x3b4e521, 0xbe04d234, 0xbac4a1c0, 0xf1f25efb, 0x7310f00, 0x73d9e113,
    0xb2f072cf, 0xb8b865f2, 0x5d67b19f, 0xa9b19187, 0x9d1eaea3, 0x9bfff6c8, 0x33f1705e, 0xbec244cd,
    0x6d872191, 0x55525f8c, 0xe911d25e, 0xb6966c5e, 0xfd205786, 0x3e690596, 0x204e403, 0xd5d9fba4,
    0x23d048f6, 0x424dbde8, 0x297e2966, 0xde27b76c, 0xe8dd0181, 0xcf25c834, 0x1d7e00c, 0xbb3d906b,
    0x5bc868aa, 0x340e63b4, 0xf1bf7887, 0x3d326d4, 0xbf79a607, 0xeff390bf, 0x5d3a03a4, 0x46dec8b5,
    0xb2e2992a, 0xc39a79a0, 0x3b83966e, 0x519e8374, 0x40918e46, 0x89c7fd7, 0xbbd053bc, 0x6cc35a31,
    0x70c956bb, 0xc3527ee7, 0x11e7911, 0xe1520929, 0xba20100a, 0xeee3dfa5, 0x10577a08, 0xbe9c7033,
    0xb7cf6a85, 0x89e178ed, 0x932e9ad8, 0x839d6d7f, 0x58da9e07, 0x48cbab5e, 0xc70bb9b3, 0x4a66e5f2,
    0xf9a8e359, 0xe795189a, 0x4aec56d0, 0xa060e486, 0xb29c6167, 0xa87bf3da, 0x39f688e3, 0xaec2ba57,
    0x41e00f1c, 0x597c8d6b, 0x38a9b098, 0x18fb2ce0, 0x564a35d9, 0x16fe5de, 0xaf263642, 0x5317025c,
    0xe3259b47, 0x8519df95, 0x2cd7eabd, 0x3588be4d, 0x173e718b, 0x2ed43bcf, 0x8f4372ba, 0x7681445f,
    0x89cf8ea1, 0xab02e034, 0x36a20da7, 0xf29306eb, 0xc598b52a, 0xf4a92814, 0xfb640067, 0x2909187e,
    0xd3823d53, 0xfa215659, 0x54544807, 0xbb9f2532, 0xc2d62df1, 0xa568cb3e, 0xa6c67bdb, 0xfae330ec,
    0xf4b1174d, 0x75896d09, 0x116f4947, 0x2d6ccb30, 0x688ee750, 0xf429662b, 0xf2e690d2, 0x2dcaa5c4,
    0x8824745b, 0x6ec73839, 0x3a40cbf6, 0x55179830, 0x8f446caf, 0x54f14af3, 0xbf7a1768, 0xa32496dc,
    0x4031d0e2, 0x888c884a, 0x7e61f706, 0xd2c479f5, 0xb4234c0f, 0x3d0b1c5e, 0x9be73e04, 0x8ce6598b,
    0x6b5d4439, 0xda16f64a, 0xd8d9c260, 0xdd90b2f3, 0x11d2cb4e, 0x8ad8d18c, 0xe823667e, 0x9a88d027,
    0xc9f25e1f, 0x621f3cf6, 0xb79bd69b, 0x3bcd1b48, 0x97a782ef, 0xb2e87584, 0x5ad4ae9e, 0x6202310,
    0x12330926, 0x5bbd8f71, 0xc0301a6c, 0x7f546925, 0x161c899d, 0xd32deb89, 0x1ddd9b, 0xb741437d,
    0xbe504ad3, 0x421067ad, 0xbcf7de99, 0x63804d2c, 0x4e2db334, 0xea039bb6, 0x76e8a563, 0x8aa34aa4,
    0x5bc868aa, 0x340e63b4, 0xf1bf7887, 0x3d326d4, 0xbf79a607, 0xeff390bf, 0x5d3a03a4, 0x46dec8b5,
    0xb2e2992a, 0xc39a79a0, 0x3b83966e, 0x519e8374, 0x40918e46, 0x89c7fd7, 0xbbd053bc, 0x6cc35a31,
    0x70c956bb, 0xc3527ee7, 0x11e7911, 0xe1520929, 0xba20100a, 0xeee3dfa5, 0x10577a08, 0xbe9c7033,
    0xb7cf6a85, 0x89e178ed, 0x932e9ad8, 0x839d6d7f, 0x58da9e07, 0x48cbab5e, 0xc70bb9b3, 0x4a66e5f2,
    0xf9a8e359, 0xe795189a, 0x4aec56d0, 0xa060e486, 0xb29c6167, 0xa87bf3da, 0x39f688e3, 0xaec2ba57,
    0x41e00f1c, 0x597c8d6b, 0x38a9b098, 0x18fb2ce0, 0x564a35d9, 0x16fe5de, 0xaf263642, 0x5317025c,
    0xe3259b47, 0x8519df95, 0x2cd7eabd, 0x3588be4d, 0x173e718b, 0x2ed43bcf, 0x8f4372ba, 0x7681445f,
    0x89cf8ea1, 0xab02e034, 0x36a20da7, 0xf29306eb, 0xc598b52a, 0xf4a92814, 0xfb640067, 0x2909187e,
    0xd3823d53, 0xfa215659, 0x54544807, 0xbb9f2532, 0xc2d62df1, 0xa568cb3e, 0xa6c67bdb, 0xfae330ec,
    0xf4b1174d, 0x75896d09, 0x116f4947, 0x2d6ccb30, 0x688ee750, 0xf429662b, 0xf2e690d2, 0x2dcaa5c4,
    0x8824745b, 0x6ec73839, 0x3a40cbf6, 0x55179830, 0x8f446caf, 0x54f14af3, 0xbf7a1768, 0xa32496dc,
    0x4031d0e2, 0x888c884a, 0x7e61f706, 0xd2c479f5, 0xb4234c0f, 0x3d0b1c5e, 0x9be73e04, 0x8ce6598b,
    0x6b5d4439, 0xda16f64a, 0xd8d9c260, 0xdd90b2f3, 0x11d2cb4e, 0x8ad8d18c, 0xe823667e, 0x9a88d027,
    0xc9f25e1f, 0x621f3cf6, 0xb79bd69b, 0x3bcd1b48, 0x97a782ef, 0xb2e87584, 0x5ad4ae9e, 0x6202310,
    0x12330926, 0x5bbd8f71, 0xc0301a6c, 0x7f546925, 0x161c899d, 0xd32deb89, 0x1ddd9b, 0xb741437d,
    0xbe504ad3, 0x421067ad, 0xbcf7de99, 0x63804d2c, 0x4e2db334, 0xea039bb6, 0x76e8a563, 0x8aa34aa4,
    0x672e0a29, 0x6ec8e161, 0x588f0669, 0xe90f7594, 0x8272bcfb, 0xcbac879e, 0xf306c77e, 0x3ccaaa7b,
    0x72a390e8, 0x2ac17878, 0xd20ab9d1, 0x5fbf1ead, 0x372a0a03, 0x35d919f4, 0x15fc959d, 0xd4d6f406,
    0x4c546f52, 0x4288150b, 0xb71ca2e8, 0x51a0e49c, 0xf53c6f13, 0x38a9ee80, 0xd732072e, 0x64f8a0aa,
    0x9d0e493a, 0x563023cd, 0xc11e67d4, 0x8f6559fe, 0x49da367c, 0x8f984180, 0x8c87eecc, 0xf9cd118b,
    0x366f139f, 0x7f8767df, 0x22b0d0de, 0xea44e6ee, 0xd852b838, 0x3010790f, 0xd7322bc7, 0xfc6d8a05,
    0x5c085788, 0x833fde36, 0x6e4bc50c, 0xb06fdab6, 0x1dc2076e, 0x3f9a5e1d, 0xe87709b3, 0x700dbcee,
    0xbcc7dd9a, 0x3fe3465c, 0xc97e39d1, 0xc4ac27dd, 0xd4f554b5, 0x6e490590, 0x340af2ec, 0xf093cd72,
    0x5d37de25, 0x30da5ea2, 0xdc24f444, 0x3cd15995, 0xf52a5ebb, 0x34e8f0cb, 0x6f212ece, 0xc81cd595,
    0xcbcc84d4, 0xe6d34ac7, 0xb14e6ea2, 0x2cc8711d, 0xa8b3cea9, 0xd575b10e, 0xb580bbb7, 0x84c85bb8,
    0xebdb104b, 0xe1227b4, 0xb5dd0f0, 0x34daf1d9, 0x91f8e385, 0xb319f50a, 0x2523a7e6, 0x1f5c03d5,
    0x42c5387d, 0x24cb362e, 0xf1bf39b6, 0x858422d, 0xcdbd718d, 0x7882f68, 0x42b1ccc5, 0xf8d1279d,
    0x9636d493, 0x3f96e7c8, 0x1f06d4d2, 0xf7d70bf7, 0x6dce14c, 0xb335a63f, 0xa1148be5, 0xdc29c3da,
    0x4e8c3efa, 0x79944a4f, 0x688c9355, 0x20132ffd, 0xa9fdf669, 0x529777cf, 0x2a0b8152, 0x57122390,
    0xb74ebebe, 0x5d816327, 0x4efef9a9, 0xb9be7fe9, 0xf0445bd4, 0x9b1bf6d6, 0x63aeb02d, 0x8779998f,
    0x3c28ffb3, 0x8ef513cf, 0x4d056e33, 0x6f337358, 0xad96ad5c, 0x9edb2815, 0x11e284cb, 0x48934fcd,
    0xba8be3db, 0x78b5b88c, 0x45a2ee52, 0x70d0a117, 0x78da0abc, 0xd6b61179, 0xf56be9d8, 0x65259d47,
    0xe03b62ae, 0xca5ee7fa, 0xd1b17e34, 0x4bbc4abf, 0x52fcb005, 0x5edba8a1, 0xc66223af, 0x8ba80327,
    0xa7cfaa11, 0xd6a9099b, 0xad18a8f0, 0x3782c760, 0x8001e046, 0x7c27e374, 0xf8cf2e34, 0x4663794d,
    0xf4cbf710, 0x73272ddf, 0x52ff59d4, 0x66e06c02, 0xf31dc4fa, 0x4a11196f, 0xf94380a1, 0x5af40ecf,
    0xf3061385, 0x1fe8000d, 0x13fc1bf, 0x7dbb6b48, 0x95efdaec, 0x96e17884, 0x664c6670, 0x435ff118,
    0xec397850, 0x960c436e, 0xa94ad3f9, 0xa002ca34, 0x8a5d37bf, 0xc42bc8b1, 0xd82e59f3, 0x281dca85,
    0x25421ac2, 0x1107a2a2, 0xa53c5b26, 0x170db61b, 0x90c89178, 0xd42e5989, 0x7118b2dc, 0xee4417ba,
    0x97357213, 0xc73b7ec, 0x8d094d07, 0x3e9c7c80, 0x37090f32, 0x51a97889, 0x85159a35, 0xb414c6a2,
    0xf61a6052, 0xf76835f5, 0x38f8e170, 0x53244817, 0xb335e8b8, 0xca1b53c6, 0x7e52058c, 0x5fa39ded,
    0x83856c8b, 0x5206913f, 0x8d40fb4f, 0xc8a921c0, 0xfff207da, 0x3a4e9236, 0xf0f2a9d0, 0x9ae4b1b0,
    0x45c6ec79, 0xb94a5960, 0x67effdf7, 0x1559d46d, 0xe46cfd3a, 0x84bc099a, 0x6177e32e, 0x82cf953f,
    0x67364ff, 0xcd5e2742, 0x3391e2f7, 0x31c1e1d3, 0x61a5575e, 0xdac0fee8, 0x227ec1ea, 0x7f684888,
    0xd2d1496b, 0x3c5e1c8f, 0xa5124b8c, 0x50368e78, 0x10882e96, 0x28ed5a2a, 0xaa82ad96, 0xaffb061c,
    0xd16c07fc, 0x4db4d3ca, 0xcb85061b, 0xbceeee9, 0x6775d59, 0x7db1c514, 0x420eda48, 0x4ab25099,
    0xe2ef77f6, 0x3ed218dc, 0x9b18a649, 0xf0a8b871, 0x70107be6, 0x8003822d, 0xdde0bd3c, 0xc690a7b3,
    0x43d88148, 0x87123298, 0xa1faac0, 0xeaba3048, 0x7f9d0189, 0x28e0faec, 0x812b4fc7, 0x87e51c14,
    0x7ecd8366, 0x7ebde54c, 0x831025fc, 0x20e64911, 0x94f0f3f, 0xfc45afa8, 0xb73d2f9a, 0x1249762b,
    0x106c26a2, 0x62264425, 0x45177d0d, 0x9c46b04b, 0xfb9127f2, 0xf3fbb0a4, 0x8fc88fa0, 0x7808b100,
    0xff990b14, 0x2370bc8b, 0x553b868e, 0x2fdb1ab3, 0x6e4ebd19, 0x66fd6894, 0x1b28c30c, 0x4be5932d,
    0xf78153c1, 0xa94b9ad2, 0x2e3677ef, 0x1ef04450, 0x222b30f5, 0xf8e93efb, 0xc3be869d, 0xd024bf4d,
    0xb68a50c0, 0x465dae7a, 0xde6d6ecb, 0x7cc325b1, 0x88585a9b, 0xb4c67f77, 0x9d677eb4, 0x650bd938,
    0x491057a7, 0xc26a4cb0, 0xdaa65911, 0x7d450cd2, 0x7136b252, 0xdf441d96, 0xba62335, 0x695ffe84,
    0x85bdfc31, 0xe659bb11, 0x9ee986c0, 0x6e62dae1, 0xf1f22005, 0x1b13bc21, 0x66100dfe, 0x5070093d,
    0x667a68c9, 0x1abf43ab, 0xed6e141f, 0xb5c5fd56, 0xef837b74, 0xaf50a76b, 0x32c796a0, 0xc7f8e9a0,
    0x35c8177a, 0x34a44d17, 0x8a28d75f, 0x1eb1353b, 0x3e9019e4, 0x9d76cfda, 0x49194baa, 0x92fa35cf,
    0x935ad694, 0x5d587a32, 0x510d58a8, 0x3f1d9796, 0x30a0db22, 0x7a76eae6, 0x7e9551d2, 0x7ee88afc,
    0x609f51b7, 0x4caf7d05, 0x7f351ea6, 0xeaf67c18, 0xb7fb9a4e, 0x6af6afa1, 0xd12632eb, 0xa2d66c5b,
    0x66bc3566, 0x2282acae, 0x30b5f3d2, 0xca36bd29, 0x5e4bf968, 0x5dc3dac6, 0xa7b6c2cd, 0xaea7776f,
    0x831857ec, 0x6a9cf0cb, 0xaa865d4f, 0x7dc66f79, 0xd0bd67, 0xea0afde, 0x521fcf15, 0x21a128df,
    0xec2ca85d, 0x99d24fcd, 0x54a682ea, 0x79b16603, 0xc743da81, 0x810b2429, 0xf81084ac, 0xa6a70d1e,
    0xd68fbd48, 0xe72b5a9d, 0x4a882133, 0xb3c1653a, 0xc93332da, 0x54dec368, 0x12c9e8d8, 0x674f7a69,
    0x2642b6d0, 0x19517fe7, 0x26869cae, 0xf5abbd1b, 0x7d1a5cae, 0xc700c55f, 0x4d778b64, 0x17ae9ee,
    0x59bc2077, 0x385d6748, 0xb6d0f0f9, 0x4865b502, 0xced9e6df, 0x329c420a, 0x4e669481, 0x57697c56,
    0xbbc99157, 0x90aa1214, 0x987932b4, 0x7ea25a5f, 0xf4dc09de, 0x41f0ccd5, 0xa301ba06, 0xb49a432a,
    0xdbbb7f5f, 0xac4a556d, 0x3fd26afa, 0x2fc988bb, 0x550533d2, 0xc0d94c40, 0xd37acddb, 0x67f18bf8,
    0x8da4491c, 0x60a05589, 0xc5258405, 0x8b812fd7, 0xddf788d0, 0x1de6664b, 0xe2d41625, 0x1cf62206,
    0xac371da9, 0x14d902fd, 0xdaddb4d4, 0xfef12f6, 0xaf114f1f, 0x4d6b7fb9, 0x3c3324ea, 0x7882cdcd,
    0x6cbbc169, 0x908f54b7, 0x6e21d778, 0x10e8caca, 0x55a81f62, 0x197256d6, 0x716075c5, 0xeb3f21d,
    0xce40267e, 0x9baf9ce5, 0x8440c560, 0x2a1c513d, 0x892e5f8, 0x1d680141, 0xb2ae2dee, 0xddca7ee6,
    0x55350b6b, 0x1e876f06, 0xc06992e1, 0x7e72405c, 0x4a13c2f8, 0x945f1922, 0xcc544b40, 0x2b22add4,
    0x1f8ffa76, 0x52779dac, 0xa50ae1c2, 0xa25d59d5, 0x1c028655, 0x5d138540, 0xacecbf99, 0xa8e85dc9,
    0x76f58594, 0xa27ffa7c, 0x747bc2, 0xcb5e26ea, 0x366f73c3, 0xbf049c4d, 0x183c324a, 0xf8b80429,
    0xa686fefd, 0xd18f9e23, 0x2a3050b8, 0x11215e76, 0xf569d952, 0x3034fe0e, 0xabe6283b, 0xde423a72,
    0x8e7a98ef, 0xc7c9ecd, 0xebaa79a0, 0x44f7b3e3, 0x4c41a929, 0x43208d70, 0x8ada9e0f, 0xc47a72bc,
    0x80a9e0d3, 0x7fe4c7d0, 0xf2384c35, 0x6286d64f, 0xeb32b888, 0x1a4e9fa6, 0xbe6d3e84, 0x3c23d18c,
    0xc5437a5b, 0x359293b5, 0xffbf8617, 0x7e5794f0, 0x6af202f5, 0xbd547df4, 0xb44edbf, 0x7ed24d44,
    0xacbf3159, 0xbda12d34, 0x7e4e0f57, 0x695c8b79, 0xd63d3e6d, 0x74d59d9, 0xd7541d89, 0x98362f79,
    0xf901c943, 0x5b35b0c6, 0x83630e6f, 0xe2fb8b8b, 0xa5d30659, 0x9f878adc, 0x3e5561a3, 0x3b5696ef,
    0x852a010a, 0xc705615b, 0x8c66d482, 0x15dae0b8, 0x5c9d81e7, 0xc767e67d, 0xa8b0c1bb, 0x5b733c0c,
    0xbbc99157, 0x90aa1214, 0x987932b4, 0x7ea25a5f, 0xf4dc09de, 0x41f0ccd5, 0xa301ba06, 0xb49a432a,
    0xdbbb7f5f, 0xac4a556d, 0x3fd26afa, 0x2fc988bb, 0x550533d2, 0xc0d94c40, 0xd37acddb, 0x67f18bf8,
    0x8da4491c, 0x60a05589, 0xc5258405, 0x8b812fd7, 0xddf788d0, 0x1de6664b, 0xe2d41625, 0x1cf62206,
    0xac371da9, 0x14d902fd, 0xdaddb4d4, 0xfef12f6, 0xaf114f1f, 0x4d6b7fb9, 0x3c3324ea, 0x7882cdcd,
    0x6cbbc169, 0x908f54b7, 0x6e21d778, 0x10e8caca, 0x55a81f62, 0x197256d6, 0x716075c5, 0xeb3f21d,
    0xce40267e, 0x9baf9ce5, 0x8440c560, 0x2a1c513d, 0x892e5f8, 0x1d680141, 0xb2ae2dee, 0xddca7ee6,
    0x55350b6b, 0x1e876f06, 0xc06992e1, 0x7e72405c, 0x4a13c2f8, 0x945f1922, 0xcc544b40, 0x2b22add4,
    0x1f8ffa76, 0x52779dac, 0xa50ae1c2, 0xa25d59d5, 0x1c028655, 0x5d138540, 0xacecbf99, 0xa8e85dc9,
    0x76f58594, 0xa27ffa7c, 0x747bc2, 0xcb5e26ea, 0x366f73c3, 0xbf049c4d, 0x183c324a, 0xf8b80429,
    0xa686fefd, 0xd18f9e23, 0x2a3050b8, 0x11215e76, 0xf569d952, 0x3034fe0e, 0xabe6283b, 0xde423a72,
    0x8e7a98ef, 0xc7c9ecd, 0xebaa79a0, 0x44f7b3e3, 0x4c41a929, 0x43208d70, 0x8ada9e0f, 0xc47a72bc,
    0x80a9e0d3, 0x7fe4c7d0, 0xf2384c35, 0x6286d64f, 0xeb32b888, 0x1a4e9fa6, 0xbe6d3e84, 0x3c23d18c,
    0xc5437a5b, 0x359293b5, 0xffbf8617, 0x7e5794f0, 0x6af202f5, 0xbd547df4, 0xb44edbf, 0x7ed24d44,
    0xacbf3159, 0xbda12d34, 0x7e4e0f57, 0x695c8b79, 0xd63d3e6d, 0x74d59d9, 0xd7541d89, 0x98362f79,
    0xf901c943, 0x5b35b0c6, 0x83630e6f, 0xe2fb8b8b, 0xa5d30659, 0x9f878adc, 0x3e5561a3, 0x3b5696ef,
    0x852a010a, 0xc705615b, 0x8c66d482, 0x15dae0b8, 0x5c9d81e7, 0xc767e67d, 0xa8b0c1bb, 0x5b733c0c,
    0x6eebc34c, 0x997f8dc2, 0xe7867648, 0x7c295ef5, 0xa4740d86, 0x5f31fd89, 0x1b49cefb, 0x61485429,
    0xd2ddfcef, 0xe5f51f26, 0xf879106b, 0x7d48919f, 0xd1de3d3a, 0xd28f09d4, 0xdf8095ed, 0xd3ce30fb,
    0x5c3e7a9f, 0x6b418a1e, 0xbb87ce56, 0x251d0746, 0xb46a91fb, 0xf8295ea7, 0xfe2e2651, 0xb2e8ee8a,
    0x1c47f6a, 0x6a00db11, 0x145ab3e5, 0x1c82123b, 0xe34a1283, 0xef3436de, 0xd668b837, 0xec78ea54,
    0x21afffac, 0x2c26d650, 0xae5e9810, 0xd444d27a, 0x992ddd4d, 0xf7fb4911, 0x17a2326e, 0xc8a009b7,
    0x3a55225a, 0x3e794dec, 0x11fcc7df, 0xa9adfab9, 0xadf4dd00, 0xa4f61c67, 0x2cf856a1, 0xaa182bf1,
    0xfd521852, 0x4323538e, 0xe9fc4260, 0x3570d32, 0x25a4b0cf, 0x3abd9c6b, 0x81158615, 0xa1ca0d89,
    0x902ee1f4, 0x496e635, 0xdb3707c3, 0x55ea8217, 0x2895a06a, 0x22b9c149, 0xeae81e8d, 0xfced945e,
    0x377ce90, 0x30d5a30f, 0x52929cab, 0x3f343f8c, 0xbd60664f, 0xdc1c7913, 0xeede8f3a, 0x98aabb16,
    0xf3484e78, 0xd10b1d10, 0x1876555e, 0xcd50c48b, 0xf6d9ebde, 0x703c0c11, 0x94954dd6, 0xdcf898a3,
    0x73cdcac6, 0x6040b5d7, 0x28fdeac9, 0xa05540dc, 0x72e90fb1, 0x7e8dbd2d, 0x842cb535, 0x763eca84,
    0xbb12cda1, 0xaf46a94, 0xf9d275a5, 0xa8db6c94, 0xdc13be16, 0x4af537a6, 0xd69cbdb, 0xa93bdb2f,
    0x2e2ea021, 0x288c7bc2, 0xd82f170d, 0x793e09c4, 0xe7bba812, 0xb685a376, 0xfa9c404d, 0x601c5f98,
    0xbb52da92, 0xda7a4afa, 0x215c96ab, 0x2b3d2dea, 0x475f0d40, 0xc622863b, 0xb773912d, 0x80ecc3eb,
    0xc3e2874e, 0x5460feec, 0xace71a16, 0x45d22a57, 0xb4d58036, 0x4d2b50a2, 0x8927caa4, 0x3ce1a0b5,
    0x68e72cb, 0x6aa07f45, 0xd9cae2d1, 0x7b3346bb, 0xa571a2b1, 0x1d1db0eb, 0xf580d88d, 0x400fa3f1,
    0xf137c4a2, 0xd5786166, 0xefd81730, 0x96983916, 0x88ccaa30, 0xcd6a1511, 0xd80dd3b8, 0xe501c436,
    0xaf594e13, 0xc708c795, 0xf5ee76ca, 0x4be10e43, 0x39da1440, 0x3a6daba5, 0x3f64d30d, 0x408fad55,
    0xcb2bc816, 0x74648d32, 0xbe7d5687, 0x16e5dba, 0x71978d4d, 0xa7045bcd, 0xfcd6aa91, 0x53c10432,
    0x20f9cf28, 0x52aa6fc4, 0xb6238994, 0xff9d218c, 0x9d605770, 0xe259bcb1, 0xce4805b3, 0x70c76ddf,
    0x289a4838, 0x377a4be8, 0x78476d6e, 0x21da21c4, 0xf9a38c7f, 0x8a0ed15d, 0x4629e4bc, 0x5c5b531,
    0x58ffd905, 0xd243119c, 0xfc8d45ea, 0xbf7e9825, 0x3efbfa36, 0x5366fe85, 0x245cf7a4, 0xb45a6d25,
    0xfe689f, 0x182974f1, 0x7b7492a4, 0xe6ee20db, 0x60123e5, 0x3945cd90, 0x20ffb8be, 0x26e3f725,
    0x6ebee53a, 0xacb3e3b5, 0x7b7e3190, 0xbfaf9b27, 0xfde65cb0, 0x4e63f2df, 0x61f79410, 0x2fa44488,
    0xe0614be7, 0xa08d70bb, 0x92c5d381, 0x32f6f600, 0x6e5cb261, 0x3f3ec2a9, 0x630a18ae, 0xef846e63,
    0x4f493025, 0x3cca6a72, 0x5b7a57b4, 0x19f1aca2, 0x75bfac18, 0xae72382d, 0x4f1f061, 0xa38ed9e1,
    0x87522fd7, 0x466c3d69, 0x74f289f3, 0x54fa03ee, 0x9ec09f1, 0x78a8cae8, 0x33b0d55d, 0xe717a7d6,
    0x6de0813b, 0xf128666b, 0x4440fae5, 0x94b188a8, 0xe10cd620, 0xf2763514, 0x6a78dd8e, 0xebb9faf1,
    0xb8724112, 0x41f51d4e, 0x9472a298, 0xf44d6c28, 0x65341a83, 0x8c9ceaf8, 0xcd5958c5, 0xdfbfa25,
    0xfd231ecb, 0x4c6b74cc, 0x62c9e607, 0xa0324e85, 0x1cbe41d3, 0xb92881c4, 0xdf010f28, 0x2ef17437,
    0x3603b073, 0x67145932, 0x8d4d325e, 0x2420d68e, 0x1847d827, 0x9f306a34, 0xe10525b7, 0xc98df653,
    0xbcbecc24, 0xc8aa343c, 0x26c07010, 0x811c2d1d, 0x5708b110, 0xecc16fea, 0x10474c46, 0x5d3aa25e};

extern "C" __global__ void test(float *out, const float *in, int n) {
    extern __shared__ __align__(1024) unsigned char shared[];
    bool good = n > 0 && in[0] == 0.0f;
    for (int which = 0; which < GROUPS; ++which) {
        __syncthreads();
        fill(shared, (int)blockIdx.x, which > 2 ? 2 : 0);
        fill(shared + 8192, (int)blockIdx.x + 100, which > 2 ? 2 : 0);
        tile_copies_seen();
        __syncthreads();
        float c[32];
        for (int i = 0; i < 32; ++i) c[i] = start((int)blockIdx.x, i);
        product(which, shared, shared + 8192, c);
        good = good && sum_of(c) == recorded[(blockIdx.x * GROUPS + which) * 128 + threadIdx.x];
    }
    out[blockIdx.x * 128 + threadIdx.x] = good ? 1.0f : 0.0f;
}
