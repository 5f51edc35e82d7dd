// SPDX-License-Identifier: Apache-2.0
// LAUNCH blocks=2 threads=64
extern "C" __global__ void test(float *out, const float *in, int n) {
    const int block = (int)blockIdx.x, thread = (int)threadIdx.x;
    int *count = (int *)(out + n - 1);
    if (block == 0 && thread == 0) atomicExch(count, 0);
    if (block == 0) out[thread] = in[0] + 1.0f;
    __syncthreads();
    if (thread == 0 && block == 0) atomicAdd(count, 1);
    if (block == 0) return;
    if (thread == 0) {
        while (atomicAdd(count, 0) < 1) __nanosleep(64);
        __threadfence();
    }
    __syncthreads();
    if (thread < 63) out[64 + thread] = out[thread];  // FAULT loads element
}
