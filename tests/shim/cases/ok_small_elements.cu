// SPDX-License-Identifier: Apache-2.0
// Elements of one and two bytes in shared memory, each thread with its own: neighbours in a word don't collide.
// LAUNCH blocks=2 threads=64
extern "C" __global__ void test(float* out, const float* in, int n) {
    __shared__ bool odd[64];
    __shared__ unsigned short half[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    odd[t] = t % 2 != 0;
    half[t] = (unsigned short)in[i];
    __syncthreads();
    out[i] = odd[t ^ 1] != odd[t] && half[63 - t] == in[i - t + 63 - t] && i < n ? 1.0f : 0.0f;
}
