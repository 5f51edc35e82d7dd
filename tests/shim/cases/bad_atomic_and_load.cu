// SPDX-License-Identifier: Apache-2.0
// A sum is read while others still add to it.
// LAUNCH blocks=1 threads=64
extern "C" __global__ void test(float* out, const float* in, int n) {
    __shared__ float sum;
    if (threadIdx.x == 0) sum = n;
    __syncthreads();
    atomicAdd(&sum, in[threadIdx.x]);  // FAULT which thread
    out[threadIdx.x] = sum;  // FAULT which thread
}
