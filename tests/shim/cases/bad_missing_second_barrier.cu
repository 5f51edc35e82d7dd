// SPDX-License-Identifier: Apache-2.0
// Shared memory is overwritten while other warps may still read it: right values in many orders, wrong all the same.
// LAUNCH blocks=1 threads=64
extern "C" __global__ void test(float* out, const float* in, int n) {
    __shared__ float total;
    for (int turn = 0; turn < 2; turn++) {
        if (threadIdx.x == 0) total = in[turn] + n;  // FAULT loaded at
        __syncthreads();
        out[threadIdx.x] = total;  // FAULT which thread 0 stored
    }
}
