// SPDX-License-Identifier: Apache-2.0
// Half of an array is never stored to; the last block's values are no excuse.
// LAUNCH blocks=2 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    __shared__ float place[32];
    if (threadIdx.x < 16 || blockIdx.x == 0) place[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[blockIdx.x * 32 + threadIdx.x] = place[31 - threadIdx.x] + n;  // FAULT nothing was stored
}
