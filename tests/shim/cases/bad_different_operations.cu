// SPDX-License-Identifier: Apache-2.0
// Lanes of one warp meet in two different operations.
// LAUNCH blocks=1 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    float value = in[threadIdx.x];
    if (threadIdx.x % 2) value += __shfl_sync(0xffffffffu, value, 0);  // FAULT while other lanes
    else value = __any_sync(0xffffffffu, n);  // FAULT while other lanes
    out[threadIdx.x] = value;
}
