// SPDX-License-Identifier: Apache-2.0
// Lanes of one warp exchange through shared memory without __syncwarp; a shuffle between orders nothing.
// LAUNCH blocks=1 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    __shared__ float place[32];
    const int t = threadIdx.x;
    place[t] = in[t];
    const float other = __shfl_xor_sync(0xffffffffu, in[t], 1);
    out[t] = place[t ^ 1] + other + n;  // FAULT with no barrier between
}
