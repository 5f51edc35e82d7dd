// SPDX-License-Identifier: Apache-2.0
// One lane waits for the block, the others for that lane.
// LAUNCH blocks=1 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    if (threadIdx.x == 3) __syncthreads();  // FAULT waits for ever
    __syncwarp();  // FAULT waits for ever
    out[threadIdx.x] = in[n - 1];
}
