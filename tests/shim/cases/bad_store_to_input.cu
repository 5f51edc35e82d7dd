// SPDX-License-Identifier: Apache-2.0
// Stores to an input, through a cast.
// LAUNCH blocks=1 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    const_cast<float*>(in)[threadIdx.x] = n;  // FAULT stores to the input
    out[threadIdx.x] = 1.0f;
}
