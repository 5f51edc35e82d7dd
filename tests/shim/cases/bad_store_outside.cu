// SPDX-License-Identifier: Apache-2.0
// Stores before the output.
// LAUNCH blocks=1 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    out[(int)threadIdx.x - 1] = in[threadIdx.x] + n;  // FAULT before 'out'
}
