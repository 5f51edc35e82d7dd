// SPDX-License-Identifier: Apache-2.0
// A shuffle in a branch that half of the named lanes don't take.
// LAUNCH blocks=1 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    float value = in[threadIdx.x];
    if (threadIdx.x < 16) value += __shfl_xor_sync(0xffffffffu, value, 1);  // FAULT other lanes | FAULT names lanes that have returned
    out[threadIdx.x] = value + n;
}
