// SPDX-License-Identifier: Apache-2.0
// A loop that neither ends nor touches memory.
// LAUNCH blocks=1 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    unsigned state = n;
    while (state != 0)  // FAULT no end
        state = state * 5u ^ state >> 3 ^ 1u;  // FAULT no end
    out[threadIdx.x] = in[threadIdx.x] + state;
}
