// SPDX-License-Identifier: Apache-2.0
// Atomics of all types from all threads, across blocks for the tensor.
// LAUNCH blocks=2 threads=64
extern "C" __global__ void test(float* out, const float* in, int n) {
    __shared__ int least;
    __shared__ unsigned long long total;
    __shared__ double mass;
    if (threadIdx.x == 0) least = 1000, total = 1ull << 40, mass = 0.0;
    __syncthreads();
    atomicMin(&least, (int)threadIdx.x + 7);
    atomicAdd(&total, 2ull);
    atomicAdd(&mass, 0.25);
    __syncthreads();
    const bool good = least == 7 && total == (1ull << 40) + 128 && mass == 16.0 && in[0] == 0.0f;
    const float before = atomicExch(&out[blockIdx.x * 64 + threadIdx.x], good && n == 128 ? 0.5f : 0.0f);
    if (before != before) atomicAdd(&out[blockIdx.x * 64 + threadIdx.x], 0.5f);
}
