// doc_pool from 25_ragged_of_ragged.tile, compiled by tilec 0.1.0
// (x: f32[tokens, M], sentences: i64[S + 1], docs: i64[B + 1]) -> out: f32[B, M]
// T = f32, I = i64; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tm: block 32 = vector 1 x lanes 32 x warps 1 x registers 1
//   ts: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tw: block 128 = vector 1 x lanes 1 x warps 16 x registers 8
//   grid tm, tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ long long tile_maxi_i64(long long a, long long b) {
    return a > b ? a : b;
}

static __device__ __forceinline__ void tile_sum_warps_f32(float *v, const int n, void *shared, const int count, const int step) {
    float *all = (float *)shared;
    const int threads = (int)blockDim.x, thread = (int)threadIdx.x, warp = thread / 32;
    const int first = thread - warp / step % count * step * 32;
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i) all[i * threads + thread] = v[i];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i) {
        float a = all[i * threads + first];
        for (int w = 1; w < count; ++w) {
            const float b = all[i * threads + first + w * step * 32];
            a = a + b;
        }
        v[i] = a;
    }
}

static __device__ __forceinline__ float tile_maxf(float a, float b) {
    float c;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}

// launch: ceil(M / 32) * B blocks of 512 threads
extern "C" __global__ void __launch_bounds__(512) doc_pool(const float *__restrict__ x, const long long *__restrict__ sentences, const long long *__restrict__ docs, float *__restrict__ out, int M) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[2048];
    const int tm_t = lane;
    const int tw_t = warp;
    const int tm_tiles = (M + 31) / 32;
    const int tm0 = (int)(blockIdx.x % tm_tiles) * 32;
    const int tm = tm0 + tm_t;
    const int tb = (int)(blockIdx.x / tm_tiles);
    // 5: for tb in tile(B) {
    // 6: let s0 = docs[tb];
    const long long s0 = docs[tb];
    // 7: for tm in tile(M) {
    // 8: var top: accum(T)[tb, tm] = -inf;
    // 9: for ts in jagged_tile(docs[tb + 1] - s0) {
    const bool inside = tm < M;
    float top = __int_as_float((int)0xff800000);
    const int i = (int)tile_clampi_i64(docs[tb + 1] - s0, -2146435071LL, 2146435071LL);
    for (int ts = 0; ts < i; ++ts) {
        const bool inside_2 = ts < i;
        if (inside_2) {
            // 10: let w0 = sentences[s0 + ts];
            // 11: let words = sentences[s0 + ts + 1] - w0;
            // 12: var acc: accum(T)[tb, ts, tm] = 0;
            // 13: for tw in jagged_tile(words) {
            // 14: acc += sum[tw](x[w0 + tw, tm]);
            const int i_2 = (int)s0 + ts;
            const long long w0 = sentences[i_2];
            const long long words = sentences[i_2 + 1] - w0;
            const int words_i32 = (int)tile_clampi_i64(words, -2146435071LL, 2146435071LL);
            const int tw_full = words_i32 - words_i32 % 128;
            float acc = 0.0f;
            const int w0_i32 = (int)w0;
            for (int tw0 = 0; tw0 < tw_full; tw0 += 128) {
                const int tw = tw0 + tw_t;
                #pragma unroll
                for (int tw_i = 0; tw_i < 8; ++tw_i) {
                    acc += inside ? x[(w0_i32 + (tw + tw_i * 16)) * M + tm] : 0.0f;
                }
            }
            if (tw_full < words_i32) {
                const int tw0_2 = tw_full;
                const int tw_2 = tw0_2 + tw_t;
                #pragma unroll
                for (int tw_i = 0; tw_i < 8; ++tw_i) {
                    acc += inside && tw_2 + tw_i * 16 < words_i32 ? x[(w0_i32 + (tw_2 + tw_i * 16)) * M + tm] : 0.0f;
                }
            }
            // 16: top = max(top, max[ts](acc / accum(T)(max(words, 1))));
            const float v = (float)tile_maxi_i64(words, 1LL);
            tile_sum_warps_f32(&acc, 1, tile_shared, 16, 1);
            const float top_2 = tile_maxf(top, inside ? acc / v : __int_as_float((int)0xff800000));
            top = top_2;
        }
    }
    // 18: out[tb, tm] = top;
    if ((thread & 480) == 0 && inside) out[tb * M + tm] = top;
}
