// SPDX-License-Identifier: Apache-2.0
// A value from another warp is read without a barrier.
// LAUNCH blocks=1 threads=64
extern "C" __global__ void test(float* out, const float* in, int n) {
    __shared__ float place[64];
    place[threadIdx.x] = in[threadIdx.x];  // FAULT which thread
    out[threadIdx.x] = place[(threadIdx.x + 32) % 64] + n;  // FAULT nothing was stored | FAULT which thread
}
