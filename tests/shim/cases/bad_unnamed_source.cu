// SPDX-License-Identifier: Apache-2.0
// A shuffle reads from a lane outside of its own mask.
// LAUNCH blocks=1 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    float value = in[threadIdx.x];
    if (threadIdx.x < 16) value += __shfl_xor_sync(0x0000ffffu, value, 16);  // FAULT does not name
    out[threadIdx.x] = value + n;
}
