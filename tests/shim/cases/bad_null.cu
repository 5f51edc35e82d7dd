// SPDX-License-Identifier: Apache-2.0
// Reads near address 0.
// LAUNCH blocks=1 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    const float* nothing = in == out ? in : (const float*)(size_t)(n - 32 + 64);
    out[threadIdx.x] = *nothing;  // FAULT loads 4 bytes
}
