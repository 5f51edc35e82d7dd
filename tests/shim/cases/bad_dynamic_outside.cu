// SPDX-License-Identifier: Apache-2.0
// One element past the dynamic shared memory of the launch.
// LAUNCH blocks=1 threads=32 dynamic=128
extern "C" __global__ void test(float* out, const float* in, int n) {
    extern __shared__ float buffer[];
    buffer[threadIdx.x + 1] = in[threadIdx.x];  // FAULT behind the end of dynamic shared memory
    __syncthreads();
    out[threadIdx.x] = buffer[threadIdx.x] + n;
}
