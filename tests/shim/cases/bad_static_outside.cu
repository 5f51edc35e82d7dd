// SPDX-License-Identifier: Apache-2.0
// An index past a static shared array.
// LAUNCH blocks=1 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    __shared__ float low[31];
    __shared__ float high[32];
    high[threadIdx.x] = n;
    low[threadIdx.x] = in[threadIdx.x];  // FAULT outside of a fixed array
    out[threadIdx.x] = high[threadIdx.x];
}
