// SPDX-License-Identifier: Apache-2.0
// Every warp operation against what its definition says; a block that is no multiple of a warp.
// LAUNCH blocks=1 threads=48
extern "C" __global__ void test(float* out, const float* in, int n) {
    const int t = threadIdx.x, lane = t % warpSize;
    const unsigned mask = t < 32 ? 0xffffffffu : 0x0000ffffu;
    const int width = t < 32 ? 32 : 16;
    bool good = __shfl_xor_sync(mask, t, 1) == (t ^ 1);
    good = good && __shfl_sync(mask, t, 3) == t - lane + 3;
    good = good && __shfl_sync(mask, (long long)t << 40, lane + 1, 8) == (long long)(t - lane % 8 + (lane + 1) % 8) << 40;
    good = good && __shfl_up_sync(mask, t * 0.5, 2) == (lane < 2 ? t : t - 2) * 0.5;
    good = good && __shfl_down_sync(mask, t, 4, width) == (lane + 4 < width ? t + 4 : t);
    good = good && __ballot_sync(mask, lane % 2) == (0xaaaaaaaau & mask);
    good = good && __any_sync(mask, lane == 5) && !__any_sync(mask, lane == 77) && __all_sync(mask, lane < 32);
    good = good && __syncthreads_count(t % 2) == 24 && __syncthreads_or(t == 40) && !__syncthreads_and(t == 40);
    out[t] = good && n == 48 && in[0] == 0.0f ? 1.0f : 0.0f;
}
