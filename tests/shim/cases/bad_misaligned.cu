// SPDX-License-Identifier: Apache-2.0
// A vector load at an odd element.
// LAUNCH blocks=1 threads=16
extern "C" __global__ void test(float* out, const float* in, int n) {
    const int i = threadIdx.x < 14 ? threadIdx.x : 12;
    const float2 two = *reinterpret_cast<const float2*>(in + i);  // FAULT misaligned
    out[threadIdx.x] = two.x + two.y + n;
}
