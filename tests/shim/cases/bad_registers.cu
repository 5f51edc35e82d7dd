// SPDX-License-Identifier: Apache-2.0
// Two groups of warps ask for more registers than the third has given up.
// LAUNCH blocks=1 threads=384
static __device__ __forceinline__ void tile_registers_up_224() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
}
static __device__ __forceinline__ void tile_registers_down_64() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 64;");
}

extern "C" __global__ void test(float* out, const float* in, int n) {
    if (threadIdx.x >= 256)
        tile_registers_down_64();  // FAULT waits for ever for registers
    else
        tile_registers_up_224();  // FAULT waits for ever for registers
    out[threadIdx.x] = 1.0f;
}
