// SPDX-License-Identifier: Apache-2.0
// Two halves of a block at two barriers.
// LAUNCH blocks=1 threads=64
extern "C" __global__ void test(float* out, const float* in, int n) {
    if (threadIdx.x < 32) {
        __syncthreads();  // FAULT while other threads of the block wait at
    } else {
        __syncthreads();  // FAULT while other threads of the block wait at
    }
    out[threadIdx.x] = in[n - 1];
}
