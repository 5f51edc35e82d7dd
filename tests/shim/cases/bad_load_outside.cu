// SPDX-License-Identifier: Apache-2.0
// Reads one element past the input, and uses none of it.
// LAUNCH blocks=2 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    const int i = blockIdx.x * 32 + threadIdx.x;
    const float next = in[i + 1];  // FAULT behind the end of 'in'
    out[i] = i + 1 < n ? next : 0.0f;
}
