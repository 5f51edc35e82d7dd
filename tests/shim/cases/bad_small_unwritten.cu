// SPDX-License-Identifier: Apache-2.0
// The other half of a word was stored to, this one wasn't.
// LAUNCH blocks=1 threads=32
extern "C" __global__ void test(float* out, const float* in, int n) {
    __shared__ unsigned short half[64];
    half[2 * threadIdx.x] = (unsigned short)in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = half[2 * threadIdx.x + 1] + n;  // FAULT nothing was stored
}
