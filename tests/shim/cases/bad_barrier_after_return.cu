// SPDX-License-Identifier: Apache-2.0
// Some threads leave early, the others wait for them.
// LAUNCH blocks=1 threads=64
extern "C" __global__ void test(float* out, const float* in, int n) {
    if (threadIdx.x >= 40) return;
    __syncthreads();  // FAULT wait elsewhere or have returned | FAULT have returned
    out[threadIdx.x] = in[n - 1];
}
