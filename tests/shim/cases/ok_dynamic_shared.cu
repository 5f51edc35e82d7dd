// SPDX-License-Identifier: Apache-2.0
// Dynamic shared memory, reused between two phases with barriers on both sides.
// LAUNCH blocks=2 threads=64 dynamic=256
extern "C" __global__ void __launch_bounds__(64) test(float* __restrict__ out, const float* __restrict__ in, int n) {
    extern __shared__ __align__(16) float buffer[];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    buffer[t] = in[i];
    __syncthreads();
    const float turned = buffer[63 - t];
    __syncthreads();
    buffer[63 - t] = turned + 1.0f;
    __syncthreads();
    out[i] = turned == in[i - t + 63 - t] && buffer[t] == in[i] + 1.0f && i < n ? 1.0f : 0.0f;
}
