// powers from constructs.tile, compiled by tilec 0.1.0
// (x: i32[n], bytes: u8[n], steps: i64) -> out: i64[n], small: i8[n]
// 32-bit indices
//   t: block 256 = vector 1 x lanes 32 x warps 8 x registers 1
//   grid t; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20
// launches, in this order: powers_fill_small, powers

static __device__ __forceinline__ long long tile_mod_i64(long long a, long long b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ long long tile_shr_i64(long long a, long long n) {
    return a >> (n < 0 || n > 63 ? 63 : n);
}

// launch: ceil(elements of small / 2048) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) powers_fill_small(signed char *__restrict__ small, int n) {
    const long long tile_count = (long long)n, tile_end = ((long long)blockIdx.x + 1) * 2048;
    for (long long tile_at = (long long)blockIdx.x * 2048 + threadIdx.x; tile_at < tile_end && tile_at < tile_count; tile_at += 256)
        small[tile_at] = -1;
}

// launch: ceil(n / 256) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) powers(const int *__restrict__ x, const unsigned char *__restrict__ bytes, long long *__restrict__ out, signed char *__restrict__ small, long long steps, int n) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int t_t = warp * 32 + lane;
    const int t0 = (int)blockIdx.x * 256;
    const int t = t0 + t_t;
    // 41: for t in tile(n) {
    // 42: var value: i64[t] = 1;
    // 43: for i in range(1, steps) {
    // 44: value = value * i64(x[t]) % (i + 7);
    const bool inside = t < n;
    const bool inside_2 = t >= 0 && inside;
    const bool inside_3 = !inside;
    const bool inside_4 = inside_3 || inside_2;
    long long value_i64 = (long long)1;
    for (long long i = 1LL; i < steps; ++i) {
        if (!inside_4) {
            printf("constructs.tile:44: a load from x outside the tensor\n");
            __trap();
        }
        const long long value = tile_mod_i64(value_i64 * (long long)(inside ? x[t] : 0), (i + 7LL));
        value_i64 = value;
    }
    // 46: if value > 100 && bytes[t] != 0 {
    // 47: out[t] = value >> 1;
    // 48: small[t] = i8(bytes[t]);
    // 49: } else if value < 0 {
    // 50: out[t] = -value;
    // 52: out[t] = value | 1;
    const int value_i32 = (int)tile_clampi_i64(value_i64, -2146435071LL, 2146435071LL);
    const bool inside_5 = value_i32 > 100;
    if (!(inside_3 || (!inside_5 || inside_2))) {
        printf("constructs.tile:46: a load from bytes outside the tensor\n");
        __trap();
    }
    const bool inside_6 = inside && inside_5;
    const bool inside_7 = (inside_6 ? bytes[t] : 0) != 0;
    const bool inside_8 = inside_6 && inside_7;
    const bool inside_9 = !inside_8 || inside_2;
    if (!inside_9) {
        printf("constructs.tile:47: a store to out outside the tensor\n");
        __trap();
    }
    if (inside_8) out[t] = tile_shr_i64(value_i64, 1LL);
    if (!inside_9) {
        printf("constructs.tile:48: a load from bytes outside the tensor\n");
        __trap();
    }
    if (!inside_9) {
        printf("constructs.tile:48: a store to small outside the tensor\n");
        __trap();
    }
    if (inside_8) small[t] = (signed char)(inside_8 ? bytes[t] : 0);
    const bool inside_10 = value_i32 < 0;
    const bool inside_11 = inside && !(inside_5 && inside_7);
    const bool inside_12 = inside_11 && inside_10;
    if (!(!inside_12 || inside_2)) {
        printf("constructs.tile:50: a store to out outside the tensor\n");
        __trap();
    }
    if (inside_12) out[t] = -value_i64;
    const bool inside_13 = inside_11 && !inside_10;
    if (!(!inside_13 || inside_2)) {
        printf("constructs.tile:52: a store to out outside the tensor\n");
        __trap();
    }
    if (inside_13) out[t] = value_i64 | 1LL;
}
