// SPDX-License-Identifier: Apache-2.0
// A block's sum by shuffles and static shared memory, against a plain loop.
// LAUNCH blocks=3 threads=128
static __device__ __forceinline__ float tile_plain_sum(const float* __restrict__ x, int count) {
    float sum = 0.0f;
    for (int i = 0; i < count; i++) sum += x[i];
    return sum;
}

extern "C" __global__ void __launch_bounds__(128, 2)
test(float* __restrict__ out, const float* __restrict__ in, int n) {
    __shared__ float warps[4];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, base = blockIdx.x * blockDim.x;
    float sum = __ldg(in + base + threadIdx.x);
    #pragma unroll
    for (int bits = 16; bits > 0; bits >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, bits);
    if (lane == 0) warps[warp] = sum;
    __syncthreads();
    sum = (warps[0] + warps[1]) + (warps[2] + warps[3]);
    if (base + threadIdx.x < n) out[base + threadIdx.x] = sum == tile_plain_sum(in + base, 128) ? 1.0f : 0.0f;
}
