// SPDX-License-Identifier: Apache-2.0
// Two blocks store to one element: nothing says which of them comes last.
// LAUNCH blocks=2 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    out[threadIdx.x] = in[blockIdx.x] + n;  // FAULT of another block
}
