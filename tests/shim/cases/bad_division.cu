// SPDX-License-Identifier: Apache-2.0
// An integer division by zero: no fault on a device, and no answer that may be relied on.
// LAUNCH blocks=1 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    const int zero = (int)in[0];
    out[threadIdx.x] = (float)(n / zero);  // FAULT division by 0
}
