// SPDX-License-Identifier: Apache-2.0
// A loop with a barrier that never ends.
// LAUNCH blocks=1 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    for (int i = 0; i < n; i += i / n) {
        __syncthreads();  // FAULT no end
    }
    out[threadIdx.x] = in[threadIdx.x];
}
