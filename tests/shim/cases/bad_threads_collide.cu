// SPDX-License-Identifier: Apache-2.0
// A plain store where an atomic was meant.
// LAUNCH blocks=1 threads=64
extern "C" __global__ void test(float* out, const float* in, int n) {
    if (threadIdx.x == 0) out[0] = 0.0f;
    __syncthreads();
    out[0] += in[threadIdx.x] + n;  // FAULT which thread
}
